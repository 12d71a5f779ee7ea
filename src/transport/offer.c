/*-------------------------------------------------------------------------
 *
 * offer.c
 *		Frames that a sender offers to other sessions of its server.
 *
 * Whoever may call exchange.collect may name any segment of shared memory.  As
 * with deposits (admit/deposit.c), nothing in a segment is used before its
 * beginning was found to be that of an offer, with the secret of the token,
 * and nothing is said about other segments.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "port.h"
#include "port/atomics.h"
#include "port/pg_bitutils.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "transport/offer.h"
#include "wire/frame.h"

extern PGDLLEXPORT Datum px_sql_offer(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_offer);

#define MAGIC	UINT64CONST(0x70786f6666657231)

/*
 * A queue is as large as one of Gather's at least.  A larger frame passes it
 * in pieces; with 256 kB, a frame of 700 kB takes 0.11 ms.
 */
#define QUEUE_NBYTES_MIN	((Size) 64 * 1024)
#define QUEUE_NBYTES_MAX	((Size) 256 * 1024)
#define QUEUES_NBYTES_MAX	((Size) 4 * 1024 * 1024)

/*
 * While a queue is full, what was returned before is flushed this often, and
 * it is looked whether the client is still there.
 */
#define CHECK_MS			1000

/* What a segment begins with.  The queues of pulled links follow in turn. */
typedef struct offer_header
{
	uint64		magic;
	uint64		secret[2];
	Oid			databaseid;
	uint32		links;
	uint64		pulled;			/* bit i: link i has a queue */
	Size		queue_nbytes;
	pg_atomic_uint64 opened;	/* bit i: its queue was */
} offer_header;

/* That of this transaction; segment NULL: there is none. */
static struct
{
	dsm_segment *segment;
	offer_header *header;
	shm_mq_handle *queues[PX_REQUEST_TARGETS_MAX];	/* NULL: not pulled, or
													 * its collector has gone */
}			offered;

static shm_mq *
queue_address(offer_header *header, uint32 link)
{
	uint64		before = header->pulled & ((UINT64CONST(1) << link) - 1);

	return (shm_mq *) ((char *) header + MAXALIGN(sizeof(offer_header)) +
					   pg_popcount64(before) * header->queue_nbytes);
}

/* ---------------------------------------------------------------------
 * Making an offer
 * --------------------------------------------------------------------- */

static void
forget_offer(dsm_segment *segment, Datum arg)
{
	memset(&offered, 0, sizeof(offered));
}

/* After an error, the resource owner detaches from the segment. */
static void
xact_callback(XactEvent event, void *arg)
{
	if ((event == XACT_EVENT_PRE_COMMIT || event == XACT_EVENT_PRE_PREPARE) &&
		offered.segment)
		dsm_detach(offered.segment);
}

/* The segment lasts as long as the transaction, not as this statement. */
static dsm_segment *
create_segment(Size nbytes)
{
	ResourceOwner oldowner = CurrentResourceOwner;
	dsm_segment *segment;

	CurrentResourceOwner = TopTransactionResourceOwner;
	segment = dsm_create(nbytes, 0);
	CurrentResourceOwner = oldowner;
	return segment;
}

static void
make_queues(uint32 links, uint64 pulled)
{
	int			n = pg_popcount64(pulled);
	Size		nbytes =
		MAXALIGN_DOWN(Max(Min(QUEUES_NBYTES_MAX / n, QUEUE_NBYTES_MAX),
						  QUEUE_NBYTES_MIN));
	MemoryContext oldcontext = MemoryContextSwitchTo(TopTransactionContext);
	dsm_segment *segment = create_segment(MAXALIGN(sizeof(offer_header)) +
										  n * nbytes);
	offer_header *header = dsm_segment_address(segment);

	on_dsm_detach(segment, forget_offer, 0);
	memset(header, 0, sizeof(*header));
	header->databaseid = MyDatabaseId;
	header->links = links;
	header->pulled = pulled;
	header->queue_nbytes = nbytes;
	pg_atomic_init_u64(&header->opened, 0);
	offered.segment = segment;
	offered.header = header;
	for (uint32 i = 0; i < links; i++)
	{
		shm_mq	   *queue;

		if ((pulled & (UINT64CONST(1) << i)) == 0)
			continue;
		queue = shm_mq_create(queue_address(header, i), nbytes);
		shm_mq_set_sender(queue, MyProc);
		offered.queues[i] = shm_mq_attach(queue, segment, NULL);
	}
	MemoryContextSwitchTo(oldcontext);
}

