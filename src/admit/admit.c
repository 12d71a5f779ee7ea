/*-------------------------------------------------------------------------
 *
 * admit.c
 *		The SQL function exchange.admit: may a query run in another session?
 *
 * A coordinator calls it in postgres_fdw's session, before it lets another
 * session run the query.  The answer is an admission (wire/admission.h).
 *
 * The query is parsed, rewritten and planned here as by DECLARE CURSOR, for
 * two reasons.  This session must hold the locks that it would hold if it ran
 * the query.  And only then is it known what the query reads, inside views and
 * in partitions.
 *
 * This happens in a subtransaction (admit/guarded.h).  If the query fails, its
 * error must be raised when postgres_fdw's cursor runs it, because there the
 * coordinator expects it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>
#include <sys/statvfs.h>

#include "access/xact.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "rewrite/rewriteHandler.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#include "admit/guarded.h"
#include "admit/session.h"
#include "admit/tried_locks.h"
#include "compat.h"
#include "compat_executor.h"
#include "conn/hello_self.h"
#include "wire/admission.h"

PG_FUNCTION_INFO_V1(px_sql_admit);

/* See is_late: 1 / LATE_PART of statement_timeout. */
#define LATE_PART	10

/* Where ExportSnapshot has its files, and room enough for any. */
#define SNAPSHOT_DIR			"pg_snapshots"
#define SNAPSHOT_NBYTES_MAX		(1024 * 1024)

/*
 * Does the query read a table that has children?  If it also has parameters,
 * their values may decide which children are locked.
 */
static bool
has_children(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		ListCell   *lc;

		foreach(lc, ((Query *) node)->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_RELATION && rte->inh &&
				has_subclass(rte->relid))
				return true;
		}
		return query_tree_walker((Query *) node, has_children, context, 0);
	}
	return expression_tree_walker(node, has_children, context);
}

/* What is judged, and what was found out about it. */
typedef struct judged_text
{
	const char *text;			/* a query, a question about types, or both */
	bool		asks_types;
	bool		asks_query;		/* false: the query need not be judged */
	Cost		cost;			/* -1 if it was not planned */
	bool		same_types;
} judged_text;

/*
 * Parse and plan the query.  Returns why only this session may run it, or NULL.
 */
static char *
judge_query(judged_text *judged, List *parsed)
{
	const char *text = judged->text;
	List	   *rewritten;
	Query	   *query;
	PlannedStmt *stmt;
	Oid		   *types = NULL;
	int			ntypes = 0;
	char	   *reason;

	if (list_length(parsed) != 1)
		return "query is not one SELECT";
	query = parse_analyze_varparams(linitial_node(RawStmt, parsed), text,
									&types, &ntypes, NULL);
	if (query->commandType != CMD_SELECT)
		return "query is not one SELECT";
	rewritten = QueryRewrite(query);
	if (list_length(rewritten) != 1)
		return "query is not one SELECT";
	query = linitial_node(Query, rewritten);

	reason = px_session_judge(query);
	if (reason)
		return reason;
	if (ntypes > 0 && has_children((Node *) query, NULL))
		return "locks depend on parameters";

	stmt = px_plan_query(query, text,
						 CURSOR_OPT_FAST_PLAN | CURSOR_OPT_NO_SCROLL);
	judged->cost = stmt->planTree->total_cost;
	reason = px_session_judge_plan(stmt);
	if (reason == NULL)
		(void) px_check_permissions(stmt, true);
	return reason;
}

/* Run a question about types, a statement of the text. */
static bool
has_types(const char *text, const RawStmt *statement)
{
	char	   *sql = pstrdup(text + statement->stmt_location);
	bool		same;
	bool		isnull = true;

	if (statement->stmt_len > 0)
		sql[statement->stmt_len] = '\0';
	SPI_connect();
	same = SPI_execute(sql, true, 2) == SPI_OK_SELECT && SPI_processed == 1;
	if (same)
		(void) SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1,
							 &isnull);
	SPI_finish();
	return same && !isnull;
}

/* Returns what judge_query does. */
static char *
judge_text(void *arg)
{
	judged_text *judged = arg;
	List	   *parsed = pg_parse_query(judged->text);
	RawStmt    *types = NULL;
	char	   *reason = NULL;

	if (judged->asks_types && parsed != NIL)
	{
		types = llast_node(RawStmt, parsed);
		parsed = list_delete_last(parsed);
	}
	if (judged->asks_query && (types == NULL || parsed != NIL))
		reason = judge_query(judged, parsed);
	judged->same_types = types && has_types(judged->text, types);
	return reason;
}

/*
 * Can a snapshot be exported, which writes a file?  Where the disk is full,
 * this session can still read, and an error would end its transaction.
 */
