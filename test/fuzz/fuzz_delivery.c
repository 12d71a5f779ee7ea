/*-------------------------------------------------------------------------
 *
 * fuzz_delivery.c
 *		Records, as exchange.fill_inbox reads them.
 *
 * The input is its argument.  What was accepted is written again, and must be
 * the same bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/delivery.h"
#include "wire/piece.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *copy = fuzz_guarded_copy(SLOT_FRAME, data, size);
	px_reader	records = {copy, size, 0};

	while (px_reader_left(&records) > 0)
	{
		const uint8_t *record = records.data + records.pos;
		uint8_t		again[PX_DELIVERY_HEADER_NBYTES];
		px_delivery delivery;
		px_fault	fault = {0};
		px_status	status = px_delivery_next(&records, &delivery, &fault);

		FUZZ_REQUIRE(status == fault.status);
		if (status != PX_OK)
			break;
		FUZZ_REQUIRE(delivery.inbox > 0);
		FUZZ_REQUIRE(delivery.nbytes == PX_FRAME_HEADER_NBYTES +
					 (size_t) delivery.header.body_nbytes);
		FUZZ_REQUIRE((uint64_t) delivery.header.rows *
					 delivery.header.columns <= PX_PIECE_VALUES_MAX);
		FUZZ_REQUIRE(delivery.frame == record + PX_DELIVERY_HEADER_NBYTES);
		fuzz_touch(delivery.frame, delivery.nbytes);
		px_delivery_header_put(again, (uint32_t) delivery.nbytes,
							   delivery.inbox, delivery.source);
		FUZZ_REQUIRE(memcmp(again, record, sizeof(again)) == 0);
	}
	return 0;
}
