/*-------------------------------------------------------------------------
 *
 * gather_order.h
 *		The order in which an ExchangeGather reads its children.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_ORDER_H
#define PX_NODE_GATHER_ORDER_H

/* In which order rows of the children may be returned. */
typedef enum px_gather_order
{
	PX_GATHER_IN_ORDER,			/* one child after the other */
	PX_GATHER_FIRST_IN_ORDER,	/* so too, as long as it costs nothing */
	PX_GATHER_ANY				/* whichever is ready */
} px_gather_order;

#endif							/* PX_NODE_GATHER_ORDER_H */
