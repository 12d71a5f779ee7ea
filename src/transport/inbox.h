/*-------------------------------------------------------------------------
 *
 * inbox.h
 *		Inboxes: frames that a client has brought, until the transaction ends.
 *
 * A fragment of a join runs in a session on a shard.  Before that, its
 * coordinator fills the inboxes of the session with frames of other servers,
 * and the fragment reads them by exchange.inbox.
 *
 * Each inbox has sources, and each source is a stream of its own: frames of
 * one or more senders.  Frames of a source come in their order, those of
 * several sources in any order.
 *
 * The frames of all inboxes together take work_mem, and beyond that they are
 * in one temporary file, which counts for temp_file_limit.  Besides, each
 * frame takes 16 bytes.  All of it is dropped at the end of the transaction.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_INBOX_H
#define PX_TRANSPORT_INBOX_H

#include "wire/delivery.h"

/*
 * Keep a copy of a frame, whose inbox and source are within the limits.  Not
 * in a subtransaction, which could not take it back.  Errors: those of
 * temporary files.
 */
extern void px_inbox_put(const px_delivery *delivery);

/* The bytes of all frames that were kept in this transaction. */
extern uint64 px_inbox_nbytes(void);

/* The rows that an inbox's frames announce; -1 if it has no frame. */
extern double px_inbox_rows(int number);

/* Is there a scan of the inbox that was opened? */
extern bool px_inbox_is_open(int number);

/*
 * A scan of any inboxes, in the current memory context, which must be that of
 * a query.  It ends with the context.  There may be several at a time.
 */
typedef struct px_inbox_scan px_inbox_scan;

extern px_inbox_scan *px_inbox_scan_new(void);

/*
 * Open an inbox, in place of the last one, before its first source.  Errors:
 * ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE if it has no frames.
 */
extern void px_inbox_scan_open(px_inbox_scan *scan, int number);

/* Go on to the next source that has frames; false if there is none. */
extern bool px_inbox_scan_next_source(px_inbox_scan *scan);

/*
 * The next frame of the source, a copy that is aligned to eight bytes and
 * valid until the next call; NULL if there are no more.  Checks for
 * interrupts.  Errors: those of temporary files.
 */
extern const uint8_t *px_inbox_scan_next(px_inbox_scan *scan, size_t *nbytes);

#endif							/* PX_TRANSPORT_INBOX_H */
