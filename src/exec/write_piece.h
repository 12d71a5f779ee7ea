/*-------------------------------------------------------------------------
 *
 * write_piece.h
 *		Pieces: frames that are sent with one call.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_WRITE_PIECE_H
#define PX_EXEC_WRITE_PIECE_H

#include "storage/itemptr.h"

#include "exec/copy_lines.h"

/* The ctids of a piece's rows. */
typedef struct px_ctids px_ctids;
struct px_ctids_hash;

/* Frames, and what errors in their rows need. */
typedef struct px_write_piece
{
	MemoryContext context;		/* of all that belongs to it */
	char	   *frames;			/* NULL before the first, and armoured */
	size_t		frames_nbytes;
	size_t		frames_cap;
	text	   *armoured;		/* NULL before that */
	uint32		rows;			/* in frames, or still in columns */
	bool		ended;			/* the end frame is there */
	bool		last;			/* no more rows of the statement come */
	uint64	   *positions;		/* [rows], of the rows in the statement */
	uint32		positions_cap;
	uint64		next_position;	/* of the target's next row; 0: none came */
	px_copy_lines *lines;		/* of the rows; NULL if it is no COPY */
	struct px_ctids_hash *ctids;	/* of the rows; NULL if none was added */
	px_ctids   *last_ctids;		/* entry of the last one; likewise */
} px_write_piece;

/* An empty piece, in a context of its own below parent. */
extern px_write_piece *px_write_piece_new(MemoryContext parent);

extern void px_write_piece_free(px_write_piece *piece);

/* Append a frame, which is copied. */
extern void px_write_piece_add(px_write_piece *piece, const bytea *frame);

/* Turn the frames into text. */
extern void px_write_piece_armour(px_write_piece *piece);

/* Count a row, which has that number among the rows of the statement. */
extern void px_write_piece_count(px_write_piece *piece, uint64 position);

/* Bytes that travel: of the frames, or of the text that they have become. */
static inline size_t
px_write_piece_wire_nbytes(const px_write_piece *piece)
{
	return piece->armoured ?
		VARSIZE(piece->armoured) - VARHDRSZ : piece->frames_nbytes;
}

/* Note a row's ctid.  Returns false if the piece has it already. */
extern bool px_write_piece_add_ctid(px_write_piece *piece,
									const ItemPointerData *ctid);

#endif							/* PX_EXEC_WRITE_PIECE_H */
