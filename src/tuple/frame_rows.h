/*-------------------------------------------------------------------------
 *
 * frame_rows.h
 *		From frames that were brought to a function to rows.
 *
 * For readers of pieces and of inboxes, which find the frames, one after the
 * other, and check each of them.  Errors name the client: no server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FRAME_ROWS_H
#define PX_TUPLE_FRAME_ROWS_H

#include "access/tupdesc.h"

#include "tuple/decode.h"

/* What errors name as the server. */
#define PX_THE_CLIENT	NULL

typedef struct px_frame_rows
{
	px_decoder *decoder;
	uint32		batch_rows;		/* of the batch in the decoder */
	uint32		next_row;		/* of these */
} px_frame_rows;

/*
 * Begin with rows of the columns of tupdesc, all of them, in the current
 * memory context.  tupdesc must live as long.  window_rows is the number of
 * rows whose values are converted at a time.
 */
extern void px_frame_rows_init(px_frame_rows *rows, TupleDesc tupdesc,
							   int window_rows);

/* Forget schema and batch, before another stream is read. */
extern void px_frame_rows_reset(px_frame_rows *rows);

/*
 * Take the next frame, when all rows of the last one were taken.  It was
 * checked, and is a schema, batch or end frame.  A batch is aligned to eight
 * bytes, and stays valid until the next frame was taken or
 * px_frame_rows_reset.  Errors: those of px_decoder_schema and
 * px_decoder_batch.
 */
extern void px_frame_rows_take(px_frame_rows *rows, const uint8_t *frame,
							   const px_frame_header *header);

/* Is there a row of the batch that was not taken? */
static inline bool
px_frame_rows_left(const px_frame_rows *rows)
{
	return rows->next_row < rows->batch_rows;
}

/*
 * Take the next row of the batch, which there must be: set values and isnull,
 * which are valid until the next call.
 */
static inline void
px_frame_rows_next(px_frame_rows *rows, Datum *values, bool *isnull)
{
	px_decoder_row(rows->decoder, rows->next_row, values, isnull);
	rows->next_row++;
}

#endif							/* PX_TUPLE_FRAME_ROWS_H */
