/*-------------------------------------------------------------------------
 *
 * slice.h
 *		Restricting a query to a range of the blocks of one table.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SLICE_H
#define PX_PLAN_SLICE_H

#include "nodes/parsenodes.h"

#include "wire/frame.h"
#include "wire/request.h"

/*
 * Restrict a query, which is analyzed and rewritten but not planned, to slice
 * request->slice of request->slices, and describe the slice in *slice.
 *
 * If the query cannot be split into slices, slice 0 is the whole query: it is
 * not changed, and slice->reason says why.  Errors:
 * ERRCODE_INVALID_PARAMETER_VALUE if another slice of such a query is
 * requested.
 */
extern void px_slice_query(Query *query, const px_request *request,
						   px_slice *slice);

#endif							/* PX_PLAN_SLICE_H */
