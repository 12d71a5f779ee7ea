/*-------------------------------------------------------------------------
 *
 * depositor.c
 *		Bringing frames to a server on a connection of our own.
 *
 * A connection is taken from the pool for each deposit, which is a transaction
 * of its own.  Whatever goes wrong with it is no error: the frames then take
 * the other way.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/genuine.h"
#include "conn/pool.h"
#include "stats/wait_event.h"
#include "transport/depositor.h"

/*
 * How long a deposit may take.  A piece of a megabyte takes a minute on a link
 * of 140 kbit/s.
 */
#define DEPOSIT_TIMEOUT_MS	60000

/*
 * Behind a pooler this may be another backend than the one that has answered
 * the hello.  If the first statement fails, the second one is not even parsed.
 */
#define CHECK		"SELECT " PX_REQUIRE_CAN_DEPOSIT
#define DEPOSIT		"SELECT exchange.deposit($1::pg_catalog.bytea)"
#define BINARY		1

typedef enum depositor_phase
{
	DEPOSITOR_IDLE,
	DEPOSITOR_SENDING,			/* it has a connection */
	DEPOSITOR_DONE,				/* there is a receipt */
	DEPOSITOR_FAILED
} depositor_phase;

struct px_depositor
{
	px_connection_holder holder;	/* must be first */
	UserMapping *user;
	depositor_phase phase;
	px_receipt	receipt;		/* valid in phase DONE */
	instr_time	begin;			/* of sending */
	instr_time	time;			/* from then until the answer was seen */
	bool		answered;		/* it was */
	dlist_node	link;			/* in sending, in phase SENDING */
	MemoryContextCallback forget;
};

/* All depositors in phase SENDING. */
static dlist_head sending = DLIST_STATIC_INIT(sending);

static void
end_sending(px_depositor *depositor, depositor_phase phase)
{
	if (depositor->phase == DEPOSITOR_SENDING)
		dlist_delete(&depositor->link);
	depositor->phase = phase;
}

/* Its memory is freed, maybe after an error: the pool cleans up. */
static void
forget_depositor(void *arg)
{
	px_depositor *depositor = arg;

	px_connection_forget_holder(&depositor->holder);
	end_sending(depositor, DEPOSITOR_FAILED);
}

/* The end of a (sub)transaction takes the connection: see pool.h. */
static void
lose_connection(px_connection_holder *holder)
{
	end_sending((px_depositor *) holder, DEPOSITOR_FAILED);
}

static void complete(px_depositor *depositor);

/* See pool.h.  There is no connection in other phases. */
static void
give_up_connection(px_connection_holder *holder)
{
	complete((px_depositor *) holder);
}

static const char *
depositor_state(const px_connection_holder *holder)
{
	return "depositing";
}

px_depositor *
px_depositor_new(UserMapping *user, const char *servername)
{
	px_depositor *depositor = palloc0(sizeof(px_depositor));

	depositor->user = user;
	depositor->holder.servername = servername;
	depositor->holder.lose = lose_connection;
	depositor->holder.give_up = give_up_connection;
	depositor->holder.state = depositor_state;
	depositor->forget.func = forget_depositor;
	depositor->forget.arg = depositor;
	MemoryContextRegisterResetCallback(CurrentMemoryContext,
									   &depositor->forget);
	return depositor;
}

bool
px_depositor_is_busy(const px_depositor *depositor)
{
	return depositor->phase == DEPOSITOR_SENDING ||
		depositor->phase == DEPOSITOR_DONE;
}

bool
px_depositor_is_ready(const px_depositor *depositor)
{
	return depositor->phase != DEPOSITOR_SENDING || depositor->answered;
}

/* ---------------------------------------------------------------------
 * Sending
 * --------------------------------------------------------------------- */

static bool
send_piece(PGconn *pg, const void *bytes, size_t nbytes)
{
	const Oid	types[] = {BYTEAOID};
	const char *values[] = {bytes};
	const int	lengths[] = {(int) nbytes};
	const int	formats[] = {BINARY};

	return nbytes <= PG_INT32_MAX && PQenterPipelineMode(pg) &&
		PQsendQueryParams(pg, CHECK, 0, NULL, NULL, NULL, NULL, 0) &&
		PQsendQueryParams(pg, DEPOSIT, 1, types, values, lengths, formats,
						  0) &&
		PQpipelineSync(pg) && PQsetSingleRowMode(pg);
}

bool
px_depositor_send(px_depositor *depositor, const void *bytes, size_t nbytes)
{
	px_connection *connection;

	Assert(!px_depositor_is_busy(depositor));
	if (depositor->phase == DEPOSITOR_FAILED ||
		!px_is_ok(px_connection_acquire(px_peer_get(depositor->user),
										depositor->user, &depositor->holder)))
	{
		depositor->phase = DEPOSITOR_FAILED;
		return false;
	}

	connection = depositor->holder.connection;
	if (!send_piece(connection->pg, bytes, nbytes))
	{
		px_connection_discard(connection);
		depositor->phase = DEPOSITOR_FAILED;
		return false;
	}
	connection->nbytes += nbytes;
	depositor->phase = DEPOSITOR_SENDING;
	depositor->answered = false;
	INSTR_TIME_SET_CURRENT(depositor->begin);
	dlist_push_tail(&sending, &depositor->link);
	return true;
}

