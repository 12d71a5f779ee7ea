/*-------------------------------------------------------------------------
 *
 * fill_state.h
 *		The fill's state, shared by fill.c and the fill_*.c files.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FILL_STATE_H
#define PX_TUPLE_FILL_STATE_H

#include "access/tupdesc.h"
#include "fmgr.h"

#include "column/column.h"
#include "wire/frame.h"

/* How a value is appended to its column. */
typedef enum px_fill_kind
{
	PX_FILL_BYVAL,				/* append the Datum's low bytes */
	PX_FILL_BYREF,				/* append what the Datum points to */
	PX_FILL_VARLENA,			/* append the varlena's bytes */
	PX_FILL_PADDED,				/* char(n): the same without trailing blanks */
	PX_FILL_NAME,				/* append the name up to its NUL */
	PX_FILL_ARRAY,				/* the elements, or array_send's bytes */
	PX_FILL_NUMERIC,			/* scaled integer, or numeric_send's bytes */
	PX_FILL_TEXT				/* append what the output function returns */
} px_fill_kind;

typedef struct px_fill_source
{
	px_fill_kind kind;
	int			attribute;		/* index into the slot's values */
	bool		convert;		/* to the fill's encoding */
	FmgrInfo   *output;			/* PX_FILL_TEXT: output function;
								 * PX_FILL_ARRAY: send function; else NULL */
	Oid			element;		/* PX_FILL_ARRAY: type of the elements */

	/*
	 * PX_FILL_NUMERIC tries to scale the values, PX_FILL_PADDED expects values
	 * of the same length.  If that fails in a batch, the following batches do
	 * not try.  Their number doubles with each failure in a row, up to
	 * PX_FILL_SKIP_MAX.
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
	px_fill_source *source;		/* of column; undefined if that is NULL */
	px_column  *column;			/* that the attribute fills, or NULL */
} px_fill_attribute;

typedef struct px_fill
{
	uint16		ncolumns;
	uint32		rows;			/* in the current batch */
	size_t		raw_nbytes;		/* of its values, about; see px_fill_nbytes */
	px_column  *columns;		/* [ncolumns] */
	px_schema_column *schema;	/* [ncolumns] */

	px_fill_source *sources;	/* [ncolumns] */
	int			last_attribute; /* the last attribute that is sent, from 1 */
	TupleDesc	tuple_desc;		/* that attributes describes; NULL at first */
	bool		can_deform;		/* can append_tuple read such tuples? */
	px_fill_attribute *attributes;	/* [last_attribute]; NULL at first */
	size_t		row_nbytes;		/* fixed-width part of a row */
	size_t		keep_nbytes;	/* larger buffers are not kept */
	uint32		rows_max;		/* of a batch */
	bool		patches;		/* does the receiver know PX_ENC_PATCHED? */
	bool		toasted;		/* leave values compressed as TOAST has them;
								 * set by the caller for each batch */
	int			encoding;		/* that text is converted to */
	MemoryContext context;		/* of this struct and the buffers */
	MemoryContext row_context;	/* reset after each row that used it */
	bool		row_context_used;
} px_fill;

#endif							/* PX_TUPLE_FILL_STATE_H */
