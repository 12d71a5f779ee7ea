/*-------------------------------------------------------------------------
 *
 * hello.c
 *		Write and read the hello, and find a common protocol version.
 *
 * The form is described in hello.h and in doc/wire.md.  Unlike a request, a
 * hello is read before a common version is known.  So its words may come in
 * any order, and unknown ones are skipped.  A known word must be right.
 *
 * conn/hello_self.c decides what a server says about itself.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/hello.h"

/* The keys, in the order in which they are written. */
typedef enum hello_key
{
	KEY_PROTOCOL,
	KEY_CODECS,
	KEY_ENCODINGS,
	KEY_ENDIAN,
	KEY_ENCODING,
	KEY_SERVER_VERSION,
	KEY_INSTANCE,
	KEY_EXPORT,
	KEY_SPREAD,
	KEY_PULL,
	KEY_FREE
} hello_key;

#define KEY_COUNT	(KEY_FREE + 1)

/* A hello has all keys before this one. */
#define KEY_OPTIONAL	KEY_SPREAD

static const char *const key_names[KEY_COUNT] = {
	[KEY_PROTOCOL] = "protocol",
	[KEY_CODECS] = "codecs",
	[KEY_ENCODINGS] = "encodings",
	[KEY_ENDIAN] = "endian",
	[KEY_ENCODING] = "encoding",
	[KEY_SERVER_VERSION] = "server_version",
	[KEY_INSTANCE] = "instance",
	[KEY_EXPORT] = "export",
	[KEY_SPREAD] = "spread",
	[KEY_PULL] = "pull",
	[KEY_FREE] = "free",
};

static void
put_key(px_text *text, hello_key key)
{
	if (text->len > 0)
		px_text_put(text, " ");
	px_text_put(text, key_names[key]);
	px_text_put(text, "=");
}

size_t
px_hello_write(char *buffer, size_t cap, const px_hello *hello)
{
	px_text		text = {buffer, cap, 0};

	put_key(&text, KEY_PROTOCOL);
	px_text_put_number(&text, hello->protocol_min);
	px_text_put(&text, "-");
	px_text_put_number(&text, hello->protocol_max);
	put_key(&text, KEY_CODECS);
	px_text_put_number(&text, hello->codecs);
	put_key(&text, KEY_ENCODINGS);
	px_text_put_number(&text, hello->encodings);
	put_key(&text, KEY_ENDIAN);
	px_text_put(&text, hello->little_endian ? "little" : "big");
	put_key(&text, KEY_ENCODING);
	px_text_put(&text, hello->encoding);
	put_key(&text, KEY_SERVER_VERSION);
	px_text_put_number(&text, hello->server_version);
	put_key(&text, KEY_INSTANCE);
	px_text_put(&text, hello->instance);
	put_key(&text, KEY_EXPORT);
	px_text_put_number(&text, hello->can_export ? 1 : 0);
	if (hello->can_spread)
	{
		put_key(&text, KEY_SPREAD);
		px_text_put_number(&text, 1);
	}
	if (hello->pull_id[0] != '\0')
	{
		put_key(&text, KEY_PULL);
		px_text_put(&text, hello->pull_id);
	}
	if (hello->free != PX_FREE_MANY)
	{
		put_key(&text, KEY_FREE);
		px_text_put(&text, hello->free == PX_FREE_QUARTER ? "quarter" : "few");
	}
	return px_text_end(&text);
}

/* Read "min-max". */
static px_status
take_protocol(const char **at, px_hello *hello, px_fault *fault)
{
	const char *what = key_names[KEY_PROTOCOL];
	int64_t		min;
	int64_t		max;
	px_status	status;

	status = px_text_take_number(at, what, 0, UINT16_MAX, &min, fault);
	if (status != PX_OK)
		return status;
	if (!px_text_take(at, "-"))
		return px_fail(fault, PX_BAD_HEADER, what, 0, 0);
	status = px_text_take_number(at, what, 0, UINT16_MAX, &max, fault);
	if (status != PX_OK)
		return status;
	/* 0 means "none" to px_hello_common_version, so it is not a version */
	if (min < 1 || min > max)
		return px_fail(fault, PX_BAD_HEADER, what, 0, 0);
	hello->protocol_min = (uint16_t) min;
	hello->protocol_max = (uint16_t) max;
	return PX_OK;
}

/* Read cap - 1 hex digits. */
static bool
take_id(const char **at, char *id, size_t cap)
{
	return px_text_take_chars(at, "0123456789abcdef", id, cap) == cap - 1;
}

