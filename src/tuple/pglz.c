/*-------------------------------------------------------------------------
 *
 * pglz.c
 *		Whether this server can take values that pglz has compressed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/guc.h"

#include "column/encoding.h"
#include "column/strings/toasted.h"
#include "tuple/pglz.h"

void
px_pglz_init(void)
{
	const char *version = GetConfigOption("server_version_num", false, false);

	px_pglz_may_be_undone = px_pglz_is_bounded(atoi(version));
}

uint32
px_encodings_here(void)
{
	return px_pglz_may_be_undone ? PX_ENCODINGS_ALL :
		PX_ENCODINGS_ALL & ~PX_ENCODING_BIT(PX_ENC_TOASTED);
}
