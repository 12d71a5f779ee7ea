/*-------------------------------------------------------------------------
 *
 * answer.h
 *		Reading what a remote answers, without trusting it.
 *
 * A server that is broken, or hostile, may send any message at any time: a
 * COPY in answer to a SELECT (libpq then returns such results for ever), more
 * results than there were statements, rows without end, nothing.  So every
 * loop over results is in one of the functions below, or ends with whatever
 * they do not know.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CONN_ANSWER_H
#define PX_CONN_ANSWER_H

#include "datatype/timestamp.h"
#include "libpq-fe.h"

#include "conn/outcome.h"

/*
 * How long a session may take to answer a trivial command.  Behind a pooler
 * all backends may be taken, by the very transaction that waits for this
 * session, say; postgres_fdw has its connection, and does without ours.
 */
#define PX_SETUP_TIMEOUT_MS	5000

/*
 * Wait until PQgetResult would not block, sending what is still to be sent
 * and serving interrupts; a broken connection counts.  False if that is not
 * so by the deadline (DT_NOEND for none).
 */
extern bool px_wait_for_result(PGconn *pg, TimestampTz deadline);

/*
 * PQconsumeInput, dropping notifications: we LISTEN to nothing, and libpq
 * would keep them in memory for as long as the connection lasts.
 */
extern bool px_consume_input(PGconn *pg);

/*
 * How long a step of setting up may take that would be given up after so many
 * milliseconds: no more than half of what is left of statement_timeout, since
 * the query can do without; nor a quarter of the shortest idle time-out of the
 * sessions that wait meanwhile.
 */
extern int	px_setup_limited_ms(int ms);

/* The moment up to which a new session may answer, so limited. */
extern TimestampTz px_setup_deadline(void);

/*
 * A session of the current transaction is ended after it was idle for so long;
 * 0: it is not.
 */
extern void px_setup_note_idle_timeout(uint32 idle_ms);

/* The transaction has ended. */
extern void px_setup_forget_idle_timeouts(void);

/* What became of a statement that sets up a session or a transaction. */
typedef enum px_answer
{
	PX_ANSWER_OK,
	PX_ANSWER_ERROR,			/* the remote says no: it is in the result */
	PX_ANSWER_SILENT,			/* nothing was heard by the deadline */
	PX_ANSWER_BROKEN,			/* the connection is */
	PX_ANSWER_UNEXPECTED		/* not what a server would answer: in the
								 * result */
} px_answer;

/*
 * Take the answer to the next statement of a pipeline, which returns a row if
 * has_row, else nothing.  To be called after PQsetSingleRowMode where input
 * may have been consumed since the pipeline was sent.  *result, if it is not
 * NULL, is to be PQclear'ed by the caller: with PX_ANSWER_OK the row, if any,
 * of one column or more.  After anything but PX_ANSWER_OK the pipeline cannot
 * be read on; close the connection, or abandon it.  Serves interrupts, then
 * leaves *result NULL.
 */
extern px_answer px_take_answer(PGconn *pg, bool has_row,
								TimestampTz deadline, PGresult **result);

/*
 * A phrase (palloc'd) that says what was wrong, for a reason: the remote's
 * words in case of an error.
 */
extern char *px_answer_text(PGconn *pg, px_answer answer,
							const PGresult *result);

/* How far a connection is that is to come to rest. */
typedef enum px_rest
{
	PX_REST_MORE,				/* more is to come */
	PX_REST_DONE,				/* nothing runs; pipeline mode was left */
	PX_REST_ERROR,				/* the session has ended; pg says why */
	PX_REST_FAILED				/* it cannot be used any more */
} px_rest;

/* What may still come until then. */
typedef struct px_rest_limit
{
	bool		rows;			/* may be among the results */
	int			results;		/* of statements */
	int			nulls;			/* 1 if the last result was none; 0 at first */
} px_rest_limit;

/* No result; that of COMMIT or ROLLBACK; what is left of a pipeline. */
#define PX_REST_OF_QUERY	((px_rest_limit) {false, 0, 0})
#define PX_REST_OF_COMMAND	((px_rest_limit) {false, 1, 0})
#define PX_REST_OF_ALL		((px_rest_limit) {true, PG_INT32_MAX, 0})

/*
 * Take and drop the next result, which is there (PQisBusy is false).  More
 * than the limit allows means PX_REST_FAILED, as does a COPY; an error, which
 * says that the session ends, PX_REST_ERROR.
 */
extern px_rest px_take_rest(PGconn *pg, px_rest_limit *limit);

/*
 * Send COMMIT or ROLLBACK; what comes of it is PX_REST_OF_COMMAND.  Never
 * waits.  False if the connection cannot be used any more.
 */
extern bool px_send_command(PGconn *pg, const char *sql);

/*
 * Read until nothing runs any more, and leave pipeline mode.  False if the
 * connection cannot be used any more.  Serves interrupts.
 */
extern bool px_come_to_rest(PGconn *pg, px_rest_limit limit,
							TimestampTz deadline);

/*
 * Run a query of one text column in a session that was introduced.  Its rows
 * become the lines of *lines (palloc'd).  It is checked once more that the
 * extension there is genuine.  PX_OUTCOME_FAILED if the remote cannot answer;
 * then *lines is NULL.  *usable is whether the connection can still be used.
 * Blocks for some seconds at most, serving interrupts; after an interrupt the
 * connection cannot be used.
 */
extern px_outcome px_exec_lines(PGconn *pg, const char *sql, char **lines,
								bool *usable);

/*
 * The two halves of px_exec_lines, so that several servers can work at the
 * same time.  The first waits for nothing, and is false if the connection
 * cannot be used any more.  The query waits for locks for lock_timeout_ms, and
 * ends after PX_SETUP_TIMEOUT_MS; with 0, the session's settings count.
 */
extern bool px_send_lines(PGconn *pg, const char *sql, int lock_timeout_ms);
extern px_outcome px_take_lines(PGconn *pg, TimestampTz deadline,
								char **lines, bool *usable);

/* The SQLSTATE of a failed result, ERRCODE_CONNECTION_FAILURE without one. */
extern int	px_result_sqlstate(const PGresult *res);

/*
 * Raise a remote error at elevel with its SQLSTATE, message, detail, hint and
 * context, and sql as further context: as postgres_fdw does, so that clients
 * see no difference, but that what is no text in the database encoding has
 * become so.  The server's name goes to the log.  res may be NULL, then the
 * connection's message is used; it is PQclear'ed either way.
 */
extern void px_report_remote_error(int elevel, PGresult *res, PGconn *pg,
								   const char *servername, const char *sql);

#endif							/* PX_CONN_ANSWER_H */
