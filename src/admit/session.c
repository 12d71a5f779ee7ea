/*-------------------------------------------------------------------------
 *
 * session.c
 *		Queries that only postgres_fdw's session may run.
 *
 * A stream runs in another session than postgres_fdw's, and its transaction
 * ends before the local one does.  The query's result and effects must not
 * depend on that:
 *
 * - A volatile function, called by a view for instance, may write.  The local
 *   transaction must see that, and must be able to roll it back.  Or the
 *   function may depend on what postgres_fdw's session did before.
 * - A foreign table is read through a session on a third server.  Each of the
 *   two sessions here would have another one there, with another snapshot.
 * - now() and similar functions return the time at which their transaction
 *   began.  It must be the same in the whole local transaction, and in all
 *   slices of a table.
 *
 * Settings are the same in both sessions, because the fingerprints are
 * compared (fingerprint.c).  So a query may call functions that depend only on
 * their arguments and on settings.  For functions of PostgreSQL itself, we
 * have a list.  Other functions may be called only if they are immutable:
 * STABLE promises nothing about another session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/transam.h"
#include "catalog/pg_class.h"
#include "catalog/pg_proc.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "admit/session.h"
#include "admit/user_code.h"
#include "compat.h"
#include "compat_json.h"
#include "conn/sqlstate.h"

/*
 * Built-in functions that are STABLE only because they depend on settings, or
 * call output functions of any type.  Functions that look at the session, the
 * clock, files or statistics are not listed.  Nor are most input functions: a
 * date may be 'today', and a regclass may be a temporary table.
 */
