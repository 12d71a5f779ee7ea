/*-------------------------------------------------------------------------
 *
 * unit.c
 *		A small harness for unit tests; see unit.h.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "column/verify.h"
#include "unit.h"

/* A test that fails everywhere says so this often. */
#define UNIT_REPORTS_MAX	10

static int	tests_run;
static int	tests_failed;
static int	checks_failed;		/* in the current test */
static uint64_t random_state;

static bool
unit_may_report(void)
{
	return ++checks_failed <= UNIT_REPORTS_MAX;
}

bool
unit_check(bool condition, const char *text, const char *file, int line)
{
	if (!condition && unit_may_report())
		printf("# %s:%d: failed: %s\n", file, line, text);

	return condition;
}

bool
unit_check_eq(uint64_t got, uint64_t expected, const char *text,
			  const char *file, int line)
{
	if (got != expected && unit_may_report())
		printf("# %s:%d: %s: expected %llu, got %llu\n", file, line, text,
			   (unsigned long long) expected, (unsigned long long) got);

	return got == expected;
}

void
unit_run(const char *name, void (*test) (void))
{
	checks_failed = 0;
	random_state = 0;
	test();

	tests_run++;
	if (checks_failed > 0)
		tests_failed++;
	printf("%sok %d - ", checks_failed > 0 ? "not " : "", tests_run);
	for (const char *c = name; *c; c++)
		putchar(*c == '_' ? ' ' : *c);
	putchar('\n');
	fflush(stdout);
}

int
unit_done(void)
{
	printf("1..%d\n", tests_run);

	return tests_failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static void
unit_out_of_memory(void)
{
	printf("Bail out! out of memory\n");
	exit(EXIT_FAILURE);
}

unit_guarded
unit_guarded_new(size_t n)
{
	size_t		page = (size_t) sysconf(_SC_PAGESIZE);
	unit_guarded guarded;

	guarded.nbytes = n;
	guarded.map_nbytes = (n / page + 2) * page;
	guarded.map = mmap(NULL, guarded.map_nbytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guarded.map == MAP_FAILED ||
		mprotect((uint8_t *) guarded.map + guarded.map_nbytes - page, page,
				 PROT_NONE) != 0)
		unit_out_of_memory();
	guarded.data = (uint8_t *) guarded.map + guarded.map_nbytes - page - n;

	return guarded;
}

unit_guarded
unit_guarded_copy(const void *data, size_t n)
{
	unit_guarded guarded = unit_guarded_new(n);

	if (n > 0)
		memcpy(guarded.data, data, n);

	return guarded;
}

void
unit_guarded_free(unit_guarded *guarded)
{
	if (guarded->map)
		munmap(guarded->map, guarded->map_nbytes);
	guarded->map = NULL;
	guarded->data = NULL;
}

void *
unit_alloc(size_t n)
{
	void	   *p = calloc(1, Max(n, 1));

	if (p == NULL)
		unit_out_of_memory();

	return p;
}

/*
 * splitmix64: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
 * Generators" (OOPSLA 2014).
 */
uint64_t
unit_random(void)
{
	uint64_t	z = (random_state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);

	return z ^ (z >> 31);
}

void
unit_random_bytes(uint8_t *out, size_t n)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (uint8_t) unit_random();
}

/* ---------------------------------------------------------------------
 * What senders write
 * --------------------------------------------------------------------- */

/* Memory that is freed in one go: each piece points to the one before it. */
typedef struct unit_piece
{
	struct unit_piece *previous;
	uint64_t	data[];
} unit_piece;

static uint8_t *
unit_take(void *arg, size_t nbytes)
{
	unit_piece **last = arg;
	unit_piece *piece = unit_alloc(sizeof(unit_piece) + nbytes);

	piece->previous = *last;
	*last = piece;

	return (uint8_t *) piece->data;
}

px_status
unit_batch_write(px_writer *out, const px_column *columns, uint16_t ncolumns,
				 const px_encode_options *options, px_column_state *states)
{
	unit_piece *pieces = NULL;
	px_verify_memory memory = {unit_take, &pieces};
	px_frame_header header = {.columns = ncolumns,
							  .rows = px_column_rows(&columns[0])};
	px_batch_limits limits = {header.rows, PX_RAW_RATIO_MAX};
	char		text[PX_FAULT_NBYTES_MAX];
	px_fault	fault;
	size_t		start = out->pos;
	px_status	status;
	unit_guarded body;

	status = px_batch_write(out, columns, ncolumns, options, states);
	if (status != PX_OK)
		return status;

	header.body_nbytes = (uint32_t) (out->pos - start);
	for (uint16_t i = 0; i < ncolumns; i++)
		header.raw_nbytes += px_column_plain_nbytes(&columns[i]);
	body = unit_guarded_copy(out->data + start, header.body_nbytes);
	if (px_verify_written(body.data, &header, &limits, columns,
						  options->context, &memory, &fault) != PX_OK)
		unit_check(false, px_fault_text(&fault, text), __FILE__, __LINE__);
	unit_guarded_free(&body);
	while (pieces)
	{
		unit_piece *previous = pieces->previous;

		free(pieces);
		pieces = previous;
	}

	return PX_OK;
}
