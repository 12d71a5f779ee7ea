/*-------------------------------------------------------------------------
 *
 * encoding.c
 *		The table of encodings.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "column/encoding.h"

const px_encoding *const px_encodings[PX_ENCODING_COUNT] = {
#define PX_ENCODING(constant, number, entry)	[constant] = &entry,
#include "column/encodinglist.h"
#undef PX_ENCODING
};

const char *
px_encoding_name(uint8_t id)
{
	return id < PX_ENCODING_COUNT ? px_encodings[id]->name : "unknown";
}

bool
px_suits_any(uint8_t form, uint8_t width)
{
	(void) form;
	(void) width;

	return true;
}

bool
px_suits_fixed(uint8_t form, uint8_t width)
{
	(void) width;

	return form == PX_FORM_FIXED;
}

bool
px_suits_bytes(uint8_t form, uint8_t width)
{
	(void) width;

	return form == PX_FORM_BYTES;
}

bool
px_suits_ints(uint8_t form, uint8_t width)
{
	return form == PX_FORM_FIXED && px_width_is_int(width);
}
