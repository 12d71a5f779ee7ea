/*-------------------------------------------------------------------------
 *
 * guc.h
 *		The settings, which are all named pg_exchange.*.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_GUC_H
#define PX_GUC_H

/* pg_exchange.compression */
typedef enum px_mode
{
	PX_MODE_NONE,				/* plain columns, no encodings, no codec */
	PX_MODE_FAST,				/* encodings and LZ4 */
	PX_MODE_HIGH_COMPRESSION,	/* encodings and zstd */
	PX_MODE_AUTO				/* the sender measures, and chooses for each
								 * batch */
} px_mode;

/* pg_exchange.local_scope: each value includes the ones before it */
typedef enum px_local_scope
{
	PX_SCOPE_NONE,				/* nothing counts as local */
	PX_SCOPE_INSTANCE,			/* the same postmaster */
	PX_SCOPE_HOST				/* the same host */
} px_local_scope;

/* pg_exchange.transport */
typedef enum px_transport
{
	PX_TRANSPORT_AUTO,			/* a stream if that makes no difference, else
								 * postgres_fdw's session */
	PX_TRANSPORT_STREAM,		/* never postgres_fdw's session */
	PX_TRANSPORT_SESSION		/* never a stream */
} px_transport;

/* pg_exchange.partial_aggregates */
typedef enum px_partial_aggregates
{
	PX_PARTIAL_OFF,				/* none */
	PX_PARTIAL_EXACT,			/* those whose result has the very digits of
								 * one server's */
	PX_PARTIAL_ON				/* also those of floating point, whose last
								 * digits depend on the order of addition */
} px_partial_aggregates;

/* pg_exchange.join_exchange */
typedef enum px_join_exchange
{
	PX_JOIN_EXCHANGE_OFF,		/* joins run here, or as postgres_fdw plans */
	PX_JOIN_EXCHANGE_AUTO,		/* where that is expected to be cheapest */
	PX_JOIN_EXCHANGE_BROADCAST, /* on the shards wherever that is possible, to
								 * which all of the other side is sent */
	PX_JOIN_EXCHANGE_HASH_PARTITION /* the same, but rows are cut by the key */
} px_join_exchange;

extern bool px_enabled;
extern bool px_partitionwise;
extern int	px_transport_setting;	/* px_transport */
extern int	px_partial_aggregates_setting;	/* px_partial_aggregates */
extern int	px_join_exchange_setting;	/* px_join_exchange */
extern bool px_join_pull;
extern bool px_explain_remote;
extern bool px_lookup_joins;
extern bool px_runtime_filters;
extern bool px_writes;
extern bool px_remote_statistics;
extern int	px_compression;		/* px_mode */
extern char *px_server_compression; /* list of server=mode, validated */
extern double px_compression_cpu_limit; /* cores for a stream, 0 .. 1 */
extern bool px_debug_random_choices;
extern int	px_local_scope_setting; /* px_local_scope */
extern int	px_min_bytes;		/* bytes */
extern int	px_batch_rows_max;	/* rows */
extern int	px_batch_bytes_max; /* bytes */
extern int	px_max_connections_per_server;
extern int	px_max_connections; /* of all backends to a server; 0: any */
extern int	px_max_connections_per_backend; /* to all servers; 0: any; -1:
											 * px_max_connections */
extern int	px_idle_timeout;	/* milliseconds; 0: none */
extern int	px_min_write_rows;	/* of a target */
extern int	px_write_streams;	/* servers at once; 0: all */
extern int	px_receive_buffer;	/* bytes */
extern int	px_fragment_memory; /* bytes */
extern int	px_slices_setting;
extern int	px_max_frame_bytes; /* bytes */
extern int	px_max_decompression_ratio;
extern int	px_stat_max;		/* entries of the table of counters */

/* Define all settings; called by _PG_init, before the other modules' inits. */
extern void px_guc_init(void);

/*
 * The mode for a server: that of its entry in server_compression, else that of
 * compression.
 */
extern px_mode px_mode_for_server(const char *servername);

/* The set of choices of a mode: 1 << px_choice (see adapt/choice.h). */
extern uint32 px_mode_choices(px_mode mode);

/* The mode's name in EXPLAIN: NONE, FAST, HIGH_COMPRESSION or AUTO. */
extern const char *px_mode_name(px_mode mode);

#endif							/* PX_GUC_H */
