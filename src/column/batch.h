/*-------------------------------------------------------------------------
 *
 * batch.h
 *		Bodies of batch frames: all chunk headers, then all payloads.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_BATCH_H
#define PX_COLUMN_BATCH_H

#include "column/chunk.h"
#include "column/encode.h"
#include "column/size.h"
#include "wire/frame.h"

/*
 * Encode a batch: the body of a batch frame, that is all chunk headers and
 * then all payloads, each padded to PX_ALIGN_NBYTES.
 *
 * All columns must have the same number of rows, at least one.  out must
 * have room for the sum of px_column_plain_nbytes, and must start aligned as
 * the frame body will (PX_FRAME_HEADER_NBYTES is a multiple of 8).  What is
 * written passes px_batch_verify with that sum as the raw size, and with
 * PX_RAW_RATIO_MAX: columns whose encoded values would be too many, or whose
 * compressed ones too few, stay plain.
 * states[ncolumns] is what earlier batches of the stream have left.
 * Returns PX_OK, PX_NO_SPACE (the caller's buffer was too small),
 * PX_BAD_CODEC (options->codec is none of px_codec_id) or PX_CODEC_FAILED
 * (the codec's library is out of memory).
 */
extern px_status px_batch_write(px_writer *out, const px_column *columns,
								uint16_t ncolumns,
								const px_encode_options *options,
								px_column_state *states);

/*
 * Read the chunk headers of a batch body into chunks[header->columns].
 *
 * Everything that can be checked without undoing codec and encoding is
 * checked here: unknown encodings, codecs, layouts, forms and widths,
 * reserved bytes, sizes against the body (which must be used up exactly),
 * padding bytes (zero), nvalues against rows and the bitmap, encoded_nbytes
 * against what form, encoding and nvalues call for where that is known, a
 * codec of none whose two sizes differ, and that the encoded sizes together
 * stay within header->raw_nbytes.  So after PX_OK, encoded_nbytes is as safe
 * to size a buffer with as that is: see PX_RAW_NBYTES_MAX.
 */
extern px_status px_batch_read(const uint8_t *body,
							   const px_frame_header *header,
							   px_chunk *chunks, px_fault *fault);

/* What a receiver allows, besides what the format does. */
typedef struct px_batch_limits
{
	uint32_t	rows_max;		/* PX_FRAME_ROWS_MAX at most */
	uint32_t	ratio_max;		/* of PX_RAW_NBYTES_MAX */
} px_batch_limits;

/*
 * The same, within limits: PX_OVER_LIMIT if the batch has more rows, or a
 * larger raw size for its body.  Receivers call this for each batch before
 * they decode it, and tests of senders for each batch that is written.
 */
extern px_status px_batch_verify(const uint8_t *body,
								 const px_frame_header *header,
								 const px_batch_limits *limits,
								 px_chunk *chunks, px_fault *fault);

#endif							/* PX_COLUMN_BATCH_H */