static const Oid stable_functions[] = {
	F_ANYTEXTCAT, F_ARRAY_TO_JSON_ANYARRAY, F_ARRAY_TO_JSON_ANYARRAY_BOOL,
	F_ARRAY_TO_STRING_ANYARRAY_TEXT_TEXT, F_ARRAY_TO_STRING_ANYARRAY_TEXT,
	F_CONCAT, F_CONCAT_WS, F_CONVERT, F_CONVERT_FROM, F_CONVERT_TO,
	F_LENGTH_BYTEA_NAME, F_CURRENT_DATABASE, F_CURRENT_USER, F_SESSION_USER,
	F_GETPGUSERNAME, F_DATE_TIMESTAMPTZ, F_DATE_CMP_TIMESTAMPTZ,
	F_DATE_EQ_TIMESTAMPTZ, F_DATE_GE_TIMESTAMPTZ, F_DATE_GT_TIMESTAMPTZ,
	F_DATE_LE_TIMESTAMPTZ, F_DATE_LT_TIMESTAMPTZ, F_DATE_NE_TIMESTAMPTZ,
	F_DATE_PART_TEXT_TIMESTAMPTZ, F_DATE_TRUNC_TEXT_TIMESTAMPTZ,
	F_DATE_TRUNC_TEXT_TIMESTAMPTZ_TEXT, F_ENUM_FIRST, F_ENUM_LAST,
	F_ENUM_RANGE_ANYENUM_ANYENUM, F_ENUM_RANGE_ANYENUM,
	F_EXTRACT_TEXT_TIMESTAMPTZ, F_FORMAT_TEXT_ANY, F_FORMAT_TEXT,
	F_GENERATE_SERIES_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL,
	F_IN_RANGE_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL_BOOL_BOOL,
	F_INTERVAL_PL_TIMESTAMPTZ, F_JSON_AGG, F_JSON_BUILD_ARRAY_ANY,
	F_JSON_BUILD_ARRAY_, F_JSON_BUILD_OBJECT_ANY, F_JSON_BUILD_OBJECT_,
	F_JSON_OBJECT_AGG, F_JSONB_AGG, F_JSONB_BUILD_ARRAY_ANY,
	F_JSONB_BUILD_ARRAY_, F_JSONB_BUILD_OBJECT_ANY, F_JSONB_BUILD_OBJECT_,
	F_JSON_TO_TSVECTOR_JSON_JSONB, F_JSONB_TO_TSVECTOR_JSONB_JSONB,
	F_JSONB_PATH_EXISTS_TZ, F_JSONB_PATH_MATCH_TZ,
	F_JSONB_PATH_QUERY_ARRAY_TZ, F_JSONB_PATH_QUERY_FIRST_TZ,
	F_JSONB_PATH_QUERY_TZ,
	F_MAKE_TIMESTAMPTZ_INT4_INT4_INT4_INT4_INT4_FLOAT8,
	F_MAKE_TIMESTAMPTZ_INT4_INT4_INT4_INT4_INT4_FLOAT8_TEXT, F_MONEY_INT4,
	F_MONEY_INT8, F_MONEY_NUMERIC, F_NUMERIC_MONEY,
	F_OVERLAPS_TIMESTAMPTZ_INTERVAL_TIMESTAMPTZ_INTERVAL,
	F_OVERLAPS_TIMESTAMPTZ_TIMESTAMPTZ_TIMESTAMPTZ_INTERVAL,
	F_OVERLAPS_TIMESTAMPTZ_INTERVAL_TIMESTAMPTZ_TIMESTAMPTZ,
	F_QUOTE_LITERAL_ANYELEMENT, F_QUOTE_NULLABLE_ANYELEMENT,
	F_ROW_TO_JSON_RECORD, F_ROW_TO_JSON_RECORD_BOOL, F_TEXTANYCAT,
	F_TIME_TIMESTAMPTZ, F_TIMESTAMP_TIMESTAMPTZ, F_TIMESTAMP_CMP_TIMESTAMPTZ,
	F_TIMESTAMP_EQ_TIMESTAMPTZ, F_TIMESTAMP_GE_TIMESTAMPTZ,
	F_TIMESTAMP_GT_TIMESTAMPTZ, F_TIMESTAMP_LE_TIMESTAMPTZ,
	F_TIMESTAMP_LT_TIMESTAMPTZ, F_TIMESTAMP_NE_TIMESTAMPTZ,
	F_TIMESTAMPTZ_DATE, F_TIMESTAMPTZ_DATE_TIME, F_TIMESTAMPTZ_TIMESTAMP,
	F_TIMESTAMPTZ_CMP_DATE, F_TIMESTAMPTZ_CMP_TIMESTAMP,
	F_TIMESTAMPTZ_EQ_DATE, F_TIMESTAMPTZ_EQ_TIMESTAMP, F_TIMESTAMPTZ_GE_DATE,
	F_TIMESTAMPTZ_GE_TIMESTAMP, F_TIMESTAMPTZ_GT_DATE,
	F_TIMESTAMPTZ_GT_TIMESTAMP, F_TIMESTAMPTZ_LE_DATE,
	F_TIMESTAMPTZ_LE_TIMESTAMP, F_TIMESTAMPTZ_LT_DATE,
	F_TIMESTAMPTZ_LT_TIMESTAMP, F_TIMESTAMPTZ_MI_INTERVAL,
	F_TIMESTAMPTZ_NE_DATE, F_TIMESTAMPTZ_NE_TIMESTAMP,
	F_TIMESTAMPTZ_PL_INTERVAL, F_TIMETZ_TIMESTAMPTZ, F_TO_CHAR_INTERVAL_TEXT,
	F_TO_CHAR_TIMESTAMPTZ_TEXT, F_TO_CHAR_NUMERIC_TEXT, F_TO_CHAR_INT4_TEXT,
	F_TO_CHAR_INT8_TEXT, F_TO_CHAR_FLOAT4_TEXT, F_TO_CHAR_FLOAT8_TEXT,
	F_TO_CHAR_TIMESTAMP_TEXT, F_TO_DATE, F_TO_JSON, F_TO_JSONB, F_TO_NUMBER,
	F_TO_TIMESTAMP_TEXT_TEXT, F_TO_TSQUERY_TEXT, F_TO_TSVECTOR_TEXT,
	F_TO_TSVECTOR_JSONB, F_TO_TSVECTOR_JSON, F_PLAINTO_TSQUERY_TEXT,
	F_PHRASETO_TSQUERY_TEXT, F_WEBSEARCH_TO_TSQUERY_TEXT,
	F_TS_HEADLINE_TEXT_TSQUERY_TEXT, F_TS_HEADLINE_TEXT_TSQUERY,
	F_TS_HEADLINE_JSONB_TSQUERY_TEXT, F_TS_HEADLINE_JSONB_TSQUERY,
	F_TS_HEADLINE_JSON_TSQUERY_TEXT, F_TS_HEADLINE_JSON_TSQUERY,
	F_TS_MATCH_TQ, F_TS_MATCH_TT, F_VERSION, F_GETDATABASEENCODING,
	F_PG_ENCODING_TO_CHAR, F_PG_CHAR_TO_ENCODING, F_PG_COLUMN_SIZE,
	F_PG_TYPEOF, F_XML, F_XML_IS_WELL_FORMED, F_DATE_OUT, F_INTERVAL_OUT,
	F_INTERVAL_IN, F_TIMESTAMP_OUT, F_TIMESTAMPTZ_OUT, F_CASH_IN, F_CASH_OUT,
	F_ARRAY_OUT, F_RECORD_OUT, F_RANGE_OUT, F_MULTIRANGE_OUT, F_ENUM_IN,
	F_ENUM_OUT, F_XML_IN
};

/* exchange.unpack and exchange.inbox; NULL before they are set. */
static PGFunction unpack_function = NULL;
static PGFunction inbox_function = NULL;

