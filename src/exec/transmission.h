/*-------------------------------------------------------------------------
 *
 * transmission.h
 *		The settings under which postgres_fdw converts values to text.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_TRANSMISSION_H
#define PX_EXEC_TRANSMISSION_H

/*
 * Change DateStyle and its kin so that the remote reads each value as it is
 * here.  Returns the nest level, for AtEOXact_GUC(true, ...).
 */
extern int	px_transmission_begin(void);

/* May the settings matter for the output function of a type? */
extern bool px_transmission_matters(Oid type);

#endif							/* PX_EXEC_TRANSMISSION_H */
