/*-------------------------------------------------------------------------
 *
 * siblings_ask.c
 *		What the servers of one gather are asked, before its scans begin.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "utils/memutils.h"

#include "conn/connect_ahead.h"
#include "exec/ask_session.h"
#include "exec/request.h"
#include "exec/siblings_ask.h"
#include "exec/siblings_state.h"
#include "exec/start.h"

/* A number for what is tried at a time, which is not 0. */
static uint32
next_trial(void)
{
	static uint32 last = 0;

	if (++last == 0)
		last = 1;
	return last;
}

/* Was the child deferred, and has not begun since? */
static bool
is_deferred(const px_siblings *siblings, int i)
{
	return siblings->unbegun[i] &&
		siblings->scans[i]->phase == PX_RECEIVE_NEW &&
		siblings->scans[i]->asked.deferred;
}

/* The first of these; n if there is none. */
static int
first_deferred(const px_siblings *siblings)
{
	int			i = 0;

	while (i < siblings->n && !is_deferred(siblings, i))
		i++;
	return i;
}

/*
 * It was deferred, or the session is going to read it unasked.  Later ones do
 * not begin before that anyway (px_gather_holds_up_later).
 */
int
px_siblings_first_to_wait(const px_siblings *siblings)
{
	int			deferred = first_deferred(siblings);

	for (int i = 0; i < deferred && !siblings->any_order; i++)
	{
		if (siblings->unbegun[i] && px_start_is_unasked(siblings->scans[i]))
			return i;
	}
	return deferred;
}

/*
 * The scans of a server that its session is to be asked about: children with
 * numbers below limit.
 */
static px_receive_state **
scans_to_ask(const px_siblings *siblings, const px_sibling_server *server,
			 int limit, int *n)
{
	px_receive_state **scans =
		palloc(server->nmembers * sizeof(px_receive_state *));

	*n = 0;
	for (int m = 0; m < server->nmembers && server->members[m] < limit; m++)
	{
		px_receive_state *scan = siblings->scans[server->members[m]];

		if (siblings->unbegun[server->members[m]] &&
			scan->css.ss.ps.chgParam == NULL && px_start_has_question(scan))
			scans[(*n)++] = scan;
	}
	return scans;
}

/*
 * Ask about the scans of a server, if it is worth it: the only scan of a
 * gather can ask when it begins.  False if nothing is asked.
 */
static bool
ask_server(px_siblings *siblings, px_sibling_server *server, int limit,
		   bool waits)
{
	int			n;
	px_receive_state **scans = scans_to_ask(siblings, server, limit, &n);

	if (n == 0 || (n == 1 && siblings->nservers == 1))
	{
		pfree(scans);
		return false;
	}
	server->asked = px_ask_together_send(scans, n, waits, siblings->trial);
	siblings->asked = lappend(siblings->asked, server->asked);
	return true;
}

/*
 * Without us, each partition would be locked when the one before it has been
 * read.  So locks are waited for only to read the first one, and while no
 * other server has given us any.  Otherwise we could wait for somebody who
 * waits for us at another server, and nobody would find that deadlock; or for
 * a partition of which no row is wanted.
 */
static void
ask_first(px_siblings *siblings)
{
	int			first = siblings->first;
	px_receive_state *scan;

	if (first < 0 || siblings->server_of[first] < 0)
		return;
	scan = siblings->scans[first];
	if (scan->css.ss.ps.chgParam != NULL || !px_start_has_question(scan))
		return;

	/* They may have locks to wait for, too. */
	px_request_run_init_plans(scan);
	if (ask_server(siblings, &siblings->servers[siblings->server_of[first]],
				   px_siblings_first_to_wait(siblings), true))
		px_ask_together_collect(llast(siblings->asked));
}

/* Ask what has not been asked; false if there is nothing to ask. */
static bool
ask_more(px_siblings *siblings)
{
	int			nasked = list_length(siblings->asked);
	int			limit = px_siblings_first_to_wait(siblings);

	for (int s = 0; s < siblings->nservers; s++)
		(void) ask_server(siblings, &siblings->servers[s], limit, false);
	for (int i = nasked; i < list_length(siblings->asked); i++)
		px_ask_together_collect(list_nth(siblings->asked, i));
	return list_length(siblings->asked) > nasked;
}

