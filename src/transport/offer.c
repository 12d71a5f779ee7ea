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
 * A shm_mq that was left within a message is out of step for ever: what its
 * receiver takes for a length is then part of a row.  A sender leaves it so if
 * an error, a cancel for instance, ends its wait for room, and the transaction
 * goes on after ROLLBACK TO.  So a put is interrupted only if the offer is
 * detached from at once (put_frame).  Offers and puts are refused in
 * subtransactions, where an error need not end the transaction.
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
#include "storage/dsm.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "storage/shm_mq.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "guc.h"
#include "transport/offer.h"
#include "tuple/fault.h"
#include "wire/frame.h"
#include "wire/pull_words.h"

extern PGDLLEXPORT Datum px_sql_offer(PG_FUNCTION_ARGS);

PG_FUNCTION_INFO_V1(px_sql_offer);

#define MAGIC	UINT64CONST(0x70786f6666657232)

/*
 * A queue is as large as one of Gather's at least.  A larger frame passes it
 * bit by bit; with 256 kB, a frame of 700 kB takes 0.11 ms.
 */
#define QUEUE_NBYTES_MIN	((Size) 64 * 1024)
#define QUEUE_NBYTES_MAX	((Size) 256 * 1024)
#define QUEUES_NBYTES_MAX	((Size) 4 * 1024 * 1024)

/*
 * A frame is cut into messages of this size, and what is left.  The collector
 * knows from the first one how many there are: shm_mq takes memory for a
 * message as soon as it has its length, and so never much.
 */
#define PIECE_NBYTES		((Size) 16 * 1024)

/* A collector keeps memory for a frame of so many bytes. */
#define KEPT_NBYTES			((Size) 1024 * 1024)

/*
 * While one end waits, what was returned before is flushed this often, and it
 * is looked whether the client is still there.
 */
#define CHECK_MS			1000

/* A run that has put all its frames. */
#define RUN_DONE			PG_UINT64_MAX

/* What a segment begins with.  The queues of pulled links follow in turn. */
typedef struct offer_header
{
	uint64		magic;			/* 0: there is no offer any more */
	uint64		secret[2];
	Oid			databaseid;
	uint32		links;
	uint64		pulled;			/* bit i: link i has a queue */
	Size		queue_nbytes;
	pg_atomic_uint64 opened;	/* bit i: its queue was */
	pg_atomic_uint32 is_sent;	/* 1: a run has begun */
} offer_header;

#define QUEUES_OFFSET	MAXALIGN(sizeof(offer_header))

/* That of this transaction; segment NULL: there is none. */
static struct
{
	dsm_segment *segment;
	offer_header *header;
	MemoryContext context;		/* of the queues */
	px_pull_offer links;
	uint64		number;			/* of this session's offers, from 1 */
	bool		begun;			/* the run of this number puts its frames */
	shm_mq_handle *queues[PX_REQUEST_TARGETS_MAX];	/* NULL: not pulled, or
													 * nobody collects */
}			offered;

/* Up to the end of this transaction: it had an offer, which is void. */
static bool is_void = false;

void
px_offer_require_allowed(void)
{
	if (!px_join_pull)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("servers do not pull rows from each other here"),
				 errhint("Set pg_exchange.join_pull on this server.")));
}

static shm_mq *
queue_address(offer_header *header, const px_pull_offer *links, uint32 link,
			  Size queue_nbytes)
{
	uint64		before = links->pulled & ((UINT64CONST(1) << link) - 1);

	return (shm_mq *) ((char *) header + QUEUES_OFFSET +
					   pg_popcount64(before) * queue_nbytes);
}

/* ---------------------------------------------------------------------
 * Making an offer
 * --------------------------------------------------------------------- */

/*
 * The segment is being left, for whatever reason; its queues were before.
 * Memory for segments may be used again without being cleared.
 */
