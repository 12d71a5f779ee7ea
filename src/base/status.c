/*-------------------------------------------------------------------------
 *
 * status.c
 *		Names of the statuses that the pure layers return.
 *
 * The phrases are lower case and without a full stop, fit for the primary
 * message of an error report.  They are not translated here.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdio.h>

#include "base/status.h"

const char *
px_status_text(px_status status)
{
	switch (status)
	{
		case PX_OK:
			return "no error";
		case PX_TRUNCATED:
			return "data is truncated";
		case PX_TRAILING:
			return "unexpected data at the end";
		case PX_BAD_MAGIC:
			return "not an exchange frame";
		case PX_BAD_VERSION:
			return "unsupported protocol version";
		case PX_BAD_KIND:
			return "unknown frame kind";
		case PX_BAD_CHECKSUM:
			return "checksum mismatch";
		case PX_BAD_HEADER:
			return "invalid header field";
		case PX_BAD_ENCODING:
			return "unsupported encoding";
		case PX_BAD_CODEC:
			return "unknown codec";
		case PX_BAD_VALUE:
			return "malformed encoded value";
		case PX_OVER_LIMIT:
			return "size exceeds the limit";
		case PX_CODEC_FAILED:
			return "compression library reported a failure";
		case PX_UNSUITABLE:
			return "values do not suit the encoding";
		case PX_NOT_SMALLER:
			return "result would not be smaller";
		case PX_NO_SPACE:
			return "output buffer is too small";
	}

	return "unknown status";
}

const char *
px_fault_text(const px_fault *fault, char buffer[PX_FAULT_NBYTES_MAX])
{
	if (fault->expected == fault->got)
		snprintf(buffer, PX_FAULT_NBYTES_MAX,
				 "Field \"%s\" is missing or malformed.", fault->what);
	else
		snprintf(buffer, PX_FAULT_NBYTES_MAX,
				 "Field \"%s\": expected %llu, got %llu.", fault->what,
				 (unsigned long long) fault->expected,
				 (unsigned long long) fault->got);

	return buffer;
}
