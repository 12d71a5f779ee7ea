/*-------------------------------------------------------------------------
 *
 * pull_links.c
 *		Which servers of a join pull rows from each other.
 *
 * The rows of a source are made by the same session and query as otherwise, so
 * that snapshot, rights and locks are the same.  Only its frames take another
 * way.  What is found out before the sources begin is whether they can.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "miscadmin.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/genuine.h"
#include "exec/pull_links.h"
#include "exec/request.h"
#include "exec/start.h"
#include "guc.h"
#include "wire/pull_words.h"

#define ASK_FUNCTIONS \
	"SELECT CASE WHEN " PX_CAN_PULL \
	" AND pg_catalog.current_setting($1::pg_catalog.text, true)" \
	" OPERATOR(pg_catalog.=) 'on' THEN 'yes' ELSE 'no' END"
#define SETTING		"pg_exchange.join_pull"
#define ASK_TARGET	"SELECT exchange.can_pull($1::pg_catalog.text, %d)"
#define OFFER		"SELECT exchange.offer($1::pg_catalog.text)"

/* A px_pull_link with the longest server name, escaped. */
#define LINE_NBYTES_MAX	512

typedef struct agreement
{
	px_redistribute_source *sources;
	int			nsources;
	px_redistribute_target *targets;
	int			ntargets;
	char	  **ways;			/* [ntargets]: one character for each source:
								 * see px_sql_can_pull; NULL: cannot pull */
	const char *against;		/* why there can be no redistribution */
	const char *not_pulled;		/* why some target does not pull */
} agreement;

static px_stream *
stream_of(const px_receive_state *receive)
{
	return receive->readers[0]->stream;
}

/* Remember the first reason, which a format and two names make. */
static void
leave_out(agreement *all, const char *format, const char *name,
		  const char *other)
{
	if (all->not_pulled == NULL)
		all->not_pulled = psprintf(format, name, other);
}

static bool
is_connected(agreement *all, const px_receive_state *receive)
{
	if (all->against == NULL && stream_of(receive)->holder.connection == NULL)
		all->against = "a connection was lost";
	return all->against == NULL;
}

/* Send a statement to a session that is held.  Its answer is to be taken. */
static void
send_call(agreement *all, px_receive_state *receive, const char *sql,
		  const char *argument)
{
	if (is_connected(all, receive))
		px_stream_call(stream_of(receive), sql, argument, strlen(argument));
}

/* The text that it has returned, or NULL. */
static char *
take_answer(agreement *all, px_receive_state *receive)
{
	const char *reason;
	char	   *text;

	if (!is_connected(all, receive))
		return NULL;
	reason = px_stream_call_text(stream_of(receive),
								 &receive->stats.receive_wait, &text);
	if (reason)
		all->against = psprintf("%s: %s", receive->servername, reason);
	return text;
}

/*
 * Which of the sessions have the functions that are called, and may call them?
 * A connection may be one of before an update; the setting can change.
 */
static void
ask_functions(agreement *all, px_receive_state *const *receives, int n,
			  bool *able)
{
	for (int i = 0; i < n; i++)
	{
		able[i] = is_connected(all, receives[i]) &&
			stream_of(receives[i])->holder.connection->hello.pull_id[0];
		if (able[i])
			send_call(all, receives[i], ASK_FUNCTIONS, SETTING);
	}
	for (int i = 0; i < n; i++)
	{
		char	   *answer;

		if (able[i])
		{
			answer = take_answer(all, receives[i]);
			able[i] = answer && strcmp(answer, "yes") == 0;
		}
		if (!able[i])
			leave_out(all, "not allowed on server %s%s",
					  receives[i]->servername, "");
	}
}

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

/* Let the first n sources begin later, as they would otherwise. */
static void
release_sources(agreement *all, int n)
{
	for (int i = 0; i < n; i++)
		px_start_rescan(all->sources[i].receive);
}

/*
 * Hold all sources, or none.  If one cannot be held, for want of a connection
 * say, all begin later, when others may have ended.
 */
static bool
hold_sources(agreement *all)
{
	for (int i = 0; i < all->nsources; i++)
	{
		px_receive_state *receive = all->sources[i].receive;
		const char *reason = px_start_hold(receive);

		if (reason == NULL)
			continue;
		leave_out(all, "server %s: %s", receive->servername, reason);
		release_sources(all, i + 1);
		return false;
	}
	for (int i = 0; i < all->nsources && all->against == NULL; i++)
	{
		px_receive_state *receive = all->sources[i].receive;

		all->against = px_start_confirm_hold(receive);
		stream_of(receive)->may_fail = true;
	}
	return all->against == NULL;
}

