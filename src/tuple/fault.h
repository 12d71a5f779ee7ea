/*-------------------------------------------------------------------------
 *
 * fault.h
 *		Raising what is wrong with bytes from a peer.
 *
 * The pure layers fill a px_fault.  Here it becomes an error that names the
 * server: ERRCODE_PROTOCOL_VIOLATION for the form of a frame,
 * ERRCODE_DATA_CORRUPTED for its contents.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FAULT_H
#define PX_TUPLE_FAULT_H

#include "base/status.h"
#include "compat.h"

/* Raise what a pure layer found wrong with a frame from the server. */
pg_noreturn extern void px_raise_fault(const char *servername,
									   const px_fault *fault);

/* Raise PX_BAD_HEADER for the field what, unless it is as expected. */
extern void px_require(const char *servername, const char *what,
					   uint64 expected, uint64 got);

/* Raise PX_OVER_LIMIT for the field what, if it is above the limit. */
extern void px_require_within(const char *servername, const char *what,
							  uint64 limit, uint64 got);

#endif							/* PX_TUPLE_FAULT_H */
