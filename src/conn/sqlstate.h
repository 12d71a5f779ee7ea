/*-------------------------------------------------------------------------
 *
 * sqlstate.h
 *		Error codes of our own, between a sender and its receiver.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_SQLSTATE_H
#define PX_CONN_SQLSTATE_H

/*
 * exchange.send got past the planner hook: the library was not loaded when
 * the query was planned, or the query is not of the one form that the marker
 * has.  The library is loaded when this is raised, so the receiver may try
 * once more.
 */
#define PX_ERRCODE_NOT_PLANNED	MAKE_SQLSTATE('P', 'X', '0', '0', '1')

/*
 * The query must not be run by another session than postgres_fdw's: see
 * admit/session.h.  The message says why; there is no point in trying again.
 */
#define PX_ERRCODE_DECLINED		MAKE_SQLSTATE('P', 'X', '0', '0', '2')

#endif							/* PX_CONN_SQLSTATE_H */
