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
 * That the transaction has not written since is asked by each stream itself,
 * at no cost: see stream.c.
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

/* The question, and the columns of the answer, all text. */
#define QUESTION \
	"SELECT pg_catalog.pg_export_snapshot(), pg_catalog.pg_backend_pid()::text"
#define ANSWER_SNAPSHOT		0
#define ANSWER_PID			1
#define ANSWER_NCOLUMNS		2

static ForeignScan *
make_question(Oid serverid, Index rtindex, Oid userid)
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
	scan->fdw_private = list_make3(makeString(pstrdup(QUESTION)), retrieved, makeInteger(1));
	return scan;
}

/*
 * Set up the question.  NULL if postgres_fdw refuses its connection, which it
 * had given to the child of the exchange, because a subtransaction has broken
 * it: running that child then tells best what is wrong.  Nothing was done yet,
 * and the transaction will not live on, so this error may be caught.
 */
static PlanState *
begin_question(px_peer *peer, EState *estate, Index rtindex, Oid userid)
{
	MemoryContext oldcontext = CurrentMemoryContext;
	PlanState  *volatile node = NULL;

	PG_TRY();
	{
		node = ExecInitNode((Plan *) make_question(peer->serverid, rtindex, userid), estate, 0);
	}
	PG_CATCH();
	{
		if (geterrcode() != ERRCODE_CONNECTION_EXCEPTION)
			PG_RE_THROW();
		MemoryContextSwitchTo(oldcontext);
		FlushErrorState();
	}
	PG_END_TRY();
	return node;
}

/* A column of the answer, which is another server's word. */
static char *
read_answer(const px_peer *peer, TupleTableSlot *slot, int column, const char *what)
{
	char	   *answer = NULL;

	if (!TupIsNull(slot))
	{
		slot_getallattrs(slot);
		if (!slot->tts_isnull[column])
			answer = TextDatumGetCString(slot->tts_values[column]);
	}
	if (answer == NULL || answer[0] == '\0' || strlen(answer) >= PX_SNAPSHOT_ID_NBYTES)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						GetForeignServer(peer->serverid)->servername),
				 errdetail("Expected %s of 1 to %d bytes, got %s.", what, PX_SNAPSHOT_ID_NBYTES - 1,
						   answer == NULL ? "null" : psprintf("%zu bytes", strlen(answer)))));
	return answer;
}

const char *
px_snapshot_get(px_peer *peer, EState *estate, Index rtindex, Oid userid,
				PlanState **question)
{
	MemoryContext oldcontext;
	PlanState  *node;
	TupleTableSlot *slot;
	char	   *id;

	if (peer->snapshot[0] != '\0')
		return NULL;

	/* pg_export_snapshot() in a savepoint would abort the remote transaction. */
	if (GetCurrentTransactionNestLevel() > 1)
		return "first use of the server is in a subtransaction";

	/* The executor keeps slots until the query ends, so they must live as long. */
	oldcontext = MemoryContextSwitchTo(estate->es_query_cxt);
	node = begin_question(peer, estate, rtindex, userid);
	if (node == NULL)
	{
		MemoryContextSwitchTo(oldcontext);
		return "connection of postgres_fdw is broken";
	}
	*question = node;
	slot = ExecProcNode(node);
	id = read_answer(peer, slot, ANSWER_SNAPSHOT, "a snapshot id");
	peer->owner_pid = pg_strtoint32(read_answer(peer, slot, ANSWER_PID, "a process id"));
	strlcpy(peer->snapshot, id, PX_SNAPSHOT_ID_NBYTES);
	MemoryContextSwitchTo(oldcontext);
	return NULL;
}
