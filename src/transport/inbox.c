/*-------------------------------------------------------------------------
 *
 * inbox.c
 *		Inboxes: frames that a client has brought, until the transaction ends.
 *
 * A tuplestore for each source would take memory, and a file, for each.  So
 * the frames of all inboxes are in one file, in the order in which they came,
 * and each source knows where its frames are.
 *
 * A scan copies a frame before it is decoded: meanwhile another inbox may be
 * filled, and then frames move from memory to the file.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "transport/inbox.h"

/* Where a frame is. */
typedef struct frame_place
{
	union
	{
		uint8_t    *memory;
		off_t		offset;		/* in a segment of the file */
	}			at;
	int			segment;		/* IN_MEMORY, or of the file */
	uint32		nbytes;
} frame_place;

#define IN_MEMORY	(-1)

typedef struct inbox_source
{
	frame_place *frames;		/* NULL if there are none */
	uint64		nframes;
	uint64		nframes_max;
} inbox_source;

typedef struct inbox
{
	inbox_source *sources;		/* by number; NULL if there are none */
	int			nsources;		/* the greatest number, and 1 */
	double		rows;			/* announced by the headers of the frames */
} inbox;

typedef struct inboxes
{
	MemoryContext context;		/* of this and of all below it */
	MemoryContext frames;		/* of the frames in memory, a child; NULL if
								 * there is a file */
	inbox		all[PX_INBOX_MAX];
	uint64		nbytes;			/* of all frames */
	Size		memory_nbytes;	/* of frames in memory, and of places */

	BufFile    *file;			/* NULL: all frames are in memory */
	int			end_segment;	/* where the file ends */
	off_t		end_offset;
} inboxes;

struct px_inbox_scan
{
	int			number;			/* of the inbox; 0: none is open */
	int			source;			/* that is read; -1: before the first one */
	uint64		next_frame;		/* of the source */
	uint8_t    *frame;			/* the one that was read last, in context */
	Size		frame_cap;
	MemoryContext context;
	MemoryContextCallback forget;
};

/* Of this transaction, in TopTransactionContext; NULL: all are empty. */
static inboxes *kept = NULL;

/* The scans that have opened each inbox. */
static int	open_scans[PX_INBOX_MAX];

/* ---------------------------------------------------------------------
 * The end of the transaction
 * --------------------------------------------------------------------- */

/* Nothing reads any more: cursors that are held have all their rows. */
static void
drop_all(void)
{
	inboxes    *dropped = kept;

	kept = NULL;
	if (dropped == NULL)
		return;
	if (dropped->file)
		BufFileClose(dropped->file);
	MemoryContextDelete(dropped->context);
}

static void
xact_callback(XactEvent event, void *arg)
{
	switch (event)
	{
		case XACT_EVENT_PRE_COMMIT:
		case XACT_EVENT_PRE_PREPARE:
			drop_all();
			break;
		case XACT_EVENT_ABORT:
			/* The resource owner closes the file. */
			kept = NULL;
			break;
		case XACT_EVENT_COMMIT:
		case XACT_EVENT_PREPARE:
		case XACT_EVENT_PARALLEL_COMMIT:
		case XACT_EVENT_PARALLEL_ABORT:
		case XACT_EVENT_PARALLEL_PRE_COMMIT:
			break;
	}
}

static void
begin_inboxes(void)
{
	static bool registered = false;
	MemoryContext context;

	if (!registered)
		RegisterXactCallback(xact_callback, NULL);
	registered = true;
	context = AllocSetContextCreate(TopTransactionContext,
									"pg_exchange inboxes",
									ALLOCSET_DEFAULT_SIZES);
	kept = MemoryContextAllocZero(context, sizeof(inboxes));
	kept->context = context;
	kept->frames = AllocSetContextCreate(context, "pg_exchange frames",
										 ALLOCSET_DEFAULT_SIZES);
}

/* ---------------------------------------------------------------------
 * Filling
 * --------------------------------------------------------------------- */

/* The file lasts as long as the transaction, not as this statement. */
static void
create_file(void)
{
	MemoryContext oldcontext = MemoryContextSwitchTo(kept->context);
	ResourceOwner oldowner = CurrentResourceOwner;

	CurrentResourceOwner = TopTransactionResourceOwner;
	kept->file = BufFileCreateTemp(false);
	CurrentResourceOwner = oldowner;
	MemoryContextSwitchTo(oldcontext);
}

static void
append_to_file(const uint8_t *frame, frame_place *place)
{
	place->segment = kept->end_segment;
	place->at.offset = kept->end_offset;
	BufFileWrite(kept->file, unconstify(uint8_t *, frame), place->nbytes);
	BufFileTell(kept->file, &kept->end_segment, &kept->end_offset);
}

