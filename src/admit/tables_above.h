/*-------------------------------------------------------------------------
 *
 * tables_above.h
 *		Partitioned tables of which some partition has a certain property.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_TABLES_ABOVE_H
#define PX_ADMIT_TABLES_ABOVE_H

#include "nodes/pg_list.h"

/* Tables with each of up to so many properties. */
#define PX_TABLES_ABOVE_MAX		2

/* Static, and all zeros at first. */
typedef struct px_tables_above
{
	List	   *tables[PX_TABLES_ABOVE_MAX];	/* in CacheMemoryContext */
	uint64		read_at;		/* changes of tables that were known then */
} px_tables_above;

/*
 * Is the table among those with property number which?  They are found by
 * read, which sets lists of tables in the current memory context, NIL before:
 * once for a session, and again after changes of tables.
 */
extern bool px_is_table_above(px_tables_above *known, int which, Oid relid,
							  void (*read) (List **found));

#endif							/* PX_ADMIT_TABLES_ABOVE_H */
