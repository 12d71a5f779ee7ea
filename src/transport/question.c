/*-------------------------------------------------------------------------
 *
 * question.c
 *		What postgres_fdw's session says before an exchange reads.
 *
 * Whoever may create a schema on a server without the extension could name it
 * "exchange" and put functions into it, which we would call with the rights of
 * the remote user.  So first the catalogs are asked whether the function is
 * the extension's, by nothing that is not in pg_catalog.  That and the call
 * are one statement, as another one would take two more round trips.  But a
 * call must not stand in it: a function that claims to be immutable is called
 * when the statement is planned, wherever it stands.  Hence conn/dynamic.h.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/guc.h"

#include "compat.h"
#include "conn/answer.h"
#include "conn/dynamic.h"
#include "conn/hello_self.h"
#include "conn/introduce.h"
#include "conn/link.h"
#include "conn/remote_text.h"
#include "conn/seal.h"
#include "transport/question.h"

/* Room for a question without its query. */
#define QUESTION_NBYTES		(8192 + 4 * PX_HELLO_NBYTES_MAX)

#define IDLE_TIMEOUT_SHOWN \
	"pg_catalog.current_setting('idle_in_transaction_session_timeout')"

/* How the admission is embedded in the answer. */
#define ADMISSION_BEGIN	"<admit>"
#define ADMISSION_END	"</admit>"

/* More than any has; with the rest it is a word for px_dynamic_sql. */
#define ADMISSION_NCHARS_MAX	"1536"
StaticAssertDecl(PX_ADMISSION_NBYTES_MAX < 1536, "longer admissions");

/*
 * A number, and an admission.  Whoever named what it complains of may have used
 * our tags; and a remote that lies may say nothing, or more than it may.
 */
#define WORDS \
	"'%03d' OPERATOR(pg_catalog.||) COALESCE('" ADMISSION_BEGIN "'" \
	" OPERATOR(pg_catalog.||) pg_catalog.translate(pg_catalog.\"left\"(" \
	"exchange.admit(%s::pg_catalog.text, %s::pg_catalog.text, %s), " \
	ADMISSION_NCHARS_MAX "), '<', '(')" \
	" OPERATOR(pg_catalog.||) '" ADMISSION_END "', '')"

/* What a session is asked that has not shown its seal. */
#define CHECK \
	"SELECT '<genuine>' OPERATOR(pg_catalog.||) x.seal" \
	" FROM (" PX_SEAL_IF_GENUINE " OFFSET 0) x(seal)" \
	" WHERE x.seal IS NOT NULL"

/* No more is kept of a fault.  From an honest remote it is a short phrase. */
#define FAULT_NBYTES_MAX	255

Size
px_question_nbytes(const char *query, const char *types)
{
	/* They are quoted: a quote or backslash may become 4 characters, or 8. */
	return QUESTION_NBYTES + (query ? 4 * strlen(query) : 0) +
		(types ? 8 * strlen(types) : 0);
}

/* The text of exchange.admit: the query, and what is asked about types. */
static char *
asked_text(const px_question_item *item)
{
	if (item->types == NULL)
		return item->query ? quote_literal_cstr(item->query) : "NULL";
	return quote_literal_cstr(item->query ?
							  psprintf("%s; %s", item->query, item->types) :
							  item->types);
}

/* Words of the answer. */
static void
add_item(StringInfo call, int number, const char *hello,
		 const px_question_item *item, bool wants_snapshot)
{
	px_wish		wish = {item->locks, item->trial, item->types != NULL};
	char		words[PX_WISH_NBYTES_MAX];

	px_wish_write(words, &wish);
	appendStringInfo(call, "(" WORDS ")", number,
					 quote_literal_cstr(psprintf("%s%s", hello, words)),
					 asked_text(item), wants_snapshot ? "true" : "false");
}

