/*-------------------------------------------------------------------------
 *
 * admission.c
 *		Write and read the admission.
 *
 * The form is described in admission.h and in doc/wire.md.  admit/admit.c
 * decides what a server says in it.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "base/text.h"
#include "wire/admission.h"

size_t
px_admission_write(char *buffer, size_t cap, const px_admission *admission)
{
	char		hello[PX_HELLO_NBYTES_MAX + 1];
	px_text		text = {buffer, cap, 0};

	px_hello_write(hello, sizeof(hello), &admission->hello);
	px_text_put(&text, hello);
	if (admission->cost > 0)
	{
		px_text_put(&text, " cost=");
		px_text_put_number(&text, admission->cost);
	}
	if (admission->same_types)
		px_text_put(&text, " types=same");
	px_text_put(&text, " pid=");
	px_text_put_number(&text, admission->pid);
	px_text_put(&text, " session=");
	px_text_put_hex(&text, admission->session);
	px_text_put(&text, " snapshot=");
	px_text_put(&text, admission->snapshot[0] ? admission->snapshot : "-");
	px_text_put(&text, " idle=");
	px_text_put_number(&text, admission->idle_ms);
	px_text_put(&text, " against=");
	px_text_put_escaped(&text, admission->against);
	return px_text_end(&text);
}

/* Read " key=". */
static px_status
take_key(const char **at, const char *key, px_fault *fault)
{
	if (!px_text_take(at, " ") || !px_text_take(at, key) ||
		!px_text_take(at, "="))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

static px_status
take_number(const char **at, const char *key, int64_t min, int64_t *number,
			px_fault *fault)
{
	px_status	status = take_key(at, key, fault);

	if (status != PX_OK)
		return status;
	return px_text_take_number(at, key, min, INT32_MAX, number, fault);
}

static px_status
take_session(const char **at, uint64_t *session, px_fault *fault)
{
	px_status	status = take_key(at, "session", fault);

	if (status != PX_OK)
		return status;
	if (!px_text_take_hex(at, session))
		return px_fail(fault, PX_BAD_HEADER, "session", 0, 0);
	return PX_OK;
}

/*
 * Read the snapshot: "-", or a name that does not begin with "-".  The name is
 * going to be part of a command to the remote, so only the characters that
 * pg_export_snapshot uses are accepted.
 */
static px_status
take_snapshot(const char **at, char *snapshot, size_t cap, px_fault *fault)
{
	px_status	status = take_key(at, "snapshot", fault);

	if (status != PX_OK)
		return status;
	snapshot[0] = '\0';
	if (px_text_take(at, "- "))
	{
		(*at)--;				/* the blank belongs to the next word */
		return PX_OK;
	}
	if (**at == '-' ||
		px_text_take_chars(at, "0123456789ABCDEF-", snapshot, cap) == 0)
		return px_fail(fault, PX_BAD_HEADER, "snapshot", 0, 0);
	return PX_OK;
}

/* Read against, which is the rest of the text. */
static px_status
take_against(const char **at, char *against, size_t cap, px_fault *fault)
{
	px_status	status = take_key(at, "against", fault);

	if (status != PX_OK)
		return status;
	status = px_text_take_escaped(at, "against", against, cap, fault);
	if (status == PX_OK && **at != '\0')
		return px_fail(fault, PX_BAD_HEADER, "against", 0, 0);
	return status;
}

/* The word in the words from text to end; NULL if it is not one of them. */
static const char *
find_word(const char *text, const char *end, const char *key)
{
	const char *at = px_hello_find_key(text, key);

	return at && at < end ? at : NULL;
}

/* Does the word end there, and stands it only once before that end? */
static px_status
end_word(const char *at, const char *end, const char *key, px_fault *fault)
{
	if (*at != ' ' || find_word(at, end, key))
		return px_fail(fault, PX_BAD_HEADER, key, 0, 0);
	return PX_OK;
}

/* Read cost, if it is one of the words from text to end. */
static px_status
read_cost(const char *text, const char *end, uint32_t *cost, px_fault *fault)
{
	const char *at = find_word(text, end, "cost");
	int64_t		number;
	px_status	status;

	if (at == NULL)
		return PX_OK;
	status = take_number(&at, "cost", 1, &number, fault);
	if (status != PX_OK)
		return status;
	*cost = (uint32_t) number;
	return end_word(at, end, "cost", fault);
}

/* Read types in the same way. */
static px_status
read_types(const char *text, const char *end, bool *same, px_fault *fault)
{
	const char *at = find_word(text, end, "types");
	px_status	status;

	if (at == NULL)
		return PX_OK;
	status = take_key(&at, "types", fault);
	if (status != PX_OK)
		return status;
	if (!px_text_take(&at, "same"))
		return px_fail(fault, PX_BAD_HEADER, "types", 0, 0);
	*same = true;
	return end_word(at, end, "types", fault);
}

px_status
px_admission_read(const char *text, px_admission *admission, px_fault *fault)
{
	const char *at = text;
	int64_t		number;
	px_status	status;

	memset(admission, 0, sizeof(*admission));
	status = px_hello_take(&at, "pid", &admission->hello, fault);
	if (status != PX_OK)
		return status;
	status = read_cost(text, at, &admission->cost, fault);
	if (status != PX_OK)
		return status;
	status = read_types(text, at, &admission->same_types, fault);
	if (status != PX_OK)
		return status;

	status = take_number(&at, "pid", 1, &number, fault);
	if (status != PX_OK)
		return status;
	admission->pid = (int32_t) number;

	status = take_session(&at, &admission->session, fault);
	if (status != PX_OK)
		return status;

	status = take_snapshot(&at, admission->snapshot,
						   sizeof(admission->snapshot), fault);
	if (status != PX_OK)
		return status;

	status = take_number(&at, "idle", 0, &number, fault);
	if (status != PX_OK)
		return status;
	admission->idle_ms = (uint32_t) number;

	return take_against(&at, admission->against, sizeof(admission->against),
						fault);
}

/* How the word about locks goes on. */
static const char *const lock_wishes[] = {
	[PX_LOCKS_AS_JUDGED] = NULL,
	[PX_LOCKS_WAIT] = "wait:",
	[PX_LOCKS_TRY] = "try:",
	[PX_LOCKS_RELEASE] = "release:",
};

void
px_wish_write(char *buffer, const px_wish *wish)
{
	px_text		text = {buffer, PX_WISH_NBYTES_MAX, 0};

	if (lock_wishes[wish->locks])
	{
		px_text_put(&text, " locks=");
		px_text_put(&text, lock_wishes[wish->locks]);
		px_text_put_number(&text, wish->trial);
	}
	if (wish->types)
		px_text_put(&text, " types=1");
	(void) px_text_end(&text);
}

/* Read how it goes on; PX_LOCKS_AS_JUDGED if that is unknown. */
static px_lock_wish
take_lock_wish(const char **at)
{
	for (px_lock_wish wish = PX_LOCKS_WAIT; wish <= PX_LOCKS_RELEASE; wish++)
	{
		if (px_text_take(at, lock_wishes[wish]))
			return wish;
	}
	return PX_LOCKS_AS_JUDGED;
}

static bool
ends_word(const char *at)
{
	return *at == ' ' || *at == '\0';
}

static px_status
read_lock_wish(const char *hello, px_wish *wish, px_fault *fault)
{
	const char *at = px_hello_find_key(hello, "locks");
	int64_t		number;
	px_status	status;

	if (at == NULL)
		return PX_OK;
	status = take_key(&at, "locks", fault);
	if (status != PX_OK)
		return status;
	wish->locks = take_lock_wish(&at);
	if (wish->locks == PX_LOCKS_AS_JUDGED)
		return px_fail(fault, PX_BAD_HEADER, "locks", 0, 0);
	status = px_text_take_number(&at, "locks", 1, UINT32_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	if (!ends_word(at))
		return px_fail(fault, PX_BAD_HEADER, "locks", 0, 0);
	wish->trial = (uint32_t) number;
	return PX_OK;
}

px_status
px_wish_read(const char *hello, px_wish *wish, px_fault *fault)
{
	const char *types = px_hello_find_key(hello, "types");
	px_status	status;

	memset(wish, 0, sizeof(*wish));
	status = read_lock_wish(hello, wish, fault);
	if (status != PX_OK || types == NULL)
		return status;
	wish->types = px_text_take(&types, " types=1") && ends_word(types);
	return wish->types ? PX_OK :
		px_fail(fault, PX_BAD_HEADER, "types", 0, 0);
}
