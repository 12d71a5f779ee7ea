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

#include "admit/row_triggers.h"

/*
 * Tables above the partitions that have such triggers: any, and such that fire
 * before.  In CacheMemoryContext.
 */
static List *tables_above[2];
static uint64 changes = 1;		/* of tables, so far */
static uint64 read_at = 0;		/* when it was that many */

static void
forget(Datum arg, Oid relid)
{
	changes++;
}

/* Set found[only_before] to the tables above partitions with such triggers. */
static void
read_triggers(List **found)
{
	Relation	catalog = table_open(TriggerRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;

	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_trigger trigger = (Form_pg_trigger) GETSTRUCT(tuple);
		List	   *ancestors;

		if (trigger->tgisinternal || !TRIGGER_FOR_ROW(trigger->tgtype) ||
			!get_rel_relispartition(trigger->tgrelid))
			continue;
		ancestors = get_partition_ancestors(trigger->tgrelid);
		found[false] = list_concat_unique_oid(found[false], ancestors);
		if (TRIGGER_FOR_BEFORE(trigger->tgtype))
			found[true] = list_concat_unique_oid(found[true], ancestors);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
}

bool
px_has_row_triggers_below(Oid relid, bool only_before)
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(forget, (Datum) 0);
		registered = true;
	}
	if (read_at != changes)
	{
		uint64		begun_at = changes;
		List	   *found[2] = {NIL, NIL};

		read_triggers(found);
		for (int i = 0; i < 2; i++)
		{
			MemoryContext oldcontext =
				MemoryContextSwitchTo(CacheMemoryContext);

			list_free(tables_above[i]);
			tables_above[i] = NIL;
			tables_above[i] = list_copy(found[i]);
			MemoryContextSwitchTo(oldcontext);
		}

		/* A change that came meanwhile counts for later. */
		read_at = begun_at;
	}
	return list_member_oid(tables_above[only_before], relid);
}