void
px_question_ask(px_fdw_cursor *cursor, const px_peer *peer,
				const px_question_item *items, int n, bool wants_snapshot)
{
	px_hello	self;
	char		hello[PX_HELLO_NBYTES_MAX];
	StringInfoData call;
	char	   *admit;
	char	   *sql;

	px_hello_self(&self);
	px_hello_write(hello, sizeof(hello), &self);
	initStringInfo(&call);
	for (int i = 0; i < n; i++)
	{
		appendStringInfoString(&call, i == 0 ? "VALUES " : ", ");
		add_item(&call, i, hello, &items[i], i == 0 && wants_snapshot &&
				 peer->snapshot[0] == '\0');
	}
	admit = n == 1 ? px_dynamic_sql(call.data) :
		px_dynamic_rows_sql(call.data);
	admit = psprintf("%s OPERATOR(pg_catalog.||) %s", admit,
					 px_is_sealed(peer) ? PX_STAMP_ALONG :
					 px_stamp_along_dynamic_sql());
	sql = px_is_sealed(peer) ?
		psprintf("SELECT CASE WHEN %s THEN %s END",
				 px_is_still_genuine_sql(peer, peer->read_stamp), admit) :
		psprintf("SELECT %s", px_dynamic_if_sql(CHECK, admit));
	px_fdw_cursor_set_sql(cursor, sql);
	pfree(sql);
	pfree(call.data);
	px_fdw_cursor_request(cursor);
}

/*
 * What is asked about types if the answer is going to begin with that stamp.
 * To parse it takes locks, and calls functions of the extension.  It is empty,
 * or a blank and a word if they are the same.
 */
static char *
types_if_shown_sql(const char *stamp, const char *types)
{
	char	   *same = px_dynamic_sql(psprintf("SELECT t.same FROM (%s) t(same)"
											   " WHERE t.same IS NOT NULL",
											   types));

	return psprintf("CASE WHEN %s THEN COALESCE(' '"
					" OPERATOR(pg_catalog.||) %s, '') ELSE '' END",
					px_stamp_is_shown_sql(stamp), same);
}

/*
 * The stamp has the process id: so the session is the one that the answers
 * came from, which are still there.
 */
bool
px_question_is_answered(px_fdw_cursor *cursor, px_peer *peer,
						const char *types, bool *same_types)
{
	size_t		length = strlen(peer->read_stamp);
	text	   *row;
	char	   *answer;
	char	   *same;
	int			idle_ms;

	if (length == 0)
		return false;
	px_fdw_cursor_set_sql(cursor,
						  psprintf("SELECT " PX_STAMP_SHOWN
								   " OPERATOR(pg_catalog.||) ' '"
								   " OPERATOR(pg_catalog.||) "
								   IDLE_TIMEOUT_SHOWN
								   " OPERATOR(pg_catalog.||) %s",
								   types ? types_if_shown_sql(peer->read_stamp,
															  types) : "''"));
	row = px_fdw_cursor_fetch(cursor);
	if (row == NULL)
		return false;
	answer = text_to_cstring(row);
	if (strncmp(answer, peer->read_stamp, length) != 0 ||
		answer[length] != ' ')
		return false;
	same = strchr(answer + length + 1, ' ');
	if (same)
		*same = '\0';
	if (!parse_int(answer + length + 1, &idle_ms, GUC_UNIT_MS, NULL))
		return false;
	*same_types = same != NULL;
	peer->admission.against[0] = peer->admission.snapshot[0] = '\0';
	peer->admission.cost = 0;
	peer->admission.hello.free = PX_FREE_MANY;
	peer->admission.idle_ms = (uint32) Max(idle_ms, 0);
	px_setup_note_idle_timeout(peer->admission.idle_ms);
	peer->admitted = true;
	return true;
}

/*
 * The next admission in an answer, NUL-terminated, or NULL; *rest is what
 * follows it.
 */
static char *
find_admission(char *answer, char **rest)
{
	char	   *begin = strstr(answer, ADMISSION_BEGIN);
	char	   *end = begin ? strstr(begin, ADMISSION_END) : NULL;

	if (end == NULL)
		return NULL;
	*end = '\0';
	*rest = end + strlen(ADMISSION_END);
	return begin + strlen(ADMISSION_BEGIN);
}

/* Read it, which text is.  admission->against may be a remote's words. */
static void
read_admission(const char *servername, const char *text,
			   px_admission *admission)
{
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (text && px_admission_read(text, admission, &fault) == PX_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid response from server \"%s\"", servername),
			 text ? errdetail_internal("%s",
									   px_remote_text(px_fault_text(&fault,
																	detail))) :
			 errdetail("Expected the answer of exchange.admit.")));
}