typedef struct judgement
{
	char	   *reason;			/* the first that was found; NULL if none */
} judgement;

static bool judge_walker(Node *node, void *context);

/* Set the reason.  Returns true, which ends the walk through the query. */
static bool
set_reason(judgement *judgement, char *reason)
{
	judgement->reason = reason;
	return true;
}

/* ---------------------------------------------------------------------
 * Functions
 * --------------------------------------------------------------------- */

/* Does a stable function depend on settings only? */
static bool
depends_on_settings(Oid function)
{
	for (size_t i = 0; i < lengthof(stable_functions); i++)
	{
		if (stable_functions[i] == function)
			return true;
	}
	return false;
}

static bool
stays_in_session(Oid function)
{
	char		volatility = func_volatile(function);

	return volatility != PROVOLATILE_IMMUTABLE &&
		(volatility != PROVOLATILE_STABLE || !depends_on_settings(function));
}

/*
 * Does the call return rows that the client brings to the session that runs
 * the query: in a piece that is a parameter, or in an inbox?  They are what
 * the client has, in each session, since all values travel in the form of
 * their types.  Those of another piece may be text, which input functions
 * read.
 */
static bool
reads_rows_of_client(const FuncExpr *call)
{
	const Param *piece = call->args ? linitial(call->args) : NULL;
	FmgrInfo	finfo;

	if (!call->funcretset || piece == NULL)
		return false;
	fmgr_info(call->funcid, &finfo);
	return (finfo.fn_addr == unpack_function && IsA(piece, Param) &&
			piece->paramkind == PARAM_EXTERN) ||
		(finfo.fn_addr == inbox_function && IsA(piece, Const));
}

static bool
judge_function(Oid function, void *context)
{
	if (!px_any_function(function, stays_in_session))
		return false;
	return set_reason(context, psprintf("calls function \"%s\"",
										get_func_name(function)));
}

/* Judge a function that SQL does not write as a function call. */
static bool
judge_sql_value(const SQLValueFunction *value, judgement *judgement)
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
			return set_reason(judgement, "depends on the current time");
		case SVFOP_CURRENT_SCHEMA:
			return set_reason(judgement, "calls function \"current_schema\"");
		default:
			return false;		/* user and database are the same in both */
	}
}

/* Judge what makes a value of a type from text, in XMLTABLE for instance. */
static bool
judge_input(Oid type, void *context)
{
	Oid			function;
	Oid			ioparam;

	getTypeInputInfo(type, &function, &ioparam);
	return judge_function(function, context);
}

static bool
judge_table_function(const TableFunc *table, void *context)
{
	ListCell   *lc;

	foreach(lc, table->coltypes)
	{
		if (judge_input(lfirst_oid(lc), context))
			return true;
	}
	return false;
}

/* Judge the check constraints of a domain, which may call functions. */
static bool
judge_domain(Oid domain, judgement *judgement)
{
	ListCell   *lc;

	foreach(lc, px_domain_constraints(domain))
	{
		DomainConstraintState *constraint = lfirst(lc);

		if (constraint->check_expr &&
			judge_walker((Node *) constraint->check_expr, judgement))
			return true;
	}
	return false;
}

/* ---------------------------------------------------------------------
 * Relations
 * --------------------------------------------------------------------- */

static bool
judge_relation(Oid relation, judgement *judgement)
{
	if (get_rel_relkind(relation) == RELKIND_FOREIGN_TABLE)
		return set_reason(judgement, "reads a foreign table");
	if (get_rel_persistence(relation) == RELPERSISTENCE_TEMP)
		return set_reason(judgement, "reads a temporary table");

	/* Its last value belongs to no snapshot. */
	if (get_rel_relkind(relation) == RELKIND_SEQUENCE)
		return set_reason(judgement, "reads a sequence");
	return false;
}

/*
 * Judge a TABLESAMPLE.  All sessions must get the same sample: so it must be
 * REPEATABLE, and its method must not be that of an extension.
 */
static bool
judge_sample(const TableSampleClause *sample, judgement *judgement)
{
	if (sample->repeatable == NULL ||
		sample->tsmhandler >= FirstGenbkiObjectId)
		return set_reason(judgement, "takes a sample of a table");
	return false;
}

static bool
judge_entry(const RangeTblEntry *rte, judgement *judgement)
{
	if (OidIsValid(rte->relid) &&
		(rte->rtekind == RTE_RELATION || rte->rtekind == RTE_SUBQUERY) &&
		judge_relation(rte->relid, judgement))
		return true;
	return rte->tablesample && judge_sample(rte->tablesample, judgement);
}

/* ---------------------------------------------------------------------
 * Queries
 * --------------------------------------------------------------------- */

