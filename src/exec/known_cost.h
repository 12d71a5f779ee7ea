/*-------------------------------------------------------------------------
 *
 * known_cost.h
 *		What servers have said that queries cost.
 *
 * To ask takes a server longer than many a query that has an index.  So this
 * session remembers for a minute what was said, for each form of a query: its
 * text without the constants.  The cost is taken to grow with the number of
 * rows that are expected to be read.
 *
 * It is only used to tell cheap queries from others.  If that is wrong, because
 * an index was dropped a moment ago, postgres_fdw's session reads what a stream
 * would read faster.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_KNOWN_COST_H
#define PX_EXEC_KNOWN_COST_H

/*
 * A server, as the user of this user mapping, has said that sql costs that,
 * where so many rows are expected to be read for it.
 */
extern void px_known_cost_note(Oid umid, const char *sql, double rows,
							   double cost);

/* What it is expected to cost with so many rows; -1 if that is not known. */
extern double px_known_cost(Oid umid, const char *sql, double rows);

#endif							/* PX_EXEC_KNOWN_COST_H */
