/*-------------------------------------------------------------------------
 *
 * pull.c
 *		The SQL function exchange.pull: frames from other servers for inboxes.
 *
 * A link is what one source offers to this server.  If the source is a session
 * of this very server, its queue is read here.  Otherwise a connection of the
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
#include "utils/builtins.h"
#include "utils/memutils.h"

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
#include "tuple/frame_rows.h"
#include "tuple/senders.h"
#include "wire/piece.h"

extern PGDLLEXPORT Datum px_sql_pull(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_pull);

#define CHECK		"SELECT " PX_REQUIRE_CAN_PULL
#define COLLECT \
	"SELECT exchange.collect($1::pg_catalog.text, $2::pg_catalog.int4)"
#define BINARY		1
#define LINKS_MAX	4096

/* While nothing comes, it is looked so often whether the client is there. */
#define CHECK_MS	1000

typedef struct pull_link
{
	px_connection_holder holder;	/* must be first; no connection if the
									 * source is here */
	/* As the argument says. */
	char		instance[PX_INSTANCE_NBYTES];
	px_receipt	token;
	uint32		links;			/* of the source; targets are links * parts */
	uint32		link;			/* this one of them */
	uint32		parts;
	uint32		inbox;
	uint32		number;			/* of the source of the inbox for part 0 */
	uint32		step;			/* from the one for a part to the next */

	dsm_segment *segment;		/* if the source is here */
	shm_mq_handle *queue;
	bool		lost;			/* the connection was taken away */
	bool		finished;
	uint64		ended;			/* bit i: part i has */
	px_senders	senders;
	px_end		sum;			/* rows, batches and sizes */
	MemoryContextCallback forget;
} pull_link;

/* ---------------------------------------------------------------------
 * Beginning
 * --------------------------------------------------------------------- */

static uint32
take_number(const char **at, int64_t max)
{
	int64_t		number;

	if (!px_text_take(at, " ") ||
		px_text_take_number(at, "link", 0, max, &number, NULL) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid link to pull rows from")));
	return (uint32) number;
}

/* "instance token links link parts inbox number step" */
static void
read_link(const char **at, pull_link *from)
{
	bool		ok;

	ok = px_text_take_chars(at, "0123456789abcdef", from->instance,
							sizeof(from->instance)) ==
		PX_INSTANCE_NBYTES - 1 && px_text_take(at, " ") &&
		px_receipt_take(at, &from->token, NULL) == PX_OK;
	if (ok)
	{
		from->links = take_number(at, PX_REQUEST_TARGETS_MAX);
		from->link = take_number(at, PX_REQUEST_TARGETS_MAX - 1);
		from->parts = take_number(at, PX_REQUEST_TARGETS_MAX);
		from->inbox = take_number(at, PX_INBOX_MAX);
		from->number = take_number(at, PX_INBOX_SOURCES_MAX - 1);
		from->step = take_number(at, PX_INBOX_SOURCES_MAX);
	}
	if (!ok || from->link >= from->links || from->parts == 0 ||
		from->links * from->parts > PX_REQUEST_TARGETS_MAX ||
		from->inbox == 0 ||
		from->number + (from->parts - 1) * from->step >= PX_INBOX_SOURCES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid link to pull rows from")));
	if (px_inbox_is_open((int) from->inbox))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("inbox %u is being read", from->inbox)));
}

/* For messages. */
static const char *
server_name(const pull_link *from)
{
	return from->queue ? "here" : from->holder.servername;
}

