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
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/jsonb.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "compat_query.h"
#include "conn/foreign_server.h"
#include "guc.h"
#include "plan/ask_statistics.h"
#include "plan/guarded.h"
#include "plan/known_stats.h"
#include "plan/plain_explain.h"
#include "plan/plain_tables.h"

/* How long an answer is used, also none. */
#define ANSWER_LIFE_MS		(60 * 1000)

/* What is known about a foreign table. */
typedef struct known_table
{
	Oid			relid;			/* hash key */
	bool		plain;
	bool		invalidated;	/* since it was last asked about */
	TimestampTz until;			/* when to ask again; 0: at once */
} known_table;

static HTAB *tables = NULL;		/* NULL until the first question */

/* ---------------------------------------------------------------------
 * What is known
 * --------------------------------------------------------------------- */

static void
invalidate(known_table *table)
{
	table->invalidated = true;
	table->until = 0;
}

static void
invalidate_all(void)
{
	HASH_SEQ_STATUS scan;
	known_table *table;

	hash_seq_init(&scan, tables);
	while ((table = hash_seq_search(&scan)) != NULL)
		invalidate(table);
}

static void
relcache_callback(Datum arg, Oid relid)
{
	known_table *table;

	if (!OidIsValid(relid))
		invalidate_all();
	else if ((table = hash_search(tables, &relid, HASH_FIND, NULL)) != NULL)
		invalidate(table);
}

static void
syscache_callback(Datum arg, int cacheid, uint32 hashvalue)
{
	invalidate_all();
}

static void
create_tables(void)
{
	HASHCTL		ctl;

	ctl.keysize = sizeof(Oid);
	ctl.entrysize = sizeof(known_table);
	tables = hash_create("pg_exchange plain tables", 32, &ctl,
						 HASH_ELEM | HASH_BLOBS);
	CacheRegisterRelcacheCallback(relcache_callback, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, syscache_callback,
								  (Datum) 0);
	CacheRegisterSyscacheCallback(USERMAPPINGOID, syscache_callback,
								  (Datum) 0);
}

/* The entry of a table; made if need be. */
static known_table *
get_table(Oid relid)
{
	known_table *table;
	bool		found;

	if (tables == NULL)
		create_tables();
	table = hash_search(tables, &relid, HASH_ENTER, &found);
	if (!found)
	{
		table->plain = false;
		table->invalidated = false;
		table->until = 0;
	}
	return table;
}

static bool
is_fresh(const known_table *table)
{
	return table->until != 0 && table->until > GetCurrentTimestamp();
}

/* It is about to be asked about: until it answers, it is not plain. */
static void
renew(known_table *table)
{
	table->plain = false;
	table->invalidated = false;
	table->until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
											   ANSWER_LIFE_MS);
}

/* ---------------------------------------------------------------------
 * Asking
 * --------------------------------------------------------------------- */

/* The user as whom a table of the plan is read. */
static Oid
user_of(const PlannedStmt *stmt, Index rtindex)
{
	Oid			userid;
	ListCell   *lc;

	if (px_planned_user(stmt, rtindex, &userid))
		return OidIsValid(userid) ? userid : GetUserId();
	foreach(lc, stmt->appendRelations)
	{
		const AppendRelInfo *appinfo = lfirst_node(AppendRelInfo, lc);

		if (appinfo->child_relid == rtindex)
			return user_of(stmt, appinfo->parent_relid);
	}
	return GetUserId();
}

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

/* Can each value of that remote type be read as one of the column's type? */
static bool
has_type(const FormData_pg_attribute *attr, const char *remote)
{
	Oid			type;
	int			typmod;

	if (remote == NULL || sscanf(remote, "%u %d", &type, &typmod) != 2)
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
											px_remote_column_name(relid, attr)));
	}
	table_close(relation, NoLock);
	return same;
}

static bool
is_foreign_table(const RangeTblEntry *rte)
{
	return rte->rtekind == RTE_RELATION &&
		rte->relkind == RELKIND_FOREIGN_TABLE;
}

/* Ask about the tables that nothing is known about. */
static void
ask_about_plan(const PlannedStmt *stmt)
{
	List	   *known = NIL;	/* of known_table */
	List	   *asked = NIL;	/* of px_asked_table */
	Index		rtindex = 0;
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext,
												  "pg_exchange plain tables",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	ListCell   *lc;
	ListCell   *question;

	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		known_table *table;

		rtindex++;
		if (!is_foreign_table(rte))
			continue;
		table = get_table(rte->relid);
		if (is_fresh(table))
			continue;
		renew(table);
		known = lappend(known, table);
		asked = lappend(asked, px_asked_table_new(rte->relid,
												  user_of(stmt, rtindex)));
	}
	if (asked != NIL)
		px_ask_if_plain(asked);
	forboth(lc, known, question, asked)
	{
		known_table *table = lfirst(lc);
		const px_asked_table *answer = lfirst(question);

		table->plain = answer->plain &&
			has_declared_types(table->relid, answer->types) &&
			!table->invalidated;
	}
	MemoryContextSwitchTo(oldcontext);
	MemoryContextDelete(context);
}

bool
px_reads_plain_tables(const PlannedStmt *stmt)
{
	bool		assumed = px_in_plain_explain() && !px_in_explain_execute();
	ListCell   *lc;

	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);

		if (is_foreign_table(rte) &&
			!px_server_is_postgres_fdw(GetForeignServer(
				GetForeignTable(rte->relid)->serverid)))
			return false;
	}
	if (!px_in_plain_explain() && !IsParallelWorker() &&
		px_transport_setting != PX_TRANSPORT_SESSION)
		ask_about_plan(stmt);
	foreach(lc, stmt->rtable)
	{
		const RangeTblEntry *rte = lfirst_node(RangeTblEntry, lc);
		const known_table *table;

		if (!is_foreign_table(rte))
			continue;
		table = get_table(rte->relid);
		if (!(is_fresh(table) ? table->plain : assumed))
			return false;
	}
	return true;
}