static bool
judge_query(Query *query, judgement *judgement)
{
	ListCell   *lc;

	if (query->commandType != CMD_SELECT || query->hasModifyingCTE)
		return set_reason(judgement, "changes data");
	if (query->rowMarks != NIL)
		return set_reason(judgement, "locks rows");
	foreach(lc, query->rtable)
	{
		if (judge_entry(lfirst_node(RangeTblEntry, lc), judgement))
			return true;
	}
	return query_tree_walker(query, judge_walker, judgement, 0);
}

static bool
judge_walker(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Query))
		return judge_query((Query *) node, context);
	if (IsA(node, SQLValueFunction) &&
		judge_sql_value((const SQLValueFunction *) node, context))
		return true;
	if (IsA(node, NextValueExpr))
		return set_reason(context, "calls function \"nextval\"");
	if (IsA(node, CoerceToDomain) &&
		judge_domain(((const CoerceToDomain *) node)->resulttype, context))
		return true;
	if (IsA(node, TableFunc) &&
		judge_table_function((const TableFunc *) node, context))
		return true;
	if (PX_IS_JSON_CONSTRUCTOR(node) && judge_function(F_TO_JSON, context))
		return true;
	if (PX_IS_JSON_QUERY(node) && judge_input(exprType(node), context))
		return true;
	if (IsA(node, FuncExpr) && reads_rows_of_client((FuncExpr *) node))
		return false;
	if (check_functions_in_node(node, judge_function, context))
		return true;
	return expression_tree_walker(node, judge_walker, context);
}

void
px_session_set_unpack(PGFunction function)
{
	unpack_function = function;
}

void
px_session_set_inbox(PGFunction function)
{
	inbox_function = function;
}

char *
px_session_judge(Query *query)
{
	judgement	judgement = {NULL};

	(void) judge_query(query, &judgement);
	return judgement.reason;
}

char *
px_session_judge_plan(const PlannedStmt *stmt)
{
	judgement	judgement = {NULL};
	ListCell   *lc;

	if (stmt->commandType != CMD_SELECT || stmt->hasModifyingCTE)
		(void) set_reason(&judgement, "changes data");
	else if (stmt->rowMarks != NIL)
		(void) set_reason(&judgement, "locks rows");

	/* Not relationOids: constants of type oid are among these, too. */
	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (judgement.reason != NULL)
			break;
		if (rte->rtekind == RTE_RELATION)
			(void) judge_relation(rte->relid, &judgement);
	}
	return judgement.reason;
}

/* ---------------------------------------------------------------------
 * When rows are evaluated
 * --------------------------------------------------------------------- */

static bool
is_volatile(Oid function)
{
	return func_volatile(function) == PROVOLATILE_VOLATILE;
}

static bool
is_volatile_function(Oid function, void *context)
{
	return px_any_function(function, is_volatile);
}

static bool has_time(Node *node, void *context);

static bool
domain_has_time(Oid domain, void *context)
{
	ListCell   *lc;

	foreach(lc, px_domain_constraints(domain))
	{
		const DomainConstraintState *constraint = lfirst(lc);

		if (has_time((Node *) constraint->check_expr, context))
			return true;
	}
	return false;
}

static bool
has_time(Node *node, void *context)
{
	ListCell   *lc;

	if (node == NULL)
		return false;
	if (IsA(node, Query))
	{
		Query	   *query = (Query *) node;

		if (query->commandType != CMD_SELECT || query->rowMarks != NIL)
			return true;
		foreach(lc, query->rtable)
		{
			const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

			if (rte->rtekind == RTE_RELATION &&
				get_rel_relkind(rte->relid) == RELKIND_SEQUENCE)
				return true;
		}
		return query_tree_walker(query, has_time, context, 0);
	}
	if (IsA(node, NextValueExpr) ||
		check_functions_in_node(node, is_volatile_function, context))
		return true;
	if (PX_IS_JSON_CONSTRUCTOR(node) &&
		is_volatile_function(F_TO_JSON, context))
		return true;
	if (IsA(node, CoerceToDomain) &&
		domain_has_time(((const CoerceToDomain *) node)->resulttype, context))
		return true;
	if (IsA(node, TableFunc))
	{
		foreach(lc, ((const TableFunc *) node)->coltypes)
		{
			if (domain_has_time(lfirst_oid(lc), context))
				return true;
		}
	}
	return expression_tree_walker(node, has_time, context);
}

bool
px_session_judge_time(Query *query)
{
	return has_time((Node *) query, NULL);
}

bool
px_session_judge_calls(Node *node)
{
	return has_time(node, NULL);
}

void
px_session_decline(const char *reason)
{
	if (reason)
		ereport(ERROR,
				(errcode(PX_ERRCODE_DECLINED),
				 errmsg("query %s", reason),
				 errdetail("Its result or its effect may belong to the session that runs it.")));
}
