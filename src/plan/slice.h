/*-------------------------------------------------------------------------
 *
 * slice.h
 *		Restricting a query to a range of a table's blocks.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SLICE_H
#define PX_PLAN_SLICE_H

#include "nodes/parsenodes.h"

#include "wire/frame.h"
#include "wire/request.h"

/*
 * Make of query, analysed and rewritten but not planned, slice request->slice
 * of request->slices, and say in *slice what that is.  A query that cannot be
 * proven to fall apart into slices is left as it is, if it is slice 0 that was
 * asked for: all rows are then in that one.
 *
 * Errors: ERRCODE_INVALID_PARAMETER_VALUE if another slice of such a query is
 * asked for.
 */
extern void px_slice_query(Query *query, const px_request *request,
						   px_slice *slice);

#endif							/* PX_PLAN_SLICE_H */
