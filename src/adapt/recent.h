/*-------------------------------------------------------------------------
 *
 * recent.h
 *		What several sessions have measured lately, made one value.
 *
 * One measurement may be wrong: the machine was busy, or the link carried the
 * first bytes faster than the rest.  So the value is the median of the last
 * three.  Of two it is the smaller one, which does less harm: values are
 * costs, and who takes a link to be fast begins as mode fast does.
 *
 * A second has one measurement: many streams that run at the same time do not
 * tell more about the link than one.  After an hour without one, the value is
 * forgotten.  Pure arithmetic: nothing here reads a clock.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_RECENT_H
#define PX_ADAPT_RECENT_H

#include <stdbool.h>
#include <stdint.h>

#define PX_RECENT_VALUES		3
#define PX_RECENT_INTERVAL_US	INT64_C(1000000)
#define PX_RECENT_KEPT_US		INT64_C(3600000000)

/* Initialize with zeros. */
typedef struct px_recent
{
	int64_t		measured_at;	/* in microseconds; of the last one */
	uint32_t		n;				/* measurements; 0: none */
	double		values[PX_RECENT_VALUES];	/* measurement i is at i % 3 */
} px_recent;

/* Is a measurement of now wanted? */
extern bool px_recent_wants(const px_recent *recent, int64_t now);

/* Add a measurement, if it is wanted. */
extern void px_recent_add(px_recent *recent, int64_t now, double value);

/* Set value.  Returns false, and does not, if there is none. */
extern bool px_recent_get(const px_recent *recent, int64_t now, double *value);

#endif							/* PX_ADAPT_RECENT_H */
