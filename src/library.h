/*-------------------------------------------------------------------------
 *
 * library.h
 *		Have a parallel worker and its leader loaded the same library?
 *
 * A session keeps the library that it has loaded.  Its parallel workers are
 * new processes: they load the file of that name, which may have been replaced
 * since.  A plan's custom_private and the shared memory of its nodes are as the
 * leader's library lays them out, so another version must not read them.
 *
 * The leader's version gets to the worker as a setting.  Version 1.0 has none.
 * A library that the postmaster has loaded is the same in all processes.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_LIBRARY_H
#define PX_LIBRARY_H

/* Define the setting; called by _PG_init. */
extern void px_library_init(void);

/*
 * To be called by each node before it reads the plan.  In a worker whose
 * leader has another version, raises 55000.
 */
extern void px_library_check(void);

#endif							/* PX_LIBRARY_H */
