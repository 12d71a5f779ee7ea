/*-------------------------------------------------------------------------
 *
 * siblings.c
 *		The scans of one gather, by server: which of them begin, and when.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"

#include "conn/link.h"
#include "exec/request.h"
#include "exec/scan_filter.h"
#include "exec/siblings.h"
#include "exec/siblings_state.h"
#include "exec/start.h"
#include "guc.h"
#include "tuple/decode.h"

/*
 * A further connection is opened to a server only if the scans that have not
 * begun there are expected to cost so much for each of those that run.  To
 * connect takes both ends 3 to 5 ms of CPU time, and a unit of cost is about 4
 * us (a million rows that are counted: 17,000 units, 60 ms).
 */
#define CONNECTION_COST	2000

/*
 * Queries are sent to a server ahead of their turns if no more is expected of
 * them than this: if their rows are not wanted in the end, the server has made
 * them in vain.  A socket takes so much of one query, too.
 */
#define AHEAD_NBYTES	(512 * 1024)

/*
 * Of the streams from this host, so many begin at once.  Then there is enough
 * to read; each further one takes processor time from the backend that reads.
 * So no more than NEAR_BEGINNING of them begin at a time, and twice as many
 * whenever nothing has come for NEAR_PATIENCE_MS.
 */
#define NEAR_AT_ONCE		8
#define NEAR_BEGINNING		2
#define NEAR_PATIENCE_MS	5

/* Of receive_buffer, first batches that are kept may take this part. */
#define KEPT_SHARE		4

static bool
is_of_server(const px_receive_state *scan, const px_sibling_server *server)
{
	return scan->user->umid == server->umid &&
		scan->user->userid == server->userid;
}

/*
 * The server of a scan, added if need be.  Partitions of the same server are
 * often neighbours, or come in turns: so look at the server after the last
 * one's, and at the last one's, first.
 */
static int
find_server(px_siblings *siblings, const px_receive_state *scan, int last)
{
	int			n = siblings->nservers;
	px_sibling_server *server;

	for (int k = 0; k < n; k++)
	{
		int			i = (last + k) % n;

		if (is_of_server(scan, &siblings->servers[i]))
			return i;
	}
	server = &siblings->servers[siblings->nservers++];
	server->umid = scan->user->umid;
	server->userid = scan->user->userid;
	server->members = NULL;
	server->nmembers = 0;
	return n;
}

static double
expected_nbytes(const px_receive_state *scan)
{
	return px_plan_nbytes(&scan->foreign->scan.plan);
}

/*
 * Scans that are too small for a stream of their own, maybe because they are
 * cheap, share one if all that is expected from the server is enough.  Scans
 * that a near server's session would read more cheaply one by one share one if
 * they are several.
 */
static void
share_streams(const px_siblings *siblings, const px_sibling_server *server)
{
	double		nbytes = 0;

	for (int m = 0; m < server->nmembers; m++)
		nbytes += expected_nbytes(siblings->scans[server->members[m]]);
	for (int m = 0; m < server->nmembers; m++)
	{
		px_receive_state *scan = siblings->scans[server->members[m]];

		if (nbytes >= px_min_bytes)
			scan->smallness &= PX_IS_SMALL_IF_NEAR;
		if (server->nmembers > 1)
			scan->smallness &= ~PX_IS_SMALL_IF_NEAR;
	}
}

static double
cost_of(const px_receive_state *scan)
{
	return scan->foreign->scan.plan.total_cost;
}

/* How many streams of the server may run at once?  See may_begin. */
static int
max_streams(const px_siblings *siblings, const px_sibling_server *server)
{
	double		cost = 0;
	int			n = Min(server->nmembers, px_max_connections_per_server);

	for (int m = 0; m < server->nmembers; m++)
		cost += cost_of(siblings->scans[server->members[m]]);
	return (int) Min(n, cost / CONNECTION_COST + 1);
}

/*
 * The streams that run at once share receive_buffer, and so do the first
 * batches that are kept of scans that have ended.
 */
