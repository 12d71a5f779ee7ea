/*-------------------------------------------------------------------------
 *
 * pull.c
 *		The SQL function exchange.pull: frames of other servers for inboxes.
 *
 * A link is what one source offers to this server.  If the source is a session
 * of this very database, its queue is read here.  Otherwise a connection of the
 * pool calls exchange.collect over there.
 *
 * The frames of all links are read as they come, and kept.  So nobody who
 * sends some waits for another one, whatever the order.  Frames are checked as
 * a coordinator checks those that it passes on: an error names the server that
 * has made one.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/latch.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/genuine.h"
#include "conn/hello_self.h"
#include "conn/pool.h"
#include "exec/pull_server.h"
#include "exec/timeout.h"
#include "guc.h"
#include "stats/wait_event.h"
#include "transport/inbox.h"
#include "transport/offer.h"
#include "tuple/fault.h"
#include "tuple/senders.h"
#include "wire/piece.h"
#include "wire/pull_words.h"

extern PGDLLEXPORT Datum px_sql_pull(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_pull);

#define CHECK		"SELECT " PX_REQUIRE_CAN_PULL
#define COLLECT \
	"SELECT exchange.collect($1::pg_catalog.text, $2::pg_catalog.int4)"
#define BINARY		1

/* Four numbers of 20 digits, and what is between them. */
#define SUM_NBYTES_MAX	(4 * 21)

/* While nothing comes, it is looked so often whether the client is there. */
#define CHECK_MS	1000

/* Who collects says every second that it is there: see exec/collect.c. */
#define SILENCE_MS	10000

typedef struct pull_link
{
	px_connection_holder holder;	/* must be first; no connection if the
									 * source is here */
	px_pull_link link;			/* as the argument says */
	px_collection *queue;		/* if the source is here; else NULL */
	bool		lost;			/* the connection was taken away */
	TimestampTz heard_at;		/* when something came by it */
	bool		finished;
	uint64		ended;			/* bit i: part i has */
	px_senders	senders;
	px_pull_sum sum;
	MemoryContextCallback forget;
} pull_link;

/* ---------------------------------------------------------------------
 * Beginning
 * --------------------------------------------------------------------- */

static pull_link *
read_link(const char **at)
{
	pull_link  *from = palloc0(sizeof(pull_link));
	px_fault	fault = {0};
	char		detail[PX_FAULT_NBYTES_MAX];

	if (px_pull_link_take(at, &from->link, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid link to pull rows from"),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
	if (px_inbox_is_open((int) from->link.inbox))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("inbox %u is being read", from->link.inbox)));
	from->holder.servername = from->link.source.server;
	from->senders.context = CurrentMemoryContext;
	return from;
}

static List *
read_all_links(const char *at)
{
	List	   *all = NIL;

	do
	{
		CHECK_FOR_INTERRUPTS();
		all = lappend(all, read_link(&at));
	} while (list_length(all) < PX_PULL_LINKS_MAX && px_text_take(&at, "\n"));
	if (*at != '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid links to pull rows from"),
				 errdetail("There is something else than lines, or more than %d.",
						   PX_PULL_LINKS_MAX)));
	return all;
}

static void
lose_connection(px_connection_holder *holder)
{
	((pull_link *) holder)->lost = true;
}

static void
give_up_connection(px_connection_holder *holder)
{
	lose_connection(holder);
	px_connection_abandon(holder->connection);
}

static const char *
link_state(const px_connection_holder *holder)
{
	return "pulling";
}

/* The source is here.  After an error, the resource owner leaves the queue. */
static void
open_queue(pull_link *from)
{
	from->queue = px_offer_open(&from->link.token, from->link.link);
	if (from->queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("server \"%s\" has no rows to collect",
						from->holder.servername)));
}

static bool
send_query(PGconn *pg, const pull_link *from)
{
	char		token[PX_RECEIPT_NBYTES_MAX];
	px_text		text = {token, sizeof(token), 0};
	const char *values[2];

	px_receipt_put(&text, &from->link.token);
	(void) px_text_end(&text);
	values[0] = token;
	values[1] = psprintf("%u", from->link.link);
	return PQenterPipelineMode(pg) &&
		PQsendQueryParams(pg, CHECK, 0, NULL, NULL, NULL, NULL, 0) &&
		PQsendFlushRequest(pg) &&
		PQsendQueryParams(pg, COLLECT, 2, NULL, values, NULL, NULL, BINARY) &&
		PQpipelineSync(pg) && PQsetSingleRowMode(pg);
}

/* Its functions are those of the extension: go on to the frames. */
static bool
begin_query(pull_link *from, TimestampTz deadline)
{
	PGconn	   *pg;
	PGresult   *result;
	px_answer	answer;

	if (from->holder.connection == NULL)
		return false;
	pg = from->holder.connection->pg;
	answer = px_take_answer(pg, true, deadline, &result);

	PQclear(result);
	return answer == PX_ANSWER_OK && PQsetSingleRowMode(pg);
}

