/*-------------------------------------------------------------------------
 *
 * description.c
 *		Write and read the description.
 *
 * The form is described in description.h and in doc/wire.md.  admit/describe.c
 * decides what a server says in it.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/description.h"

size_t
px_description_write(char *buffer, size_t cap,
					 const px_description *description,
					 const px_request_column *columns)
{
	char		hello[PX_HELLO_NBYTES_MAX + 1];
	px_text		text = {buffer, cap, 0};

	px_hello_write(hello, sizeof(hello), &description->hello);
	px_text_put(&text, hello);
	px_text_put(&text, " against=");
	px_text_put_escaped(&text, description->against);
	px_text_put(&text, description->effects ? " effects=1" : " effects=0");
	px_text_put(&text, description->exact ? " exact=1" : " exact=0");
	px_text_put(&text, description->keys ? " keys=1 " : " keys=0 ");
	px_columns_put(&text, columns, description->ncolumns);
	return px_text_end(&text);
}

static px_status
take_flag(const char **at, const char *key, bool *flag, px_fault *fault)
{
	int64_t		number;
	px_status	status;

	if (!px_text_take(at, " ") || !px_text_take(at, key) ||
		!px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	status = px_text_take_number(at, key, 0, 1, &number, fault);
	*flag = status == PX_OK && number == 1;
	return status;
}

px_status
px_description_read(const char *text, px_description *description,
					px_request_column *columns, px_fault *fault)
{
	const char *at = text;
	px_status	status;

	memset(description, 0, sizeof(*description));
	status = px_hello_take(&at, "against", &description->hello, fault);
	if (status != PX_OK)
		return status;
	(void) px_text_take(&at, " against=");
	if ((status = px_text_take_escaped(&at, "against", description->against,
									   sizeof(description->against),
									   fault)) != PX_OK ||
		(status = take_flag(&at, "effects", &description->effects,
							fault)) != PX_OK ||
		(status = take_flag(&at, "exact", &description->exact,
							fault)) != PX_OK ||
		(status = take_flag(&at, "keys", &description->keys,
							fault)) != PX_OK)
		return status;
	if (!px_text_take(&at, " "))
		return px_fail(fault, PX_BAD_HEADER, "columns", 0, 0);
	return px_columns_take(&at, columns, &description->ncolumns, fault);
}
