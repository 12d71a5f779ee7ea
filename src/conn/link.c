/*-------------------------------------------------------------------------
 *
 * link.c
 *		What this session and others know of the link to a peer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/defrem.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"
#include "utils/tuplestore.h"

#include "conn/link.h"
#include "wire/request.h"

extern PGDLLEXPORT Datum px_sql_get_links(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_get_links);

#define LINKS_NCOLUMNS	4

/* Measured rates of one link differ by less than this. */
#define FASTER_FACTOR	2.0

/* Not 0, unless the server was dropped. */
static uint32
hash_options(Oid serverid)
{
	ForeignServer *server = GetForeignServerExtended(serverid,
													 FSV_MISSING_OK);
	uint32		hash = 0;
	ListCell   *lc;

	if (server == NULL)
		return 0;
	foreach(lc, server->options)
	{
		DefElem    *def = lfirst_node(DefElem, lc);

		hash = hash_combine(hash, string_hash(def->defname, NAMEDATALEN));
		hash = hash_combine(hash, string_hash(defGetString(def), INT_MAX));
	}
	return Max(hash, 1);
}

px_link_id
px_peer_link(px_peer *peer)
{
	if (peer->link_history.options == 0)
		peer->link_history.options = hash_options(peer->serverid);
	return (px_link_id) {
		peer->serverid, peer->link_history.options
	};
}

void
px_peer_recall_reading(px_peer *peer, uint64 *link_rate, uint32 *idle)
{
	px_link_id	link = px_peer_link(peer);
	double		ns;
	double		permille;

	*link_rate = peer->link_history.link_rate;
	*idle = peer->link_history.idle;
	if (*link_rate > 0)
		return;
	if (px_links_recall(link, PX_LINK_READ_NS, &ns) && ns > 0)
		*link_rate = (uint64) Min(1e9 / ns, (double) PX_REQUEST_LINK_RATE_MAX);
	if (px_links_recall(link, PX_LINK_IDLE, &permille))
		*idle = (uint32) permille;
}

double
px_peer_recall_upload_ns(px_peer *peer)
{
	double		ns = peer->link_history.upload_ns;

	if (ns <= 0)
		(void) px_links_recall(px_peer_link(peer), PX_LINK_WRITE_NS, &ns);
	return ns;
}

bool
px_peer_is_near(px_peer *peer)
{
	double		near;

	if (peer->read_stamp[0] != '\0')
		return peer->session_locality != PX_REMOTE;
	return px_links_recall(px_peer_link(peer), PX_LINK_NEAR, &near) &&
		near > 0.5;
}

void
px_peer_learn_near(px_peer *peer)
{
	px_links_learn(px_peer_link(peer), PX_LINK_NEAR,
				   peer->session_locality != PX_REMOTE);
}

/*
 * A stream that was not slowed down by the link does not know its rate: it may
 * have had little to send.  Others are told so only if more has come than they
 * believe that the link can carry.
 */
static void
tell_others(const px_link_reading *reading, uint64 link_rate)
{
	px_link_id	link = reading->link;
	double		ns;

	if (link_rate > 0)
		px_links_learn(link, PX_LINK_READ_NS, 1e9 / link_rate);
	else if (px_links_recall(link, PX_LINK_READ_NS, &ns) && ns > 0 &&
			 reading->carried_rate > FASTER_FACTOR * 1e9 / ns)
		px_links_learn(link, PX_LINK_READ_NS, 0);
	else
		return;
	px_links_learn(link, PX_LINK_IDLE, reading->idle);
}

void
px_link_history_learn_reading(px_link_history *history,
							  const px_link_reading *reading)
{
	if (history->options != reading->link.options)
		return;
	history->link_rate = Min(reading->link_rate,
							 (uint64) PX_REQUEST_LINK_RATE_MAX);
	history->idle = reading->idle;
	tell_others(reading, history->link_rate);
}

void
px_peer_learn_upload_ns(px_peer *peer, px_link_id link, double ns)
{
	if (px_peer_link(peer).options != link.options)
		return;
	peer->link_history.upload_ns = ns;
	px_links_learn(link, PX_LINK_WRITE_NS, ns);
}

/* ---------------------------------------------------------------------
 * exchange.links
 * --------------------------------------------------------------------- */

/* Bytes per second; null if that is not known. */
static Datum
rate_datum(const px_links_row *row, px_link_property property, bool *isnull)
{
	double		ns = row->known[property] ? row->values[property] : 0;

	*isnull = ns <= 0;
	return *isnull ? (Datum) 0 : Int64GetDatum((int64) (1e9 / ns));
}

/* The server may have changed, or be gone. */
static void
put_link(const px_links_row *row, void *arg)
{
	ReturnSetInfo *result = arg;
	ForeignServer *server;
	Datum		values[LINKS_NCOLUMNS];
	bool		nulls[LINKS_NCOLUMNS] = {false};

	Assert(result->setDesc->natts == LINKS_NCOLUMNS);
	if (!row->known[PX_LINK_READ_NS] && !row->known[PX_LINK_WRITE_NS])
		return;
	if (hash_options(row->link.serverid) != row->link.options)
		return;
	server = GetForeignServer(row->link.serverid);
	values[0] = CStringGetTextDatum(server->servername);
	values[1] = rate_datum(row, PX_LINK_READ_NS, &nulls[1]);
	values[2] = rate_datum(row, PX_LINK_WRITE_NS, &nulls[2]);
	values[3] = TimestampTzGetDatum(row->measured_at);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
px_sql_get_links(PG_FUNCTION_ARGS)
{
	InitMaterializedSRF(fcinfo, 0);
	px_links_read(put_link, fcinfo->resultinfo);
	return (Datum) 0;
}