static void
forget_offer(dsm_segment *segment, Datum arg)
{
	offer_header *header = dsm_segment_address(segment);

	header->magic = 0;
	memset(header->secret, 0, sizeof(header->secret));
	if (offered.segment != segment)
		return;
	MemoryContextDelete(offered.context);
	memset(&offered, 0, sizeof(offered));
}

/* After an error, the resource owner detaches from the segment. */
static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			if (offered.segment)
				dsm_detach(offered.segment);
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_ABORT:
			is_void = false;
			break;
		default:
			break;
	}
}

/* The segment lasts as long as the transaction, not as this statement. */
static dsm_segment *
create_segment(Size nbytes)
{
	ResourceOwner oldowner = CurrentResourceOwner;
	dsm_segment *segment;

	CurrentResourceOwner = TopTransactionResourceOwner;
	PG_TRY();
	{
		segment = dsm_create(nbytes, 0);
	}
	PG_FINALLY();
	{
		CurrentResourceOwner = oldowner;
	}
	PG_END_TRY();
	return segment;
}

static void
make_queues(const px_pull_offer *links)
{
	static uint64 noffers = 0;
	int			n = pg_popcount64(links->pulled);
	Size		nbytes =
		MAXALIGN_DOWN(Max(Min(QUEUES_NBYTES_MAX / n, QUEUE_NBYTES_MAX),
						  QUEUE_NBYTES_MIN));
	MemoryContext context = AllocSetContextCreate(TopTransactionContext,
												  "exchange offer",
												  ALLOCSET_SMALL_SIZES);
	MemoryContext oldcontext = MemoryContextSwitchTo(context);
	dsm_segment *segment = create_segment(QUEUES_OFFSET + n * nbytes);
	offer_header *header = dsm_segment_address(segment);

	memset(header, 0, sizeof(*header));
	on_dsm_detach(segment, forget_offer, 0);
	header->databaseid = MyDatabaseId;
	header->links = links->links;
	header->pulled = links->pulled;
	header->queue_nbytes = nbytes;
	pg_atomic_init_u64(&header->opened, 0);
	pg_atomic_init_u32(&header->is_sent, 0);
	offered.segment = segment;
	offered.header = header;
	offered.context = context;
	offered.links = *links;
	offered.number = ++noffers;
	for (uint32 i = 0; i < links->links; i++)
	{
		shm_mq	   *queue;

		if ((links->pulled & (UINT64CONST(1) << i)) == 0)
			continue;
		queue = shm_mq_create(queue_address(header, links, i, nbytes), nbytes);
		shm_mq_set_sender(queue, MyProc);
		offered.queues[i] = shm_mq_attach(queue, segment, NULL);
	}
	MemoryContextSwitchTo(oldcontext);
}

static void
read_links(const char *at, px_pull_offer *links)
{
	px_fault	fault = {0};
	char		detail[PX_FAULT_NBYTES_MAX];
	px_status	status = px_pull_offer_take(&at, links, &fault);

	if (status == PX_OK && *at != '\0')
		status = px_fail(&fault, PX_BAD_HEADER, "links", 0, 0);
	if (status != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid list of links"),
				 errdetail_internal("%s", px_fault_text(&fault, detail))));
}

/* exchange.offer(links text) returns text */
Datum
px_sql_offer(PG_FUNCTION_ARGS)
{
	static bool registered = false;
	char		buffer[PX_RECEIPT_NBYTES_MAX];
	px_text		receipt = {buffer, sizeof(buffer), 0};
	px_receipt	token;
	px_pull_offer links;

	px_offer_require_allowed();
	if (GetCurrentTransactionNestLevel() > 1)
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("exchange.offer cannot run inside a subtransaction")));
	PreventCommandIfParallelMode("exchange.offer()");
	read_links(text_to_cstring(PG_GETARG_TEXT_PP(0)), &links);
	if (!pg_strong_random(token.secret, sizeof(token.secret)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR),
				 errmsg("could not generate random bytes for an offer")));
	if (!registered)
		RegisterXactCallback(xact_callback, NULL);
	registered = true;
	if (offered.segment)
		dsm_detach(offered.segment);
	make_queues(&links);
	memcpy(offered.header->secret, token.secret, sizeof(token.secret));
	pg_write_barrier();
	offered.header->magic = MAGIC;
	token.handle = dsm_segment_handle(offered.segment);
	px_receipt_put(&receipt, &token);
	(void) px_text_end(&receipt);
	PG_RETURN_TEXT_P(cstring_to_text(buffer));
}

