/*-------------------------------------------------------------------------
 *
 * frame_rows.c
 *		From frames that were brought to a function to rows.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tuple/frame_rows.h"

void
px_frame_rows_init(px_frame_rows *rows, TupleDesc tupdesc, int window_rows)
{
	List	   *attnos = NIL;
	const char **contexts = palloc0(tupdesc->natts * sizeof(char *));

	for (int i = 1; i <= tupdesc->natts; i++)
		attnos = lappend_int(attnos, i);
	rows->decoder = px_decoder_new(PX_THE_CLIENT, tupdesc, attnos, contexts,
								   window_rows);
	rows->batch_rows = rows->next_row = 0;
}

void
px_frame_rows_reset(px_frame_rows *rows)
{
	rows->batch_rows = rows->next_row = 0;
	px_decoder_reset(rows->decoder);
}

void
px_frame_rows_take(px_frame_rows *rows, const uint8_t *frame,
				   const px_frame_header *header)
{
	const uint8_t *body = frame + PX_FRAME_HEADER_NBYTES;

	if (header->kind == PX_FRAME_SCHEMA)
		px_decoder_schema(rows->decoder, body, header, PG_VERSION_NUM);
	else if (header->kind == PX_FRAME_BATCH)
	{
		px_decoder_batch(rows->decoder, body, header);
		rows->batch_rows = header->rows;
		rows->next_row = 0;
	}
	else
		rows->batch_rows = rows->next_row = 0;
}
