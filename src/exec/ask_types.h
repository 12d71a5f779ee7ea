/*-------------------------------------------------------------------------
 * ask_types.h
 *		Has the remote the types that the foreign tables declare?
 *
 * A remote may join rows, or aggregate a join, only if its columns compare as
 * ours would (plan/may_match.h), which collations decide, too.  Where rows that
 * it leaves out cannot be found again here, it is asked before, in
 * postgres_fdw's session.  The answer stays true until the remote transaction
 * ends: the session holds locks on what the question names.
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_ASK_TYPES_H
#define PX_EXEC_ASK_TYPES_H

#include "exec/receive_state.h"

/* Why a remote query is not run: for EXPLAIN. */
#define PX_OTHER_TYPES	"columns have other types on the server"

/* What the planner says, in this order, if the remote must be asked. */
typedef enum px_ask_types_item
{
	PX_ASK_TYPES_SQL,			/* String: a query of one row, which is null
								 * unless all types are the same */
	PX_ASK_TYPES_NPARAMS		/* Integer: how many of the scan's parameters it
								 * has, the first ones; or the next */
} px_ask_types_item;

/* It has those of the ForeignScan in the local plan below the child. */
#define PX_ASK_TYPES_LOCAL_PARAMS	(-1)

/*
 * The name of a collation of pg_catalog, palloc'd; NULL for others.  The
 * default of each database is "default": postgres_fdw takes them for alike.
 */
extern char *px_collation_name(Oid collation);

/*
 * exchange.has_type(ROW(column, NULL::type), typmod), palloc'd: is that the
 * type of a column of the remote, and does it tell which values are equal as
 * the type does here?  collation is the one whose order the values must have,
 * or InvalidOid if no order matters.
 */
extern char *px_ask_types_test(const char *column, Oid type, int32 typmod,
							   Oid collation);

/* The query, for tests that are joined by AND, and a FROM clause. */
extern char *px_ask_types_sql(const char *tests, const char *from);

/* Set up the question, of a list of these items; when the executor starts. */
extern void px_ask_types_begin(px_receive_state *state, List *items);

/*
 * Is the scan one whose remote must be asked, and was not in this
 * subtransaction?  The end of another one may have released locks.
 */
extern bool px_ask_types_is_due(const px_receive_state *state);

/*
 * The question, if it is due, and may be part of another statement: it has no
 * parameters.  Else NULL.
 */
extern const char *px_ask_types_along(const px_receive_state *state);

/* It was answered. */
extern void px_ask_types_note(px_receive_state *state, bool same);

/*
 * Ask, without waiting for the answer.  The peer must have been admitted: it
 * has exchange.has_type.
 */
extern void px_ask_types_request(px_receive_state *state);

/* Wait for the answer: has it the types?  Errors are postgres_fdw's. */
extern bool px_ask_types_answer(px_receive_state *state);

/*
 * The answer to a question that was asked on the server, as
 * px_fdw_cursor_fetch returns it.  If streams of the server are open and the
 * answer does not come soon, they are read to their ends first.
 */
extern text *px_ask_types_fetch(px_fdw_cursor *question, Oid serverid);

#endif							/* PX_EXEC_ASK_TYPES_H */
