/*-------------------------------------------------------------------------
 *
 * user_code.c
 *		Functions of users, which may run queries of their own.
 *
 * What depends on functions and operators of users is in pg_depend, where
 * those of PostgreSQL itself are not.  That is much shorter than to look at the
 * constraints of all partitions, of which there may be thousands.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/partition.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

#include "admit/user_code.h"

/* ---------------------------------------------------------------------
 * Functions
 * --------------------------------------------------------------------- */

bool
px_aggregate_has_function(Oid aggregate, bool (*test) (Oid function))
{
	HeapTuple	tuple = SearchSysCache1(AGGFNOID, ObjectIdGetDatum(aggregate));
	Form_pg_aggregate form;
	bool		found = false;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for aggregate %u", aggregate);
	form = (Form_pg_aggregate) GETSTRUCT(tuple);
	{
		Oid			functions[] = {form->aggtransfn,     form->aggfinalfn,
						   form->aggcombinefn,   form->aggserialfn,
						   form->aggdeserialfn,  form->aggmtransfn,
						   form->aggminvtransfn, form->aggmfinalfn};

		for (size_t i = 0; !found && i < lengthof(functions); i++)
			found = OidIsValid(functions[i]) && test(functions[i]);
	}
	ReleaseSysCache(tuple);
	return found;
}

bool
px_is_user_code(Oid function)
{
	if (function < FirstNormalObjectId)
		return false;
	if (get_func_prokind(function) == PROKIND_AGGREGATE)
		return px_aggregate_has_function(function, px_is_user_code);
	return func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/* ---------------------------------------------------------------------
 * Partitions
 * --------------------------------------------------------------------- */

/* Tables above such partitions.  In CacheMemoryContext. */
static List *tables_above = NIL;
static uint64 changes = 1;		/* of tables, so far */
static uint64 read_at = 0;		/* when it was that many */

static void
forget(Datum arg, Oid relid)
{
	changes++;
}

/* The table of a constraint; InvalidOid if it is a domain's. */
static Oid
table_of_constraint(Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID,
										ObjectIdGetDatum(constraint));
	Oid			relid = InvalidOid;

	if (HeapTupleIsValid(tuple))
	{
		relid = ((Form_pg_constraint) GETSTRUCT(tuple))->conrelid;
		ReleaseSysCache(tuple);
	}
	return relid;
}

/* The table that evaluates an object for each of its rows; or InvalidOid. */
static Oid
table_of_object(Oid class, Oid object)
{
	ObjectAddress column;

	switch (class)
	{
		case ConstraintRelationId:
			return table_of_constraint(object);
		case RelationRelationId:
			return get_rel_relkind(object) == RELKIND_INDEX ?
				IndexGetRelation(object, true) : InvalidOid;
		case AttrDefaultRelationId:
			column = GetAttrDefaultColumnAddress(object);
			return OidIsValid(column.objectId) &&
				get_attgenerated(column.objectId,
								 (AttrNumber) column.objectSubId) ?
				column.objectId : InvalidOid;
		default:
			return InvalidOid;
	}
}

/* Add to found the tables above partitions that use objects of refclass. */
static List *
read_dependencies(List *found, Oid refclass)
{
	Relation	catalog = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(refclass));
	scan = systable_beginscan(catalog, DependReferenceIndexId, true, NULL, 1,
							  &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend depend = (Form_pg_depend) GETSTRUCT(tuple);
		Oid			relid = table_of_object(depend->classid, depend->objid);

		if (OidIsValid(relid) && get_rel_relispartition(relid) &&
			get_rel_relkind(relid) == RELKIND_RELATION)
			found = list_concat_unique_oid(found,
										   get_partition_ancestors(relid));
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);
	return found;
}

bool
px_has_user_checks_below(Oid relid)
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
		List	   *found = NIL;
		MemoryContext oldcontext;

		found = read_dependencies(found, ProcedureRelationId);
		found = read_dependencies(found, OperatorRelationId);
		oldcontext = MemoryContextSwitchTo(CacheMemoryContext);
		list_free(tables_above);
		tables_above = NIL;
		tables_above = list_copy(found);
		MemoryContextSwitchTo(oldcontext);

		/* A change that came meanwhile counts for later. */
		read_at = begun_at;
	}
	return list_member_oid(tables_above, relid);
}