/*
 * What the answer says about each item.  What it says about the session is the
 * same in all; but that the first may have a snapshot.
 */
static void
read_items(const char *servername, char *answer, px_question_item *items,
		   int n, px_admission *admission)
{
	char		snapshot[sizeof(admission->snapshot)] = "";

	for (int i = 0; i < n; i++)
	{
		char	   *rest = answer;
		char	   *text = find_admission(answer, &rest);

		read_admission(servername, text, admission);
		if (i == 0)
			strlcpy(snapshot, admission->snapshot, sizeof(snapshot));
		strlcpy(items[i].against, admission->against,
				sizeof(items[i].against));
		items[i].cost = admission->cost;
		items[i].same_types = admission->same_types;
		items[i].deferred = items[i].locks == PX_LOCKS_TRY &&
			strcmp(items[i].against, PX_AGAINST_DEFERRED) == 0;
		answer = rest;
	}
	strlcpy(admission->snapshot, snapshot, sizeof(snapshot));
}

/*
 * The functions are not the extension's, or not the ones that were sealed.
 * Ask for the reason, which would have taken long to plan, and remember it.
 * If there is none, others have taken their place, and are the extension's:
 * nothing is known of this session any more.
 */
static px_outcome
ask_for_fault(px_fdw_cursor *cursor, px_peer *peer)
{
	bool		was_sealed = px_is_sealed(peer);
	text	   *row;
	char	   *fault;

	px_seal_break(peer);
	px_fdw_cursor_rescan(cursor);
	px_fdw_cursor_set_sql(cursor,
						  psprintf("SELECT %s",
								   px_dynamic_fault_sql(PX_GENUINE_FAULT)));
	row = px_fdw_cursor_fetch(cursor);
	if (row == NULL && was_sealed)
	{
		peer->admitted = false;
		return px_refused(PX_REMOTE_HAS_CHANGED);
	}
	fault = row == NULL ? pstrdup(PX_REMOTE_LACKS_EXTENSION) :
		px_remote_text(pnstrdup(VARDATA_ANY(row),
								Min(VARSIZE_ANY_EXHDR(row),
									FAULT_NBYTES_MAX)));
	px_peer_refuse(peer, fault, strcmp(fault, PX_REMOTE_LACKS_EXTENSION) == 0);
	return px_refused(fault);
}

px_outcome
px_question_answer(px_fdw_cursor *cursor, px_peer *peer,
				   const char *servername, long timeout_ms,
				   px_question_item *items, int n)
{
	text	   *row;
	char	   *answer;
	px_admission admission;
	px_hello	self;
	px_outcome	outcome;
	bool		knows_place = peer->read_stamp[0] != '\0';

	if (timeout_ms >= 0 && !px_fdw_cursor_wait(cursor, timeout_ms))
		return px_silent("a lock was waited for");
	row = px_fdw_cursor_fetch(cursor);
	if (row == NULL)
		return ask_for_fault(cursor, peer);

	answer = text_to_cstring(row);
	px_stamp_take(peer->read_stamp, answer);
	px_seal_keep(peer, answer);
	read_items(servername, answer, items, n, &admission);
	px_hello_self(&self);
	outcome = px_hello_judge(&self, &admission.hello, &peer->session_version);
	if (!px_is_ok(outcome))
	{
		px_peer_refuse(peer, outcome.reason, false);
		return outcome;
	}

	peer->session_locality = px_hello_locality(&self, &admission.hello,
											   px_fdw_cursor_socket(cursor));
	if (!knows_place)
		px_peer_learn_near(peer);
	if (admission.snapshot[0] != '\0')
		strlcpy(peer->snapshot, admission.snapshot, PX_SNAPSHOT_ID_NBYTES);
	peer->admission = admission;
	peer->admitted = true;
	px_setup_note_idle_timeout(admission.idle_ms);
	return outcome;
}

void
px_question_end(px_fdw_cursor *cursor, px_peer *peer)
{
	if (peer->question_left || px_fdw_cursor_socket(cursor) == PGINVALID_SOCKET)
		px_fdw_cursor_end(cursor);
	else
	{
		peer->question_left = true;
		px_fdw_cursor_leave(cursor);
	}
}
