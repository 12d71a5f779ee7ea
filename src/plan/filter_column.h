/*-------------------------------------------------------------------------
 *
 * filter_column.h
 *		Where a column of a finished plan comes from.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_FILTER_COLUMN_H
#define PX_PLAN_FILTER_COLUMN_H

#include "nodes/plannodes.h"

/* A column of a table of the query.  rtindex is 0 if there is none. */
typedef struct px_table_column
{
	Index		rtindex;
	AttrNumber	attnum;
} px_table_column;

/*
 * The column that an expression of plan's child rows is, where its Vars have
 * OUTER_VAR and plan is the outer child.  With of_member, that of the first
 * member if it is of an append relation.
 */
extern px_table_column px_table_column_below(Plan *plan, const Node *expr,
											 bool of_member);

/* How many distinct values does it have?  0 if that is not known. */
extern double px_table_column_ndistinct(const PlannedStmt *stmt,
										px_table_column column);

/*
 * The position, from 1, of a column of an ExchangeReceive's rows in its remote
 * query: 0 if it is none, or computed.  Sets *column to the Var of its scan.
 */
extern int	px_receive_column_position(const CustomScan *receive,
									   const Node *expr, const Var **column);

/*
 * The expression of plan's column number resno, without relabelling; NULL if
 * that is not a column of a child or of a table.
 */
extern const Var *px_plan_column(const Plan *plan, AttrNumber resno);

#endif							/* PX_PLAN_FILTER_COLUMN_H */
