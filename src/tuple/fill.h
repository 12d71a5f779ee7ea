/*-------------------------------------------------------------------------
 *
 * fill.h
 *		From rows to columns: filling the columns of a batch from slots.
 *
 * How each column travels is decided once, when the stream begins.  A column
 * is raw if the receiver requests the type that the column has and the type
 * policy allows it, else it is text.  Then each row takes one pass over the
 * columns.  The fill owns the columns' buffers and reuses them in each batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_H
#define PX_TUPLE_FILL_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "column/chunk.h"
#include "tuple/fill_state.h"
#include "wire/request.h"

/*
 * Decide how the columns travel.  columns lists their numbers in desc, from 1;
 * request and column_requests[list_length(columns)] say what the receiver
 * requests.  Text is converted to encoding.  The fill is allocated in the
 * current context.  It has no memory for rows before px_fill_begin.
 */
extern px_fill *px_fill_new(TupleDesc desc, List *columns,
							const px_request *request,
							const px_request_column *column_requests,
							int encoding);

/* The encoding that the client of this session wants text in. */
extern int	px_fill_client_encoding(void);

/* The number of columns that travel as text. */
extern int	px_fill_text_columns(const px_fill *fill);

/* Allocate the buffers; once, before the first row. */
extern void px_fill_begin(px_fill *fill);

/* Forget the rows and begin a new batch. */
extern void px_fill_reset(px_fill *fill);

/*
 * Append a row.  The caller must end the batch at rows_max rows.  Errors: what
 * output functions, send functions and encoding conversion raise, and
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if a column's values exceed the size limit of
 * a frame.
 */
extern void px_fill_row(px_fill *fill, TupleTableSlot *slot);

/*
 * The size of the batch as plain chunks, never too small: raw_nbytes, and for
 * each column the chunk's header, padding and null bitmap.
 */
static inline size_t
px_fill_nbytes(const px_fill *fill)
{
	return fill->raw_nbytes +
		(size_t) fill->ncolumns *
		(PX_CHUNK_HEADER_NBYTES + PX_ALIGN_NBYTES + fill->rows / 8);
}

/*
 * End a batch, before its columns are encoded: choose the final form of
 * numeric columns, and make all NaNs the same.
 */
extern void px_fill_finish(px_fill *fill);

#endif							/* PX_TUPLE_FILL_H */
