/*-------------------------------------------------------------------------
 *
 * transmission.h
 *		The settings under which postgres_fdw converts values to text, and
 *		names of types.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TRANSPORT_TRANSMISSION_H
#define PX_TRANSPORT_TRANSMISSION_H

/*
 * Change DateStyle and its kin so that the remote reads each value as it is
 * here.  Returns the nest level, for AtEOXact_GUC(true, ...).
 */
extern int	px_transmission_begin(void);

/* May the settings matter for the output function of a type? */
extern bool px_transmission_matters(Oid type);

/*
 * A type's name for a remote query, palloc'd: with its modifier unless that
 * is -1, and with its schema if it is not SQL's own.
 */
extern char *px_transmission_type(Oid type, int32 typmod);

#endif							/* PX_TRANSPORT_TRANSMISSION_H */
