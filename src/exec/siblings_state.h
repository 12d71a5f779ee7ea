/*-------------------------------------------------------------------------
 *
 * siblings_state.h
 *		What is known of the scans of one gather: for siblings.c and
 *		siblings_ask.c alone.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_SIBLINGS_STATE_H
#define PX_EXEC_SIBLINGS_STATE_H

#include "nodes/bitmapset.h"
#include "nodes/pg_list.h"

#include "exec/ask_together.h"

/* The scans of one server, as one user. */
typedef struct px_sibling_server
{
	Oid			umid;
	Oid			userid;
	int		   *members;		/* numbers of children, in order */
	int			nmembers;
	int			first;			/* of members that may not have begun */
	double		unbegun_cost;	/* of those that have not begun */
	bool		busy;			/* there was no connection for one of them */
	int			in_session;		/* px_siblings_in_session */
	px_ask_together *asked;		/* the last in this trial */
	bool		releases;		/* locks of this trial */
} px_sibling_server;

struct px_siblings
{
	int			n;
	px_receive_state *const *scans;
	int		   *server_of;		/* of each child; -1 if it is no scan */
	bool	   *unbegun;		/* of each child: it is to be read */
	px_sibling_server *servers;
	int			nservers;
	int			first;			/* of the children that are to be read */
	bool		any_order;		/* of execution */
	int			nnear;			/* streams from this host that were begun */
	int		   *beginning;		/* children whose streams have sent nothing yet;
								 * maybe others, too */
	int			nbeginning;
	int			beginning_max;	/* streams that may begin at a time */
	bool		held_back;		/* a scan waits for others to have begun */
	List	   *asked;			/* px_ask_togethers, to be ended */
	uint32		trial;			/* see px_siblings_ask */
};

#endif							/* PX_EXEC_SIBLINGS_STATE_H */