static void
share_buffer(const px_siblings *siblings)
{
	int			nscans = 0;
	int			nstreams = 0;
	double		expected = 0;
	double		kept;

	for (int s = 0; s < siblings->nservers; s++)
	{
		nscans += siblings->servers[s].nmembers;
		nstreams += max_streams(siblings, &siblings->servers[s]);
	}
	if (nscans == nstreams)
		return;
	kept = (double) nscans *
		Min(px_batch_bytes_max,
			px_receive_buffer / PX_BUFFER_SHARE_OF_A_BATCH / nstreams);
	for (int i = 0; i < siblings->n; i++)
	{
		if (siblings->server_of[i] >= 0)
			expected += expected_nbytes(siblings->scans[i]);
	}
	for (int i = 0; i < siblings->n; i++)
	{
		px_receive_state *scan = siblings->scans[i];

		if (siblings->server_of[i] < 0)
			continue;
		scan->nstreams_at_once =
			Max(scan->nstreams - nscans, 0) + nstreams;
		scan->forgets =
			Min(kept, expected) > px_receive_buffer / KEPT_SHARE;
	}
}

px_siblings *
px_siblings_new(int n, px_receive_state *const *scans, bool merge)
{
	px_siblings *siblings = palloc0(sizeof(px_siblings));
	int		   *members = palloc(Max(n, 1) * sizeof(int));
	int			last = 0;

	siblings->n = n;
	siblings->scans = scans;
	siblings->server_of = palloc(Max(n, 1) * sizeof(int));
	siblings->beginning = palloc(Max(n, 1) * sizeof(int));
	siblings->unbegun = palloc0(Max(n, 1) * sizeof(bool));
	siblings->servers = palloc0(Max(n, 1) * sizeof(px_sibling_server));
	for (int i = 0; i < n; i++)
	{
		siblings->server_of[i] = -1;
		if (scans[i] == NULL || scans[i]->user == NULL)
			continue;
		last = siblings->server_of[i] = find_server(siblings, scans[i], last);
		siblings->servers[last].nmembers++;
	}
	for (int s = 0; s < siblings->nservers; s++)
	{
		px_sibling_server *server = &siblings->servers[s];

		server->members = members;
		members += server->nmembers;
		server->nmembers = 0;
	}
	for (int i = 0; i < n; i++)
	{
		px_sibling_server *server;

		if (siblings->server_of[i] < 0)
			continue;
		server = &siblings->servers[siblings->server_of[i]];
		server->members[server->nmembers++] = i;
		scans[i]->passes_on = !merge;
	}
	if (merge)
		return siblings;
	for (int s = 0; s < siblings->nservers; s++)
		share_streams(siblings, &siblings->servers[s]);
	share_buffer(siblings);
	return siblings;
}

/*
 * Sessions do their work one after the other: so all of it together must be
 * little.  Unless that is known of all n scans, all are asked about: others
 * begin later than those that are to be read by a session.
 */
static void
share_cheap_cost(const px_siblings *siblings, int n)
{
	double		known = 0;

	for (int i = 0; i < siblings->n && known >= 0; i++)
	{
		if (!siblings->unbegun[i] ||
			siblings->scans[i]->smallness == PX_IS_SMALL)
			continue;
		known = siblings->scans[i]->known_cost >= 0 ?
			known + siblings->scans[i]->known_cost : -1;
	}
	for (int i = 0; i < siblings->n; i++)
	{
		px_receive_state *scan = siblings->scans[i];

		if (!siblings->unbegun[i])
			continue;
		if (known < 0 || known > PX_CHEAP_COST)
			scan->known_cost = -1;
		scan->cheap_cost = scan->known_cost >= 0 ?
			PX_CHEAP_COST : PX_CHEAP_COST / n;
	}
}

void
px_siblings_reset(px_siblings *siblings, const Bitmapset *valid,
				  bool any_order)
{
	int			n = 0;

	siblings->any_order = any_order;
	siblings->first = bms_next_member(valid, -1);
	siblings->nnear = siblings->nbeginning = 0;
	siblings->beginning_max = NEAR_BEGINNING;
	siblings->held_back = false;
	for (int s = 0; s < siblings->nservers; s++)
	{
		siblings->servers[s].first = 0;
		siblings->servers[s].unbegun_cost = 0;
		siblings->servers[s].busy = false;
		siblings->servers[s].in_session = -1;
	}
	for (int i = 0; i < siblings->n; i++)
	{
		if (siblings->server_of[i] < 0)
			continue;
		siblings->unbegun[i] = bms_is_member(i, valid);
		if (siblings->unbegun[i])
			siblings->servers[siblings->server_of[i]].unbegun_cost +=
				cost_of(siblings->scans[i]);
		n += siblings->unbegun[i];
	}
	share_cheap_cost(siblings, n);
}

