/*-------------------------------------------------------------------------
 *
 * explain_text.h
 *		Words of EXPLAIN that scans and writes share.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_EXPLAIN_TEXT_H
#define PX_EXEC_EXPLAIN_TEXT_H

/* "27.5 MB in 41 batches, raw 151.0 MB, ratio 5.49", palloc'd. */
extern char *px_explain_wire(uint64 wire_nbytes, uint64 batches,
							 uint64 raw_nbytes);

#endif							/* PX_EXEC_EXPLAIN_TEXT_H */
