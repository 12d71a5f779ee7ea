/*-------------------------------------------------------------------------
 *
 * known_stats.h
 *		What servers have told about their tables, kept for the session.
 *
 * An entry is valid for a table and a user, because the remote user decides
 * what may be seen.  It is never freed.  It becomes invalid when the table,
 * any server or any user mapping is changed, and after some minutes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_KNOWN_STATS_H
#define PX_PLAN_KNOWN_STATS_H

#include "access/htup.h"
#include "datatype/timestamp.h"

#include "plan/ask_statistics.h"

typedef struct px_known_table
{
	struct px_known_table *next;	/* of the same table for another user */
	Oid			relid;
	Oid			userid;
	TimestampTz until;			/* when to ask again; 0: at once */
	bool		invalidated;	/* since it was last asked about */

	/* The answer. */
	bool		answered;		/* and the table is large enough to use it */
	double		tuples;			/* see px_asked_table */
	double		nbytes;
	double		nbytes_unknown;
	uint64		generation;		/* another one for each answer */
	int			ncolumns;		/* attributes here */
	HeapTuple  *columns;		/* rows of pg_statistic, NULL if not known */
	MemoryContext context;		/* of columns, or NULL */

	/* Another question: see plain_tables.h. */
	TimestampTz plain_until;	/* when to ask again; 0: at once */
	bool		plain;			/* the answer */
} px_known_table;

/* The entry of a table for a user; made if need be. */
extern px_known_table *px_known_table_get(Oid relid, Oid userid);

/* An entry of the table, for whichever user, that is answered; or NULL. */
extern px_known_table *px_known_table_any(Oid relid);

/* Was it asked about of late?  The answer may have been none. */
extern bool px_known_is_fresh(const px_known_table *table);

/* Was it of late asked whether it is plain? */
extern bool px_known_plain_is_fresh(const px_known_table *table);

/* It is about to be asked about: forget the last answer. */
extern void px_known_table_renew(px_known_table *table);

/*
 * Keep the answer, if there is one.  The table must be locked.  Values that
 * can't be read are left out.
 */
extern void px_known_table_fill(px_known_table *table,
								const px_asked_table *answer);

/*
 * The statistics of a column: a row of pg_statistic, or NULL.  Valid until the
 * table is asked about again.
 */
extern HeapTuple px_known_column(Oid relid, Oid userid, AttrNumber attnum);

#endif							/* PX_PLAN_KNOWN_STATS_H */