/*
 * Send and receive without blocking.  Returns whether there is more to send.
 * An error of the connection is met by complete().
 */
static bool
send_on(px_depositor *depositor)
{
	PGconn	   *pg = depositor->holder.connection->pg;
	bool		more = PQflush(pg) > 0;

	if (!depositor->answered &&
		(!px_consume_input(pg) || !PQisBusy(pg)))
	{
		INSTR_TIME_SET_CURRENT(depositor->time);
		INSTR_TIME_SUBTRACT(depositor->time, depositor->begin);
		depositor->answered = true;
	}
	return more && !depositor->answered;
}

bool
px_depositors_send_on(void)
{
	bool		more = false;
	dlist_iter	iter;

	dlist_foreach(iter, &sending)
		more |= send_on(dlist_container(px_depositor, link, iter.cur));
	return more;
}

/* ---------------------------------------------------------------------
 * Receiving
 * --------------------------------------------------------------------- */

static void
add_socket(WaitEventSet *set, const px_depositor *depositor)
{
	PGconn	   *pg = depositor->holder.connection->pg;
	int			unsent = PQflush(pg) > 0 ? WL_SOCKET_WRITEABLE : 0;

	if (!depositor->answered && PQsocket(pg) != PGINVALID_SOCKET)
		AddWaitEventToSet(set, WL_SOCKET_READABLE | unsent, PQsocket(pg), NULL,
						  NULL);
}

/* Wait until something can be sent or received by any depositor. */
static void
wait_for_any(long timeout_ms)
{
	WaitEventSet *set;
	WaitEvent	event;
	dlist_iter	iter;
	int			n = 0;

	dlist_foreach(iter, &sending)
		n++;
	set = px_wait_set_new(n);
	PG_TRY();
	{
		px_wait_set_add_postmaster(set);
		dlist_foreach(iter, &sending)
			add_socket(set, dlist_container(px_depositor, link, iter.cur));
		n = WaitEventSetWait(set, timeout_ms, &event, 1,
							 px_wait_event(PX_WAIT_RECEIVE));
	}
	PG_FINALLY();
	{
		FreeWaitEventSet(set);
	}
	PG_END_TRY();
	if (n > 0 && (event.events & WL_LATCH_SET))
	{
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Wait for the answer, sending on meanwhile. */
static px_answer
wait_for_answer(px_depositor *depositor, TimestampTz deadline)
{
	for (;;)
	{
		long		ms =
			TimestampDifferenceMilliseconds(GetCurrentTimestamp(), deadline);

		(void) px_depositors_send_on();
		if (depositor->answered)
			return PX_ANSWER_OK;
		if (ms <= 0)
			return PX_ANSWER_SILENT;
		wait_for_any(ms);
	}
}

/* The receipt in a row; handle 0 if there is none. */
static px_receipt
read_receipt(const PGresult *row)
{
	px_receipt	receipt = {0};
	const char *at;

	if (PQnfields(row) != 1 || PQgetisnull(row, 0, 0))
		return receipt;
	at = PQgetvalue(row, 0, 0);
	if (px_receipt_take(&at, &receipt, NULL) != PX_OK || *at != '\0')
		receipt.handle = 0;
	return receipt;
}

static px_answer
take_receipt(px_depositor *depositor, TimestampTz deadline)
{
	PGconn	   *pg = depositor->holder.connection->pg;
	PGresult   *result;
	px_answer	answer;

	answer = px_take_answer(pg, true, deadline, &result);
	PQclear(result);
	if (answer != PX_ANSWER_OK)
		return answer;
	answer = px_take_answer(pg, true, deadline, &result);
	if (answer == PX_ANSWER_OK)
		depositor->receipt = read_receipt(result);
	PQclear(result);
	if (answer != PX_ANSWER_OK)
		return answer;
	if (depositor->receipt.handle == 0 ||
		!px_come_to_rest(pg, PX_REST_OF_QUERY, deadline))
		return PX_ANSWER_UNEXPECTED;
	return PX_ANSWER_OK;
}

/* Wait until it is deposited, or has failed, and give the connection back. */
static void
complete(px_depositor *depositor)
{
	TimestampTz deadline =
		TimestampTzPlusMilliseconds(GetCurrentTimestamp(), DEPOSIT_TIMEOUT_MS);
	px_connection *connection = depositor->holder.connection;
	px_answer	answer = wait_for_answer(depositor, deadline);

	if (answer == PX_ANSWER_OK)
		answer = take_receipt(depositor, deadline);
	if (answer == PX_ANSWER_SILENT)
		px_peer_avoid(connection->peer);
	if (answer == PX_ANSWER_OK)
	{
		end_sending(depositor, DEPOSITOR_DONE);
		px_connection_release(connection);
	}
	else
	{
		end_sending(depositor, DEPOSITOR_FAILED);
		if (answer == PX_ANSWER_ERROR || answer == PX_ANSWER_SILENT)
			px_connection_abandon(connection);
		else
			px_connection_discard(connection);
	}
}

bool
px_depositor_take(px_depositor *depositor, px_receipt *receipt,
				  instr_time *time)
{
	if (depositor->phase == DEPOSITOR_SENDING)
		complete(depositor);
	if (depositor->phase != DEPOSITOR_DONE)
		return false;
	depositor->phase = DEPOSITOR_IDLE;
	*receipt = depositor->receipt;
	*time = depositor->time;
	return true;
}
