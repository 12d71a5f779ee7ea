/*-------------------------------------------------------------------------
 *
 * write_query.c
 *		The statements that postgres_fdw prepares for writing rows.
 *
 * A statement for one row becomes one for many: its parameters become columns
 * of a function in FROM.  This is done between analysis and rewriting.  So
 * coercions are those of the statement with parameters; and views, rules, row
 * security, defaults and generated columns are what the rewriter makes of it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_collation_d.h"
#include "catalog/pg_type_d.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "tcop/tcopprot.h"
#include "utils/lsyscache.h"

#include "admit/write_query.h"
#include "compat.h"

pg_noreturn static void
refuse(const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("statement cannot take its rows from an exchange"),
			 errdetail_internal("%s", detail)));
}

/* Does FROM have the table that is changed, or for INSERT nothing at all? */
static bool
is_plain_from(const Query *query)
{
	const RangeTblRef *target;

	if (query->jointree == NULL)
		return false;
	if (query->commandType == CMD_INSERT)
		return query->jointree->fromlist == NIL &&
			query->jointree->quals == NULL;
	if (list_length(query->jointree->fromlist) != 1)
		return false;
	target = linitial(query->jointree->fromlist);
	return IsA(target, RangeTblRef) &&
		target->rtindex == query->resultRelation;
}

static void
check_form(const Query *query)
{
	if (query->commandType != CMD_INSERT &&
		query->commandType != CMD_UPDATE && query->commandType != CMD_DELETE)
		refuse("Expected INSERT, UPDATE or DELETE.");
	if (query->returningList != NIL)
		refuse("RETURNING is not supported.");
	if (query->onConflict &&
		(query->onConflict->action != ONCONFLICT_NOTHING ||
		 query->onConflict->arbiterElems != NIL ||
		 OidIsValid(query->onConflict->constraint)))
		refuse("Expected ON CONFLICT DO NOTHING, or no such clause.");
	if (list_length(query->rtable) != 1 || !is_plain_from(query) ||
		query->cteList != NIL || query->hasSubLinks)
		refuse("Expected a statement for one row, without subqueries.");
}

Query *
px_write_query_analyze(const char *sql, Oid **types, int *ntypes)
{
	List	   *parsed = pg_parse_query(sql);
	Query	   *query;

	if (list_length(parsed) != 1)
		refuse("Expected one statement.");
	*types = NULL;
	*ntypes = 0;
	query = parse_analyze_varparams(linitial_node(RawStmt, parsed), sql,
									types, ntypes, NULL);
	check_form(query);
	if (*ntypes == 0)
		refuse("Expected parameters.");
	for (int i = 0; i < *ntypes; i++)
	{
		if (!OidIsValid((*types)[i]) || (*types)[i] == UNKNOWNOID)
			ereport(ERROR,
					(errcode(ERRCODE_INDETERMINATE_DATATYPE),
					 errmsg("could not determine data type of parameter $%d",
							i + 1)));
	}
	return query;
}

static Node *
replace_params(Node *node, void *context)
{
	const Param *param = (const Param *) node;
	const int  *varno = context;

	if (node == NULL)
		return NULL;
	if (IsA(node, Param) && param->paramkind == PARAM_EXTERN)
	{
		Var		   *var = makeVar(*varno, (AttrNumber) param->paramid,
								  param->paramtype, param->paramtypmod,
								  param->paramcollid, 0);

		var->location = param->location;
		return (Node *) var;
	}
	return expression_tree_mutator(node, replace_params, context);
}

/* The function in FROM, as the parser would make it of
 * exchange.unpack($1) AS rows("1" type, "2" type, ...). */
static RangeTblEntry *
make_rows_rte(Oid unpack, const Oid *types, int ntypes)
{
	RangeTblEntry *rte = makeNode(RangeTblEntry);
	RangeTblFunction *function = makeNode(RangeTblFunction);
	Param	   *piece = makeNode(Param);
	FuncExpr   *call;

	piece->paramkind = PARAM_EXTERN;
	piece->paramid = 1;
	piece->paramtype = TEXTOID;
	piece->paramtypmod = -1;
	piece->paramcollid = DEFAULT_COLLATION_OID;
	piece->location = -1;
	call = makeFuncExpr(unpack, RECORDOID, list_make1(piece), InvalidOid,
						DEFAULT_COLLATION_OID, COERCE_EXPLICIT_CALL);
	call->funcretset = true;

	rte->rtekind = RTE_FUNCTION;
	rte->eref = makeAlias("rows", NIL);
	for (int i = 0; i < ntypes; i++)
	{
		char	   *name = psprintf("%d", i + 1);

		rte->eref->colnames = lappend(rte->eref->colnames, makeString(name));
		function->funccolnames = lappend(function->funccolnames,
										 makeString(pstrdup(name)));
		function->funccoltypes = lappend_oid(function->funccoltypes,
											 types[i]);
		function->funccoltypmods = lappend_int(function->funccoltypmods, -1);
		function->funccolcollations = lappend_oid(
			function->funccolcollations, get_typcollation(types[i]));
	}
	function->funcexpr = (Node *) call;
	function->funccolcount = ntypes;
	rte->functions = list_make1(function);
	rte->inFromCl = true;
	return rte;
}

Query *
px_write_query_from_rows(Query *query, Oid unpack, const Oid *types,
						 int ntypes)
{
	int			varno = list_length(query->rtable) + 1;
	RangeTblRef *ref = makeNode(RangeTblRef);

	query = query_tree_mutator(query, replace_params, &varno, 0);
	query->rtable = lappend(query->rtable,
							make_rows_rte(unpack, types, ntypes));
	ref->rtindex = varno;
	query->jointree->fromlist = lappend(query->jointree->fromlist, ref);
	return query;
}
