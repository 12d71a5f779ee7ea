/*-------------------------------------------------------------------------
 *
 * piece_reader.h
 *		From a piece, a text given by a client, to rows.
 *
 * A piece is a whole stream (wire/piece.h) in an armour (wire/armour.h).  Any
 * user may make one.  It is checked as frames from a server are.  Errors are
 * ERRCODE_DATA_CORRUPTED and ERRCODE_PROTOCOL_VIOLATION, and those of values
 * as from a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_PIECE_READER_H
#define PX_TUPLE_PIECE_READER_H

#include "access/tupdesc.h"

#include "tuple/decode.h"

typedef struct px_piece_reader px_piece_reader;

/*
 * A reader of pieces with the columns of tupdesc, all of them, in the current
 * memory context.  tupdesc must live as long.  window_rows is the number of
 * rows whose values are converted at a time, as postgres_fdw would send them
 * in one statement.  If parameters is true, the columns are parameters of a
 * statement, see px_decoder_set_parameters.
 */
extern px_piece_reader *px_piece_reader_new(TupleDesc tupdesc,
											int window_rows,
											bool parameters);

/*
 * Read a piece, in place of the last one.  It is copied.  Checks the lengths
 * of all frames.
 */
extern void px_piece_reader_open(px_piece_reader *reader, const text *piece);

/* The same for a piece without its armour. */
extern void px_piece_reader_open_bytes(px_piece_reader *reader,
									   const uint8_t *piece, size_t nbytes);

/* The rows that the frames' headers announce. */
extern uint64 px_piece_reader_rows(const px_piece_reader *reader);

/*
 * The next row: sets values and isnull, which are valid until the next call.
 * False if there are no more.  Checks for interrupts once for each batch.
 */
extern bool px_piece_reader_next(px_piece_reader *reader, Datum *values,
								 bool *isnull);

/* How many rows were returned: the number of the next one, from 0. */
extern uint64 px_piece_reader_position(const px_piece_reader *reader);

/* Let the row of this number be the next one.  Reads those before it. */
extern void px_piece_reader_seek(px_piece_reader *reader, uint64 row);

/* All rows were read: check that the piece ends here. */
extern void px_piece_reader_finish(px_piece_reader *reader);

/* The rows that a piece announces, or -1 if it cannot be read: for estimates. */
extern double px_piece_estimate_rows(const text *piece);

#endif							/* PX_TUPLE_PIECE_READER_H */
