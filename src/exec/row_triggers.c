/*-------------------------------------------------------------------------
 *
 * row_triggers.c
 *		Partitioned tables of which some partition has triggers of users.
 *
 * A partitioned table may have thousands of partitions, and the database
 * thousands of triggers of PostgreSQL's own, for foreign keys.  Row triggers
 * of users are few: so these are collected, with the tables above theirs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/partition.h"
#include "catalog/pg_trigger.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "exec/row_triggers.h"

/* Tables above the partitions that have such triggers; CacheMemoryContext. */
static List *tables_above = NIL;
static bool is_current = false;

static void
forget(Datum arg, Oid relid)
{
	is_current = false;
}

/* The tables above partitions with such triggers. */
static List *
read_triggers(void)
{
	Relation	catalog = table_open(TriggerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	List	   *result = NIL;
	Oid			previous = InvalidOid;
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT(tuple);

		if (trigger->tgisinternal || !TRIGGER_FOR_ROW(trigger->tgtype) ||
			trigger->tgrelid == previous)
			continue;
		previous = trigger->tgrelid;
		if (get_rel_relispartition(previous))
			result = list_concat_unique_oid(result,
											get_partition_ancestors(previous));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return result;
}

bool
px_has_row_triggers_below(Oid relid)
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
		registered = true;
	}
	if (!is_current)
	{
		List	   *found;
		MemoryContext oldcontext;

		/* A change that comes while the catalog is read counts for later. */
		is_current = true;
		found = read_triggers();
		oldcontext = MemoryContextSwitchTo(CacheMemoryContext);
		list_free(tables_above);
		tables_above = list_copy(found);
		MemoryContextSwitchTo(oldcontext);
		list_free(found);
	}
	return list_member_oid(tables_above, relid);
}
