/*-------------------------------------------------------------------------
 *
 * snapshot.c
 *		One snapshot for all that a local transaction reads from a server.
 *
 * postgres_fdw's connection to a server is in a REPEATABLE READ transaction
 * for as long as the local one lasts.  A stream runs on another connection,
 * and must see the same: so that transaction exports its snapshot, and each
 * stream imports it.  To ask it without reaching into postgres_fdw's private
 * state, a ForeignScan node is made in memory whose remote SQL is the
 * question, and run in the query's own EState: the right user, connection,
 * transaction and savepoint are then postgres_fdw's care.
 *
 * If that transaction has written (it has a transaction id), then its own
 * later reads see rows that no other connection can, and the scan is left to
 * postgres_fdw.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/executor.h"
#include "nodes/makefuncs.h"
#include "utils/builtins.h"

#include "compat.h"
#include "conn/snapshot.h"

/* Columns of the question's answer. */
#define ANSWER_SNAPSHOT		0
#define ANSWER_XID			1
#define ANSWER_NCOLUMNS		2

#define ASK_SNAPSHOT_AND_XID \
	"SELECT pg_catalog.pg_export_snapshot(), pg_catalog.pg_current_xact_id_if_assigned()::text"
#define ASK_XID \
	"SELECT NULL::text, pg_catalog.pg_current_xact_id_if_assigned()::text"

/* The scan node that asks sql, whose ANSWER_NCOLUMNS columns are text. */
static ForeignScan *
make_question(const char *sql, Oid serverid, Index rtindex, Oid userid)
{
	ForeignScan *scan = makeNode(ForeignScan);
	List	   *retrieved = NIL;

	for (int i = 1; i <= ANSWER_NCOLUMNS; i++)
	{
		Expr	   *null = (Expr *) makeNullConst(TEXTOID, -1, InvalidOid);
		Var		   *var = makeVar(INDEX_VAR, i, TEXTOID, -1, InvalidOid, 0);

		scan->fdw_scan_tlist = lappend(scan->fdw_scan_tlist,
									   makeTargetEntry(null, i, NULL, false));
		scan->scan.plan.targetlist = lappend(scan->scan.plan.targetlist,
											 makeTargetEntry((Expr *) var, i, NULL, false));
		retrieved = lappend_int(retrieved, i);
	}

	scan->operation = CMD_SELECT;
	scan->fs_server = serverid;
	px_foreignscan_set_relids(scan, bms_make_singleton(rtindex));
	px_foreignscan_set_user(scan, userid);
	scan->fdw_private = list_make3(makeString(pstrdup(sql)), retrieved, makeInteger(1));
	return scan;
}

const char *
px_snapshot_get(px_peer *peer, EState *estate, Index rtindex, Oid userid)
{
	bool		have_snapshot = peer->snapshot[0] != '\0';
	const char *refusal = NULL;
	MemoryContext oldcontext;
	ForeignScan *question;
	PlanState  *node;
	TupleTableSlot *slot;

	/* pg_export_snapshot() in a savepoint would abort the remote transaction. */
	if (!have_snapshot && GetCurrentTransactionNestLevel() > 1)
		return "first use of the server is in a subtransaction";

	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	question = make_question(have_snapshot ? ASK_XID : ASK_SNAPSHOT_AND_XID,
							 peer->serverid, rtindex, userid);
	node = ExecInitNode((Plan *) question, estate, 0);
	slot = ExecProcNode(node);
	if (TupIsNull(slot))
		elog(ERROR, "server did not answer with its snapshot");
	slot_getallattrs(slot);

	if (!slot->tts_isnull[ANSWER_XID])
		refusal = "the transaction has written to the server";
	if (!have_snapshot)
	{
		char	   *id = TextDatumGetCString(slot->tts_values[ANSWER_SNAPSHOT]);

		if (strlen(id) >= PX_SNAPSHOT_ID_NBYTES)
			elog(ERROR, "snapshot id of server is too long: \"%s\"", id);
		strlcpy(peer->snapshot, id, PX_SNAPSHOT_ID_NBYTES);
	}

	ExecEndNode(node);
	MemoryContextSwitchTo(oldcontext);
	return refusal;
}
