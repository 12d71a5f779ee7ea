/*-------------------------------------------------------------------------
 *
 * describe.c
 *		The SQL function exchange.describe: can a statement take many rows?
 *
 * A coordinator calls it in postgres_fdw's session before it sends rows as
 * frames, with the statement that postgres_fdw would prepare for a row.  The
 * answer is a description (wire/description.h).
 *
 * The statement is analyzed and rewritten as by PREPARE, so this session has
 * the same locks afterwards.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "nodes/parsenodes.h"
#include "parser/parsetree.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"

#include "admit/guarded.h"
#include "admit/write_effects.h"
#include "admit/write_query.h"
#include "conn/hello_self.h"
#include "tuple/decode.h"
#include "wire/description.h"

PG_FUNCTION_INFO_V1(px_sql_describe);

static const px_request_column as_text = {InvalidOid, -1};

typedef struct describe_state
{
	const char *sql;
	px_hello	peer;
	px_description description;
	px_request_column *columns;
} describe_state;

static void
set_columns(describe_state *state, const Oid *types, int ntypes)
{
	state->columns = palloc0(ntypes * sizeof(px_request_column));
	for (int i = 0; i < ntypes; i++)
	{
		px_request_column *column = &state->columns[i];

		*column = px_decoder_request(types[i], -1);
		if (px_type_lookup(column->type_oid,
						   state->peer.server_version).class == PX_CLASS_TEXT)
			*column = as_text;
	}
	state->description.ncolumns = (uint16_t) ntypes;
}

/*
 * Does the statement write to tables that other statements may know by other
 * names: those that a view shows, or partitions?
 */
static bool
has_other_names(const Query *query)
{
	const RangeTblEntry *rte = rt_fetch(query->resultRelation, query->rtable);

	return rte->relkind != RELKIND_RELATION;
}

/* Why the statement cannot take its rows from frames; NULL: it can. */
static char *
judge_statement(void *arg)
{
	describe_state *state = arg;
	Oid		   *types;
	int			ntypes;
	Query	   *query;
	List	   *rewritten;
	ListCell   *lc;
	px_write_effects effects;

	query = px_write_query_analyze(state->sql, &types, &ntypes);
	if (ntypes > PX_FRAME_COLUMNS_MAX)
		return psprintf("statement has %d parameters", ntypes);
	set_columns(state, types, ntypes);
	rewritten = QueryRewrite(query);
	foreach(lc, rewritten)
	{
		if (lfirst_node(Query, lc)->commandType == CMD_UTILITY)
			return "rule with a utility command there";
	}
	px_write_effects_judge(rewritten, types, ntypes, InvalidOid, &effects);
	state->description.effects = effects.visible;
	state->description.exact = !effects.leaves_out;
	state->description.keys = effects.keys || has_other_names(query);
	return NULL;
}

/* exchange.describe(hello text, statement text) returns text */
Datum
px_sql_describe(PG_FUNCTION_ARGS)
{
	describe_state state = {0};
	px_request_column no_column = as_text;
	char	   *against;
	char	   *answer = palloc(PX_DESCRIPTION_NBYTES_MAX + 1);

	px_hello_receive(PG_GETARG_TEXT_PP(0), &state.peer);
	px_hello_self(&state.description.hello);
	state.sql = text_to_cstring(PG_GETARG_TEXT_PP(1));
	against = px_judge_guarded(judge_statement, &state);
	if (against)
	{
		if (strcmp(against, PX_QUERY_FAILS) == 0)
			against = "statement fails there";
		px_set_against(state.description.against,
					   sizeof(state.description.against), against);
		state.description.effects = state.description.exact =
			state.description.keys = false;
		state.description.ncolumns = 1;
		state.columns = &no_column;
	}
	if (px_description_write(answer, PX_DESCRIPTION_NBYTES_MAX + 1,
							 &state.description, state.columns) >
		PX_DESCRIPTION_NBYTES_MAX)
		elog(ERROR, "exchange description exceeds %d bytes",
			 PX_DESCRIPTION_NBYTES_MAX);
	PG_RETURN_TEXT_P(cstring_to_text(answer));
}
