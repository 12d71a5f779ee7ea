/*-------------------------------------------------------------------------
 *
 * modify.h
 *		Foreign tables of postgres_fdw as targets of statements that write.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_MODIFY_H
#define PX_NODE_MODIFY_H

/* Have our functions take part in writes; called by _PG_init. */
extern void px_modify_init(void);

#endif							/* PX_NODE_MODIFY_H */
