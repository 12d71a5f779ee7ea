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

/* Read cost, if it stands once in the words from text to end. */
static px_status
read_cost(const char *text, const char *end, uint32_t *cost, px_fault *fault)
{
	const char *at = px_hello_find_key(text, "cost");
	int64_t		number;
	px_status	status;

	if (at == NULL || at >= end)
		return PX_OK;
	status = take_number(&at, "cost", 1, &number, fault);
	if (status != PX_OK)
		return status;
	text = px_hello_find_key(at, "cost");
	if (*at != ' ' || (text && text < end))
		return px_fail(fault, PX_BAD_HEADER, "cost", 0, 0);
	*cost = (uint32_t) number;
	return PX_OK;
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

/* How the word goes on. */
static const char *const lock_wishes[] = {
	[PX_LOCKS_AS_JUDGED] = NULL,
	[PX_LOCKS_WAIT] = "wait:",
	[PX_LOCKS_TRY] = "try:",
	[PX_LOCKS_RELEASE] = "release:",
};

void
px_lock_word_write(char *buffer, px_lock_wish wish, uint32_t trial)
{
	px_text		text = {buffer, PX_LOCK_WORD_NBYTES_MAX, 0};

	if (lock_wishes[wish])
	{
		px_text_put(&text, " locks=");
		px_text_put(&text, lock_wishes[wish]);
		px_text_put_number(&text, trial);
	}
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

px_status
px_lock_word_read(const char *hello, px_lock_wish *wish, uint32_t *trial,
				  px_fault *fault)
{
	const char *at = px_hello_find_key(hello, "locks");
	int64_t		number;
	px_status	status;

	*wish = PX_LOCKS_AS_JUDGED;
	*trial = 0;
	if (at == NULL)
		return PX_OK;
	status = take_key(&at, "locks", fault);
	if (status != PX_OK)
		return status;
	*wish = take_lock_wish(&at);
	if (*wish == PX_LOCKS_AS_JUDGED)
		return px_fail(fault, PX_BAD_HEADER, "locks", 0, 0);
	status = px_text_take_number(&at, "locks", 1, UINT32_MAX, &number, fault);
	if (status != PX_OK)
		return status;
	if (*at != ' ' && *at != '\0')
		return px_fail(fault, PX_BAD_HEADER, "locks", 0, 0);
	*trial = (uint32_t) number;
	return PX_OK;
}