/* "links pulled", a number and 16 hex digits. */
static void
read_links(const char *at, uint32 *links, uint64 *pulled)
{
	int64_t		number;

	if (px_text_take_number(&at, "links", 1, PX_REQUEST_TARGETS_MAX, &number,
							NULL) != PX_OK ||
		!px_text_take(&at, " ") || !px_text_take_hex(&at, pulled) ||
		*at != '\0' || *pulled == 0 ||
		(*pulled & ~(PG_UINT64_MAX >> (PX_REQUEST_TARGETS_MAX - number))) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid list of links")));
	*links = (uint32) number;
}

/* exchange.offer(links text) returns text */
Datum
px_sql_offer(PG_FUNCTION_ARGS)
{
	static bool registered = false;
	char		buffer[PX_RECEIPT_NBYTES_MAX];
	px_text		receipt = {buffer, sizeof(buffer), 0};
	px_receipt	token;
	uint32		links;
	uint64		pulled;

	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("exchange.offer cannot run inside a subtransaction")));
	read_links(text_to_cstring(PG_GETARG_TEXT_PP(0)), &links, &pulled);
	if (!pg_strong_random(token.secret, sizeof(token.secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes for an offer")));
	if (!registered)
		RegisterXactCallback(xact_callback, NULL);
	registered = true;
	if (offered.segment)
		dsm_detach(offered.segment);
	make_queues(links, pulled);
	memcpy(offered.header->secret, token.secret, sizeof(token.secret));
	pg_write_barrier();
	offered.header->magic = MAGIC;
	token.handle = dsm_segment_handle(offered.segment);
	px_receipt_put(&receipt, &token);
	(void) px_text_end(&receipt);
	PG_RETURN_TEXT_P(cstring_to_text(buffer));
}

/* ---------------------------------------------------------------------
 * Sending
 * --------------------------------------------------------------------- */

static void
require_offer(const px_request *request)
{
	if (offered.segment == NULL || offered.header->links != request->links ||
		(request->pulled & ~offered.header->pulled) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no rows were offered in this transaction")));
}

void
px_offer_check_client(void)
{
	if (whereToSendOutput == DestRemote && !pq_check_connection())
		ereport(FATAL,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to client lost")));
}

/*
 * Wait until something happens.  The collectors may be waiting for others, and
 * nothing be sent to the client, who asked for all this, meanwhile.
 */
static void
wait_for_collector(void)
{
	if (whereToSendOutput == DestRemote)
		(void) pq_flush_if_writable();
	if (WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
				  CHECK_MS, WAIT_EVENT_MESSAGE_QUEUE_SEND) & WL_TIMEOUT)
		px_offer_check_client();
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
}

bool
px_offer_put(const px_request *request, const uint8_t *frame, size_t nbytes)
{
	px_frame_header header;
	uint32		link;
	shm_mq_result result;

	if (request->pulled == 0 ||
		px_frame_peek_header(frame, nbytes, &header, NULL) != PX_OK)
		return false;
	link = header.sender % request->targets % request->links;
	if ((request->pulled & (UINT64CONST(1) << link)) == 0)
		return false;
	require_offer(request);
	if (offered.queues[link] == NULL)
		return true;
	while ((result = shm_mq_send(offered.queues[link], nbytes, frame, true,
								 true)) == SHM_MQ_WOULD_BLOCK)
		wait_for_collector();
	if (result == SHM_MQ_DETACHED)
		offered.queues[link] = NULL;
	return true;
}

void
px_offer_finish(const px_request *request)
{
	if (offered.segment == NULL)
		return;
	while ((pg_atomic_read_u64(&offered.header->opened) & request->pulled) !=
		   request->pulled)
		wait_for_collector();
	dsm_detach(offered.segment);
}

/* ---------------------------------------------------------------------
 * Collecting
 * --------------------------------------------------------------------- */

/*
 * Is it what the token is for?  The secrets are compared in a time that does
 * not depend on where they differ.
 */
static bool
is_offer(dsm_segment *segment, const px_receipt *token)
{
	const offer_header *header = dsm_segment_address(segment);

	return dsm_segment_map_length(segment) >= sizeof(offer_header) &&
		header->magic == MAGIC &&
		((header->secret[0] ^ token->secret[0]) |
		 (header->secret[1] ^ token->secret[1])) == 0 &&
		header->databaseid == MyDatabaseId;
}

shm_mq_handle *
px_offer_open(const px_receipt *token, uint32 link, dsm_segment **segment)
{
	uint64		bit = UINT64CONST(1) << link;
	offer_header *header;

	/* A session does not collect from itself. */
	if (link >= PX_REQUEST_TARGETS_MAX || dsm_find_mapping(token->handle) ||
		(*segment = dsm_attach(token->handle)) == NULL)
		return NULL;
	header = dsm_segment_address(*segment);
	if (is_offer(*segment, token) && (header->pulled & bit) != 0 &&
		(pg_atomic_fetch_or_u64(&header->opened, bit) & bit) == 0)
	{
		shm_mq	   *queue = queue_address(header, link);

		/* This wakes the sender. */
		shm_mq_set_receiver(queue, MyProc);
		return shm_mq_attach(queue, *segment, NULL);
	}
	dsm_detach(*segment);
	return NULL;
}
