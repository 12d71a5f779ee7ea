/*-------------------------------------------------------------------------
 *
 * gather_order.h
 *		What the planner tells an ExchangeGather.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_NODE_GATHER_ORDER_H
#define PX_NODE_GATHER_ORDER_H

/* What stands in custom_private of an ExchangeGather. */
typedef enum px_gather_private
{
	PX_GATHER_PRIVATE_APPEND,	/* the Append or MergeAppend, without its
								 * target list and children: how to prune, and
								 * what to merge by */
	PX_GATHER_PRIVATE_ORDER,	/* Integer: px_gather_order of an Append */
	PX_GATHER_PRIVATE_WANTED	/* String, as workers would read a Float as an
								 * Integer: rows that are expected to be
								 * wanted before a node above ends the scan;
								 * 0 if that is all */
} px_gather_private;

/* In which order rows of the children may be returned. */
typedef enum px_gather_order
{
	PX_GATHER_IN_ORDER,			/* one child after the other */
	PX_GATHER_FIRST_IN_ORDER,	/* so too, as long as it costs nothing */
	PX_GATHER_ANY				/* whichever is ready */
} px_gather_order;

#endif							/* PX_NODE_GATHER_ORDER_H */
