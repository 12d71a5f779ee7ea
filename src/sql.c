/*-------------------------------------------------------------------------
 *
 * sql.c
 *		The SQL functions exchange.hello, exchange.send and exchange.send_text.
 *
 * exchange.hello exchanges the hellos of the two ends.  It also loads the
 * library into the backend in which a stream will run.  exchange.send and
 * exchange.send_text only mark a query for the planner hook (plan/marker.c).
 * Their code runs only if the hook did not take the query, and raises an
 * error.  exchange.admit is in admit/admit.c.
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
#include "plan/marker.h"

/* How long a query may go on after its coordinator has disappeared. */
#define CLIENT_CHECK_INTERVAL	"10s"

PG_FUNCTION_INFO_V1(px_sql_hello);
PG_FUNCTION_INFO_V1(px_sql_send);
PG_FUNCTION_INFO_V1(px_sql_send_text);
PG_FUNCTION_INFO_V1(px_sql_send_support);

/*
 * Let this session check from time to time whether its client still exists.
 *
 * A coordinator that crashes, or that closes the connection because the remote
 * seems to be dead, cannot cancel its query.  A query that computes for long
 * without sending anything would not notice.  If the operating system does not
 * support the check, the setting is refused, and nothing happens.
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
	px_hello	peer;
	px_hello	self;
	char		answer[PX_HELLO_NBYTES_MAX + 1];

	/*
	 * The answer does not depend on the caller's hello yet, but a later
	 * version may need it.  So a caller whose hello cannot be read gets an
	 * error here, and not later in a stream.
	 */
	px_hello_receive(PG_GETARG_TEXT_PP(0), &peer);

	watch_client();
	px_hello_self_answer(&self, true);
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
 * The planner calls it only for a query that the planner hook did not take.
 * We raise the error already now.  The function itself would not run if the
 * query returned no row, and the receiver would get an empty result without an
 * end frame.
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
