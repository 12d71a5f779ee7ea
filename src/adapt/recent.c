/*-------------------------------------------------------------------------
 *
 * recent.c
 *		What several sessions have measured lately, made one value.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/recent.h"

/* A clock that was set back would keep old measurements for long. */
static bool
px_recent_is_valid(const px_recent *recent, int64_t now)
{
	return recent->n > 0 && now >= recent->measured_at &&
		now - recent->measured_at < PX_RECENT_KEPT_US;
}

bool
px_recent_wants(const px_recent *recent, int64_t now)
{
	return !px_recent_is_valid(recent, now) ||
		now - recent->measured_at >= PX_RECENT_INTERVAL_US;
}

void
px_recent_add(px_recent *recent, int64_t now, double value)
{
	if (!px_recent_wants(recent, now))
		return;
	if (!px_recent_is_valid(recent, now))
		recent->n = 0;
	recent->values[recent->n % PX_RECENT_VALUES] = value;
	recent->measured_at = now;

	/* Count on so that n % 3 goes round, and n stays small. */
	if (++recent->n == 2 * PX_RECENT_VALUES)
		recent->n = PX_RECENT_VALUES;
}

bool
px_recent_get(const px_recent *recent, int64_t now, double *value)
{
	const double *v = recent->values;

	if (!px_recent_is_valid(recent, now))
		return false;
	if (recent->n == 1)
		*value = v[0];
	else if (recent->n == 2)
		*value = Min(v[0], v[1]);
	else
		*value = Max(Min(v[0], v[1]), Min(Max(v[0], v[1]), v[2]));
	return true;
}
