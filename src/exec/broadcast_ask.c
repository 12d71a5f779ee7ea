/*-------------------------------------------------------------------------
 *
 * broadcast_ask.c
 *		Can the servers of fragments take the rows of the sides?
 *
 * A fragment calls exchange.unpack.  So before it is sent, the server's
 * catalogs have said that this function is the extension's, and the session
 * what it can read.  Nothing of a fragment is sent if one of the servers
 * cannot take it: then the plan without fragments runs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"

#include "compat.h"
#include "conn/genuine.h"
#include "conn/link.h"
#include "conn/remote_text.h"
#include "exec/ask_types.h"
#include "exec/broadcast_ask.h"
#include "transport/question.h"

/*
 * Does the session limit what a statement may take?  An error in it cannot be
 * undone, and a fragment does most of its work before its first row.
 */
#define IS_LIMITED \
	"pg_catalog.current_setting('statement_timeout') " \
	"OPERATOR(pg_catalog.<>) '0' OR " \
	"pg_catalog.current_setting('temp_file_limit') " \
	"OPERATOR(pg_catalog.<>) '-1' OR " \
	"pg_catalog.current_setting('pg_exchange.max_decompression_ratio', " \
	"true) OPERATOR(pg_catalog.<>) '" CppAsString2(PX_RAW_RATIO_MAX) "'"

#define FREE	"free"
#define LIMITED	"limited"

/* Null if not.  As in transport/question.c, nothing of ours is called. */
#define QUESTION(ability) \
	"SELECT CASE WHEN NOT " ability " THEN NULL WHEN " IS_LIMITED \
	" THEN '" LIMITED "'::pg_catalog.text ELSE '" FREE "' END"

/* No more is kept of a fault.  From an honest remote it is a short phrase. */
#define FAULT_NBYTES_MAX	255

/* Is it the first of the fragments whose server this is? */
static bool
is_first(px_receive_state **fragments, int i)
{
	for (int j = 0; j < i; j++)
	{
		if (px_receive_peer(fragments[j]) == px_receive_peer(fragments[i]))
			return false;
	}
	return true;
}

/* The hellos of servers that have not said theirs in this transaction. */
static const char *
ask_hellos(px_receive_state **fragments, int n)
{
	const char *against = NULL;
	bool	   *asked = palloc0(n * sizeof(bool));
	px_question_item nothing = {0};

	for (int i = 0; i < n; i++)
	{
		const px_peer *peer = px_receive_peer(fragments[i]);

		if (peer->refusal)
			return pstrdup(peer->refusal);
		if (peer->write_refusal)
			return pstrdup(peer->write_refusal);
		if (peer->admitted || !is_first(fragments, i))
			continue;
		px_fdw_cursor_rescan(fragments[i]->question);
		px_question_ask(fragments[i]->question, peer, &nothing, 1,
						px_transport_setting != PX_TRANSPORT_SESSION);
		asked[i] = true;
	}

	/* All answers are taken, even if one is a refusal. */
	for (int i = 0; i < n; i++)
	{
		px_outcome	outcome;

		if (!asked[i])
			continue;
		outcome = px_question_answer(fragments[i]->question,
									 px_receive_peer(fragments[i]),
									 fragments[i]->servername, -1,
									 &nothing, 1);
		if (!px_is_ok(outcome) && against == NULL)
			against = outcome.reason;
	}
	return against;
}

/* What a server must be able to do: which functions must be there. */
typedef struct ability
{
	const char *question;
	const char *fault;
} ability;

static const ability can_join = {
	QUESTION(PX_CAN_JOIN), "SELECT " PX_FAULT(PX_CAN_JOIN, "describe")
};

static const ability can_join_by_inbox = {
	QUESTION(PX_CAN_JOIN_BY_INBOX),
	"SELECT " PX_FAULT(PX_CAN_JOIN_BY_INBOX, "partition_number")
};

static bool
is_limited(const text *row)
{
	return VARSIZE_ANY_EXHDR(row) == strlen(LIMITED) &&
		memcmp(VARDATA_ANY(row), LIMITED, strlen(LIMITED)) == 0;
}

