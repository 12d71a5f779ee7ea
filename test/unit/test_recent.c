/*-------------------------------------------------------------------------
 *
 * test_recent.c
 *		Tests of what several sessions have measured, made one value.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/recent.h"
#include "unit.h"

/* Measure each second, from second 1 on; returns the value at the end. */
static double
measure(const double *values, int n)
{
	px_recent	recent = {0};
	double		value = -1;

	for (int i = 0; i < n; i++)
		px_recent_add(&recent, (i + 1) * PX_RECENT_INTERVAL_US, values[i]);
	CHECK_EQ(px_recent_get(&recent, n * PX_RECENT_INTERVAL_US, &value), n > 0);
	return value;
}

static void
nothing_is_no_value(void)
{
	CHECK(measure(NULL, 0) == -1);
}

static void
one_counts(void)
{
	const double values[] = {5};

	CHECK(measure(values, 1) == 5);
}

static void
the_smaller_one_of_two_counts(void)
{
	const double values[] = {5, 2, 9};

	CHECK(measure(values, 2) == 2);
	CHECK(measure(values + 1, 2) == 2);
}

static void
the_middle_one_of_three_counts(void)
{
	static const double orders[][3] = {
		{1, 2, 3}, {1, 3, 2}, {2, 1, 3}, {2, 3, 1}, {3, 1, 2}, {3, 2, 1}
	};

	for (unsigned i = 0; i < lengthof(orders); i++)
		CHECK(measure(orders[i], 3) == 2);
}

/* One that is wrong changes nothing, a link that has changed counts. */
static void
the_last_three_count(void)
{
	double		values[50];

	for (int i = 0; i < 50; i++)
		values[i] = i % 3 == 2 ? 1000 : 5;
	for (int n = 3; n <= 50; n++)
		CHECK(measure(values, n) == 5);
	for (int i = 0; i < 50; i++)
		values[i] = i;
	for (int n = 3; n <= 50; n++)
		CHECK(measure(values, n) == n - 2);
}

static void
a_second_has_one(void)
{
	px_recent	recent = {0};
	int64_t		now = INT64_C(1000000000);
	double		value = 0;

	px_recent_add(&recent, now, 5);
	px_recent_add(&recent, now, 1);
	CHECK(!px_recent_wants(&recent, now + PX_RECENT_INTERVAL_US - 1));
	px_recent_add(&recent, now + PX_RECENT_INTERVAL_US - 1, 1);
	CHECK(px_recent_get(&recent, now, &value));
	CHECK(value == 5);
	CHECK(px_recent_wants(&recent, now + PX_RECENT_INTERVAL_US));
	px_recent_add(&recent, now + PX_RECENT_INTERVAL_US, 1);
	CHECK(px_recent_get(&recent, now + PX_RECENT_INTERVAL_US, &value));
	CHECK(value == 1);
}

static void
old_ones_are_forgotten(void)
{
	px_recent	recent = {0};
	int64_t		now = 1;
	double		value = 0;

	for (int i = 0; i < 3; i++)
		px_recent_add(&recent, now += PX_RECENT_INTERVAL_US, 5);
	CHECK(px_recent_get(&recent, now + PX_RECENT_KEPT_US - 1, &value));
	CHECK(!px_recent_get(&recent, now + PX_RECENT_KEPT_US, &value));
	now += PX_RECENT_KEPT_US;
	px_recent_add(&recent, now, 9);
	CHECK(px_recent_get(&recent, now, &value));
	CHECK(value == 9);
}

static void
a_clock_that_was_set_back_begins_anew(void)
{
	px_recent	recent = {0};
	int64_t		now = INT64_C(1000000000);
	double		value = 0;

	px_recent_add(&recent, now, 5);
	CHECK(!px_recent_get(&recent, now - 1, &value));
	CHECK(px_recent_wants(&recent, now - 1));
	px_recent_add(&recent, now - 1, 9);
	CHECK(px_recent_get(&recent, now, &value));
	CHECK(value == 9);
}

int
main(void)
{
	RUN(nothing_is_no_value);
	RUN(one_counts);
	RUN(the_smaller_one_of_two_counts);
	RUN(the_middle_one_of_three_counts);
	RUN(the_last_three_count);
	RUN(a_second_has_one);
	RUN(old_ones_are_forgotten);
	RUN(a_clock_that_was_set_back_begins_anew);
	return unit_done();
}
