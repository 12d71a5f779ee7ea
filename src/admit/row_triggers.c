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
#include "utils/lsyscache.h"

#include "admit/row_triggers.h"
#include "admit/tables_above.h"

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
	static px_tables_above known;

	return px_is_table_above(&known, only_before, relid, read_triggers);
}