/* A fault that the session tells; NULL if it has none. */
static char *
ask_for_fault(px_receive_state *fragment, const char *sql)
{
	text	   *row;

	px_fdw_cursor_rescan(fragment->question);
	px_fdw_cursor_set_sql(fragment->question, sql);
	row = px_fdw_cursor_fetch(fragment->question);
	return row == NULL ? NULL :
		px_remote_text(pnstrdup(VARDATA_ANY(row),
								Min(VARSIZE_ANY_EXHDR(row),
									FAULT_NBYTES_MAX)));
}

/*
 * The server has no such functions of the extension's: why?  If it has none to
 * read, the scans of the local plan must know.
 */
static const char *
find_fault(px_receive_state *fragment, const ability *this)
{
	px_peer    *peer = px_receive_peer(fragment);
	char	   *fault = ask_for_fault(fragment, "SELECT " PX_GENUINE_FAULT);

	if (fault)
	{
		px_peer_refuse(peer, fault,
					   strcmp(fault, PX_REMOTE_LACKS_EXTENSION) == 0);
		return fault;
	}
	fault = ask_for_fault(fragment, this->fault);
	if (fault == NULL)
		return PX_REMOTE_IS_IMPOSTOR;	/* until a moment ago */
	if (this == &can_join && strcmp(fault, PX_REMOTE_IS_TOO_OLD) == 0)
		px_peer_refuse_writes(peer, fault);
	return fault;
}

/*
 * Have the servers the functions?  That is asked each time, even if it was
 * before in the same transaction: the extension may be dropped meanwhile, or a
 * right revoked, and an error in postgres_fdw's session ends its transaction.
 */
static const char *
ask_functions(px_receive_state **fragments, int n, const ability *this)
{
	const char *against = NULL;

	for (int i = 0; i < n; i++)
	{
		if (!is_first(fragments, i))
			continue;
		px_fdw_cursor_rescan(fragments[i]->question);
		px_fdw_cursor_set_sql(fragments[i]->question, this->question);
		px_fdw_cursor_request(fragments[i]->question);
	}
	for (int i = 0; i < n; i++)
	{
		text	   *row;

		if (!is_first(fragments, i))
			continue;
		row = px_fdw_cursor_fetch(fragments[i]->question);
		if (row == NULL)
		{
			if (against == NULL)
				against = find_fault(fragments[i], this);
			continue;
		}
		for (int j = i; j < n; j++)
		{
			if (px_receive_peer(fragments[j]) == px_receive_peer(fragments[i]))
				fragments[j]->session_limited = is_limited(row);
		}
	}
	return against;
}

/* Have the partitions the types that are declared here? */
static const char *
ask_types(px_receive_state **fragments, int n)
{
	const char *against = NULL;
	bool	   *asked = palloc0(n * sizeof(bool));

	for (int i = 0; i < n; i++)
	{
		asked[i] = px_ask_types_is_due(fragments[i]);
		if (asked[i])
			px_ask_types_request(fragments[i]);
	}
	for (int i = 0; i < n; i++)
	{
		if (asked[i] && !px_ask_types_answer(fragments[i]))
			against = PX_OTHER_TYPES;
	}
	return against;
}

const char *
px_broadcast_ask(px_receive_state **fragments, int n, bool redistribute,
				 px_broadcast_peers *peers)
{
	const char *against = ask_hellos(fragments, n);

	if (against == NULL)
		against = ask_functions(fragments, n, redistribute ?
								&can_join_by_inbox : &can_join);
	if (against == NULL)
		against = ask_types(fragments, n);
	if (against)
		return against;

	*peers = (px_broadcast_peers) {
		.version = PG_UINT16_MAX,
		.codecs = PG_UINT32_MAX,
		.encodings = PG_UINT32_MAX
	};
	for (int i = 0; i < n; i++)
	{
		px_peer    *peer = px_receive_peer(fragments[i]);
		const px_hello *hello = &peer->admission.hello;

		if (pg_char_to_encoding(hello->encoding) != GetDatabaseEncoding())
			return "encodings differ";
		peers->version = Min(peers->version, peer->session_version);
		peers->codecs &= hello->codecs;
		peers->encodings &= hello->encodings;
		peers->upload_ns = Max(peers->upload_ns,
							   px_peer_recall_upload_ns(peer));
	}
	return NULL;
}

px_mode
px_broadcast_mode(const px_receive_state *fragment)
{
	if (px_locality_is_local(px_receive_peer(fragment)->session_locality))
		return PX_MODE_NONE;
	return px_mode_for_server(fragment->servername);
}