/* The link's memory is freed, maybe after an error: the pool cleans up. */
static void
forget_link(void *arg)
{
	pull_link  *from = arg;

	if (from->holder.connection)
		from->holder.connection->holder = NULL;
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

static void
open_queue(pull_link *from)
{
	from->holder.servername = PX_THE_CLIENT;
	from->queue = px_offer_open(&from->token, from->link, &from->segment);
	if (from->queue == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there are no rows to collect")));
}

static bool
send_query(PGconn *pg, const pull_link *from)
{
	char		token[PX_RECEIPT_NBYTES_MAX];
	px_text		text = {token, sizeof(token), 0};
	const char *values[2];

	px_receipt_put(&text, &from->token);
	(void) px_text_end(&text);
	values[0] = token;
	values[1] = psprintf("%u", from->link);
	return PQenterPipelineMode(pg) &&
		PQsendQueryParams(pg, CHECK, 0, NULL, NULL, NULL, NULL, 0) &&
		PQsendFlushRequest(pg) &&
		PQsendQueryParams(pg, COLLECT, 2, NULL, values, NULL, NULL, BINARY) &&
		PQpipelineSync(pg) && PQsetSingleRowMode(pg);
}

/* Its functions are those of the extension: go on to the frames. */
static bool
begin_query(pull_link *from)
{
	PGconn	   *pg = from->holder.connection->pg;
	PGresult   *result;
	px_answer	answer = px_take_answer(pg, true, px_setup_deadline(),
										&result);

	PQclear(result);
	return answer == PX_ANSWER_OK && PQsetSingleRowMode(pg);
}

static void
connect_link(pull_link *from)
{
	from->holder.lose = lose_connection;
	from->holder.give_up = give_up_connection;
	from->holder.state = link_state;
	from->forget.func = forget_link;
	from->forget.arg = from;
	MemoryContextRegisterResetCallback(CurrentMemoryContext, &from->forget);
	if (!px_pull_connect(from->instance, &from->holder) ||
		!send_query(from->holder.connection->pg, from))
		ereport(ERROR,
				(errcode(ERRCODE_FDW_UNABLE_TO_ESTABLISH_CONNECTION),
				 errmsg("could not connect to a server to pull rows from")));
}

static List *
begin_links(const char *at)
{
	List	   *all = NIL;
	ListCell   *lc;
	px_hello	self;

	px_hello_self(&self);
	do
	{
		pull_link  *from = palloc0(sizeof(pull_link));

		read_link(&at, from);
		from->senders.context = CurrentMemoryContext;
		all = lappend(all, from);
	} while (list_length(all) < LINKS_MAX && px_text_take(&at, "\n"));
	foreach(lc, all)
	{
		pull_link  *from = lfirst(lc);

		if (strcmp(from->instance, self.instance) == 0)
			open_queue(from);
		else
			connect_link(from);
	}
	foreach(lc, all)
	{
		pull_link  *from = lfirst(lc);

		if (from->queue == NULL && !begin_query(from))
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
	uint32		target = header->sender % (from->links * from->parts);

	if (target % from->links != from->link)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						server_name(from)),
				 errdetail("Expected a frame of link %u, got one of link %u.",
						   from->link, target % from->links)));
	return target / from->links;
}

static void
take_frame(pull_link *from, const uint8_t *frame, size_t nbytes)
{
	px_delivery delivery = {
		.inbox = (uint16) from->inbox, .frame = frame, .nbytes = nbytes
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
	delivery.source = (uint16) (from->number + part * from->step);
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
	if ((uint32) pg_popcount64(from->ended) != from->parts)
		ereport(ERROR,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("rows to pull from server \"%s\" have ended early",
						server_name(from)),
				 errdetail("The session that sent them has ended, or its query was cancelled.")));
	px_senders_require_ends(&from->senders, from->holder.servername);
	from->finished = true;
}

/* Read a frame, or the end, from a queue here; false if none is there. */
static bool
read_queue(pull_link *from)
{
	Size		nbytes;
	void	   *frame;

	switch (shm_mq_receive(from->queue, &nbytes, &frame, true))
	{
		case SHM_MQ_SUCCESS:
			take_frame(from, frame, nbytes);
			return true;
		case SHM_MQ_WOULD_BLOCK:
			return false;
		case SHM_MQ_DETACHED:
			break;
	}
	finish_link(from);
	dsm_detach(from->segment);
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
	if (PQisBusy(pg) && PQconsumeInput(pg) && PQisBusy(pg))
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

/* Wait until a link may have something.  The latch stands for queues. */
static void
wait_for_any(const List *all)
{
	WaitEventSet *set = px_wait_set_new(list_length(all));
	WaitEvent	event;
	ListCell   *lc;
	int			n;

	px_timeout_pause();
	PG_TRY();
	{
		px_wait_set_add_postmaster(set);
		foreach(lc, all)
		{
			const pull_link *from = lfirst(lc);

			if (!from->finished && from->queue == NULL)
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
	if (n == 0)
		px_offer_check_client();
	else if (event.events & WL_LATCH_SET)
		ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	px_timeout_next_statement();
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
 * Each line of links has the words of read_link.  For each of them, a line of
 * the result says how many rows, batches, raw and wire bytes have come.
 */
Datum
px_sql_pull(PG_FUNCTION_ARGS)
{
	StringInfoData sums;
	List	   *all;
	ListCell   *lc;

	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("exchange.pull cannot run inside a subtransaction")));
	all = begin_links(text_to_cstring(PG_GETARG_TEXT_PP(0)));
	read_links(all);
	initStringInfo(&sums);
	foreach(lc, all)
	{
		const px_end *sum = &((const pull_link *) lfirst(lc))->sum;

		appendStringInfo(&sums,
						 UINT64_FORMAT " " UINT64_FORMAT " " UINT64_FORMAT
						 " " UINT64_FORMAT "\n", sum->rows, sum->batches,
						 sum->raw_nbytes, sum->wire_nbytes);
	}
	PG_RETURN_TEXT_P(cstring_to_text_with_len(sums.data, sums.len));
}
