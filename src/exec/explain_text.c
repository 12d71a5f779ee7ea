/*-------------------------------------------------------------------------
 *
 * explain_text.c
 *		Words of EXPLAIN that scans and writes share.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/explain_text.h"

/* "27.5 MB": decimal units, as for data on a wire. */
static char *
size_text(uint64 nbytes)
{
	if (nbytes < 1000)
		return psprintf(UINT64_FORMAT " bytes", nbytes);
	if (nbytes < 1000 * 1000)
		return psprintf("%.1f kB", nbytes / 1e3);
	if (nbytes < UINT64CONST(1000) * 1000 * 1000)
		return psprintf("%.1f MB", nbytes / 1e6);
	return psprintf("%.2f GB", nbytes / 1e9);
}

char *
px_explain_wire(uint64 wire_nbytes, uint64 batches, uint64 raw_nbytes)
{
	double		ratio = wire_nbytes > 0 ?
		(double) raw_nbytes / wire_nbytes : 0.0;

	return psprintf("%s in " UINT64_FORMAT " batches, raw %s, ratio %.2f",
					size_text(wire_nbytes), batches, size_text(raw_nbytes),
					ratio);
}
