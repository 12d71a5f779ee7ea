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
 * What depends on the start of the transaction (now() and its kin) is not
 * declined: it differs by no more than it would have, had the transaction
 * begun a moment later.
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

/* Not volatile, but different in each session. */
static bool
is_about_session(Oid function)
{
	return function == F_PG_BACKEND_PID ||
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

static bool
check_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
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
