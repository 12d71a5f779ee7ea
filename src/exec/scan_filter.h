/*-------------------------------------------------------------------------
 *
 * scan_filter.h
 *		The runtime filters of an ExchangeReceive.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SCAN_FILTER_H
#define PX_EXEC_SCAN_FILTER_H

#include "commands/explain.h"

#include "compat.h"
#include "exec/receive_state.h"
#include "wire/hello.h"

/*
 * What the planner says of a filter, in this order: Integers, and at the end a
 * Float, and the column as an expression of the scan.
 */
typedef enum px_scan_filter_item
{
	PX_SCAN_FILTER_PARAM,		/* the filter's PARAM_EXEC */
	PX_SCAN_FILTER_POSITION,	/* of the column in the remote query, from 1 */
	PX_SCAN_FILTER_COLUMN_TYPE, /* the local type of the column */
	PX_SCAN_FILTER_SOURCE,		/* the table that the keys are of; 0: none */
	PX_SCAN_FILTER_OPERATOR,	/* column = key */
	PX_SCAN_FILTER_SAVED,		/* a Float: bytes that the filter is expected
								 * to save */
	PX_SCAN_FILTER_COLUMN		/* the Var */
} px_scan_filter_item;

/* Set up the filters, of a list of such lists; when the executor starts. */
extern void px_scan_filter_begin(px_receive_state *state, const List *filters);

/* Room for the query of a scan, beside what it has without filters. */
extern Size px_scan_filter_nbytes(const px_receive_state *state);

/* Are there keys that are not yet complete? */
extern bool px_scan_filter_is_awaited(const px_receive_state *state);

/*
 * The scan is about to begin: let read_sql be its remote query, with all
 * filters whose keys are complete.  If the scan is of a partition, these have
 * the keys that can lie in it.
 */
extern void px_scan_filter_take(px_receive_state *state);

/*
 * Can no row of the scan have a key?  Then it is not to be read.  To be asked
 * between px_scan_filter_take and the next rescan.
 */
extern bool px_scan_filter_excludes(const px_receive_state *state);

/*
 * The remote said hello: leave out the filters whose keys may have characters
 * that its database's encoding lacks.  To send these would be an error.
 */
extern void px_scan_filter_fit(px_receive_state *state, const px_hello *hello);

/* Has a filter changed since px_scan_filter_take? */
extern bool px_scan_filter_has_changed(const px_receive_state *state);

/*
 * All rows of the scan have come: count those that have not come because of
 * the filters.  That is an estimate, as in EXPLAIN.
 */
extern void px_scan_filter_count(const px_receive_state *state);

/* What EXPLAIN says of them. */
extern void px_scan_filter_explain(px_receive_state *state, List *ancestors,
								   ExplainState *es);

#endif							/* PX_EXEC_SCAN_FILTER_H */
