/*-------------------------------------------------------------------------
 *
 * receive_state.h
 *		Run-time state of an ExchangeReceive, shared by receive.c, start.c and
 *		explain.c.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_RECEIVE_STATE_H
#define PX_EXEC_RECEIVE_STATE_H

#include "commands/explain.h"
#include "nodes/execnodes.h"
#include "portability/instr_time.h"

#include "conn/stream.h"
#include "exec/decode.h"
#include "guc.h"

/* What one sender has sent so far, to be held against its end frame. */
typedef struct px_sender_totals
{
	uint32		sender;
	uint32		next_sequence;
	bool		ended;
	px_end		received;		/* rows, batches and sizes counted here */
} px_sender_totals;

/* Sums over all streams of the node: rescans run several. */
typedef struct px_receive_stats
{
	uint64		streams;
	uint64		batches;
	uint64		raw_nbytes;
	uint64		wire_nbytes;
	uint64		encode_us;		/* told by the end frames */
	uint64		send_wait_us;
	instr_time	receive_wait;
	instr_time	decode;
} px_receive_stats;

typedef struct px_receive_state
{
	CustomScanState css;		/* must be first */

	/* Fixed at begin. */
	ForeignScan *foreign;		/* child plan */
	const char *remote_sql;		/* what postgres_fdw deparsed */
	const char *servername;
	Index		rtindex;		/* a foreign table of the scan */
	Oid			userid;			/* whom to connect as */
	List	   *param_exprs;	/* ExprStates of the remote query's parameters */
	FmgrInfo   *param_output;	/* their output functions */
	const char **param_values;

	/*
	 * The child, set up but not run unless it must: so the connection to the
	 * server is made, or fails, when the executor starts, as ever.  NULL in
	 * plain EXPLAIN.
	 */
	PlanState  *child;

	/* The way taken, when the first row is asked for. */
	bool		started;
	const char *fallback_reason;	/* not NULL: the child runs instead */
	bool		retried;		/* on a new connection, for want of ExchangeSend */
	CommandId	command;		/* in which the connection was begun */

	/* The stream. */
	px_connection *connection;	/* NULL when no stream is running */
	uint64		owner;			/* of connection, when it was acquired */
	uint64		taken_seen;		/* px_connections_taken when last looked at */
	px_mode		mode;			/* settings' choice for the server */
	px_locality locality;		/* of the connection */
	bool		local;			/* locality counts: nothing is compressed */
	uint16		version;
	px_stream_query query;		/* sql is NULL before the first stream */
	px_decoder *decoder;		/* NULL before */
	MemoryContext stream_context;	/* parameters; reset when a stream starts */
	bool		finished;		/* every sender has ended; a connection that is
								 * still set waits for other parameters */
	uint32		batch_rows_max; /* as requested */
	uint32		batch_rows;		/* of the batch in the decoder */
	uint32		next_row;
	px_sender_totals *senders;
	int			nsenders;
	int			senders_max;

	px_receive_stats stats;
} px_receive_state;

/*
 * Decide how the scan is run: start a stream (connection is set), or leave it
 * to the child (fallback_reason is set).  Blocks, serving interrupts.
 */
extern void px_receive_start(px_receive_state *state);

/*
 * The remote would not send.  If it declined the query, the child runs.  If
 * the backend did not recognise exchange.send, a pooler may have put us on one
 * that has not seen the hello: start anew on a new connection once; after
 * that, the child runs.
 */
extern void px_receive_declined(px_receive_state *state, px_stream_status status);

/*
 * Has the end of a subtransaction taken the connection away?  Then forget it.
 * To be asked whenever the node is entered: cheap while nothing was taken.
 */
extern bool px_receive_lost_connection(px_receive_state *state);

/* ExplainCustomScan callback. */
extern void px_receive_explain(CustomScanState *css, List *ancestors,
							   ExplainState *es);

#endif							/* PX_EXEC_RECEIVE_STATE_H */
