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
#include "catalog/pg_cast.h"
#include "catalog/pg_class.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "admit/tables_above.h"
#include "admit/user_code.h"
#include "compat.h"
#include "compat_json.h"

/* ---------------------------------------------------------------------
 * Functions
 * --------------------------------------------------------------------- */

/*
 * Functions of PostgreSQL that call casts of users: those of any type to json;
 * or, in their own SQL, those of any type to text.
 */
static const Oid casting_functions[] = {
	F_ANYTEXTCAT, F_ARRAY_TO_JSON_ANYARRAY, F_ARRAY_TO_JSON_ANYARRAY_BOOL,
	F_JSON_AGG, F_JSON_BUILD_ARRAY_ANY, F_JSON_BUILD_OBJECT_ANY,
	F_JSON_OBJECT_AGG, F_JSONB_AGG, F_JSONB_BUILD_ARRAY_ANY,
	F_JSONB_BUILD_OBJECT_ANY, F_JSONB_OBJECT_AGG, F_QUOTE_LITERAL_ANYELEMENT,
	F_QUOTE_NULLABLE_ANYELEMENT, F_ROW_TO_JSON_RECORD,
	F_ROW_TO_JSON_RECORD_BOOL, F_TEXTANYCAT, F_TO_JSON, F_TO_JSONB,
	PX_JSON_AGGREGATES
};

static bool
calls_casts(Oid function)
{
	for (size_t i = 0; i < lengthof(casting_functions); i++)
	{
		if (casting_functions[i] == function)
			return true;
	}
	return false;
}

/* Changes of casts, so far, and those that were known when they were read. */
static uint64 cast_changes = 1;
static uint64 casts_read_at = 0;

/* Functions of users' casts to json or text.  In CacheMemoryContext. */
static List *cast_functions = NIL;

static void
note_cast_change(Datum arg, int cacheid, uint32 hashvalue)
{
	cast_changes++;
}

/* That takes as long as to plan a simple query. */
static void
read_cast_functions(void)
{
	uint64		begun_at = cast_changes;
	Relation	catalog = table_open(CastRelationId, AccessShareLock);
	SysScanDesc scan = systable_beginscan(catalog, InvalidOid, false, NULL, 0,
										  NULL);
	HeapTuple	tuple;

	list_free(cast_functions);
	cast_functions = NIL;
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_cast form = (Form_pg_cast) GETSTRUCT(tuple);
		MemoryContext oldcontext;

		if (form->castfunc < FirstNormalObjectId ||
			(form->casttarget != JSONOID && form->casttarget != TEXTOID))
			continue;
		oldcontext = MemoryContextSwitchTo(CacheMemoryContext);
		cast_functions = lappend_oid(cast_functions, form->castfunc);
		MemoryContextSwitchTo(oldcontext);
	}
	systable_endscan(scan);
	table_close(catalog, AccessShareLock);

	/* A change that came meanwhile counts for later. */
	casts_read_at = begun_at;
}

/* Does the function of a user's cast to json or text pass the test? */
static bool
any_cast(bool (*test) (Oid function))
{
	static bool registered = false;
	ListCell   *lc;

	if (!registered)
	{
		CacheRegisterSyscacheCallback(CASTSOURCETARGET, note_cast_change,
									  (Datum) 0);
		registered = true;
	}
	if (casts_read_at != cast_changes)
		read_cast_functions();
	foreach(lc, cast_functions)
	{
		if (test(lfirst_oid(lc)))
			return true;
	}
	return false;
}

/* Does one of the functions that an aggregate is made of pass the test? */
static bool
any_function_of_aggregate(Oid aggregate, bool (*test) (Oid function))
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
px_any_function(Oid function, bool (*test) (Oid function))
{
	return test(function) ||
		(function >= FirstNormalObjectId &&
		 get_func_prokind(function) == PROKIND_AGGREGATE &&
		 any_function_of_aggregate(function, test)) ||
		(calls_casts(function) && any_cast(test));
}

static bool
is_user_code(Oid function)
{
	return function >= FirstNormalObjectId &&
		func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

bool
px_is_user_code(Oid function)
{
	return px_any_function(function, is_user_code);
}

List *
px_domain_constraints(Oid domain)
{
	DomainConstraintRef *ref;

	if (!px_domain_has_constraints(domain))
		return NIL;

	/* The memory context keeps a pointer to it until it is reset. */
	ref = palloc0(sizeof(DomainConstraintRef));
	InitDomainConstraintRef(domain, ref, CurrentMemoryContext, false);
	return ref->constraints;
}

/* ---------------------------------------------------------------------
 * Partitions
 * --------------------------------------------------------------------- */

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

/* Set found[0] to the tables above partitions with functions of users. */
static void
read_checks(List **found)
{
	found[0] = read_dependencies(found[0], ProcedureRelationId);
	found[0] = read_dependencies(found[0], OperatorRelationId);
}

bool
px_has_user_checks_below(Oid relid)
{
	static px_tables_above known;

	return px_is_table_above(&known, 0, relid, read_checks);
}