static bool
has_room(void)
{
	struct statvfs fs;

	if (statvfs(SNAPSHOT_DIR, &fs) != 0)
		return true;			/* ExportSnapshot tells why */
	if (fs.f_flag & ST_RDONLY)
		return false;
	if (fs.f_files > 0 && fs.f_favail == 0)
		return false;
	return (uint64) fs.f_bavail * fs.f_frsize >= SNAPSHOT_NBYTES_MAX;
}

/*
 * May another transaction use this one's snapshot?  pg_export_snapshot has the
 * same restrictions.
 */
static bool
can_export(const px_hello *self)
{
	return self->can_export && GetCurrentTransactionNestLevel() == 1 &&
		IsolationUsesXactSnapshot() && !IsolationIsSerializable() &&
		has_room();
}

/*
 * Has this statement used so much of its time that another query should be
 * asked about in a statement of its own?
 */
static bool
is_late(void)
{
	return StatementTimeout > 0 &&
		TimestampDifferenceExceeds(GetCurrentStatementStartTimestamp(),
								   GetCurrentTimestamp(),
								   StatementTimeout / LATE_PART);
}

static bool
is_deferred(const char *against)
{
	return against && strcmp(against, PX_AGAINST_DEFERRED) == 0;
}

/*
 * Judge a text whose locks are not to be waited for.  If those of another one
 * were not to be had in this statement, they come first: whoever has them may
 * go on to lock what this one reads, and must not wait for us.
 */
static const char *
judge_trying(judged_text *judged, uint32 trial)
{
	static TimestampTz deferred_in = 0;
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	const char *against;

	if (deferred_in == statement || is_late())
		return PX_AGAINST_DEFERRED;
	against = px_judge_trying(judge_text, judged, trial);
	if (is_deferred(against))
		deferred_in = statement;
	return against;
}

/* The cost of a plan as it stands in an admission. */
static uint32
admitted_cost(Cost cost)
{
	return cost < 0 ? 0 : (uint32) Min(floor(cost) + 1, INT32_MAX);
}

/*
 * exchange.admit(hello text, query text, want_snapshot boolean) returns text
 */
Datum
px_sql_admit(PG_FUNCTION_ARGS)
{
	px_admission admission = {0};
	judged_text judged = {.cost = -1};
	px_hello	peer;
	char		answer[PX_ADMISSION_NBYTES_MAX + 1];
	const char *against = NULL;
	px_wish		wish;
	px_fault	fault = {0};
	bool		want_snapshot = !PG_ARGISNULL(2) && PG_GETARG_BOOL(2);
	bool		has_written =
		TransactionIdIsValid(GetTopTransactionIdIfAny());

	if (PG_ARGISNULL(0))
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("exchange hello must not be null")));
	px_hello_receive(PG_GETARG_TEXT_PP(0), &peer);
	px_hello_check(px_wish_read(text_to_cstring(PG_GETARG_TEXT_PP(0)), &wish,
								&fault), &fault);
	if (wish.locks == PX_LOCKS_RELEASE)
		px_tried_locks_release(wish.trial);

	px_hello_self_answer(&admission.hello, false);
	admission.pid = MyProcPid;
	admission.session = px_session_fingerprint();
	admission.idle_ms = (uint32) IdleInTransactionSessionTimeout;

	judged.asks_types = wish.types;
	judged.asks_query = !has_written || wish.locks != PX_LOCKS_AS_JUDGED;
	if (!PG_ARGISNULL(1) && (judged.asks_query || judged.asks_types))
	{
		judged.text = text_to_cstring(PG_GETARG_TEXT_PP(1));
		against = wish.locks == PX_LOCKS_TRY ?
			judge_trying(&judged, wish.trial) :
			px_judge_guarded(judge_text, &judged);
		admission.cost = admitted_cost(judged.cost);
		admission.same_types = judged.same_types;
	}

	/*
	 * No other session sees what this transaction has written, be it in the
	 * question.
	 */
	has_written = TransactionIdIsValid(GetTopTransactionIdIfAny());
	if (has_written && !is_deferred(against))
		against = "transaction has written";
	if (want_snapshot && !has_written && can_export(&admission.hello))
		strlcpy(admission.snapshot, ExportSnapshot(GetActiveSnapshot()),
				sizeof(admission.snapshot));
	if (against)
		px_set_against(admission.against, sizeof(admission.against), against);

	if (px_admission_write(answer, sizeof(answer), &admission) >=
		sizeof(answer))
		elog(ERROR, "exchange admission exceeds %d bytes",
			 PX_ADMISSION_NBYTES_MAX);
	PG_RETURN_TEXT_P(cstring_to_text(answer));
}