/* Can all sources, which are held, offer rows? */
static bool
ask_sources(agreement *all)
{
	px_receive_state **receives =
		palloc(all->nsources * sizeof(px_receive_state *));
	bool	   *able = palloc(all->nsources * sizeof(bool));
	bool		all_able = true;

	for (int i = 0; i < all->nsources; i++)
		receives[i] = all->sources[i].receive;
	ask_functions(all, receives, all->nsources, able);
	for (int i = 0; i < all->nsources; i++)
		all_able = all_able && able[i];
	return all_able;
}

static void
name_peer(const px_receive_state *receive, px_pull_peer *peer)
{
	strlcpy(peer->server, receive->servername, sizeof(peer->server));
	strlcpy(peer->database,
			stream_of(receive)->holder.connection->hello.pull_id,
			sizeof(peer->database));
}

/* The databases that the sources run in, as lines. */
static char *
databases(const agreement *all)
{
	StringInfoData lines;

	initStringInfo(&lines);
	for (int i = 0; i < all->nsources; i++)
	{
		char		line[LINE_NBYTES_MAX];
		px_text		text = {line, sizeof(line), 0};
		px_pull_peer peer;

		name_peer(all->sources[i].receive, &peer);
		px_pull_peer_put(&text, &peer);
		(void) px_text_end(&text);
		appendStringInfo(&lines, "%s%s", i > 0 ? "\n" : "", line);
	}
	return lines.data;
}

/* What a target has said of the ways to the sources; NULL: it cannot pull. */
static char *
judge_ways(agreement *all, const px_receive_state *target, char *ways)
{
	size_t		n = ways ? strspn(ways, "hlr") : 0;

	if (ways == NULL || strlen(ways) != (size_t) all->nsources)
		return NULL;
	if (n == (size_t) all->nsources)
		return ways;
	leave_out(all, "server %s has no way to server %s", target->servername,
			  all->sources[n].receive->servername);
	return NULL;
}

/*
 * Which targets that are able to can reach all sources?  They try it at the
 * same time, and each of them as long as we may take to set up.
 */
static bool
ask_targets(agreement *all, const bool *able)
{
	char	   *names = databases(all);
	char	   *ask = psprintf(ASK_TARGET,
							   px_setup_limited_ms(PX_SETUP_TIMEOUT_MS));
	bool		any = false;

	for (int i = 0; i < all->ntargets; i++)
	{
		if (able[i])
			send_call(all, all->targets[i].receive, ask, names);
	}
	for (int i = 0; i < all->ntargets; i++)
	{
		px_receive_state *receive = all->targets[i].receive;

		if (able[i])
			all->ways[i] = judge_ways(all, receive,
									  take_answer(all, receive));
		any = any || all->ways[i];
	}
	return any && all->against == NULL;
}

/* Does nothing that goes from source to target leave its host, or instance? */
static bool
is_plain(char way)
{
	return way != 'r' &&
		px_locality_is_local(way == 'h' ? PX_SAME_INSTANCE : PX_SAME_HOST);
}

/* ---------------------------------------------------------------------
 * The offers
 * --------------------------------------------------------------------- */

/* Tell the source's request which links are pulled, and which are plain. */
static void
choose_links(agreement *all, int number)
{
	px_receive_state *receive = all->sources[number].receive;

	receive->links = all->ntargets;
	receive->pulled = receive->plain = 0;
	receive->compress = false;
	for (int i = 0; i < all->ntargets; i++)
	{
		uint64		bit = UINT64CONST(1) << i;

		if (all->ways[i])
			receive->pulled |= bit;
		if (all->ways[i] && is_plain(all->ways[i][number]))
			receive->plain |= bit;
		else if (all->ways[i] || !all->targets[i].receive->local)
			receive->compress = true;
	}
}

