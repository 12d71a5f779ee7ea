/*-------------------------------------------------------------------------
 *
 * peer.c
 *		A server for a user, as this session knows it.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "conn/peer.h"
#include "guc.h"

/* How long to leave a peer alone whose sessions do not answer. */
#define AVOID_MS	60000

void
px_peer_avoid(px_peer *peer)
{
	peer->avoid_until = TimestampTzPlusMilliseconds(GetCurrentTimestamp(),
													AVOID_MS);
}

void
px_peer_refuse(px_peer *peer, const char *refusal, bool lacks_extension)
{
	ereport(DEBUG1,
			(errmsg_internal("no exchange with server %u: %s",
							 peer->serverid, refusal)));
	peer->refusal = MemoryContextStrdup(CacheMemoryContext, refusal);
	peer->lacks_extension = lacks_extension;
}

void
px_peer_refuse_writes(px_peer *peer, const char *refusal)
{
	ereport(DEBUG1,
			(errmsg_internal("no writes by frames to server %u: %s",
							 peer->serverid, refusal)));
	peer->write_refusal = MemoryContextStrdup(CacheMemoryContext, refusal);
}

bool
px_locality_is_local(px_locality locality)
{
	return (locality == PX_SAME_INSTANCE &&
			px_local_scope_setting >= PX_SCOPE_INSTANCE) ||
		(locality == PX_SAME_HOST &&
		 px_local_scope_setting >= PX_SCOPE_HOST);
}
