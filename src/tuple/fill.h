/*-------------------------------------------------------------------------
 *
 * fill.h
 *		From rows to columns: filling the columns of a batch from slots.
 *
 * How each column travels is decided once, when the stream begins: raw if
 * the receiver asked for the type the column has and the type policy allows
 * it, else as text.  Then each row costs one pass over the columns.  The
 * column buffers belong to the fill and are reused from batch to batch.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_H
#define PX_TUPLE_FILL_H

#include "executor/tuptable.h"
#include "nodes/pg_list.h"

#include "tuple/fill_state.h"
#include "wire/request.h"

/*
 * Decide how the columns travel.  columns lists their numbers in desc, from
 * 1; request and column_requests say what the receiver wants.  The result is
 * allocated in the current context, and takes no memory for rows until
 * px_fill_begin.
 */
extern px_fill *px_fill_new(TupleDesc desc, List *columns,
							const px_request *request,
							const px_request_column *column_requests);

/* How many columns travel as text. */
extern int	px_fill_text_columns(const px_fill *fill);

/* Allocate the buffers; once, before the first row. */
extern void px_fill_begin(px_fill *fill);

/* Forget the rows and begin a new batch. */
extern void px_fill_reset(px_fill *fill);

/*
 * Append a row; the caller ends the batch before rows_max is passed.  Errors:
 * whatever output functions and encoding conversion raise, and
 * ERRCODE_PROGRAM_LIMIT_EXCEEDED if a column's values pass the size limit of
 * a frame.
 */
extern void px_fill_row(px_fill *fill, TupleTableSlot *slot);

/*
 * What the batch measures as plain chunks: raw_nbytes, and for each column the
 * chunk's header, its padding, and a null bitmap.
 */
static inline size_t
px_fill_nbytes(const px_fill *fill)
{
	return fill->raw_nbytes +
		(size_t) fill->ncolumns *
		(PX_CHUNK_HEADER_NBYTES + PX_ALIGN_NBYTES + fill->rows / 8);
}

/* The batch has all its rows: settle what was still open. */
extern void px_fill_finish(px_fill *fill);

#endif							/* PX_TUPLE_FILL_H */
