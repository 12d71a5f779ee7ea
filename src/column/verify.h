/*-------------------------------------------------------------------------
 *
 * verify.h
 *		A batch that has just been written, read as a receiver reads it.
 *
 * For assertions, fuzzers and tests of senders: whatever a sender may make is
 * put through the receiver's own checks, those of px_batch_verify and those of
 * all decoders.  It does not compare the values.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_VERIFY_H
#define PX_COLUMN_VERIFY_H

#include "column/batch.h"

/*
 * The caller's memory: take returns nbytes of it, 8-aligned, which stay until
 * the caller takes them back.  It does not return NULL.
 */
typedef struct px_verify_memory
{
	uint8_t    *(*take) (void *arg, size_t nbytes);
	void	   *arg;
} px_verify_memory;

/*
 * Check the body, 8-aligned, of the batch that px_batch_write has made of
 * columns[header->columns].  Besides what a receiver checks, it must not be
 * larger than plain columns, and the header must say what these measure.
 * Errors are those of px_batch_verify, px_chunk_unpack and the decoders, and
 * PX_BAD_HEADER where a chunk is not what its column is.  context is NULL only
 * if no codec was allowed.
 */
extern px_status px_verify_written(const uint8_t *body,
								   const px_frame_header *header,
								   const px_batch_limits *limits,
								   const px_column *columns,
								   px_codec_context *context,
								   const px_verify_memory *memory,
								   px_fault *fault);

#endif							/* PX_COLUMN_VERIFY_H */