/* The stream of child i was begun, or another way to read it. */
static void
note_begun(px_siblings *siblings, int i)
{
	if (!siblings->unbegun[i])
		return;
	siblings->unbegun[i] = false;
	siblings->servers[siblings->server_of[i]].unbegun_cost -=
		cost_of(siblings->scans[i]);
}

/* Does the scan read a stream, or is it about to? */
static bool
is_streaming(const px_receive_state *scan)
{
	return scan->phase == PX_RECEIVE_BEGUN ||
		(scan->phase == PX_RECEIVE_FRAMES && !scan->finished &&
		 !scan->reader->session_active);
}

static int
count_running(const px_siblings *siblings, const px_sibling_server *server)
{
	int			nrunning = 0;

	for (int m = 0; m < server->nmembers; m++)
		nrunning += is_streaming(siblings->scans[server->members[m]]);
	return nrunning;
}

/*
 * May another scan of the server begin, on a connection that no sibling has?
 * If none runs there, one must.
 */
static bool
may_begin(const px_siblings *siblings, const px_sibling_server *server)
{
	int			nrunning = count_running(siblings, server);

	return nrunning == 0 ||
		(!server->busy && server->unbegun_cost >= CONNECTION_COST * nrunning);
}

/* Streams from this host that were begun, and of which no frame has come. */
static int
count_beginning(px_siblings *siblings)
{
	int			n = 0;

	for (int k = 0; k < siblings->nbeginning; k++)
	{
		const px_receive_state *scan = siblings->scans[siblings->beginning[k]];

		if (is_streaming(scan) && !scan->readers[0]->has_begun)
			siblings->beginning[n++] = siblings->beginning[k];
	}
	return siblings->nbeginning = n;
}

/* Is the scan to begin later, because others from this host are beginning? */
static bool
must_wait(px_siblings *siblings, const px_receive_state *scan)
{
	if (!siblings->any_order || siblings->nnear < NEAR_AT_ONCE ||
		!px_peer_is_near(px_receive_peer(scan)) ||
		count_beginning(siblings) < siblings->beginning_max)
		return false;
	siblings->held_back = true;
	return true;
}

bool
px_siblings_may_begin_held(px_siblings *siblings)
{
	if (!siblings->held_back ||
		count_beginning(siblings) >= siblings->beginning_max)
		return false;
	siblings->held_back = false;
	return true;
}

long
px_siblings_patience_ms(const px_siblings *siblings)
{
	return siblings->held_back ? NEAR_PATIENCE_MS : -1;
}

bool
px_siblings_hurry(px_siblings *siblings)
{
	if (!siblings->held_back)
		return false;
	siblings->held_back = false;
	siblings->beginning_max = 2 * Max(siblings->nbeginning,
									  siblings->beginning_max);
	return true;
}

/*
 * Child i is about to begin, on a connection that may be the last one for its
 * server.  If so, the next children of the server, with numbers below limit,
 * are to follow on it, as far as little is expected of them.
 */
static void
set_followers(const px_siblings *siblings, int i, int limit)
{
	const px_sibling_server *server = &siblings->servers[siblings->server_of[i]];
	px_receive_state *scan = siblings->scans[i];
	int			nrunning = count_running(siblings, server) + 1;
	double		nbytes = 0;

	if (nrunning < px_max_connections_per_server && !server->busy &&
		server->unbegun_cost - cost_of(scan) >= CONNECTION_COST * nrunning)
		return;
	for (int m = server->first; m < server->nmembers; m++)
	{
		int			next = server->members[m];

		if (next >= limit)
			break;
		if (next == i || !siblings->unbegun[next])
			continue;
		nbytes += expected_nbytes(siblings->scans[next]);
		if (nbytes > AHEAD_NBYTES)
			break;
		scan->followers = lappend(scan->followers, siblings->scans[next]);
	}
}

static void
forget_followers(px_receive_state *scan)
{
	list_free(scan->followers);
	scan->followers = NIL;
}

