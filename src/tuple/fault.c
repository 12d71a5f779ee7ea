/*-------------------------------------------------------------------------
 *
 * fault.c
 *		Raising errors about bytes from a peer.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "tuple/fault.h"

void
px_raise_fault(const char *servername, const px_fault *fault)
{
	bool		corrupt = (fault->status == PX_BAD_CHECKSUM ||
						   fault->status == PX_BAD_VALUE ||
						   fault->status == PX_CODEC_FAILED);
	char		detail[PX_FAULT_NBYTES_MAX];

	ereport(ERROR,
			(errcode(corrupt ? ERRCODE_DATA_CORRUPTED
							 : ERRCODE_PROTOCOL_VIOLATION),
			 servername ?
			 errmsg("invalid frame from server \"%s\": %s", servername,
					px_status_text(fault->status)) :
			 errmsg("invalid frame from the client: %s",
					px_status_text(fault->status)),
			 errdetail_internal("%s", px_fault_text(fault, detail))));
}

void
px_require(const char *servername, const char *what, uint64 expected,
		   uint64 got)
{
	px_fault	fault;

	if (expected == got)
		return;
	px_fail(&fault, PX_BAD_HEADER, what, expected, got);
	px_raise_fault(servername, &fault);
}

void
px_require_within(const char *servername, const char *what, uint64 limit,
				  uint64 got)
{
	px_fault	fault;

	if (got <= limit)
		return;
	px_fail(&fault, PX_OVER_LIMIT, what, limit, got);
	px_raise_fault(servername, &fault);
}
