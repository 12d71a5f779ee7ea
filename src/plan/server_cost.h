/*-------------------------------------------------------------------------
 *
 * server_cost.h
 *		What paths of a foreign table take from its server's options.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SERVER_COST_H
#define PX_PLAN_SERVER_COST_H

/*
 * Does the server belong to postgres_fdw?  Then *tuple_cost is the cost that
 * postgres_fdw assumes for the transfer of a row: the server's option
 * fdw_tuple_cost, or its default.  The answer is kept for the session, until
 * a server or a foreign-data wrapper changes.
 */
extern bool px_server_tuple_cost(Oid serverid, double *tuple_cost);

#endif							/* PX_PLAN_SERVER_COST_H */
