/*-------------------------------------------------------------------------
 *
 * types_question.c
 *		What is asked of a remote about the types of columns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"

#include "exec/ask_types.h"
#include "plan/collation.h"
#include "plan/types_question.h"

void
px_types_question_begin(px_types_question *question)
{
	initStringInfo(&question->tests);
	initStringInfo(&question->from);
	question->nqueries = 0;
}

/* Another condition, all of which must be true. */
static void
add_test(px_types_question *question, const char *test)
{
	appendStringInfo(&question->tests, "%s%s",
					 question->tests.len > 0 ? " AND " : "", test);
}

void
px_types_question_add(px_types_question *question, const char *sql,
					  const List *columns, const List *ordered)
{
	int			query = ++question->nqueries;
	ListCell   *lc;

	appendStringInfo(&question->from, " LEFT JOIN (%s) r%d(", sql, query);
	foreach(lc, columns)
	{
		Node	   *column = lfirst(lc);
		int			i = foreach_current_index(lc) + 1;
		int32		typmod;
		Oid			type;

		appendStringInfo(&question->from, "%sc%d", i > 1 ? ", " : "", i);
		if (column == NULL)
			continue;
		typmod = exprTypmod(column);
		type = getBaseTypeAndTypmod(exprType(column), &typmod);
		add_test(question, px_ask_types_test(psprintf("r%d.c%d", query, i),
											 type, typmod,
											 IsA(column, Var) &&
											 px_is_column_of((Var *) column,
															 ordered) ?
											 exprCollation(column) :
											 InvalidOid));
	}
	appendStringInfoString(&question->from, ") ON false");
}

void
px_types_question_add_other(px_types_question *question, const List *types)
{
	if (types != NIL)
		add_test(question, psprintf("(%s) IS NOT NULL",
									strVal(list_nth(types,
													PX_ASK_TYPES_SQL))));
}

List *
px_types_question_end(const px_types_question *question, int nparams)
{
	if (question->tests.len == 0)
		return NIL;
	return list_make2(makeString(px_ask_types_sql(question->tests.data,
												  question->from.data)),
					  makeInteger(nparams));
}