/* A scan may have left the file at another position. */
static void
seek(int segment, off_t offset)
{
	if (BufFileSeek(kept->file, segment, offset, SEEK_SET) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not seek in the temporary file of inboxes: %m")));
}

/* Move all frames from memory to a file. */
static void
spill(void)
{
	create_file();
	for (int i = 0; i < PX_INBOX_MAX; i++)
	{
		for (int j = 0; j < kept->all[i].nsources; j++)
		{
			inbox_source *source = &kept->all[i].sources[j];

			CHECK_FOR_INTERRUPTS();
			for (uint64 k = 0; k < source->nframes; k++)
				append_to_file(source->frames[k].at.memory,
							   &source->frames[k]);
		}
	}
	MemoryContextDelete(kept->frames);
	kept->frames = NULL;
}

static inbox_source *
find_source(const px_delivery *delivery)
{
	inbox	   *to = &kept->all[delivery->inbox - 1];
	int			nsources = delivery->source + 1;
	Size		old_nbytes = to->nsources * sizeof(inbox_source);
	Size		nbytes = nsources * sizeof(inbox_source);

	if (nsources > to->nsources)
	{
		to->sources = to->sources ? repalloc(to->sources, nbytes) :
			MemoryContextAlloc(kept->context, nbytes);
		memset((char *) to->sources + old_nbytes, 0, nbytes - old_nbytes);
		to->nsources = nsources;
		kept->memory_nbytes += nbytes - old_nbytes;
	}
	return &to->sources[delivery->source];
}

static frame_place *
add_place(inbox_source *source)
{
	uint64		max = Max(8, source->nframes_max * 2);

	if (source->nframes == source->nframes_max)
	{
		source->frames = source->frames ?
			repalloc_huge(source->frames, max * sizeof(frame_place)) :
			MemoryContextAlloc(kept->context, max * sizeof(frame_place));
		kept->memory_nbytes += (max - source->nframes_max) *
			sizeof(frame_place);
		source->nframes_max = max;
	}
	return &source->frames[source->nframes];
}

void
px_inbox_put(const px_delivery *delivery)
{
	inbox_source *source;
	frame_place *place;

	if (kept == NULL)
		begin_inboxes();
	source = find_source(delivery);
	place = add_place(source);
	place->nbytes = (uint32) delivery->nbytes;
	if (kept->file == NULL &&
		kept->memory_nbytes + delivery->nbytes > work_mem * (Size) 1024)
		spill();
	if (kept->file)
	{
		seek(kept->end_segment, kept->end_offset);
		append_to_file(delivery->frame, place);
	}
	else
	{
		place->segment = IN_MEMORY;
		place->at.memory = MemoryContextAlloc(kept->frames, delivery->nbytes);
		memcpy(place->at.memory, delivery->frame, delivery->nbytes);
		kept->memory_nbytes += delivery->nbytes;
	}
	source->nframes++;
	kept->nbytes += delivery->nbytes;
	kept->all[delivery->inbox - 1].rows += delivery->header.rows;
}

/* ---------------------------------------------------------------------
 * What is in them
 * --------------------------------------------------------------------- */

uint64
px_inbox_nbytes(void)
{
	return kept ? kept->nbytes : 0;
}

/* NULL if it has no frame. */
static const inbox *
find_inbox(int number)
{
	if (kept == NULL || number < 1 || number > PX_INBOX_MAX ||
		kept->all[number - 1].nsources == 0)
		return NULL;
	return &kept->all[number - 1];
}

double
px_inbox_rows(int number)
{
	const inbox *found = find_inbox(number);

	return found ? found->rows : -1;
}

bool
px_inbox_is_open(int number)
{
	return open_scans[number - 1] > 0;
}

/* ---------------------------------------------------------------------
 * Scans
 * --------------------------------------------------------------------- */

static void
close_scan(void *arg)
{
	px_inbox_scan *scan = arg;

	if (scan->number != 0)
		open_scans[scan->number - 1]--;
	scan->number = 0;
}

px_inbox_scan *
px_inbox_scan_new(void)
{
	px_inbox_scan *scan = palloc0(sizeof(px_inbox_scan));

	scan->context = CurrentMemoryContext;
	scan->forget.func = close_scan;
	scan->forget.arg = scan;
	MemoryContextRegisterResetCallback(scan->context, &scan->forget);
	return scan;
}

static const inbox *
require_inbox(int number)
{
	const inbox *found = find_inbox(number);

	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("inbox %d is empty", number),
				 errdetail("No frame was brought to it in this transaction.")));
	return found;
}

void
px_inbox_scan_open(px_inbox_scan *scan, int number)
{
	(void) require_inbox(number);
	close_scan(scan);
	scan->number = number;
	open_scans[number - 1]++;
	scan->source = -1;
	scan->next_frame = 0;
}

bool
px_inbox_scan_next_source(px_inbox_scan *scan)
{
	const inbox *from = require_inbox(scan->number);

	scan->next_frame = 0;
	do
	{
		if (scan->source + 1 >= from->nsources)
			return false;
		scan->source++;
	} while (from->sources[scan->source].nframes == 0);
	return true;
}

static void
make_room(px_inbox_scan *scan, Size nbytes)
{
	if (nbytes <= scan->frame_cap)
		return;
	if (scan->frame)
		pfree(scan->frame);
	scan->frame = NULL;
	scan->frame_cap = 0;
	scan->frame = MemoryContextAllocHuge(scan->context, nbytes);
	scan->frame_cap = nbytes;
}

static void
read_file(const frame_place *place, uint8_t *to)
{
	size_t		nbytes;

	seek(place->segment, place->at.offset);
	nbytes = BufFileRead(kept->file, to, place->nbytes);
	if (nbytes != place->nbytes)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not read the temporary file of inboxes: read only %zu of %u bytes",
						nbytes, place->nbytes)));
}

const uint8_t *
px_inbox_scan_next(px_inbox_scan *scan, size_t *nbytes)
{
	const inbox *from = require_inbox(scan->number);
	const inbox_source *source = &from->sources[scan->source];
	const frame_place *place;

	CHECK_FOR_INTERRUPTS();
	if (scan->next_frame == source->nframes)
		return NULL;
	place = &source->frames[scan->next_frame];
	make_room(scan, place->nbytes);
	if (place->segment == IN_MEMORY)
		memcpy(scan->frame, place->at.memory, place->nbytes);
	else
		read_file(place, scan->frame);
	scan->next_frame++;
	*nbytes = place->nbytes;
	return scan->frame;
}
