/*-------------------------------------------------------------------------
 *
 * fault.h
 *		Raising errors about bytes from a peer.
 *
 * The pure layers return a status and fill a px_fault.  Here it becomes an
 * error that names the server, or, if servername is NULL, the client, who has
 * given the frame to a function: ERRCODE_DATA_CORRUPTED if the contents of a
 * frame are damaged (its CRC, a value, a codec), ERRCODE_PROTOCOL_VIOLATION
 * otherwise.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_FAULT_H
#define PX_TUPLE_FAULT_H

#include "base/status.h"
#include "compat.h"

/* Raise an error for a fault that a pure layer has found in a frame. */
pg_noreturn extern void px_raise_fault(const char *servername,
									   const px_fault *fault);

/* Raise PX_BAD_HEADER for the field "what" unless got is as expected. */
extern void px_require(const char *servername, const char *what,
					   uint64 expected, uint64 got);

/* Raise PX_OVER_LIMIT for the field "what" if got exceeds the limit. */
extern void px_require_within(const char *servername, const char *what,
							  uint64 limit, uint64 got);

#endif							/* PX_TUPLE_FAULT_H */