/* Read the value of a known key. */
static px_status
take_value(const char **at, hello_key key, px_hello *hello, px_fault *fault)
{
	static const char name_chars[] = "abcdefghijklmnopqrstuvwxyz"
		"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const char *what = key_names[key];
	bool		ok = true;
	int64_t		number = 0;
	px_status	status = PX_OK;

	switch (key)
	{
		case KEY_PROTOCOL:
			status = take_protocol(at, hello, fault);
			break;
		case KEY_CODECS:
			status = px_text_take_number(at, what, 0, UINT32_MAX, &number,
										 fault);
			hello->codecs = (uint32_t) number;
			break;
		case KEY_ENCODINGS:
			status = px_text_take_number(at, what, 0, UINT32_MAX, &number,
										 fault);
			hello->encodings = (uint32_t) number;
			break;
		case KEY_ENDIAN:
			hello->little_endian = px_text_take(at, "little");
			ok = hello->little_endian || px_text_take(at, "big");
			break;
		case KEY_ENCODING:
			ok = px_text_take_chars(at, name_chars, hello->encoding,
									sizeof(hello->encoding)) > 0;
			break;
		case KEY_SERVER_VERSION:
			status = px_text_take_number(at, what, 0, INT32_MAX, &number,
										 fault);
			hello->server_version = (uint32_t) number;
			break;
		case KEY_INSTANCE:
			ok = take_id(at, hello->instance, sizeof(hello->instance));
			break;
		case KEY_EXPORT:
			status = px_text_take_number(at, what, 0, 1, &number, fault);
			hello->can_export = number == 1;
			break;
		case KEY_SPREAD:
			status = px_text_take_number(at, what, 0, 1, &number, fault);
			hello->can_spread = number == 1;
			break;
		case KEY_PULL:
			ok = take_id(at, hello->pull_id, sizeof(hello->pull_id));
			break;
		case KEY_FREE:
			hello->free = px_text_take(at, "quarter") ? PX_FREE_QUARTER :
				PX_FREE_FEW;
			ok = hello->free == PX_FREE_QUARTER || px_text_take(at, "few");
			break;
	}
	if (!ok)
		return px_fail(fault, PX_BAD_HEADER, what, 0, 0);
	return status;
}

/* Read one word.  *seen has a bit for each key that has been read. */
static px_status
take_word(const char **at, uint32_t *seen, px_hello *hello, px_fault *fault)
{
	for (int key = 0; key < KEY_COUNT; key++)
	{
		const char *value = *at;
		px_status	status;

		if (!px_text_take(&value, key_names[key]) ||
			!px_text_take(&value, "="))
			continue;
		if (*seen & (1u << key))
			return px_fail(fault, PX_BAD_HEADER, key_names[key], 1, 2);
		*seen |= 1u << key;
		status = take_value(&value, (hello_key) key, hello, fault);
		if (status != PX_OK)
			return status;
		if (*value != ' ' && *value != '\0')
			return px_fail(fault, PX_BAD_HEADER, key_names[key], 0, 0);
		*at = value;
		return PX_OK;
	}

	/* A later version's word: skip it, but it must look like one. */
	if (strcspn(*at, "=") == 0 || (*at)[strcspn(*at, "= ")] != '=')
		return px_fail(fault, PX_BAD_HEADER, "hello", 0, 0);
	*at += strcspn(*at, " ");
	return PX_OK;
}

px_status
px_hello_read(const char *text, px_hello *hello, px_fault *fault)
{
	const char *at = text;
	uint32_t	seen = 0;
	size_t		nbytes = strlen(text);

	memset(hello, 0, sizeof(*hello));
	if (nbytes > PX_HELLO_NBYTES_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "hello", PX_HELLO_NBYTES_MAX,
					   nbytes);

	do
	{
		px_status	status = take_word(&at, &seen, hello, fault);

		if (status != PX_OK)
			return status;
	} while (px_text_take(&at, " "));

	for (int key = 0; key < KEY_OPTIONAL; key++)
	{
		if ((seen & (1u << key)) == 0)
			return px_fail(fault, PX_TRUNCATED, key_names[key], 0, 0);
	}
	return PX_OK;
}

const char *
px_hello_find_key(const char *text, const char *key)
{
	size_t		n = strlen(key);

	for (const char *at = strchr(text, ' '); at; at = strchr(at + 1, ' '))
	{
		if (strncmp(at + 1, key, n) == 0 && at[1 + n] == '=')
			return at;
	}
	return NULL;
}

px_status
px_hello_take(const char **at, const char *key, px_hello *hello,
			  px_fault *fault)
{
	char		text[PX_HELLO_NBYTES_MAX + 1];
	const char *end = px_hello_find_key(*at, key);
	size_t		n;

	if (end == NULL)
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	n = (size_t) (end - *at);
	if (n > PX_HELLO_NBYTES_MAX)
		return px_fail(fault, PX_OVER_LIMIT, "hello", PX_HELLO_NBYTES_MAX, n);
	memcpy(text, *at, n);
	text[n] = '\0';
	*at = end;
	return px_hello_read(text, hello, fault);
}

uint16_t
px_hello_common_version(const px_hello *a, const px_hello *b)
{
	uint16_t	min = Max(a->protocol_min, b->protocol_min);
	uint16_t	max = Min(a->protocol_max, b->protocol_max);

	return min <= max ? max : 0;
}
