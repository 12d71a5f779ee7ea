/*-------------------------------------------------------------------------
 *
 * plain_tables.c
 *		Does reading a foreign table but return what is stored there?
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_class_d.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "parser/parsetree.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "compat_query.h"
#include "conn/foreign_server.h"
#include "exec/ask_types.h"
#include "guc.h"
#include "plan/ask_statistics.h"
#include "plan/guarded.h"
#include "plan/known_stats.h"
#include "plan/plain_explain.h"
#include "plan/plain_tables.h"

/* How long an answer is used, also none. */
#define ANSWER_LIFE_MS		(60 * 1000)

/* A foreign table that a plan may read. */
typedef struct read_table
{
	Oid			relid;
	Oid			userid;			/* as whom it is read */
	px_known_table *known;
} read_table;

/* The user as whom a table of the plan is read; parents as in tables_of. */
static Oid
user_of(const PlannedStmt *stmt, const Index *parents, Index rtindex)
{
	Oid			userid = InvalidOid;

	while (rtindex != 0 && !px_planned_user(stmt, rtindex, &userid))
		rtindex = parents[rtindex];
	return OidIsValid(userid) ? userid : GetUserId();
}

static List *
tables_of(const PlannedStmt *stmt)
{
	Index	   *parents = palloc0((list_length(stmt->rtable) + 1) *
								  sizeof(Index));
	List	   *tables = NIL;
	Index		rtindex = 0;
	ListCell   *lc;

	foreach(lc, stmt->appendRelations)
	{
		const AppendRelInfo *appinfo = lfirst_node(AppendRelInfo, lc);

		parents[appinfo->child_relid] = appinfo->parent_relid;
	}
	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		read_table *table;

		rtindex++;
		if (rte->rtekind != RTE_RELATION ||
			rte->relkind != RELKIND_FOREIGN_TABLE)
			continue;
		table = palloc(sizeof(read_table));
		table->relid = rte->relid;
		table->userid = user_of(stmt, parents, rtindex);
		table->known = px_known_table_get(table->relid, table->userid);
		tables = lappend(tables, table);
	}
	return tables;
}

/* ---------------------------------------------------------------------
 * Types
 * --------------------------------------------------------------------- */

/* The type of a remote column, or NULL if there is none. */
static const char *
find_type(Jsonb *types, const char *name)
{
	JsonbValue	key = {.type = jbvString};
	const JsonbValue *value;

	key.val.string.val = unconstify(char *, name);
	key.val.string.len = (int) strlen(name);
	value = findJsonbValueFromContainer(&types->root, JB_FOBJECT, &key);
	return value && value->type == jbvString ?
		pnstrdup(value->val.string.val, value->val.string.len) : NULL;
}

/* Is a collation of that name the column's? */
static bool
has_collation(const FormData_pg_attribute *attr, const char *remote)
{
	const char *name = OidIsValid(attr->attcollation)
		? px_collation_name(attr->attcollation)
		: "";

	return name != NULL && strcmp(name, remote) == 0;
}

/*
 * Can each value of that remote type be read as one of the column's type, and
 * do comparisons mean the same?
 */
static bool
has_type(const FormData_pg_attribute *attr, const char *remote)
{
	Oid			type;
	int			typmod;
	int			nchars = 0;

	if (remote == NULL ||
		sscanf(remote, "%u %d %n", &type, &typmod, &nchars) != 2 ||
		!has_collation(attr, remote + nchars))
		return false;
	if (attr->atttypid >= FirstNormalObjectId)
		return type >= FirstNormalObjectId &&
			getBaseType(attr->atttypid) == attr->atttypid;
	return type == attr->atttypid &&
		(attr->atttypmod == -1 || typmod == attr->atttypmod);
}

/* A peer's text. */
typedef struct types_input
{
	const char *text;
	Jsonb	   *types;
} types_input;

/* Called by px_guarded. */
static void
read_types(void *arg)
{
	types_input *input = arg;

	input->types = DatumGetJsonbP(
		DirectFunctionCall1(jsonb_in, CStringGetDatum(input->text)));
}

static bool
has_declared_types(Oid relid, const char *text)
{
	types_input input = {.text = text};
	Relation	relation;
	TupleDesc	desc;
	bool		same = true;

	if (text == NULL || !px_guarded(read_types, &input) ||
		!JB_ROOT_IS_OBJECT(input.types))
		return false;

	/* The planner has locked it. */
	relation = table_open(relid, NoLock);
	desc = RelationGetDescr(relation);
	for (int i = 0; i < desc->natts && same; i++)
	{
		Form_pg_attribute attr = TupleDescAttr(desc, i);

		if (!attr->attisdropped)
			same = has_type(attr, find_type(input.types,
											px_remote_column_name(relid,
																  attr->attnum)));
	}
	table_close(relation, NoLock);
	return same;
}

/* ---------------------------------------------------------------------
 * Asking
 * --------------------------------------------------------------------- */

/* Ask about the tables that nothing is known about. */
static void
ask(const List *tables)
{
	List	   *known = NIL;	/* of px_known_table */
	List	   *asked = NIL;	/* of px_asked_table */
	ListCell   *lc;
	ListCell   *question;

	foreach(lc, tables)
	{
		const read_table *table = lfirst(lc);

		if (px_known_plain_is_fresh(table->known))
			continue;

		/* Until it answers, it is not plain. */
		table->known->plain = false;
		table->known->plain_until = TimestampTzPlusMilliseconds(
			GetCurrentTimestamp(), ANSWER_LIFE_MS);
		known = lappend(known, table->known);
		asked = lappend(asked,
						px_asked_table_new(table->relid, table->userid));
	}
	if (asked != NIL)
		px_ask_if_plain(asked);
	forboth(lc, known, question, asked)
	{
		px_known_table *table = lfirst(lc);
		const px_asked_table *answer = lfirst(question);

		table->plain = answer->plain &&
			has_declared_types(table->relid, answer->types);
	}
}

static bool
are_plain(const List *tables)
{
	bool		assumed = px_in_plain_explain() && !px_in_explain_execute();
	ListCell   *lc;

	foreach(lc, tables)
	{
		const read_table *table = lfirst(lc);

		if (!px_server_is_postgres_fdw(GetForeignServer(
				GetForeignTable(table->relid)->serverid)))
			return false;
	}
	if (!px_in_plain_explain() && !IsParallelWorker() &&
		px_transport_setting != PX_TRANSPORT_SESSION)
		ask(tables);
	foreach(lc, tables)
	{
		const px_known_table *known = ((const read_table *) lfirst(lc))->known;

		if (!(px_known_plain_is_fresh(known) ? known->plain : assumed))
			return false;
	}
	return true;
}

bool
px_reads_plain_tables(const PlannedStmt *stmt)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_exchange plain tables",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	bool		result = are_plain(tables_of(stmt));

	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
	return result;
}