static void
connect_link(pull_link *from, TimestampTz deadline)
{
	px_outcome	outcome;

	from->holder.lose = lose_connection;
	from->holder.give_up = give_up_connection;
	from->holder.state = link_state;
	from->forget.func = px_connection_forget_holder;
	from->forget.arg = &from->holder;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &from->forget);
	outcome = px_pull_connect(&from->link.source, deadline, &from->holder);
	if (px_is_ok(outcome) && !send_query(from->holder.connection->pg, from))
		outcome = px_failed("a connection was lost");
	if (!px_is_ok(outcome))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION),
				 errmsg("could not connect to server \"%s\" to pull rows from it",
						from->link.source.server),
				 errdetail_internal("%s", outcome.reason)));
	from->heard_at = GetCurrentTimestamp();
}

static List *
begin_links(const char *at)
{
	TimestampTz deadline = px_setup_deadline();
	List	   *all = read_all_links(at);
	ListCell   *lc;
	px_hello	self;

	px_hello_self(&self);
	foreach(lc, all)
	{
		pull_link  *from = lfirst(lc);

		CHECK_FOR_INTERRUPTS();
		if (strcmp(from->link.source.database, self.pull_id) == 0)
			open_queue(from);
		else
			connect_link(from, deadline);
	}
	foreach(lc, all)
	{
		pull_link  *from = lfirst(lc);

		if (from->queue == NULL && !begin_query(from, deadline))
			ereport(ERROR,
					(errcode(ERRCODE_FDW_ERROR),
					 errmsg("could not pull rows from server \"%s\"",
							from->holder.servername)));
	}
	return all;
}

/* ---------------------------------------------------------------------
 * Frames
 * --------------------------------------------------------------------- */

/* The part that the frame belongs to. */
static uint32
check_part(const pull_link *from, const px_frame_header *header)
{
	uint32		links = from->link.links;
	uint32		target = header->sender % (links * from->link.parts);

	if (target % links != from->link.link)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						from->holder.servername),
				 errdetail("Expected a frame of link %u, got one of link %u.",
						   from->link.link, target % links)));
	return target / links;
}

static void
take_frame(pull_link *from, const uint8_t *frame, size_t nbytes)
{
	px_delivery delivery = {
		.inbox = (uint16) from->link.inbox, .frame = frame, .nbytes = nbytes
	};
	px_frame_header *header = &delivery.header;
	px_fault	fault;
	uint32		part;

	if (px_frame_peek(frame, nbytes, header, &fault) != PX_OK ||
		px_frame_verify(frame, header, &fault) != PX_OK ||
		px_totals_add(px_senders_find(&from->senders, header->sender), frame,
					  header, &fault) != PX_OK ||
		px_piece_check_header(header, &fault) != PX_OK)
		px_raise_fault(from->holder.servername, &fault);
	part = check_part(from, header);
	delivery.source = (uint16) (from->link.number +
								part * from->link.step);
	px_inbox_put(&delivery);
	from->sum.rows += header->rows;
	from->sum.raw_nbytes += header->raw_nbytes;
	from->sum.wire_nbytes += nbytes;
	if (header->kind == PX_FRAME_BATCH)
		from->sum.batches++;
	else if (header->kind == PX_FRAME_END)
		from->ended |= UINT64CONST(1) << part;
	px_timeout_next_statement();
}

/* No more frames come. */
static void
finish_link(pull_link *from)
{
	if ((uint32) pg_popcount64(from->ended) != from->link.parts)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("rows to pull from server \"%s\" have ended early",
						from->holder.servername),
				 errdetail("The session that sent them has ended, or its query was cancelled.")));
	px_senders_require_ends(&from->senders, from->holder.servername);
	from->finished = true;
}

/* Read a frame, or the end, from a queue here; false if none is there. */
static bool
read_queue(pull_link *from)
{
	const uint8_t *frame;
	size_t		nbytes;

	switch (px_offer_collect(from->queue, from->holder.servername, &frame,
							 &nbytes))
	{
		case PX_COLLECTED_FRAME:
			take_frame(from, frame, nbytes);
			return true;
		case PX_COLLECTED_NOTHING:
			return false;
		case PX_COLLECTED_END:
			break;
	}
	finish_link(from);
	return true;
}

static void
take_row(pull_link *from, const PGresult *row)
{
	size_t		nbytes = PQgetlength(row, 0, 0);

	if (PQnfields(row) != 1 || PQftype(row, 0) != BYTEAOID ||
		PQfformat(row, 0) != BINARY || PQgetisnull(row, 0, 0) ||
		nbytes > (size_t) px_max_frame_bytes)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						from->holder.servername)));
	from->heard_at = GetCurrentTimestamp();
	if (nbytes == 0)
		return;
	from->holder.connection->nbytes += nbytes;
	take_frame(from, (const uint8_t *) PQgetvalue(row, 0, 0), nbytes);
}

