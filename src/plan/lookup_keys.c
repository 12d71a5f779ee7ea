/*-------------------------------------------------------------------------
 *
 * lookup_keys.c
 *		The keys of a scan that an ExchangeLookup has made.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "plan/join_key.h"
#include "plan/lookup_keys.h"

/* The first member of the list; postgres_fdw has none, or a Boolean there. */
#define KEYS_MARK	"keys"

List *
px_lookup_keys_mark(List *clauses)
{
	return list_make2(makeString(KEYS_MARK), clauses);
}

bool
px_lookup_keys_marked(const List *fdw_private)
{
	return fdw_private != NIL && IsA(linitial(fdw_private), String) &&
		strcmp(strVal(linitial(fdw_private)), KEYS_MARK) == 0;
}

/* The number of the column among those that the remote returns. */
static int
position_of(const ForeignScan *foreign, const Var *column)
{
	ListCell   *lc;

	foreach(lc, (List *) lsecond(foreign->fdw_private))
	{
		if (lfirst_int(lc) == column->varattno)
			return foreach_current_index(lc) + 1;
	}
	elog(ERROR, "remote query lacks a key");
}

List *
px_lookup_keys_items(const List *fdw_private, const ForeignScan *foreign)
{
	List	   *items = NIL;
	ListCell   *lc;

	if (!px_lookup_keys_marked(fdw_private))
		return NIL;
	foreach(lc, (List *) lsecond(fdw_private))
	{
		const ScalarArrayOpExpr *clause = (ScalarArrayOpExpr *)
			lfirst_node(RestrictInfo, lc)->clause;
		const Var  *column = px_join_column(linitial(clause->args));
		Param	   *param = lsecond_node(Param, clause->args);

		/* See px_scan_key_item. */
		items = lappend(items, list_make4(
							copyObject(unconstify(Var *, column)),
							makeInteger(position_of(foreign, column)),
							copyObject(param), copyObject(param)));
	}
	return items;
}
