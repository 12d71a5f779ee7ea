/*-------------------------------------------------------------------------
 *
 * sql.c
 *		The SQL functions exchange.hello, exchange.send and exchange.send_text.
 *
 * exchange.hello is how two ends get to know each other, and loads the
 * library into the backend that a stream will run in.  exchange.send and
 * exchange.send_text never do any work: they mark a query for the planner hook
 * (marker.c), and their code runs only where the hook did not take the query.
 * exchange.admit is admit.c's.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "nodes/supportnodes.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"

#include "conn/hello_self.h"
#include "conn/sqlstate.h"
#include "node/send.h"
#include "plan/marker.h"

/* For how long a query goes on for a coordinator that has vanished. */
#define CLIENT_CHECK_INTERVAL	"10s"

PG_FUNCTION_INFO_V1(px_sql_hello);
PG_FUNCTION_INFO_V1(px_sql_send);
PG_FUNCTION_INFO_V1(px_sql_send_text);
PG_FUNCTION_INFO_V1(px_sql_send_support);

/*
 * A coordinator that dies, or gives the connection up because the remote seems
 * to have died, cannot cancel what it has begun.  A query that sends nothing
 * would not notice.  Where the operating system cannot tell, this does
 * nothing.
 */
static void
watch_client(void)
{
	if (client_connection_check_interval == 0)
		(void) set_config_option(
			"client_connection_check_interval", CLIENT_CHECK_INTERVAL,
			PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SET, true, DEBUG1, false);
}

/* exchange.hello(hello text) returns text */
Datum
px_sql_hello(PG_FUNCTION_ARGS)
{
	char	   *line = text_to_cstring(PG_GETARG_TEXT_PP(0));
	px_hello	peer;
	px_hello	self;
	px_fault	fault = {0};
	char		detail[PX_FAULT_NBYTES_MAX];
	char		answer[PX_HELLO_NBYTES_MAX + 1];

	/*
	 * Nothing in the answer depends on the question yet.  But a caller whose
	 * hello cannot be read should learn so here, not from a stream that fails
	 * later, and a later version may want to answer differently.
	 */
	if (px_hello_read(line, &peer, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid exchange hello: %s",
						px_status_text(fault.status)),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));

	watch_client();
	px_hello_self(&self);
	if (px_hello_write(answer, sizeof(answer), &self) >= sizeof(answer))
		elog(ERROR, "exchange hello exceeds %d bytes", PX_HELLO_NBYTES_MAX);
	PG_RETURN_TEXT_P(cstring_to_text(answer));
}

static void
raise_not_planned(const char *function)
{
	ereport(ERROR,
			(errcode(PX_ERRCODE_NOT_PLANNED),
			 errmsg("exchange.%s was not recognized by the planner", function),
			 errdetail("The library was not loaded when the query was planned, or the query does not have the form SELECT exchange.%s('...', t.*) FROM (...) t.", function),
			 errhint("Run the query again if it has that form: the library is loaded now.")));
}

/* exchange.send(request text, "row" record) returns bytea */
Datum
px_sql_send(PG_FUNCTION_ARGS)
{
	raise_not_planned("send");
	PG_RETURN_NULL();			/* keep compilers quiet */
}

/* exchange.send_text(request text, "row" record) returns text */
Datum
px_sql_send_text(PG_FUNCTION_ARGS)
{
	raise_not_planned("send_text");
	PG_RETURN_NULL();			/* keep compilers quiet */
}

/*
 * The planner support function of exchange.send and exchange.send_text.
 *
 * The planner hook takes a marker before the planner gets to see it, so
 * whoever comes here was not taken.  Raising the error now, and not only when
 * the function runs, also covers a query that returns no row: without a row
 * the function would not run, and the receiver would be left with a result
 * that has neither rows nor an end frame.
 */
Datum
px_sql_send_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);

	if (IsA(request, SupportRequestSimplify))
	{
		char	   *name = get_func_name(
			((SupportRequestSimplify *) request)->fcall->funcid);

		raise_not_planned(name ? name : "send");
	}
	PG_RETURN_POINTER(NULL);
}
