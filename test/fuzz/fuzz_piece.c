/*-------------------------------------------------------------------------
 *
 * fuzz_piece.c
 *		Pieces, as exchange.unpack reads them.
 *
 * The input is the frames of a piece, without the armour.  The checksums of
 * its frames are made right, once it was looked at.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "fuzz.h"
#include "wire/crc.h"
#include "wire/piece.h"

#define OFF_CRC		(PX_FRAME_HEADER_NBYTES - 4)

/* Returns the rows of the batches that were taken. */
static uint64_t
read_piece(const uint8_t *frames, size_t size, px_status *status)
{
	px_piece	piece;
	px_frame_header header;
	const uint8_t *frame;
	px_fault	fault = {0};
	uint64_t	rows = 0;

	px_piece_begin(&piece, frames, size);
	do
	{
		*status = px_piece_next(&piece, &header, &frame, &fault);
		FUZZ_REQUIRE(*status == fault.status);
		if (*status != PX_OK)
			break;
		FUZZ_REQUIRE(frame >= frames && header.body_nbytes <=
					 size - (size_t) (frame - frames) -
						 PX_FRAME_HEADER_NBYTES);
		fuzz_touch(frame, PX_FRAME_HEADER_NBYTES + header.body_nbytes);
		rows += header.rows;
	} while (!piece.totals.ended);
	FUZZ_REQUIRE(*status != PX_OK || piece.used == size);
	return rows;
}

static void
correct_checksums(uint8_t *frames, size_t size)
{
	size_t		at = 0;
	px_frame_header header;

	while (px_frame_peek_header(frames + at, size - at, &header, NULL) ==
			   PX_OK &&
		   header.body_nbytes <= size - at - PX_FRAME_HEADER_NBYTES)
	{
		px_store_u32(frames + at + OFF_CRC,
					 px_crc32c(frames + at, OFF_CRC,
							   frames + at + PX_FRAME_HEADER_NBYTES,
							   header.body_nbytes));
		at += PX_FRAME_HEADER_NBYTES + header.body_nbytes;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t    *frames = fuzz_guarded_copy(SLOT_FRAME, data, size);
	px_status	status;
	px_status	measured;
	uint64_t	rows;
	uint64_t	announced;

	(void) read_piece(frames, size, &status);
	correct_checksums(frames, size);
	measured = px_piece_measure(frames, size, &announced, NULL);
	rows = read_piece(frames, size, &status);

	/* What is right as a whole has the rows that were announced. */
	FUZZ_REQUIRE(status != PX_OK || (measured == PX_OK && rows == announced));
	return 0;
}
