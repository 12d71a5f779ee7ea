/*-------------------------------------------------------------------------
 *
 * write_piece.c
 *		Pieces: frames that are sent with one call.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/memutils.h"

#include "compat.h"
#include "exec/write_piece.h"
#include "wire/armour.h"

/* The first size of the frames' buffer, which grows by doubling. */
#define FRAMES_INITIAL_NBYTES	(64 * 1024)

/* The first size of the array of positions, likewise. */
#define POSITIONS_INITIAL		256

/* The first size of the table of ctids, which grows as well. */
#define CTIDS_INITIAL		256

/*
 * 64 ctids that follow one another.  Most rows come in the order in which they
 * are stored, so the next one is in the same entry or a new one.
 */
#define CTIDS_OF_ENTRY		64

struct px_ctids
{
	uint64		number;			/* of a ctid / 64 */
	uint64		members;		/* a bit for each ctid */
	char		status;
};

#define SH_PREFIX			px_ctids
#define SH_ELEMENT_TYPE		px_ctids
#define SH_KEY_TYPE			uint64
#define SH_KEY				number
#define SH_HASH_KEY(tb, key)	murmurhash32((uint32) ((key) ^ ((key) >> 32)))
#define SH_EQUAL(tb, a, b)	((a) == (b))
#define SH_SCOPE			static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

px_write_piece *
px_write_piece_new(MemoryContext parent)
{
	MemoryContext context = AllocSetContextCreate(
		parent, "ExchangeWrite piece", ALLOCSET_DEFAULT_SIZES);
	px_write_piece *piece = MemoryContextAllocZero(context,
												   sizeof(px_write_piece));

	piece->context = context;
	return piece;
}

void
px_write_piece_free(px_write_piece *piece)
{
	MemoryContextDelete(piece->context);
}

void
px_write_piece_count(px_write_piece *piece, uint64 position)
{
	if (piece->rows == piece->positions_cap)
	{
		piece->positions_cap = Max(piece->positions_cap * 2,
								   POSITIONS_INITIAL);
		piece->positions = piece->positions == NULL ?
			MemoryContextAlloc(piece->context,
							   piece->positions_cap * sizeof(uint64)) :
			repalloc_huge(piece->positions,
						  piece->positions_cap * sizeof(uint64));
	}
	piece->positions[piece->rows++] = position;
}

void
px_write_piece_add(px_write_piece *piece, const bytea *frame)
{
	size_t		nbytes = VARSIZE(frame) - VARHDRSZ;

	Assert(!piece->ended);
	if (piece->frames_cap - piece->frames_nbytes < nbytes)
	{
		size_t		cap = Max(piece->frames_nbytes + nbytes,
							  Max(piece->frames_cap * 2,
								  FRAMES_INITIAL_NBYTES));

		piece->frames = piece->frames ?
			repalloc_huge(piece->frames, cap) :
			MemoryContextAllocHuge(piece->context, cap);
		piece->frames_cap = cap;
	}
	memcpy(piece->frames + piece->frames_nbytes, VARDATA(frame), nbytes);
	piece->frames_nbytes += nbytes;
}

void
px_write_piece_armour(px_write_piece *piece)
{
	size_t		nchars = px_armour_nbytes(piece->frames_nbytes);

	if (nchars > MaxAllocSize - VARHDRSZ)
		ereport(ERROR,
				(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
				 errmsg("row is too large for an exchange frame"),
				 errdetail("%u rows need %zu bytes, the limit is %zu.",
						   piece->rows, nchars,
						   (size_t) MaxAllocSize - VARHDRSZ)));
	piece->armoured = MemoryContextAlloc(piece->context, VARHDRSZ + nchars);
	px_armour_encode(VARDATA(piece->armoured), (uint8 *) piece->frames,
					 piece->frames_nbytes);
	SET_VARSIZE(piece->armoured, VARHDRSZ + nchars);
	pfree(piece->frames);
	piece->frames = NULL;
}

bool
px_write_piece_add_ctid(px_write_piece *piece, const ItemPointerData *ctid)
{
	uint64 number = ((uint64) ItemPointerGetBlockNumberNoCheck(ctid) << 16) |
		ItemPointerGetOffsetNumberNoCheck(ctid);
	uint64		bit = UINT64CONST(1) << number % CTIDS_OF_ENTRY;
	px_ctids   *entry = piece->last_ctids;
	bool		found = true;

	number /= CTIDS_OF_ENTRY;
	if (piece->ctids == NULL)
		piece->ctids = px_ctids_create(piece->context, CTIDS_INITIAL, NULL);
	if (entry == NULL || entry->number != number)
		entry = px_ctids_insert(piece->ctids, number, &found);
	if (!found)
		entry->members = 0;
	piece->last_ctids = entry;
	found = (entry->members & bit) != 0;
	entry->members |= bit;
	return !found;
}
