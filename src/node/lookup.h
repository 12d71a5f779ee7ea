/*-------------------------------------------------------------------------
 *
 * lookup.h
 *		ExchangeLookup: a join whose inner side is asked for its keys only.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_LOOKUP_H
#define PX_NODE_LOOKUP_H

#include "nodes/extensible.h"

#define PX_LOOKUP_NAME	"ExchangeLookup"

/*
 * What stands in CustomScan.custom_private, in this order: Integers first,
 * then lists of OIDs with one member for each key.
 */
typedef enum px_lookup_private
{
	PX_LOOKUP_PRIVATE_JOINTYPE, /* JOIN_INNER, _LEFT, _SEMI or _ANTI */
	PX_LOOKUP_PRIVATE_PARAM,	/* PARAM_EXEC of the first key's array; the
								 * others follow.  -1 during planning */
	PX_LOOKUP_PRIVATE_FEW_ROWS, /* 1 if a LIMIT may end the join early */
	PX_LOOKUP_PRIVATE_HARMLESS, /* 1 if outer rows that nobody wants may be
								 * read, because that raises no error */
	PX_LOOKUP_PRIVATE_OUTER_HASH,	/* functions for the outer keys */
	PX_LOOKUP_PRIVATE_INNER_HASH,	/* functions for the inner keys */
	PX_LOOKUP_PRIVATE_COLLATION,	/* of both */
	PX_LOOKUP_PRIVATE_TYPE		/* of the outer keys */
} px_lookup_private;

/* What stands in CustomScan.custom_exprs: lists of expressions. */
typedef enum px_lookup_exprs
{
	PX_LOOKUP_EXPRS_OUTER,		/* keys of an outer row */
	PX_LOOKUP_EXPRS_INNER,		/* keys of an inner row, in the same order */
	PX_LOOKUP_EXPRS_COND,		/* their equalities */
	PX_LOOKUP_EXPRS_FILTER		/* what else must be true for a match */
} px_lookup_exprs;

/*
 * For a CustomScan with two custom plans, outer and inner.  Its scan tuple has
 * all columns of outer, then those of inner.  The qual is evaluated after the
 * join, with nulls for an outer row that has no match.
 *
 * Inner is run with the arrays of keys as parameters.  It must return all rows
 * whose keys are in these, and may return others.
 */
extern const CustomScanMethods px_lookup_scan_methods;

/* Register the node; called by _PG_init. */
extern void px_lookup_init(void);

#endif							/* PX_NODE_LOOKUP_H */
