/*-------------------------------------------------------------------------
 *
 * request.c
 *		Write and read the request, the first argument of exchange.send.
 *
 * The form is described in request.h and in doc/wire.md.  The keys come in a
 * fixed order and each number has one spelling.  So px_request_read accepts a
 * text only if px_request_write would write the same bytes.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "codec/codec.h"
#include "wire/frame.h"
#include "wire/request.h"

static void
put_word(px_text *text, const char *key, int64_t number)
{
	px_text_put(text, key);
	px_text_put(text, "=");
	px_text_put_number(text, number);
	px_text_put(text, " ");
}

/* Write "key=hex ". */
static void
put_bits(px_text *text, const char *key, uint64_t bits)
{
	px_text_put(text, key);
	px_text_put(text, "=");
	px_text_put_hex(text, bits);
	px_text_put(text, " ");
}

void
px_columns_put(px_text *text, const px_request_column *columns,
			   uint16_t ncolumns)
{
	px_text_put(text, "columns=");
	for (int i = 0; i < ncolumns; i++)
	{
		if (i > 0)
			px_text_put(text, ",");
		px_text_put_number(text, columns[i].type_oid);
		px_text_put(text, ":");
		px_text_put_number(text, columns[i].typmod);
	}
}

size_t
px_request_write(char *buffer, size_t cap, const px_request *request,
				 const px_request_column *columns)
{
	px_text		text = {buffer, cap, 0};
	const px_codec *codec = px_codec_by_id(request->codec);

	put_word(&text, "version", request->version);
	put_word(&text, "encodings", request->encodings);
	px_text_put(&text, "codec=");
	px_text_put(&text,
				request->adaptive ? "auto"
					: codec       ? codec->name
								  : "unknown");
	px_text_put(&text, " ");
	put_word(&text, "level", request->level);
	put_word(&text, "batch_rows", request->batch_rows);
	put_word(&text, "batch_bytes", request->batch_bytes);
	put_word(&text, "server_version", request->server_version);
	if (request->adaptive)
	{
		put_word(&text, "codecs", request->codecs);
		put_word(&text, "cpu_limit", request->cpu_limit);
		put_word(&text, "link", (int64_t) request->link_rate);
		put_word(&text, "idle", request->idle);
		put_word(&text, "random", request->random ? 1 : 0);
	}
	if (request->slices > 1)
	{
		put_word(&text, "slices", request->slices);
		put_word(&text, "slice", request->slice);
		put_word(&text, "blocks", request->blocks);
	}
	if (request->explain != 0)
		put_word(&text, "explain", request->explain);
	if (request->targets > 1)
		put_word(&text, "targets", request->targets);
	if (request->spread)
		put_word(&text, "spread", 1);
	if (request->links > 0)
	{
		put_word(&text, "links", request->links);
		put_bits(&text, "pulled", request->pulled);
		put_bits(&text, "plain", request->plain);
	}
	if (request->fetch_rows != 0)
		put_word(&text, "fetch_rows", request->fetch_rows);
	if (request->fixed)
		put_word(&text, "fixed", 1);
	if (request->has_session)
	{
		px_text_put(&text, "session=");
		px_text_put_hex(&text, request->session);
		px_text_put(&text, " ");
	}
	px_columns_put(&text, columns, request->ncolumns);
	return px_text_end(&text);
}

