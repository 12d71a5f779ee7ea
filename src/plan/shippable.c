/*-------------------------------------------------------------------------
 *
 * shippable.c
 *		Expressions that mean the same on a remote server.
 *
 * postgres_fdw has such rules for columns of its own tables.  These are for
 * expressions that also have columns of rows that are sent there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_aggregate.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "compat.h"
#include "plan/collation.h"
#include "plan/shippable.h"
#include "tuple/policy.h"

/* What is_shippable is given. */
typedef struct shippable_context
{
	Relids		foreign;
	bool		in_aggregate;
} shippable_context;

static bool is_unshippable(Node *node, void *context);

/* Can values of the type be sent to a server as they are? */
static bool
is_shippable_type(Oid type)
{
	/* The bits of an interval mean the same from version 17 on, or before. */
	return type < FirstGenbkiObjectId && type != INTERVALOID &&
		type != TIDOID && type != XIDOID &&
		px_type_lookup(type, PG_VERSION_NUM).class != PX_CLASS_TEXT;
}

bool
px_are_columns_shippable(List *columns)
{
	ListCell   *lc;

	foreach(lc, columns)
	{
		if (!is_shippable_type(lfirst_node(Var, lc)->vartype))
			return false;
	}
	return columns != NIL && list_length(columns) <= MaxHeapAttributeNumber;
}

/* The type of a constant: an array of such a type will do. */
static bool
is_constant_type(Oid type)
{
	Oid			element = get_element_type(type);

	if (type == INTERVALOID || element == INTERVALOID)
		return true;			/* as text */
	return type < FirstGenbkiObjectId &&
		is_shippable_type(OidIsValid(element) ? element : type);
}

static bool
is_unshippable_function(Oid function, void *context)
{
	return function >= FirstGenbkiObjectId ||
		func_volatile(function) != PROVOLATILE_IMMUTABLE;
}

/* Do all columns of the arguments bring this collation to the server? */
static bool
has_foreign_collation(Node *args, Oid collation, Relids foreign)
{
	List	   *vars = pull_var_clause(args, PVC_RECURSE_AGGREGATES);
	bool		found = false;
	ListCell   *lc;

	foreach(lc, vars)
	{
		const Var  *var = lfirst_node(Var, lc);

		if (!OidIsValid(var->varcollid))
			continue;
		if (!bms_is_member(var->varno, foreign) || var->varcollid != collation)
			return false;
		found = true;
	}
	return found;
}

static bool
is_collation_shippable(Oid function, Oid collation, Node *args,
					   const shippable_context *shippable)
{
	return px_is_deterministic(collation) &&
		(!OidIsValid(collation) || px_is_collation_blind(function) ||
		 has_foreign_collation(args, collation, shippable->foreign));
}

static bool
is_var_shippable(const Var *var, const shippable_context *shippable)
{
	if (var->varlevelsup != 0 || var->varattno <= 0)
		return false;
	return bms_is_member(var->varno, shippable->foreign) ?
		var->vartype < FirstGenbkiObjectId &&
		!px_type_names_objects(var->vartype) :
		is_shippable_type(var->vartype);
}

/*
 * Is there a backslash in the constant's text?  Servers may differ in what
 * they take it for, and ruleutils.c writes it for our own
 * standard_conforming_strings.
 */
static bool
has_backslash(const Const *constant)
{
	Oid			output;
	bool		is_varlena;

	if (constant->constisnull)
		return false;
	getTypeOutputInfo(constant->consttype, &output, &is_varlena);
	return strchr(OidOutputFunctionCall(output, constant->constvalue),
				  '\\') != NULL;
}

/* A server whose array_nulls is off reads NULL in an array as a string. */
static bool
is_array_with_null(const Const *constant)
{
	return !constant->constisnull &&
		OidIsValid(get_element_type(constant->consttype)) &&
		array_contains_nulls(DatumGetArrayTypeP(constant->constvalue));
}

static bool
is_const_shippable(const Const *constant)
{
	return is_constant_type(constant->consttype) && !has_backslash(constant) &&
		!is_array_with_null(constant) &&
		(constant->constcollid == InvalidOid ||
		 constant->constcollid == DEFAULT_COLLATION_OID ||
		 constant->constcollid == C_COLLATION_OID);
}

static bool
is_aggregate_shippable(Aggref *aggref, const shippable_context *shippable)
{
	shippable_context inner = *shippable;

	if (shippable->in_aggregate || aggref->aggfnoid >= FirstGenbkiObjectId ||
		!is_collation_shippable(aggref->aggfnoid, aggref->inputcollid,
								(Node *) aggref->args, shippable))
		return false;
	inner.in_aggregate = true;
	return !is_unshippable((Node *) aggref->args, &inner) &&
		!is_unshippable((Node *) aggref->aggfilter, &inner);
}

/* Is this node, without those below it, one that may be sent? */
static bool
is_node_shippable(Node *node, const shippable_context *shippable)
{
	switch (nodeTag(node))
	{
		case T_List:
		case T_TargetEntry:
		case T_BoolExpr:
		case T_BooleanTest:
		case T_CaseWhen:
			return true;
		case T_Var:
			return is_var_shippable((Var *) node, shippable);
		case T_Const:
			return is_const_shippable((Const *) node);
		case T_NullTest:
			return !((NullTest *) node)->argisrow;
		case T_CaseExpr:
			return ((CaseExpr *) node)->arg == NULL &&
				((CaseExpr *) node)->casetype < FirstGenbkiObjectId;
		case T_CoalesceExpr:
			return ((CoalesceExpr *) node)->coalescetype < FirstGenbkiObjectId;
		case T_RelabelType:
			return ((RelabelType *) node)->resulttype < FirstGenbkiObjectId &&
				(!OidIsValid(((RelabelType *) node)->resultcollid) ||
				 ((RelabelType *) node)->resultcollid ==
				 exprCollation((Node *) ((RelabelType *) node)->arg));
		case T_OpExpr:
		case T_DistinctExpr:
			{
				OpExpr	   *op = (OpExpr *) node;

				set_opfuncid(op);
				return op->opno < FirstGenbkiObjectId && !op->opretset &&
					is_collation_shippable(op->opfuncid, op->inputcollid,
										   (Node *) op->args, shippable);
			}
		case T_ScalarArrayOpExpr:
			{
				ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) node;

				set_sa_opfuncid(op);
				return op->opno < FirstGenbkiObjectId &&
					is_collation_shippable(op->opfuncid, op->inputcollid,
										   (Node *) op->args, shippable);
			}
		case T_FuncExpr:
			{
				const FuncExpr *call = (const FuncExpr *) node;

				return !call->funcretset && !call->funcvariadic &&
					is_collation_shippable(call->funcid, call->inputcollid,
										   (Node *) call->args, shippable);
			}
		default:
			return false;
	}
}

static bool
is_unshippable(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Aggref))
		return !is_aggregate_shippable((Aggref *) node, context);
	if (!is_node_shippable(node, context) ||
		check_functions_in_node(node, is_unshippable_function, NULL))
		return true;
	return expression_tree_walker(node, is_unshippable, context);
}

bool
px_is_shippable(Node *expr, Relids foreign)
{
	shippable_context context = {.foreign = foreign};

	return expr != NULL && !is_unshippable(expr, &context);
}