/* Have a source offer its rows. */
static void
make_offer(agreement *all, int number)
{
	px_receive_state *receive = all->sources[number].receive;
	char		line[LINE_NBYTES_MAX];
	px_text		text = {line, sizeof(line), 0};
	px_pull_offer offer;
	MemoryContext oldcontext;

	if (!is_connected(all, receive))
		return;
	choose_links(all, number);
	oldcontext = MemoryContextSwitchTo(receive->stream_context);
	px_request_for_stream(receive, receive->readers[0],
						  stream_of(receive)->holder.connection);
	MemoryContextSwitchTo(oldcontext);
	offer.links = (uint32) receive->links;
	offer.pulled = receive->pulled;
	px_pull_offer_put(&text, &offer);
	(void) px_text_end(&text);
	send_call(all, receive, OFFER, line);
}

static void
add_link(const agreement *all, int number, const px_receipt *token,
		 char **calls)
{
	const px_redistribute_source *source = &all->sources[number];

	for (int i = 0; i < all->ntargets; i++)
	{
		char		line[LINE_NBYTES_MAX];
		px_text		text = {line, sizeof(line), 0};
		px_pull_link link = {
			.token = *token,
			.links = (uint32) all->ntargets,
			.link = (uint32) i,
			.parts = source->parts,
			.inbox = source->inbox,
			.number = source->number,
			.step = (uint32) all->nsources
		};

		if (all->ways[i] == NULL)
			continue;
		name_peer(source->receive, &link.source);
		px_pull_link_put(&text, &link);
		(void) px_text_end(&text);
		calls[i] = calls[i] ? psprintf("%s\n%s", calls[i], line) :
			pstrdup(line);
	}
}

/* A token is for the targets' sessions: it must look like one. */
static bool
take_token(const char *text, px_receipt *token)
{
	return text && px_receipt_take(&text, token, NULL) == PX_OK &&
		*text == '\0';
}

/* Have all sources offer their rows, and tell the targets. */
static void
make_offers(agreement *all, char **calls)
{
	for (int i = 0; i < all->nsources; i++)
		make_offer(all, i);
	for (int i = 0; i < all->nsources && all->against == NULL; i++)
	{
		px_receive_state *receive = all->sources[i].receive;
		char	   *answer = take_answer(all, receive);
		px_receipt	token;

		if (take_token(answer, &token) && is_connected(all, receive))
			add_link(all, i, &token, calls);
		else if (all->against == NULL)
			all->against = "a server offers no rows";
	}
}

const char *
px_pull_links_agree(px_redistribute_source *sources, int nsources,
					px_redistribute_target *targets, int ntargets,
					char **calls, const char **not_pulled)
{
	agreement	all = {
		.sources = sources,
		.nsources = nsources,
		.targets = targets,
		.ntargets = ntargets
	};
	px_receive_state **receives =
		palloc(ntargets * sizeof(px_receive_state *));
	bool	   *able = palloc0(ntargets * sizeof(bool));
	bool		any = false;

	memset(calls, 0, ntargets * sizeof(char *));
	*not_pulled = NULL;
	if (!px_join_pull)
		return NULL;
	all.ways = palloc0(ntargets * sizeof(char *));
	for (int i = 0; i < ntargets; i++)
		receives[i] = targets[i].receive;
	ask_functions(&all, receives, ntargets, able);
	for (int i = 0; i < ntargets; i++)
		any = any || able[i];
	if (any && all.against == NULL && hold_sources(&all))
	{
		if (ask_sources(&all) && ask_targets(&all, able))
			make_offers(&all, calls);
		else if (all.against == NULL)
			release_sources(&all, nsources);
	}
	*not_pulled = all.not_pulled;
	return all.against;
}

/* ---------------------------------------------------------------------
 * The answers
 * --------------------------------------------------------------------- */

bool
px_pull_links_count(const char *answer, px_redistribute_source *sources,
					int nsources, px_redistribute_target *target)
{
	for (int i = 0; i < nsources; i++)
	{
		px_receive_stats *stats = &sources[i].receive->stats;
		px_pull_sum sum;

		if (px_pull_sum_take(&answer, &sum, NULL) != PX_OK ||
			!px_text_take(&answer, "\n"))
			return false;
		sources[i].rows += sum.rows;
		sources[i].nbytes += sum.wire_nbytes;
		stats->batches += sum.batches;
		stats->raw_nbytes += sum.raw_nbytes;
		stats->wire_nbytes += sum.wire_nbytes;
		target->rows += sum.rows;
		target->nbytes += sum.wire_nbytes;
	}
	target->pulled = true;
	return *answer == '\0';
}