/* Read "key=number ". */
static px_status
take_word(const char **at, const char *key, int64_t min, int64_t max,
		  int64_t *number, px_fault *fault)
{
	px_status	status;

	if (!px_text_take(at, key) || !px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	status = px_text_take_number(at, key, min, max, number, fault);
	if (status != PX_OK)
		return status;
	if (!px_text_take(at, " "))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

/* Read "codec=name ". */
static px_status
take_codec(const char **at, px_request *request, px_fault *fault)
{
	if (!px_text_take(at, "codec="))
		return px_fail(fault, PX_BAD_HEADER, "codec", 0, 0);
	request->codec = PX_CODEC_NONE;
	request->adaptive = px_text_take(at, "auto ");
	if (request->adaptive)
		return PX_OK;
	for (int id = 0; id < PX_CODEC_COUNT; id++)
	{
		const char *after = *at;

		if (px_text_take(&after, px_codec_by_id((uint8_t) id)->name) &&
			px_text_take(&after, " "))
		{
			request->codec = (uint8_t) id;
			*at = after;
			return PX_OK;
		}
	}
	return px_fail(fault, PX_BAD_CODEC, "codec", 0, 0);
}

px_status
px_columns_take(const char **at, px_request_column *columns,
				uint16_t *ncolumns, px_fault *fault)
{
	uint16_t	n = 0;

	if (!px_text_take(at, "columns="))
		return px_fail(fault, PX_BAD_HEADER, "columns", 0, 0);
	do
	{
		int64_t		number;
		px_status	status;

		if (n == PX_FRAME_COLUMNS_MAX)
			return px_fail(fault, PX_OVER_LIMIT, "columns",
						   PX_FRAME_COLUMNS_MAX, (uint64_t) n + 1);
		status = px_text_take_number(at, "columns", 0, UINT32_MAX, &number,
									 fault);
		if (status != PX_OK)
			return status;
		columns[n].type_oid = (uint32_t) number;
		if (!px_text_take(at, ":"))
			return px_fail(fault, PX_BAD_HEADER, "columns", 0, 0);
		status = px_text_take_number(at, "columns", -1, INT32_MAX, &number,
									 fault);
		if (status != PX_OK)
			return status;
		columns[n].typmod = (int32_t) number;
		n++;
	} while (px_text_take(at, ","));

	if (**at != '\0')
		return px_fail(fault, PX_BAD_HEADER, "columns", 0, 0);
	*ncolumns = n;
	return PX_OK;
}

/* Read the words that are there only with codec=auto. */
static px_status
take_adaptive(const char **at, px_request *request, px_fault *fault)
{
	int64_t		codecs = 0;
	int64_t		cpu_limit = 0;
	int64_t		link_rate = 0;
	int64_t		idle = 0;
	int64_t		random = 0;
	px_status	status = PX_OK;

	if (request->adaptive)
	{
		if ((status = take_word(at, "codecs", 0, UINT32_MAX, &codecs,
								fault)) != PX_OK ||
			(status = take_word(at, "cpu_limit", 0, 1000, &cpu_limit,
								fault)) != PX_OK ||
			(status = take_word(at, "link", 0, PX_REQUEST_LINK_RATE_MAX,
								&link_rate, fault)) != PX_OK ||
			(status = take_word(at, "idle", 0, 1000, &idle, fault)) != PX_OK ||
			(status = take_word(at, "random", 0, 1, &random, fault)) != PX_OK)
			return status;
	}
	request->codecs = (uint32_t) codecs;
	request->cpu_limit = (uint32_t) cpu_limit;
	request->link_rate = (uint64_t) link_rate;
	request->idle = (uint32_t) idle;
	request->random = random == 1;
	return PX_OK;
}

/* Read "slices=n slice=k blocks=m " if it is there. */
static px_status
take_slice(const char **at, px_request *request, px_fault *fault)
{
	const char *after = *at;
	int64_t		number;
	px_status	status;

	request->slices = 1;
	request->slice = request->blocks = 0;
	if (!px_text_take(&after, "slices="))
		return PX_OK;

	status = take_word(at, "slices", 2, PX_REQUEST_SLICES_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	request->slices = (uint32_t) number;

	status = take_word(at, "slice", 0, request->slices - 1, &number, fault);
	if (status != PX_OK)
		return status;
	request->slice = (uint32_t) number;

	/* The sender of slice 0 measures the table, the others are told. */
	status = take_word(at, "blocks", number > 0 ? 1 : 0,
					   number > 0 ? UINT32_MAX : 0, &number, fault);
	if (status != PX_OK)
		return status;
	request->blocks = (uint32_t) number;
	return PX_OK;
}

/* Read "key=number " if it is there, else set *number to 0. */
static px_status
take_optional(const char **at, const char *key, int64_t max, uint32_t *number,
			  px_fault *fault)
{
	const char *after = *at;
	int64_t		value;
	px_status	status;

	*number = 0;
	if (!px_text_take(&after, key) || !px_text_take(&after, "="))
		return PX_OK;
	status = take_word(at, key, 1, max, &value, fault);
	if (status == PX_OK)
		*number = (uint32_t) value;
	return status;
}

/* Read "key=hex ", no bit of which may be outside of allowed. */
static px_status
take_bits(const char **at, const char *key, uint64_t allowed, uint64_t *bits,
		  px_fault *fault)
{
	if (!px_text_take(at, key) || !px_text_take(at, "=") ||
		!px_text_take_hex(at, bits) || !px_text_take(at, " ") ||
		(*bits & ~allowed) != 0)
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

/* Read "links=n pulled=hex plain=hex " if it is there. */
static px_status
take_links(const char **at, px_request *request, px_fault *fault)
{
	uint64_t	all;
	px_status	status;

	status = take_optional(at, "links", request->targets, &request->links,
						   fault);
	if (status != PX_OK || request->links == 0)
		return status;
	if (request->targets % request->links != 0)
		return px_fail(fault, PX_BAD_HEADER, "links", request->targets,
					   request->links);
	all = UINT64_MAX >> (PX_REQUEST_TARGETS_MAX - request->links);
	status = take_bits(at, "pulled", all, &request->pulled, fault);
	if (status != PX_OK)
		return status;
	return take_bits(at, "plain", request->pulled, &request->plain, fault);
}

/* Read "targets=n " or "targets=n spread=1 " if it is there, and links. */
static px_status
take_targets(const char **at, px_request *request, px_fault *fault)
{
	const char *after = *at;
	uint32_t	spread;
	int64_t		number;
	px_status	status;

	request->targets = 1;
	request->links = 0;
	request->pulled = request->plain = 0;
	request->spread = false;
	if (!px_text_take(&after, "targets="))
		return PX_OK;
	status = take_word(at, "targets", 2, PX_REQUEST_TARGETS_MAX, &number,
					   fault);
	if (status != PX_OK)
		return status;
	request->targets = (uint32_t) number;
	status = take_optional(at, "spread", 1, &spread, fault);
	request->spread = spread != 0;
	return status == PX_OK ? take_links(at, request, fault) : status;
}

/* Read "fetch_rows=n " or "fetch_rows=n fixed=1 " if it is there. */
static px_status
take_fetch(const char **at, px_request *request, px_fault *fault)
{
	uint32_t	fixed;
	px_status	status;

	status = take_optional(at, "fetch_rows", INT32_MAX, &request->fetch_rows,
						   fault);
	if (status != PX_OK)
		return status;
	status = take_optional(at, "fixed", 1, &fixed, fault);
	if (status != PX_OK)
		return status;
	if (fixed != 0 && request->fetch_rows == 0)
		return px_fail(fault, PX_BAD_HEADER, "fetch_rows", 0, 0);
	/* Rows of a step may stay in unfinished batches of their targets. */
	if (fixed != 0 && request->targets > 1)
		return px_fail(fault, PX_BAD_HEADER, "targets", 0, 0);
	request->fixed = fixed != 0;
	return PX_OK;
}

/* Read "session=hex " if it is there. */
static px_status
take_session(const char **at, px_request *request, px_fault *fault)
{
	request->session = 0;
	request->has_session = px_text_take(at, "session=");
	if (request->has_session &&
		(!px_text_take_hex(at, &request->session) || !px_text_take(at, " ")))
		return px_fail(fault, PX_BAD_HEADER, "session", 0, 0);
	return PX_OK;
}

/* Read "version=n ". */
static px_status
take_version(const char **at, px_request *request, px_fault *fault)
{
	int64_t		number;
	px_status	status;

	status = take_word(at, "version", 0, UINT16_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	if (number < PX_PROTOCOL_MIN || number > PX_PROTOCOL_MAX)
		return px_fail(fault, PX_BAD_VERSION, "version", PX_PROTOCOL_MAX,
					   (uint64_t) number);
	request->version = (uint16_t) number;
	return PX_OK;
}

/* Read "encodings=n ". */
static px_status
take_encodings(const char **at, px_request *request, px_fault *fault)
{
	int64_t		number;
	px_status	status;

	status = take_word(at, "encodings", 0, UINT32_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	/* bit 0 is plain, which is needed where no other encoding is possible */
	if ((number & 1) == 0)
		return px_fail(fault, PX_BAD_HEADER, "encodings", 1,
					   (uint64_t) number);
	request->encodings = (uint32_t) number;
	return PX_OK;
}

/* Read "level=n batch_rows=n batch_bytes=n server_version=n ". */
static px_status
take_sizes(const char **at, px_request *request, px_fault *fault)
{
	int64_t		level;
	int64_t		batch_rows;
	int64_t		batch_bytes;
	int64_t		server_version;
	px_status	status;

	if ((status = take_word(at, "level", INT32_MIN, INT32_MAX, &level,
							fault)) != PX_OK ||
		(status = take_word(at, "batch_rows", 1, PX_FRAME_ROWS_MAX,
							&batch_rows, fault)) != PX_OK ||
		(status = take_word(at, "batch_bytes", 1, PX_REQUEST_BATCH_BYTES_MAX,
							&batch_bytes, fault)) != PX_OK ||
		(status = take_word(at, "server_version", 0, INT32_MAX,
							&server_version, fault)) != PX_OK)
		return status;
	request->level = (int32_t) level;
	request->batch_rows = (uint32_t) batch_rows;
	request->batch_bytes = (uint32_t) batch_bytes;
	request->server_version = (uint32_t) server_version;
	return PX_OK;
}

px_status
px_request_read(const char *text, px_request *request,
				px_request_column *columns, px_fault *fault)
{
	const char *at = text;
	px_status	status;

	/* Other versions may have other words, so the version is checked first. */
	status = take_version(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_encodings(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_codec(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_sizes(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_adaptive(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_slice(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_optional(&at, "explain", PX_EXPLAIN_MAX, &request->explain,
						   fault);
	if (status != PX_OK)
		return status;

	status = take_targets(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_fetch(&at, request, fault);
	if (status != PX_OK)
		return status;

	status = take_session(&at, request, fault);
	if (status != PX_OK)
		return status;

	return px_columns_take(&at, columns, &request->ncolumns, fault);
}