/*
 * Was the scan's query sent with that of another one, which is going to hand
 * its connection on?
 */
static bool
is_ahead(const px_siblings *siblings, const px_receive_state *scan,
		 const px_sibling_server *server)
{
	return scan->readers && scan->readers[0]->stream->ahead.sent &&
		count_running(siblings, server) > 0;
}

/* Do runtime filters say that the scan has nothing to read? */
static bool
is_excluded(px_receive_state *scan)
{
	px_scan_filter_take(scan);
	return px_scan_filter_excludes(scan);
}

bool
px_siblings_begin(px_siblings *siblings, int i)
{
	px_receive_state *scan = siblings->scans[i];
	px_sibling_server *server = &siblings->servers[siblings->server_of[i]];
	bool		begun;

	/* A rescan with other parameters has to come before it begins. */
	if (scan->css.ss.ps.chgParam != NULL)
		ExecReScan(&scan->css.ss.ps);
	if (scan->phase == PX_RECEIVE_NEW)
	{
		if (scan->session_next || scan->asked.deferred ||
			is_ahead(siblings, scan, server) ||
			(siblings->unbegun[i] && px_receive_takes_turns(scan) &&
			 (!may_begin(siblings, server) || must_wait(siblings, scan)) &&
			 !is_excluded(scan)))
			return false;
		if (siblings->any_order && siblings->unbegun[i])
			set_followers(siblings, i, siblings->n);
		begun = px_start_begin(scan, false);
		forget_followers(scan);
		if (!begun)
		{
			/* If none runs that could hand its connection on, do not wait. */
			server->busy = scan->busy != NULL;
			if (server->busy && count_running(siblings, server) == 0)
				scan->session_next = scan->busy;
			return false;
		}
		if (siblings->unbegun[i] && is_streaming(scan) &&
			px_peer_is_near(px_receive_peer(scan)))
		{
			siblings->nnear++;
			siblings->beginning[siblings->nbeginning++] = i;
		}
	}
	note_begun(siblings, i);
	return true;
}

int
px_siblings_in_session(const px_siblings *siblings, int i)
{
	int			s = siblings->server_of[i];

	return s >= 0 ? siblings->servers[s].in_session : -1;
}

void
px_siblings_note_session(px_siblings *siblings, int i)
{
	int			s = siblings->server_of[i];

	if (s >= 0)
		siblings->servers[s].in_session = i;
}

bool
px_siblings_has_spare(const px_siblings *siblings, int i)
{
	const px_receive_state *scan = siblings->scans[i];

	return siblings->server_of[i] >= 0 && px_receive_takes_turns(scan) &&
		scan->nreaders == 1 &&
		scan->phase == PX_RECEIVE_FRAMES &&
		!scan->readers[0]->active &&
		scan->readers[0]->stream->phase == PX_STREAM_CLOSED &&
		scan->readers[0]->stream->holder.connection != NULL;
}

bool
px_siblings_pass_on(px_siblings *siblings, int i, int limit)
{
	px_receive_state *from = siblings->scans[i];
	px_sibling_server *server;
	bool		passed = false;

	if (!px_siblings_has_spare(siblings, i))
		return false;
	server = &siblings->servers[siblings->server_of[i]];
	server->busy = false;
	if (!from->readers[0]->keeps_first)
		px_decoder_release(from->readers[0]->decoder);
	while (server->first < server->nmembers &&
		   !siblings->unbegun[server->members[server->first]])
		server->first++;
	for (int m = server->first; m < server->nmembers && !passed; m++)
	{
		int			next = server->members[m];
		px_receive_state *to = siblings->scans[next];

		if (next >= limit)
			break;
		if (!siblings->unbegun[next])
			continue;
		if (to->css.ss.ps.chgParam != NULL)
			ExecReScan(&to->css.ss.ps);
		if (to->phase != PX_RECEIVE_NEW || to->session_next ||
			to->asked.deferred ||
			!px_receive_takes_turns(to) || is_excluded(to))
			continue;
		set_followers(siblings, next, limit);
		passed = px_start_take_over(to, from);
		forget_followers(to);
		if (passed)
			note_begun(siblings, next);
		if (!px_siblings_has_spare(siblings, i))
			break;
	}
	px_stream_close(from->readers[0]->stream);
	return passed;
}
