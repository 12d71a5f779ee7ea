/*-------------------------------------------------------------------------
 *
 * remote_text.h
 *		Text of a remote server that is going to be shown.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_REMOTE_TEXT_H
#define PX_CONN_REMOTE_TEXT_H

/*
 * A copy of text, in the current memory context, that may stand in a message,
 * a line of EXPLAIN or a column of a view, whatever the remote has sent: valid
 * in the database encoding, on one line, and without control characters, which
 * a terminal would obey and XML has no place for.  White space other than a
 * blank becomes a blank, and each byte of what else is not allowed a '?'.
 * Raises an error only if memory is exhausted.
 */
extern char *px_remote_text(const char *text);

#endif							/* PX_CONN_REMOTE_TEXT_H */
