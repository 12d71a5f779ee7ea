/*-------------------------------------------------------------------------
 *
 * write_install.c
 *		Our Begin functions in place of postgres_fdw's.
 *
 * The executor writes to a foreign table by the functions in its FdwRoutine,
 * which postgres_fdw's handler makes and the relation cache keeps.  A
 * partition is opened when the first row is routed to it, so its routine can't
 * be replaced when the statement starts: not without opening, and locking, all
 * partitions.  So the handler's calls are intercepted, by the hook that
 * PostgreSQL has for functions.  That costs nothing but a look at each
 * function which is not built in, when it is first looked up by an expression.
 *
 * The relation cache may have routines from before the library was loaded.
 * Those of a statement's own targets are replaced when it starts.  Partitions
 * with such a routine are left to postgres_fdw: right, only slower.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "exec/write_install.h"

static BeginForeignModify_function our_begin_modify;
static BeginForeignInsert_function our_begin_insert;

/* postgres_fdw's handler, and what it returned last. */
static PGFunction own_handler = NULL;
static FdwRoutine own_routine;

static needs_fmgr_hook_type next_needs_fmgr_hook = NULL;
static fmgr_hook_type next_fmgr_hook = NULL;

const FdwRoutine *
px_write_own_routine(void)
{
	return own_routine.type == T_FdwRoutine ? &own_routine : NULL;
}

static void
install(FdwRoutine *routine)
{
	routine->BeginForeignModify = our_begin_modify;
	routine->BeginForeignInsert = our_begin_insert;
}

/* What is called in place of postgres_fdw's handler. */
static Datum
call_handler(PG_FUNCTION_ARGS)
{
	FdwRoutine *routine = (FdwRoutine *)
		DatumGetPointer(own_handler(fcinfo));

	if (routine && IsA(routine, FdwRoutine))
	{
		own_routine = *routine;
		install(routine);
	}
	PG_RETURN_POINTER(routine);
}

/* Is this postgres_fdw's handler? */
static bool
is_handler(Oid function)
{
	HeapTuple	tuple;
	Form_pg_proc form;
	bool		result;

	if (function < FirstNormalObjectId)
		return false;
	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_proc) GETSTRUCT(tuple);
	result = form->prorettype == FDW_HANDLEROID && form->pronargs == 0 &&
		strcmp(NameStr(form->proname), "postgres_fdw_handler") == 0;
	ReleaseSysCache(tuple);
	return result;
}

static bool
needs_hook(Oid function)
{
	return is_handler(function) ||
		(next_needs_fmgr_hook && next_needs_fmgr_hook(function));
}

static void
around_function(FmgrHookEventType event, FmgrInfo *flinfo, Datum *arg)
{
	/* Another library's wishes are for the functions that it asked for. */
	if (next_fmgr_hook &&
		(next_needs_fmgr_hook == NULL || next_needs_fmgr_hook(flinfo->fn_oid)))
		next_fmgr_hook(event, flinfo, arg);

	if (event == FHET_START && flinfo->fn_addr != call_handler &&
		is_handler(flinfo->fn_oid))
	{
		own_handler = flinfo->fn_addr;
		flinfo->fn_addr = call_handler;
	}
}

void
px_write_install(Relation relation)
{
	FdwRoutine *routine = relation->rd_fdwroutine;

	if (routine == NULL)
		return;					/* it is going to be made */
	if (px_write_own_routine() == NULL)
		(void) GetFdwRoutineByRelId(RelationGetRelid(relation));
	if (routine->BeginForeignModify == own_routine.BeginForeignModify)
		install(routine);
}

void
px_write_install_init(BeginForeignModify_function begin_modify,
					  BeginForeignInsert_function begin_insert)
{
	our_begin_modify = begin_modify;
	our_begin_insert = begin_insert;
	next_needs_fmgr_hook = needs_fmgr_hook;
	needs_fmgr_hook = needs_hook;
	next_fmgr_hook = fmgr_hook;
	fmgr_hook = around_function;
}
