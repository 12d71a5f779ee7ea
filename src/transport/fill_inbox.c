/*-------------------------------------------------------------------------
 *
 * fill_inbox.c
 *		The SQL function exchange.fill_inbox: frames for the inboxes.
 *
 * Any user may call it.  What is brought is checked twice: that all records
 * are whole, and the headers of their frames, before anything is kept; and all
 * of a frame when it is read.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"

#include "transport/inbox.h"
#include "tuple/fault.h"
#include "tuple/frame_rows.h"

extern PGDLLEXPORT Datum px_sql_fill_inbox(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_fill_inbox);

static void
check_limits(const px_delivery *delivery)
{
	if (delivery->inbox > PX_INBOX_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number %u of an inbox is too large",
						delivery->inbox),
				 errdetail("The limit is %d.", PX_INBOX_MAX)));
	if (delivery->source >= PX_INBOX_SOURCES_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("number %u of a source of inbox %u is too large",
						delivery->source, delivery->inbox),
				 errdetail("The limit is %d.", PX_INBOX_SOURCES_MAX - 1)));
}

static void
check_delivery(const px_delivery *delivery)
{
	check_limits(delivery);
	if (px_inbox_is_open(delivery->inbox))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("inbox %u is being read", delivery->inbox),
				 errdetail("It cannot be filled before the query that reads it has ended.")));
}

/*
 * Check all records; or, if they were checked, keep them.  An error while they
 * are kept ends the transaction.
 */
static void
take_records(const bytea *argument, bool keep)
{
	px_reader	records = {
		.data = (const uint8_t *) VARDATA_ANY(argument),
		.len = VARSIZE_ANY_EXHDR(argument)
	};

	while (px_reader_left(&records) > 0)
	{
		px_delivery delivery;
		px_fault	fault;

		CHECK_FOR_INTERRUPTS();
		if (px_delivery_next(&records, &delivery, &fault) != PX_OK)
			px_raise_fault(PX_THE_CLIENT, &fault);
		if (keep)
			px_inbox_put(&delivery);
		else
			check_delivery(&delivery);
	}
}

/* exchange.fill_inbox(frames bytea) returns int8 */
Datum
px_sql_fill_inbox(PG_FUNCTION_ARGS)
{
	const bytea *argument = PG_GETARG_BYTEA_PP(0);

	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("exchange.fill_inbox cannot run inside a subtransaction")));
	take_records(argument, false);
	take_records(argument, true);
	PG_RETURN_INT64((int64) px_inbox_nbytes());
}
