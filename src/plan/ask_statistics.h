/*-------------------------------------------------------------------------
 *
 * ask_statistics.h
 *		What servers know about their tables.
 *
 * The servers are asked on stream connections, all at the same time, and each
 * once for all of its tables.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_ASK_STATISTICS_H
#define PX_PLAN_ASK_STATISTICS_H

#include "nodes/pg_list.h"

/* Statistics of a remote column, as text.  The pointers may be NULL. */
typedef struct px_remote_column
{
	const char *name;
	bool		inherited;		/* of the table and its children */
	const char *null_frac;
	const char *width;
	const char *n_distinct;
	const char *correlation;
	const char *mcv;			/* arrays */
	const char *mcv_freq;
	const char *bounds;
} px_remote_column;

typedef struct px_asked_table
{
	/* The question. */
	Oid			serverid;
	Oid			userid;
	const char *schema;			/* names on the server */
	const char *name;

	/* The answer of px_ask_if_plain. */
	bool		plain;
	const char *types;			/* of its columns: a JSON object, by name */

	/* That of px_ask_statistics. */
	bool		answered;		/* the server knows the table, and its size */
	double		tuples;			/* of members whose number of rows is known;
								 * not negative */
	double		nbytes;			/* of all members */
	double		nbytes_unknown; /* of members without a number of rows */
	bool		can_sample;		/* it has a place for each row, and TABLESAMPLE
								 * is possible */
	List	   *columns;		/* of px_remote_column */
} px_asked_table;

/* The question about a foreign table of postgres_fdw, as a user sees it. */
extern px_asked_table *px_asked_table_new(Oid relid, Oid userid);

/*
 * Ask for all tables of the list.  What is not answered within a few seconds
 * is not; that is no error.  The answer is in the current memory context.
 * Blocks, serving interrupts.
 */
extern void px_ask_statistics(List *tables);

/*
 * The same about whether reading a table can but return what is stored there:
 * it is a table, or a partitioned one of such tables, without row security and
 * without virtual columns, that the user may read, in a database of our
 * encoding.  A type is "oid typmod".
 */
extern void px_ask_if_plain(List *tables);

#endif							/* PX_PLAN_ASK_STATISTICS_H */