/* Does its session hold locks of this trial for a child after that one? */
static bool
holds_later(const px_siblings *siblings, const px_sibling_server *server,
			int limit)
{
	for (int i = limit + 1; i < siblings->n; i++)
	{
		const px_receive_state *scan = siblings->scans[i];

		if (siblings->unbegun[i] && scan->user->umid == server->umid &&
			scan->asked.trial == siblings->trial)
			return true;
	}
	return false;
}

/*
 * For the same reason, no locks are held for children after one whose locks are
 * going to be waited for.  What is released with them for children before it is
 * asked for again by ask_more.
 */
static void
defer_later(px_siblings *siblings)
{
	int			limit = px_siblings_first_to_wait(siblings);

	if (limit == siblings->n)
		return;
	for (int s = 0; s < siblings->nservers; s++)
	{
		px_sibling_server *server = &siblings->servers[s];

		server->releases = server->asked &&
			holds_later(siblings, server, limit);
		if (server->releases)
			px_ask_together_send_release(server->asked);
	}
	for (int s = 0; s < siblings->nservers; s++)
	{
		if (siblings->servers[s].releases)
			px_ask_together_collect_release(siblings->servers[s].asked);
	}
	for (int i = 0; i < siblings->n; i++)
	{
		px_receive_state *scan = siblings->scans[i];
		bool		tried;

		if (!siblings->unbegun[i])
			continue;
		tried = scan->asked.trial == siblings->trial;
		if (i > limit && (tried || px_start_has_question(scan)))
			px_ask_defer(scan);
		else if (tried && siblings->servers[siblings->server_of[i]].releases)
			px_ask_renew(scan);
	}
}

/*
 * Streams are about to begin: connect to all servers at the same time.  With
 * one server that would only happen sooner.
 */
static void
connect_ahead(const px_siblings *siblings)
{
	UserMapping **users = palloc(siblings->nservers * sizeof(UserMapping *));
	int			n = 0;

	for (int s = 0; s < siblings->nservers; s++)
	{
		const px_sibling_server *server = &siblings->servers[s];

		for (int m = 0; m < server->nmembers; m++)
		{
			px_receive_state *scan = siblings->scans[server->members[m]];

			if (siblings->unbegun[server->members[m]] &&
				scan->phase == PX_RECEIVE_NEW && scan->asked.allows_stream)
			{
				users[n++] = scan->user;
				break;
			}
		}
	}
	if (n > 1)
		px_connect_ahead(users, n, DT_NOEND);
	pfree(users);
}

void
px_siblings_ask(px_siblings *siblings, bool waits)
{
	MemoryContext oldcontext =
		MemoryContextSwitchTo(GetMemoryChunkContext(siblings));

	siblings->trial = next_trial();
	for (int s = 0; s < siblings->nservers; s++)
		siblings->servers[s].asked = NULL;
	if (waits)
		ask_first(siblings);
	do
	{
		CHECK_FOR_INTERRUPTS();
		defer_later(siblings);
	} while (ask_more(siblings));
	if (siblings->nservers > 1)
		connect_ahead(siblings);
	MemoryContextSwitchTo(oldcontext);
}

bool
px_siblings_ask_deferred(px_siblings *siblings)
{
	int			first = first_deferred(siblings);

	if (first == siblings->n)
		return false;
	for (int i = first; i < siblings->n; i++)
	{
		if (is_deferred(siblings, i))
			px_ask_renew(siblings->scans[i]);
	}
	siblings->first = first;
	px_siblings_ask(siblings, true);
	return true;
}

void
px_siblings_end(px_siblings *siblings)
{
	ListCell   *lc;

	foreach(lc, siblings->asked)
		px_ask_together_end(lfirst(lc));
	list_free(siblings->asked);
	siblings->asked = NIL;
}