/* ---------------------------------------------------------------------
 * Waiting
 * --------------------------------------------------------------------- */

void
px_offer_check_client(void)
{
	static TimestampTz checked_at = 0;
	TimestampTz now = GetCurrentTimestamp();

	if (!TimestampDifferenceExceeds(checked_at, now, CHECK_MS))
		return;
	checked_at = now;
	if (whereToSendOutput == DestRemote && !pq_check_connection())
		ereport(FATAL,
				(errcode(ERRCODE_CONNECTION_FAILURE),
				 errmsg("connection to client lost")));
}

/*
 * The other end may be waiting for others, and nothing be sent to the client,
 * who asked for all this, meanwhile.
 */
bool
px_offer_wait(uint32 wait_event)
{
	bool		woken;

	if (whereToSendOutput == DestRemote)
		(void) pq_flush_if_writable();
	woken = (WaitLatch(MyLatch,
					   WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
					   CHECK_MS, wait_event) & WL_TIMEOUT) == 0;
	px_offer_check_client();
	ResetLatch(MyLatch);
	CHECK_FOR_INTERRUPTS();
	return woken;
}

/* ---------------------------------------------------------------------
 * Sending
 * --------------------------------------------------------------------- */

/* The queues end where they are. */
static void
void_offer(void)
{
	is_void = true;
	if (offered.segment)
		dsm_detach(offered.segment);
}

static bool
is_current(const px_offer_run *run)
{
	return offered.segment && offered.begun && offered.number == *run;
}

/* Why the run cannot put the frames of its request into the offer, or NULL. */
static const char *
fault_of_run(const px_offer_run *run, const px_request *request)
{
	if (offered.segment == NULL && is_void)
		return "rows that were offered cannot be sent any more";
	if (offered.segment == NULL ||
		offered.links.links != request->links ||
		offered.links.pulled != request->pulled)
		return "no rows were offered in this transaction";
	if (offered.begun ? !is_current(run) : *run != 0)
		return "rows that were offered are those of another query";
	if (GetCurrentTransactionNestLevel() > 1)
		return "offered rows cannot be sent inside a subtransaction";
	return NULL;
}

/* Begin the run, or go on with it. */
static void
require_run(px_offer_run *run, const px_request *request)
{
	const char *fault = fault_of_run(run, request);

	if (fault && is_current(run))
		void_offer();
	if (fault)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg_internal("%s", fault)));
	if (offered.begun)
		return;
	offered.begun = true;
	*run = offered.number;
	pg_atomic_write_u32(&offered.header->is_sent, 1);
}

/* Put a frame into a queue, piece by piece; false if nobody collects it. */
static bool
send_pieces(shm_mq_handle *queue, const uint8_t *frame, size_t nbytes)
{
	size_t		at = 0;

	while (at < nbytes)
	{
		size_t		n = Min(nbytes - at, PIECE_NBYTES);

		switch (shm_mq_send(queue, n, frame + at, true, at + n == nbytes))
		{
			case SHM_MQ_SUCCESS:
				at += n;
				break;
			case SHM_MQ_WOULD_BLOCK:
				(void) px_offer_wait(WAIT_EVENT_MESSAGE_QUEUE_SEND);
				break;
			case SHM_MQ_DETACHED:
				return false;
		}
	}
	return true;
}

