/*-------------------------------------------------------------------------
 *
 * write_install.h
 *		Our Begin functions in place of postgres_fdw's.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_INSTALL_H
#define PX_EXEC_WRITE_INSTALL_H

#include "foreign/fdwapi.h"

/*
 * postgres_fdw's own functions.  NULL if its handler was not called in this
 * backend since the library was loaded.
 */
extern const FdwRoutine *px_write_own_routine(void);

/*
 * Put our Begin functions into the routine that the relation cache has for a
 * foreign table, if it has one of postgres_fdw's.
 */
extern void px_write_install(Relation relation);

/* Have all routines that are made from now on call ours. */
extern void px_write_install_init(BeginForeignModify_function begin_modify,
								  BeginForeignInsert_function begin_insert);

#endif							/* PX_EXEC_WRITE_INSTALL_H */
