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
#include "conn/genuine.h"
#include "exec/pull_links.h"
#include "exec/request.h"
#include "exec/start.h"
#include "guc.h"
#include "wire/receipt.h"

#define ASK_FUNCTIONS \
	"SELECT CASE WHEN " PX_CAN_PULL " THEN 'yes' ELSE 'no' END"
#define ASK_TARGET	"SELECT exchange.can_pull($1::pg_catalog.text)"
#define OFFER		"SELECT exchange.offer($1::pg_catalog.text)"

typedef struct agreement
{
	px_redistribute_source *sources;
	int			nsources;
	px_redistribute_target *targets;
	int			ntargets;
	char	  **ways;			/* [ntargets]: one character for each source:
								 * see px_sql_can_pull; NULL: cannot pull */
	const char *against;
} agreement;

static px_stream *
stream_of(const px_receive_state *receive)
{
	return receive->readers[0]->stream;
}

/* Run a statement in a session that is held; what it returns, or NULL. */
static char *
ask(agreement *all, px_receive_state *receive, const char *sql,
	const char *argument)
{
	px_stream  *stream = stream_of(receive);
	const char *reason;
	char	   *text;

	if (all->against)
		return NULL;
	px_stream_call(stream, sql, argument ? argument : "",
				   argument ? strlen(argument) : 0);
	reason = px_stream_call_text(stream, &receive->stats.receive_wait, &text);
	if (reason)
		all->against = reason;
	return text;
}

/* Has the session the functions that are called? */
static bool
has_functions(agreement *all, px_receive_state *receive)
{
	char	   *answer;

	if (!stream_of(receive)->holder.connection ||
		!stream_of(receive)->holder.connection->hello.can_pull)
		return false;
	answer = ask(all, receive, ASK_FUNCTIONS " WHERE $1::pg_catalog.text IS NOT NULL", "");
	return answer && strcmp(answer, "yes") == 0;
}

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

/*
 * Hold all sources.  If one cannot be held, for want of a connection say, it
 * begins later, as it would otherwise.
 */
static bool
hold_sources(agreement *all)
{
	bool		held = true;

	for (int i = 0; i < all->nsources && held; i++)
	{
		px_receive_state *receive = all->sources[i].receive;

		if (px_start_hold(receive) != NULL)
		{
			receive->hold = PX_HOLD_NONE;
			held = false;
			break;
		}
		all->against = px_start_confirm_hold(receive);
		stream_of(receive)->may_fail = true;
		held = all->against == NULL && has_functions(all, receive);
	}
	return held;
}

/* The names of the servers that the sources run on. */
static char *
instances(const agreement *all)
{
	StringInfoData names;

	initStringInfo(&names);
	for (int i = 0; i < all->nsources; i++)
		appendStringInfo(&names, "%s%s", i > 0 ? " " : "",
						 stream_of(all->sources[i].receive)
							 ->holder.connection->hello.instance);
	return names.data;
}

/* Can the target reach all sources?  Remember how. */
static bool
ask_target(agreement *all, int number, const char *names)
{
	px_receive_state *receive = all->targets[number].receive;
	char	   *ways = NULL;

	if (has_functions(all, receive))
		ways = ask(all, receive, ASK_TARGET, names);
	if (ways && (strlen(ways) != (size_t) all->nsources ||
				 strspn(ways, "hlr") != strlen(ways)))
		ways = NULL;
	all->ways[number] = ways;
	return ways != NULL;
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

/* Tell the source's request which links are pulled; true if all is plain. */
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

/* Have a source offer its rows; its token, or NULL. */
static char *
make_offer(agreement *all, int number)
{
	px_redistribute_source *source = &all->sources[number];
	px_receive_state *receive = source->receive;
	MemoryContext oldcontext;

	choose_links(all, number);
	oldcontext = MemoryContextSwitchTo(receive->stream_context);
	px_request_for_stream(receive, receive->readers[0],
						  stream_of(receive)->holder.connection);
	MemoryContextSwitchTo(oldcontext);
	return ask(all, receive, OFFER,
			   psprintf("%d %016llx", receive->links,
						(unsigned long long) receive->pulled));
}

static void
add_link(const agreement *all, int number, const char *token, char **calls)
{
	const px_redistribute_source *source = &all->sources[number];
	const char *instance =
		stream_of(source->receive)->holder.connection->hello.instance;

	for (int i = 0; i < all->ntargets; i++)
	{
		if (all->ways[i] == NULL)
			continue;
		calls[i] = psprintf("%s%s%s %s %d %d %d %d %d %d",
							calls[i] ? calls[i] : "", calls[i] ? "\n" : "",
							instance, token, all->ntargets, i, source->parts,
							source->inbox, source->number, all->nsources);
	}
}

/* A token is for the targets' sessions: it must look like one. */
static bool
is_token(const char *text)
{
	px_receipt	token;

	return text && px_receipt_take(&text, &token, NULL) == PX_OK &&
		*text == '\0';
}

const char *
px_pull_links_agree(px_redistribute_source *sources, int nsources,
					px_redistribute_target *targets, int ntargets,
					char **calls)
{
	agreement	all = {
		.sources = sources,
		.nsources = nsources,
		.targets = targets,
		.ntargets = ntargets
	};
	bool		any = false;
	char	   *names;

	all.ways = palloc0(ntargets * sizeof(char *));
	memset(calls, 0, ntargets * sizeof(char *));
	if (!px_join_pull || !hold_sources(&all))
		return all.against;
	names = instances(&all);
	for (int i = 0; i < ntargets; i++)
		any = ask_target(&all, i, names) || any;
	for (int i = 0; i < nsources && any && all.against == NULL; i++)
	{
		char	   *token = make_offer(&all, i);

		if (!is_token(token))
			return all.against ? all.against : "a server offers no rows";
		add_link(&all, i, token, calls);
	}
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
		int64_t		sums[4];

		for (int k = 0; k < 4; k++)
		{
			if (px_text_take_number(&answer, "sum", 0, PG_INT64_MAX, &sums[k],
									NULL) != PX_OK ||
				!px_text_take(&answer, k < 3 ? " " : "\n"))
				return false;
		}
		sources[i].rows += sums[0];
		sources[i].nbytes += sums[3];
		stats->batches += sums[1];
		stats->raw_nbytes += sums[2];
		stats->wire_nbytes += sums[3];
		target->rows += sums[0];
		target->nbytes += sums[3];
	}
	target->pulled = true;
	return *answer == '\0';
}
