/*-------------------------------------------------------------------------
 *
 * fill_state.h
 *		What a fill consists of: shared by fill.c and the fill_*.c files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_STATE_H
#define PX_TUPLE_FILL_STATE_H

#include "access/tupdesc.h"
#include "fmgr.h"

#include "column/column.h"
#include "wire/frame.h"

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

#endif							/* PX_TUPLE_FILL_STATE_H */
