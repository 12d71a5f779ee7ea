/*-------------------------------------------------------------------------
 *
 * plain_tables.h
 *		Does reading a foreign table but return what is stored there?
 *
 * A foreign table may stand for a view, whose expressions may fail or write,
 * for some rows.  Who reads more rows of it than the query asks for would see
 * that.  And values of another type, or strings of another encoding, may have no
 * equivalent here.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_PLAIN_TABLES_H
#define PX_PLAN_PLAIN_TABLES_H

#include "nodes/plannodes.h"

/*
 * Are all foreign tables that the plan may read plain (px_ask_if_plain), and of
 * the types and collations that are declared here?  Types of users are taken for
 * the same, but for domains here, which may have constraints.  Their servers are
 * asked, all at once, unless that is known for the session since a minute at
 * most.  False if it can't be known.  A plain EXPLAIN, which asks nothing, takes
 * tables for plain that it knows nothing about.  Blocks, for some seconds at
 * most, serving interrupts.
 */
extern bool px_reads_plain_tables(const PlannedStmt *stmt);

#endif							/* PX_PLAN_PLAIN_TABLES_H */
