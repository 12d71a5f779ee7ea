/*-------------------------------------------------------------------------
 *
 * unit.h
 *		A small harness for unit tests: TAP output, guarded buffers.
 *
 * A program lists its tests in main: RUN(function) for each, then
 * return unit_done().  A test is one line of TAP, however many checks it
 * makes; the checks that fail are reported as TAP comments.  The name of a
 * function is a sentence that is true if the test passes: it is printed with
 * blanks for underscores.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TEST_UNIT_H
#define PX_TEST_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "column/batch.h"
#include "base/status.h"

/* The test goes on after a failed check; the result is the condition. */
#define CHECK(condition) \
	unit_check((condition), #condition, __FILE__, __LINE__)

/* The same for two numbers, which are reported. */
#define CHECK_EQ(got, expected) \
	unit_check_eq((uint64_t) (got), (uint64_t) (expected), #got, \
				  __FILE__, __LINE__)

/* The same for n bytes. */
#define CHECK_MEM(got, expected, n) \
	unit_check(memcmp((got), (expected), (n)) == 0, \
			   #got " has the bytes of " #expected, __FILE__, __LINE__)

#define RUN(test)	unit_run(#test, test)

extern bool unit_check(bool condition, const char *text,
					   const char *file, int line);
extern bool unit_check_eq(uint64_t got, uint64_t expected, const char *text,
						  const char *file, int line);
extern void unit_run(const char *name, void (*test) (void));

/* Print the plan; the exit status of the program. */
extern int	unit_done(void);

/*
 * A buffer of n bytes that ends at a page that cannot be accessed, and starts
 * somewhere in one that can: reading or writing past its end crashes.
 */
typedef struct unit_guarded
{
	uint8_t    *data;
	size_t		nbytes;
	void	   *map;
	size_t		map_nbytes;
} unit_guarded;

extern unit_guarded unit_guarded_new(size_t n);
extern unit_guarded unit_guarded_copy(const void *data, size_t n);
extern void unit_guarded_free(unit_guarded *guarded);

/* n zeroed bytes, never NULL; free with free(). */
extern void *unit_alloc(size_t n);

/* Reproducible random numbers: the sequence starts anew with every test. */
extern uint64_t unit_random(void);

/*
 * px_batch_write, as all tests call it: what it has written is read as a
 * receiver reads it, with the receiver's limits.
 */
extern px_status unit_batch_write(px_writer *out, const px_column *columns,
								  uint16_t ncolumns,
								  const px_encode_options *options,
								  px_column_state *states);

/* n bytes that do not compress. */
extern void unit_random_bytes(uint8_t *out, size_t n);

#endif							/* PX_TEST_UNIT_H */