/* The same, but after an error nothing can follow the pieces. */
static bool
put_frame(shm_mq_handle *queue, const uint8_t *frame, size_t nbytes)
{
	bool		taken = false;

	PG_TRY();
	{
		taken = send_pieces(queue, frame, nbytes);
	}
	PG_CATCH();
	{
		void_offer();
		PG_RE_THROW();
	}
	PG_END_TRY();
	return taken;
}

bool
px_offer_put(px_offer_run *run, const px_request *request,
			 const uint8_t *frame, size_t nbytes)
{
	px_frame_header header;
	px_fault	fault = {0};
	uint32		link;

	if (request->pulled == 0)
		return false;

	/* Those of our own frame maker are. */
	if (nbytes > PX_FRAME_SENT_NBYTES_MAX ||
		px_frame_peek(frame, nbytes, &header, &fault) != PX_OK)
		elog(ERROR, "frame to be offered is malformed: %s",
			 px_status_text(fault.status));
	link = header.sender % request->targets % request->links;
	if ((request->pulled & (UINT64CONST(1) << link)) == 0)
		return false;
	require_run(run, request);
	px_offer_check_client();
	if (offered.queues[link] &&
		!put_frame(offered.queues[link], frame, nbytes))
		offered.queues[link] = NULL;
	return true;
}

void
px_offer_finish(px_offer_run *run, const px_request *request)
{
	if (request->pulled == 0 || *run == RUN_DONE)
		return;
	require_run(run, request);
	while ((pg_atomic_read_u64(&offered.header->opened) &
			offered.links.pulled) != offered.links.pulled)
		(void) px_offer_wait(WAIT_EVENT_MESSAGE_QUEUE_SEND);
	*run = RUN_DONE;
	dsm_detach(offered.segment);
}

void
px_offer_leave(px_offer_run *run)
{
	if (is_current(run))
		void_offer();
	*run = 0;
}

/* ---------------------------------------------------------------------
 * Collecting
 * --------------------------------------------------------------------- */

struct px_collection
{
	dsm_segment *segment;		/* NULL: it has ended */
	offer_header *header;
	shm_mq_handle *queue;
	MemoryContext context;

	/* A frame whose pieces come one by one. */
	uint8_t    *frame;			/* NULL until there is one */
	size_t		cap;			/* bytes of room in frame */
	size_t		wanted;			/* of it; 0: the next piece begins one */
	size_t		taken;			/* of these */
};

/*
 * Is it what the token is for?  The secrets are compared in a time that does
 * not depend on where they differ.
 */
static bool
is_offer(dsm_segment *segment, const px_receipt *token)
{
	const offer_header *header = dsm_segment_address(segment);

	return dsm_segment_map_length(segment) >= QUEUES_OFFSET &&
		header->magic == MAGIC &&
		((header->secret[0] ^ token->secret[0]) |
		 (header->secret[1] ^ token->secret[1])) == 0 &&
		header->databaseid == MyDatabaseId;
}

/* The queue of a link, which is opened by this; NULL if it was before. */
static shm_mq *
open_queue(dsm_segment *segment, uint32 link)
{
	offer_header *header = dsm_segment_address(segment);
	px_pull_offer links = {header->links, header->pulled};
	uint64		bit = UINT64CONST(1) << link;
	Size		nbytes = header->queue_nbytes;

	if ((links.pulled & bit) == 0 || nbytes < QUEUE_NBYTES_MIN ||
		nbytes > QUEUE_NBYTES_MAX ||
		pg_popcount64(links.pulled) * nbytes >
		dsm_segment_map_length(segment) - QUEUES_OFFSET ||
		(pg_atomic_fetch_or_u64(&header->opened, bit) & bit) != 0)
		return NULL;
	return queue_address(header, &links, link, nbytes);
}

/* The collections that this session has open. */
static int	ncollections = 0;

static void
forget_collection(dsm_segment *segment, Datum arg)
{
	ncollections--;
}