/* The query over there has ended, as the result says, which this frees. */
static void
end_query(pull_link *from, PGresult *result)
{
	px_connection *connection = from->holder.connection;

	if (result == NULL || PQresultStatus(result) != PGRES_TUPLES_OK)
		px_report_remote_error(ERROR, result, connection->pg,
							   from->holder.servername, COLLECT);
	PQclear(result);
	finish_link(from);
	if (px_come_to_rest(connection->pg, PX_REST_OF_QUERY,
						px_setup_deadline()))
		px_connection_release(connection);
	else
		px_connection_discard(connection);
}

static bool
read_connection(pull_link *from)
{
	PGconn	   *pg;
	PGresult   *result;

	if (from->holder.connection == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("a connection to server \"%s\" was lost",
						from->holder.servername)));
	pg = from->holder.connection->pg;
	if (PQisBusy(pg) && px_consume_input(pg) && PQisBusy(pg))
		return false;
	result = PQgetResult(pg);
	if (PQresultStatus(result) != PGRES_SINGLE_TUPLE)
	{
		end_query(from, result);
		return true;
	}
	PG_TRY();
	{
		take_row(from, result);
	}
	PG_FINALLY();
	{
		PQclear(result);
	}
	PG_END_TRY();
	return true;
}

/*
 * Do others say how long it may take?  Who collects from another server has a
 * statement_timeout there, and who sends has one.
 */
static bool
is_limited_elsewhere(const List *all)
{
	ListCell   *lc;

	foreach(lc, all)
	{
		const pull_link *from = lfirst(lc);

		if (from->queue && !from->finished && !px_offer_is_sent(from->queue))
			return false;
	}
	return true;
}

/*
 * A link may lead through a network that is gone, and nobody else would notice
 * it: the source's end is done when the last frames have left it.
 */
static void
require_sign_of_life(const pull_link *from, TimestampTz now)
{
	if (!TimestampDifferenceExceeds(from->heard_at, now, SILENCE_MS))
		return;
	px_peer_avoid(from->holder.connection->peer);
	ereport(ERROR,
			(errcode(ERRCODE_CONNECTION_FAILURE),
			 errmsg("server \"%s\" has sent nothing for %d seconds",
					from->holder.servername, SILENCE_MS / 1000)));
}

/* Wait until a link may have something.  The latch stands for queues. */
static void
wait_for_any(const List *all)
{
	WaitEventSet *set = px_wait_set_new(list_length(all));
	WaitEvent	event;
	TimestampTz now = GetCurrentTimestamp();
	ListCell   *lc;
	int			n;

	if (is_limited_elsewhere(all))
		px_timeout_pause();
	PG_TRY();
	{
		px_wait_set_add_postmaster(set);
		foreach(lc, all)
		{
			const pull_link *from = lfirst(lc);

			if (from->finished || from->queue)
				continue;
			require_sign_of_life(from, now);
			AddWaitEventToSet(set, WL_SOCKET_READABLE |
							  (PQflush(from->holder.connection->pg) > 0 ?
							   WL_SOCKET_WRITEABLE : 0),
							  PQsocket(from->holder.connection->pg), NULL,
							  NULL);
		}
		n = WaitEventSetWait(set, CHECK_MS, &event, 1,
							 px_wait_event(PX_WAIT_RECEIVE));
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	if (n > 0 && (event.events & WL_LATCH_SET))
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

/* Read all links to their ends, a frame of each in turn. */
static void
read_links(const List *all)
{
	for (;;)
	{
		bool		any = false;
		bool		left = false;
		ListCell   *lc;

		CHECK_FOR_INTERRUPTS();
		px_offer_check_client();
		foreach(lc, all)
		{
			pull_link  *from = lfirst(lc);

			if (from->finished)
				continue;
			any = (from->queue ? read_queue(from) : read_connection(from)) ||
				any;
			left = true;
		}
		if (!left)
			return;
		if (!any)
			wait_for_any(all);
	}
}

/*
 * exchange.pull(links text) returns text
 *
 * Each line of links has a px_pull_link, and for each of them a line of the
 * result has a px_pull_sum.
 */
Datum
px_sql_pull(PG_FUNCTION_ARGS)
{
	StringInfoData sums;
	List	   *all;
	ListCell   *lc;

	px_offer_require_allowed();
	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("exchange.pull cannot run inside a subtransaction")));
	PreventCommandIfParallelMode("exchange.pull()");
	all = begin_links(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	read_links(all);
	px_timeout_next_statement();
	initStringInfo(&sums);
	foreach(lc, all)
	{
		char		buffer[SUM_NBYTES_MAX];
		px_text		text = {buffer, sizeof(buffer), 0};

		px_pull_sum_put(&text, &((const pull_link *) lfirst(lc))->sum);
		(void) px_text_end(&text);
		appendStringInfoString(&sums, buffer);
		appendStringInfoChar(&sums, '\n');
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(sums.data, sums.len));
}
