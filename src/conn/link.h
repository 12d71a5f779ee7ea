/*-------------------------------------------------------------------------
 *
 * link.h
 *		What this session and others know of the link to a peer.
 *
 * What a session has measured itself is in the peer's link history.  What
 * others have measured is shared (stats/links.h).
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_LINK_H
#define PX_CONN_LINK_H

#include "conn/peer.h"
#include "stats/links.h"

/* The link to the peer, for stats/links.h. */
extern px_link_id px_peer_link(px_peer *peer);

/*
 * Set *link_rate and *idle, as in px_link_history, to what this session has
 * measured; or, if it does not know the rate, to what others have.
 */
extern void px_peer_recall_reading(px_peer *peer, uint64 *link_rate,
								   uint32 *idle);

/* The same for upload_ns. */
extern double px_peer_recall_upload_ns(px_peer *peer);

/*
 * Is it known that the server is on this host, where round trips take no time?
 * The session knows it once it has answered; until then, what others were told
 * counts.
 */
extern bool px_peer_is_near(px_peer *peer);

/* Remember for others where the session is, which has answered. */
extern void px_peer_learn_near(px_peer *peer);

/* What a stream has measured of the link. */
typedef struct px_link_reading
{
	px_link_id	link;			/* when the stream began */
	uint64		link_rate;		/* as the server says: may be anything */
	uint64		carried_rate;	/* bytes per second that have come */
	uint32		idle;			/* .. 1000 */
} px_link_reading;

/*
 * Remember that.  But if the history was forgotten since the stream began,
 * nothing is remembered.
 */
extern void px_link_history_learn_reading(px_link_history *history,
										  const px_link_reading *reading);

/*
 * Remember how many nanoseconds a byte took to be sent to the peer, over link.
 * As above, the link may be another one by now.
 */
extern void px_peer_learn_upload_ns(px_peer *peer, px_link_id link, double ns);

#endif							/* PX_CONN_LINK_H */