int
px_offer_collections(void)
{
	return ncollections;
}

px_collection *
px_offer_open(const px_receipt *token, uint32 link)
{
	px_collection *from;
	dsm_segment *segment;
	shm_mq	   *queue;

	/* A session does not collect from itself. */
	if (link >= PX_REQUEST_TARGETS_MAX || dsm_find_mapping(token->handle) ||
		(segment = dsm_attach(token->handle)) == NULL)
		return NULL;
	queue = is_offer(segment, token) ? open_queue(segment, link) : NULL;
	if (queue == NULL)
	{
		dsm_detach(segment);
		return NULL;
	}
	from = palloc0(sizeof(px_collection));
	on_dsm_detach(segment, forget_collection, 0);
	ncollections++;
	from->segment = segment;
	from->header = dsm_segment_address(segment);
	from->context = CurrentMemoryContext;

	/* This wakes the sender. */
	shm_mq_set_receiver(queue, MyProc);
	from->queue = shm_mq_attach(queue, segment, NULL);
	return from;
}

void
px_offer_close(px_collection *from)
{
	if (from->segment)
		dsm_detach(from->segment);
	from->segment = NULL;
}

/* Make room for a frame, but do not keep the memory of a huge one. */
static void
make_room(px_collection *from, size_t nbytes)
{
	if (from->frame &&
		(from->cap < nbytes || from->cap > Max(nbytes, KEPT_NBYTES)))
	{
		pfree(from->frame);
		from->frame = NULL;
	}
	if (from->frame == NULL)
	{
		from->frame = MemoryContextAlloc(from->context, nbytes);
		from->cap = nbytes;
	}
}

/* A frame begins with this piece: how long is it, and is that allowed? */
static void
begin_frame(px_collection *from, const char *servername, const uint8_t *piece,
			size_t nbytes)
{
	px_frame_header header;
	px_fault	fault;

	if (px_frame_peek_header(piece, nbytes, &header, &fault) != PX_OK)
		px_raise_fault(servername, &fault);
	from->wanted = PX_FRAME_HEADER_NBYTES + (size_t) header.body_nbytes;
	from->taken = 0;
	px_require_within(servername, "frame size", (uint64) px_max_frame_bytes,
					  from->wanted);
}

/* Take a piece; the frame if that is whole now, else NULL. */
static const uint8_t *
take_piece(px_collection *from, const char *servername, const uint8_t *piece,
		   size_t nbytes)
{
	if (from->wanted == 0)
		begin_frame(from, servername, piece, nbytes);
	px_require(servername, "piece of a frame",
			   Min(from->wanted - from->taken, PIECE_NBYTES), nbytes);
	if (nbytes == from->wanted)
		return piece;
	if (from->taken == 0)
		make_room(from, from->wanted);
	memcpy(from->frame + from->taken, piece, nbytes);
	from->taken += nbytes;
	return from->taken == from->wanted ? from->frame : NULL;
}

px_collected
px_offer_collect(px_collection *from, const char *servername,
				 const uint8_t **frame, size_t *nbytes)
{
	while (from->segment)
	{
		Size		n;
		void	   *piece;

		switch (shm_mq_receive(from->queue, &n, &piece, true))
		{
			case SHM_MQ_WOULD_BLOCK:
				return PX_COLLECTED_NOTHING;
			case SHM_MQ_DETACHED:
				px_offer_close(from);
				return PX_COLLECTED_END;
			case SHM_MQ_SUCCESS:
				break;
		}
		*frame = take_piece(from, servername, piece, n);
		if (*frame)
		{
			*nbytes = from->wanted;
			from->wanted = 0;
			return PX_COLLECTED_FRAME;
		}
	}
	return PX_COLLECTED_END;
}

bool
px_offer_is_sent(const px_collection *from)
{
	return from->segment &&
		pg_atomic_read_u32(&from->header->is_sent) != 0;
}
