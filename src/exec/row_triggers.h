/*-------------------------------------------------------------------------
 *
 * row_triggers.h
 *		Partitioned tables of which some partition has triggers of users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_ROW_TRIGGERS_H
#define PX_EXEC_ROW_TRIGGERS_H

/*
 * Has a partition of the table, at any level, a row trigger of a user?  Locks
 * no partition.  The answer is found by the triggers of the database, which
 * are read once for a session and again after changes of tables.
 */
extern bool px_has_row_triggers_below(Oid relid);

#endif							/* PX_EXEC_ROW_TRIGGERS_H */
