/*-------------------------------------------------------------------------
 *
 * tables_above.c
 *		Partitioned tables of which some partition has a certain property.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/inval.h"
#include "utils/memutils.h"

#include "admit/tables_above.h"

static uint64 changes = 1;		/* of tables, so far */

static void
note_change(Datum arg, Oid relid)
{
	changes++;
}

bool
px_is_table_above(px_tables_above *known, int which, Oid relid,
				  void (*read) (List **found))
{
	static bool registered = false;

	if (!registered)
	{
		CacheRegisterRelcacheCallback(note_change, (Datum) 0);
		registered = true;
	}
	if (known->read_at != changes)
	{
		uint64		begun_at = changes;
		List	   *found[PX_TABLES_ABOVE_MAX] = {NIL};
		MemoryContext oldcontext;

		read(found);
		oldcontext = MemoryContextSwitchTo(CacheMemoryContext);
		for (int i = 0; i < PX_TABLES_ABOVE_MAX; i++)
		{
			list_free(known->tables[i]);
			known->tables[i] = NIL;
			known->tables[i] = list_copy(found[i]);
		}
		MemoryContextSwitchTo(oldcontext);

		/* A change that came meanwhile counts for later. */
		known->read_at = begun_at;
	}
	return list_member_oid(known->tables[which], relid);
}
