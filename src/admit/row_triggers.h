/*-------------------------------------------------------------------------
 *
 * row_triggers.h
 *		Partitioned tables of which some partition has triggers of users.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADMIT_ROW_TRIGGERS_H
#define PX_ADMIT_ROW_TRIGGERS_H

/*
 * Has a partition of the table, at any level, a row trigger of a user that
 * fires before rows are written; or any row trigger, if not only_before?  Locks
 * no partition.  The answer is found by the triggers of the database, which
 * are read once for a session and again after changes of tables.
 */
extern bool px_has_row_triggers_below(Oid relid, bool only_before);

#endif							/* PX_ADMIT_ROW_TRIGGERS_H */
