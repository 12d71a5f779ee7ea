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
#ifndef PX_SEND_FILL_H
#define PX_SEND_FILL_H

#include "executor/tuptable.h"
#include "fmgr.h"
#include "nodes/pg_list.h"

#include "column/column.h"
#include "wire/frame.h"
#include "wire/request.h"

/* What has to be done with a value to append it. */
typedef enum px_fill_kind
{
	PX_FILL_BYVAL,				/* append the Datum's low bytes */
	PX_FILL_BYREF,				/* append what the Datum points to */
	PX_FILL_VARLENA,			/* append the varlena's bytes */
	PX_FILL_PADDED,				/* the same without blanks at the end: char(n) */
	PX_FILL_NAME,				/* append the name up to its NUL */
	PX_FILL_ARRAY,				/* append the elements, or array_send's bytes */
	PX_FILL_NUMERIC,			/* scaled integer, or numeric_send's bytes */
	PX_FILL_TEXT				/* append what the output function returns */
} px_fill_kind;

typedef struct px_fill_source
{
	px_fill_kind kind;
	int			attribute;		/* index into the slot's values */
	bool		convert;		/* to the client's encoding */
	FmgrInfo   *output;			/* PX_FILL_TEXT: output function; PX_FILL_ARRAY:
								 * send function; else NULL */
	Oid			element;		/* PX_FILL_ARRAY: type of the elements */

	/*
	 * PX_FILL_NUMERIC, PX_FILL_PADDED: a batch that could not be scaled, or
	 * whose values differ in length, makes the next ones skip the attempt,
	 * each failure in a row twice as many.
	 */
	uint32		skip;			/* batches still to be skipped */
	uint32		skip_next;		/* skip after the next failure */
} px_fill_source;

/* An attribute of the heap tuples that rows come from. */
typedef struct px_fill_attribute
{
	int16		length;			/* pg_attribute's attlen */
	bool		byval;
	uint8		align_mask;		/* alignment - 1 */
	px_fill_source *source;		/* of column; unspecified without one */
	px_column  *column;			/* that it fills, or NULL */
} px_fill_attribute;

typedef struct px_fill
{
	uint16		ncolumns;
	uint32		rows;			/* in the current batch */
	size_t		raw_nbytes;		/* of its values, nearly; see px_fill_nbytes */
	px_column  *columns;		/* [ncolumns] */
	px_schema_column *schema;	/* [ncolumns] */

	px_fill_source *sources;	/* [ncolumns] */
	int			last_attribute; /* highest of the sources', from 1 */
	TupleDesc	tuple_desc;		/* what attributes describes; NULL at first */
	bool		tuples;			/* its tuples can be taken apart by attributes */
	px_fill_attribute *attributes;	/* [last_attribute]; NULL at first */
	size_t		row_nbytes;		/* fixed-width part of a row */
	size_t		keep_nbytes;	/* a larger buffer is not kept for a new batch */
	uint32		rows_max;		/* of a batch */
	bool		patches;		/* the receiver knows PX_ENC_PATCHED */
	bool		toasted;		/* set by the caller, for each batch: leave values
								 * compressed as TOAST has them */
	int			encoding;		/* the client's */
	MemoryContext context;		/* holds all this, and the buffers */
	MemoryContext row_context;	/* reset after each row that used it */
	bool		row_context_used;
} px_fill;

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
		(size_t) fill->ncolumns * (PX_CHUNK_HEADER_NBYTES + PX_ALIGN_NBYTES + fill->rows / 8);
}

/* The batch has all its rows: settle what was still open. */
extern void px_fill_finish(px_fill *fill);

#endif							/* PX_SEND_FILL_H */
