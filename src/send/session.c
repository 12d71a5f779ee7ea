/*-------------------------------------------------------------------------
 *
 * session.c
 *		Queries that only the session of postgres_fdw may run.
 *
 * A stream is another session than the one that postgres_fdw has, and its
 * transaction ends before the local one does.  Neither may show.  A volatile
 * function, called by a view for instance, may write what the local
 * transaction can still roll back, and must then see, or may depend on what
 * the other session did before.  Such queries are declined before they run,
 * and the receiver leaves them to postgres_fdw.
 *
 * Nor may the time of its transaction, which now() and its kin tell: in one
 * local transaction, and in all slices of a table, that is one time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_proc.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"

#include "send/send.h"
#include "send/session.h"

/* Not volatile, but different in each session, or in each transaction. */
static bool
is_about_session(Oid function)
{
	return function == F_NOW ||
		function == F_TRANSACTION_TIMESTAMP ||
		function == F_STATEMENT_TIMESTAMP ||
		function == F_PG_BACKEND_PID ||
		function == F_PG_CURRENT_XACT_ID_IF_ASSIGNED ||
		function == F_TXID_CURRENT_IF_ASSIGNED ||
		function == F_PG_MY_TEMP_SCHEMA ||
		function == F_PG_CURSOR ||
		function == F_PG_PREPARED_STATEMENT ||
		function == F_INET_CLIENT_PORT;
}

static bool
check_function(Oid function, void *context)
{
	if (func_volatile(function) != PROVOLATILE_VOLATILE && !is_about_session(function))
		return false;

	ereport(ERROR,
			(errcode(PX_ERRCODE_DECLINED),
			 errmsg("query calls function \"%s\"", get_func_name(function)),
			 errdetail("Its result or its effect may belong to the session that runs it.")));
	return true;				/* not reached */
}

/* The same, where it is not written as a function call. */
static void
check_sql_value(const SQLValueFunction *value)
{
	switch (value->op)
	{
		case SVFOP_CURRENT_DATE:
		case SVFOP_CURRENT_TIME:
		case SVFOP_CURRENT_TIME_N:
		case SVFOP_CURRENT_TIMESTAMP:
		case SVFOP_CURRENT_TIMESTAMP_N:
		case SVFOP_LOCALTIME:
		case SVFOP_LOCALTIME_N:
		case SVFOP_LOCALTIMESTAMP:
		case SVFOP_LOCALTIMESTAMP_N:
			ereport(ERROR,
					(errcode(PX_ERRCODE_DECLINED),
					 errmsg("query depends on the current time")));
			break;
		default:
			break;				/* names of users and the like: the same in both */
	}
}

static bool
check_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, SQLValueFunction))
		check_sql_value((const SQLValueFunction *) node);
	(void) check_functions_in_node(node, check_function, context);
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, check_walker, context, 0);
	return expression_tree_walker(node, check_walker, context);
}

void
px_session_check(Query *query)
{
	(void) check_walker((Node *) query, NULL);
}
