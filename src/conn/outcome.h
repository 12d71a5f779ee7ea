/*-------------------------------------------------------------------------
 *
 * outcome.h
 *		What came of an attempt to connect, to ask, or to begin to read.
 *
 * An attempt that did not succeed is no error.  Whoever made it tries
 * something else, and EXPLAIN shows the reason.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_OUTCOME_H
#define PX_CONN_OUTCOME_H

typedef enum px_outcome_kind
{
	PX_OUTCOME_OK,
	PX_OUTCOME_BUSY,			/* all connections to the server are in use */
	PX_OUTCOME_SILENT,			/* the other end did not answer in time */
	PX_OUTCOME_FAILED,			/* another connection may do better */
	PX_OUTCOME_REFUSED			/* another attempt would end in the same way */
} px_outcome_kind;

typedef struct px_outcome
{
	px_outcome_kind kind;

	/*
	 * A short phrase, NULL with PX_OUTCOME_OK only.  It is a constant, or was
	 * palloc'd in the memory context of the attempt.  It is never the peer's:
	 * an invalidation frees that.
	 */
	const char *reason;
} px_outcome;

static inline px_outcome
px_ok(void)
{
	return (px_outcome) {PX_OUTCOME_OK, NULL};
}

static inline px_outcome
px_busy(const char *reason)
{
	return (px_outcome) {PX_OUTCOME_BUSY, reason};
}

static inline px_outcome
px_silent(const char *reason)
{
	return (px_outcome) {PX_OUTCOME_SILENT, reason};
}

static inline px_outcome
px_failed(const char *reason)
{
	return (px_outcome) {PX_OUTCOME_FAILED, reason};
}

static inline px_outcome
px_refused(const char *reason)
{
	return (px_outcome) {PX_OUTCOME_REFUSED, reason};
}

static inline bool
px_is_ok(px_outcome outcome)
{
	return outcome.kind == PX_OUTCOME_OK;
}

#endif							/* PX_CONN_OUTCOME_H */
