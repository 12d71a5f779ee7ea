/*-------------------------------------------------------------------------
 *
 * decode.h
 *		From the columns of a batch to the Datums of rows.
 *
 * A batch is decoded column by column into arrays, of which each row is then
 * picked.  Values of variable length are not copied: their Datums point into
 * the frame, or into the decoder's arena where a codec had to be undone.
 *
 * What takes functions of the type, or of a domain, is done as postgres_fdw does
 * it: when the first row of each fetch_size rows is picked, for these rows, one
 * after the other.  So an error is raised where postgres_fdw would, and memory is
 * bounded by what that many rows take, however few bytes they have come in.
 *
 * Nothing from the remote becomes a Datum unchecked.  What is wrong with a
 * frame is raised as an error that names the server, and says what was
 * expected and what was found: ERRCODE_PROTOCOL_VIOLATION for its form,
 * ERRCODE_DATA_CORRUPTED for its contents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_DECODE_H
#define PX_TUPLE_DECODE_H

#include "access/tupdesc.h"
#include "nodes/pg_list.h"

#include "tuple/decode_state.h"
#include "wire/frame.h"
#include "wire/request.h"

/*
 * A decoder for rows of tupdesc, of which the remote query returns the columns
 * retrieved_attrs (1-based; NIL if it returns a single NULL).  contexts has an
 * error context line for each attribute of tupdesc.  fetch_size is
 * postgres_fdw's.  Lives in, and is freed with, the current memory context.
 */
extern px_decoder *px_decoder_new(const char *servername, TupleDesc tupdesc,
								  List *retrieved_attrs, const char **contexts,
								  int fetch_size);

/* The columns to ask for; valid as long as the decoder. */
extern const px_request_column *px_decoder_columns(px_decoder *decoder,
												   uint16 *ncolumns);

/*
 * Take note of how the sender ships each column.  A second schema, from
 * another parallel worker, must say the same.
 */
extern void px_decoder_schema(px_decoder *decoder, const uint8_t *body,
							  const px_frame_header *header,
							  uint32 peer_version);

/*
 * Decode a verified batch frame, replacing the batch before.  body stays in
 * use until the next call, or px_decoder_reset.  Serves interrupts.
 */
extern void px_decoder_batch(px_decoder *decoder, const uint8_t *body,
							 const px_frame_header *header);

/*
 * Set values and isnull of the retrieved columns to those of a row, which must
 * not be before the one that was picked last.  They are valid until the next
 * row is picked.  Raises what input functions and domains do; serves
 * interrupts.
 */
extern void px_decoder_row(px_decoder *decoder, uint32 row,
						   Datum *values, bool *isnull);

/*
 * Can rows of the scan's first batch be picked anew, from the first one on?
 * Not if values have taken the place of such as had to be converted.
 */
extern bool px_decoder_can_rewind(const px_decoder *decoder);

/* Forget schema and batch before another stream. */
extern void px_decoder_reset(px_decoder *decoder);

/* Of the last batch; valid until the next one. */
extern const px_batch_contents *px_decoder_contents(const px_decoder *decoder);

/* Bit set of the codecs (1 << px_codec_id) seen in batches so far. */
extern uint32 px_decoder_codecs(const px_decoder *decoder);

/*
 * How the columns have come, for EXPLAIN: a list of strings, one for each
 * column, with its name, encodings and codecs, and bytes; palloc'd.
 */
extern List *px_decoder_report(const px_decoder *decoder);

#endif							/* PX_TUPLE_DECODE_H */
