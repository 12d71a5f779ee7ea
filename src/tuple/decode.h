/*-------------------------------------------------------------------------
 *
 * decode.h
 *		From the columns of a batch to the Datums of rows.
 *
 * A batch is decoded column by column into arrays.  A row is then picked from
 * these arrays.  Values of variable length are not copied: their Datums point
 * into the frame, or into buffers of the decoder where a codec or an encoding
 * had to be undone.
 *
 * Input functions, receive functions of types and checks of domains are
 * expensive and may fail.  Those that postgres_fdw would call are called as
 * there: for fetch_size rows at a time, when the first of them is picked.  So
 * an error is raised at the row where postgres_fdw raises it, and memory is
 * bounded by what fetch_size rows take, even if a small frame has more.
 *
 * Nothing from the remote becomes a Datum unchecked.  An error about a frame
 * names the server, and says what was expected and what was found:
 * ERRCODE_PROTOCOL_VIOLATION for its form, ERRCODE_DATA_CORRUPTED for its
 * contents.
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
 * What a decoder requests for a column of this type and typmod, where type 0
 * asks for text.
 */
extern px_request_column px_decoder_request(Oid type, int32 typmod);

/*
 * Make a decoder for rows of tupdesc.  The remote query returns the columns
 * retrieved_attrs (1-based), or a single NULL if that is NIL.  contexts has an
 * error context line for each attribute of tupdesc.  fetch_size is that of
 * postgres_fdw.  servername, tupdesc and contexts must live as long as the
 * decoder.  The decoder lives in the current memory context and is freed with
 * it.  Errors: ERRCODE_OUT_OF_MEMORY if there is no memory for a codec.
 */
extern px_decoder *px_decoder_new(const char *servername, TupleDesc tupdesc,
								  List *retrieved_attrs, const char **contexts,
								  int fetch_size);

/*
 * The columns of a request for such rows, *ncolumns of them.  Valid as long as
 * the decoder.
 */
extern const px_request_column *px_decoder_columns(px_decoder *decoder,
												   uint16 *ncolumns);

/*
 * Read the body of a schema frame: how the sender sends each column.  Each
 * parallel worker sends a schema; all must say the same.  peer_version is the
 * sender's server_version_num.  Errors: ERRCODE_PROTOCOL_VIOLATION.
 */
extern void px_decoder_schema(px_decoder *decoder, const uint8_t *body,
							  const px_frame_header *header,
							  uint32 peer_version);

/*
 * The same for a sender that has cut the rows by their last column, which is
 * not sent.  Such frames are passed on to others, and not decoded here.
 */
extern void px_decoder_cut_schema(px_decoder *decoder, const uint8_t *body,
								  const px_frame_header *header,
								  uint32 peer_version);

/*
 * Decode the body of a batch frame, in place of the last batch.  The frame's
 * CRC has been verified.  body must stay valid until the next call or
 * px_decoder_reset, because Datums point into it.  Errors: see above, and what
 * receive functions raise.  Checks for interrupts.
 */
extern void px_decoder_batch(px_decoder *decoder, const uint8_t *body,
							 const px_frame_header *header);

/*
 * Pick a row of the batch: set values and isnull of the retrieved columns.
 * Rows must be picked in order, but for px_decoder_can_rewind.  The values are
 * valid until the next row is picked.  Errors: what input functions and
 * domains raise.  Checks for interrupts.
 */
extern void px_decoder_row(px_decoder *decoder, uint32 row,
						   Datum *values, bool *isnull);

/*
 * Can the rows of the scan's first batch be picked again, from the first one
 * on?  Not after the second window was entered: then the converted values of
 * the first one are gone.
 */
extern bool px_decoder_can_rewind(const px_decoder *decoder);

/*
 * Can this row of the batch be picked, although later ones were?  Not if it is
 * before the current window, and values were converted.
 */
extern bool px_decoder_can_pick(const px_decoder *decoder, uint32 row);

/*
 * The columns are the parameters $1, $2, ... of a statement: errors in their
 * conversion get the context that they have when parameters are bound.
 */
extern void px_decoder_set_parameters(px_decoder *decoder);

/* Forget schema and batch, before another stream is read. */
extern void px_decoder_reset(px_decoder *decoder);

/* The same, and free what the batch has taken. */
extern void px_decoder_release(px_decoder *decoder);

/* What the last batch consisted of; valid until the next one. */
extern const px_batch_contents *px_decoder_contents(const px_decoder *decoder);

/* Bit set of the codecs (1 << px_codec_id) seen in batches so far. */
extern uint32 px_decoder_codecs(const px_decoder *decoder);

/*
 * How the columns have come, for EXPLAIN: a list of strings, palloc'd in the
 * current context.  There is one for each column, with its name, encodings,
 * codecs and bytes.
 */
extern List *px_decoder_report(const px_decoder *decoder);

#endif							/* PX_TUPLE_DECODE_H */
