/*-------------------------------------------------------------------------
 *
 * test_bytes.c
 *		Tests of the bounds-checked cursors (base/bytes.h) and status texts.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "unit.h"
#include "base/bytes.h"

static void
loads_and_stores_are_little_endian(void)
{
	const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06, 0x07, 0xf8};
	uint8_t		out[8];

	CHECK_EQ(px_load_u16(bytes), 0x0201);
	CHECK_EQ(px_load_u32(bytes), 0x04030201);
	CHECK_EQ(px_load_u32(bytes + 4), 0xf8070605);
	CHECK_EQ(px_load_u64(bytes), UINT64_C(0xf807060504030201));

	px_store_u16(out, 0x0201);
	CHECK_MEM(out, bytes, 2);
	px_store_u32(out, 0x04030201);
	CHECK_MEM(out, bytes, 4);
	px_store_u64(out, UINT64_C(0xf807060504030201));
	CHECK_MEM(out, bytes, 8);
}

static void
the_reader_returns_what_the_writer_wrote(void)
{
	unit_guarded g = unit_guarded_new(1 + 2 + 4 + 8 + 3);
	px_writer	w = {g.data, g.nbytes, 0};
	px_reader	r = {g.data, g.nbytes, 0};
	uint8_t		v8 = 0;
	uint16_t	v16 = 0;
	uint32_t	v32 = 0;
	uint64_t	v64 = 0;
	const uint8_t *p;

	CHECK(px_write_u8(&w, 0xff));
	CHECK(px_write_u16(&w, 0xfffe));
	CHECK(px_write_u32(&w, 0xfffffffd));
	CHECK(px_write_u64(&w, UINT64_C(0xfffffffffffffffc)));
	CHECK(px_write_bytes(&w, "abc", 3));
	CHECK_EQ(px_writer_left(&w), 0);

	CHECK(px_read_u8(&r, &v8) && v8 == 0xff);
	CHECK(px_read_u16(&r, &v16) && v16 == 0xfffe);
	CHECK(px_read_u32(&r, &v32) && v32 == 0xfffffffd);
	CHECK(px_read_u64(&r, &v64) && v64 == UINT64_C(0xfffffffffffffffc));
	CHECK(px_read_bytes(&r, 3, &p) && memcmp(p, "abc", 3) == 0);
	CHECK_EQ(px_reader_left(&r), 0);

	unit_guarded_free(&g);
}

static void
reads_beyond_the_end_fail_and_move_nothing(void)
{
	for (size_t n = 0; n < 8; n++)
	{
		unit_guarded g = unit_guarded_new(n);
		px_reader	r = {g.data, n, 0};
		uint8_t		v8;
		uint16_t	v16;
		uint32_t	v32;
		uint64_t	v64;
		const uint8_t *p;

		CHECK(!px_read_u64(&r, &v64) && r.pos == 0);
		CHECK(n >= 4 || (!px_read_u32(&r, &v32) && r.pos == 0));
		CHECK(n >= 2 || (!px_read_u16(&r, &v16) && r.pos == 0));
		CHECK(n >= 1 || (!px_read_u8(&r, &v8) && r.pos == 0));
		CHECK(!px_read_bytes(&r, n + 1, &p) && r.pos == 0);
		CHECK(!px_read_bytes(&r, SIZE_MAX, &p) && r.pos == 0);
		CHECK(px_read_bytes(&r, n, &p) && r.pos == n);
		CHECK(!px_read_bytes(&r, SIZE_MAX, &p) && r.pos == n);
		unit_guarded_free(&g);
	}
}

static void
writes_beyond_the_end_fail_and_move_nothing(void)
{
	for (size_t n = 0; n < 8; n++)
	{
		unit_guarded g = unit_guarded_new(n);
		px_writer	w = {g.data, n, 0};
		uint8_t    *p;

		CHECK(!px_write_u64(&w, 1) && w.pos == 0);
		CHECK(n >= 4 || (!px_write_u32(&w, 1) && w.pos == 0));
		CHECK(n >= 2 || (!px_write_u16(&w, 1) && w.pos == 0));
		CHECK(n >= 1 || (!px_write_u8(&w, 1) && w.pos == 0));
		CHECK(!px_write_reserve(&w, SIZE_MAX, &p) && w.pos == 0);
		CHECK(px_write_reserve(&w, n, &p) && w.pos == n);
		CHECK(!px_write_reserve(&w, SIZE_MAX, &p) && w.pos == n);
		CHECK(px_write_bytes(&w, NULL, 0));
		unit_guarded_free(&g);
	}
}

static void
alignment_writes_zeros_up_to_eight_bytes(void)
{
	for (size_t n = 0; n <= 16; n++)
	{
		uint8_t		buffer[16];
		px_writer	w = {buffer, sizeof(buffer), n};

		memset(buffer, 0xaa, sizeof(buffer));
		CHECK(px_write_align(&w));
		CHECK_EQ(w.pos, (n + 7) / 8 * 8);
		CHECK_EQ(w.pos, PX_ALIGN(n));
		for (size_t i = 0; i < sizeof(buffer); i++)
			CHECK_EQ(buffer[i], i >= n && i < w.pos ? 0 : 0xaa);

		w.pos = n;
		w.cap = PX_ALIGN(n) - 1;
		if (n % 8 != 0)
			CHECK(!px_write_align(&w) && w.pos == n);
	}
}

static void
every_status_has_its_own_text(void)
{
	for (int a = PX_OK; a <= PX_NO_SPACE; a++)
	{
		CHECK(px_status_text(a)[0] != '\0');
		for (int b = PX_OK; b < a; b++)
			CHECK(strcmp(px_status_text(a), px_status_text(b)) != 0);
	}
	CHECK(strcmp(px_status_text(PX_NO_SPACE + 1), "unknown status") == 0);
}

static void
a_failure_fills_the_fault_if_there_is_one(void)
{
	px_fault	fault = {PX_OK, NULL, 0, 0};

	CHECK_EQ(px_fail(&fault, PX_TRUNCATED, "field", 1, 2), PX_TRUNCATED);
	CHECK_EQ(fault.status, PX_TRUNCATED);
	CHECK(strcmp(fault.what, "field") == 0);
	CHECK_EQ(fault.expected, 1);
	CHECK_EQ(fault.got, 2);
	CHECK_EQ(px_fail(NULL, PX_TRAILING, "field", 1, 2), PX_TRAILING);
}

int
main(void)
{
	RUN(loads_and_stores_are_little_endian);
	RUN(the_reader_returns_what_the_writer_wrote);
	RUN(reads_beyond_the_end_fail_and_move_nothing);
	RUN(writes_beyond_the_end_fail_and_move_nothing);
	RUN(alignment_writes_zeros_up_to_eight_bytes);
	RUN(every_status_has_its_own_text);
	RUN(a_failure_fills_the_fault_if_there_is_one);

	return unit_done();
}
