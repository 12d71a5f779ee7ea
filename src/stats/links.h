/*-------------------------------------------------------------------------
 *
 * links.h
 *		What sessions have measured of the links to servers.
 *
 * If the postmaster has preloaded the library, a session that has measured
 * nothing begins with what others have.  Otherwise nothing is shared.
 *
 * A link belongs to a foreign server of a database, whoever uses it: a user
 * mapping says who connects, and not where.  A server with other options has
 * another link.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_STATS_LINKS_H
#define PX_STATS_LINKS_H

#include "datatype/timestamp.h"
#include "storage/lwlock.h"

/* What is measured of a link. */
typedef enum px_link_property
{
	PX_LINK_READ_NS,			/* nanoseconds per byte from the server; 0: the
								 * link was not what took time */
	PX_LINK_IDLE,				/* thousandths of a stream's time in which the
								 * receiver waited for frames */
	PX_LINK_WRITE_NS,			/* nanoseconds per byte to the server */
	PX_LINK_NEAR				/* 1 if the server is on this host, else 0 */
} px_link_property;

#define PX_LINK_PROPERTIES	(PX_LINK_NEAR + 1)

/* A link of this database. */
typedef struct px_link_id
{
	Oid			serverid;
	uint32		options;		/* a hash of the server's; 0: not known */
} px_link_id;

/* For the callback of px_links_read: what is known of a link now. */
typedef struct px_links_row
{
	px_link_id	link;
	bool		known[PX_LINK_PROPERTIES];
	double		values[PX_LINK_PROPERTIES];
	TimestampTz measured_at;
} px_links_row;

/*
 * Add a measurement.  One that comes within a second of another is dropped.
 * Raises no errors: if the shared table has no memory, nothing happens.
 */
extern void px_links_learn(px_link_id link, px_link_property property,
						   double value);

/* Set value to what is known.  Returns false, and does not, if nothing is. */
extern bool px_links_recall(px_link_id link, px_link_property property,
							double *value);

/*
 * Call consume for each link of this database of which something is known, in
 * no particular order.  No lock is held, so it may raise errors.
 */
extern void px_links_read(void (*consume) (const px_links_row *row, void *arg),
						  void *arg);

/* For stats.c: the size in shared memory, and its initialization. */
extern Size px_links_shmem_nbytes(void);
extern void px_links_shmem_startup(LWLock *lock);

#endif							/* PX_STATS_LINKS_H */
