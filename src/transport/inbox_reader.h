/*-------------------------------------------------------------------------
 *
 * inbox_reader.h
 *		From the frames of an inbox to rows.
 *
 * The sources of an inbox (transport/inbox.h) are read one after the other.
 * Each of them is checked as a stream of several senders: schema, batches and
 * end of each sender, and that every sender has ended.  Errors are
 * ERRCODE_DATA_CORRUPTED and ERRCODE_PROTOCOL_VIOLATION, and those of values
 * as from a server.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_INBOX_READER_H
#define PX_TRANSPORT_INBOX_READER_H

#include "access/tupdesc.h"

typedef struct px_inbox_reader px_inbox_reader;

/*
 * A reader of inboxes with the columns of tupdesc, all of them, in the current
 * memory context, which must be that of a query.  tupdesc must live as long.
 * window_rows is the number of rows whose values are converted at a time.
 */
extern px_inbox_reader *px_inbox_reader_new(TupleDesc tupdesc,
											int window_rows);

/*
 * Read an inbox, in place of the last one, or the same one again.  Errors:
 * those of px_inbox_scan_open.
 */
extern void px_inbox_reader_open(px_inbox_reader *reader, int number);

/*
 * The next row: sets values and isnull, which are valid until the next call.
 * False if there are no more.  Checks for interrupts once for each frame.
 */
extern bool px_inbox_reader_next(px_inbox_reader *reader, Datum *values,
								 bool *isnull);

#endif							/* PX_TRANSPORT_INBOX_READER_H */
