/*-------------------------------------------------------------------------
 *
 * pglz.h
 *		Whether this server can take values that pglz has compressed.
 *
 * A peer's bytes go to the server's own pglz_decompress.  Before 15.5 and
 * 16.1 that could read and write beyond its buffers.  The library may run in
 * another minor release than the one that it was built for: so the server is
 * asked.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_PGLZ_H
#define PX_TUPLE_PGLZ_H

/* To be called when the library is loaded. */
extern void px_pglz_init(void);

/*
 * The encodings that may be sent to us: all, but not PX_ENC_TOASTED if this
 * server's pglz is not safe.
 */
extern uint32 px_encodings_here(void);

#endif							/* PX_TUPLE_PGLZ_H */
