/*-------------------------------------------------------------------------
 *
 * write_ask.c
 *		What the remote says before rows are written as frames.
 *
 * As in transport/question.c, one statement asks the catalogs whether the
 * functions are the extension's, and calls one of them if so, by a query that
 * is a string: see there.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "adapt/choice.h"
#include "compat.h"
#include "conn/dynamic.h"
#include "conn/genuine.h"
#include "conn/hello_self.h"
#include "conn/introduce.h"
#include "conn/pool.h"
#include "conn/remote_text.h"
#include "conn/stamp.h"
#include "exec/write_ask.h"
#include "exec/write_call.h"
#include "exec/write_lane.h"
#include "guc.h"
#include "miscadmin.h"
#include "wire/description.h"

/* What the catalogs are asked, and what the session is asked then. */
#define CHECK	"SELECT '<genuine>' WHERE " PX_CAN_WRITE
#define CALL \
	"'" DESCRIPTION_BEGIN "' OPERATOR(pg_catalog.||)" \
	" COALESCE(pg_catalog.translate(%s, '<', '('), '')" \
	" OPERATOR(pg_catalog.||)" \
	" '" DESCRIPTION_END "' OPERATOR(pg_catalog.||)" \
	" pg_catalog.current_setting('idle_in_transaction_session_timeout')"

/*
 * A description of so many characters at most is put together in half of the
 * time: it is one word for px_dynamic_sql.
 */
#define SHORT_NCHARS	500

/* How the description is embedded in the answer. */
#define DESCRIPTION_BEGIN	"<describe>"
#define DESCRIPTION_END		"</describe>"

/* No more is kept of a fault.  From an honest remote it is a short phrase. */
#define FAULT_NBYTES_MAX	255

/* ---------------------------------------------------------------------
 * The question
 * --------------------------------------------------------------------- */

/*
 * If the server has answered for another target of the statement, the
 * functions are the extension's, as far as calls of exchange.apply need it.
 * If its session has shown a stamp ("" if not), they are while it shows the
 * same one.  is_short: no more than SHORT_NCHARS is wanted.
 */
static char *
question_sql(const px_hello *self, const char *statement, bool is_known,
			 const char *stamp, bool is_short)
{
	char		hello[PX_HELLO_NBYTES_MAX];
	char	   *call;

	px_hello_write(hello, sizeof(hello), self);
	call = psprintf("exchange.describe(%s::pg_catalog.text,"
					" %s::pg_catalog.text)",
					quote_literal_cstr(hello), quote_literal_cstr(statement));
	if (is_known)
		return psprintf("SELECT %s", call);
	call = psprintf(CALL, call);
	call = is_short ?
		px_dynamic_sql(psprintf("SELECT pg_catalog.\"left\"(%s, %d)", call,
								SHORT_NCHARS)) :
		px_dynamic_long_sql(call);
	call = psprintf("%s OPERATOR(pg_catalog.||) %s", call,
					stamp[0] != '\0' ? PX_STAMP_ALONG :
					px_stamp_along_dynamic_sql());
	return stamp[0] != '\0' ?
		psprintf("SELECT CASE WHEN %s THEN %s END",
				 px_stamp_is_shown_sql(stamp), call) :
		psprintf("SELECT %s", px_dynamic_if_sql(CHECK, call));
}

/*
 * The functions are not the extension's.  Ask for the reason, which would have
 * taken long to plan.  Those that stay are remembered for the session.
 */
static const char *
ask_for_fault(px_write_target *target, px_peer *peer)
{
	char	   *question = psprintf("SELECT %s",
									px_dynamic_fault_sql(PX_WRITE_FAULT));
	text	   *row = px_write_lane_ask(target, question, false);
	char	   *fault;

	if (row == NULL)
		return PX_REMOTE_IS_IMPOSTOR;	/* until a moment ago */
	fault = px_remote_text(pnstrdup(VARDATA_ANY(row),
									Min(VARSIZE_ANY_EXHDR(row),
										FAULT_NBYTES_MAX)));
	if (strcmp(fault, PX_REMOTE_LACKS_EXTENSION) == 0)
		px_peer_refuse(peer, fault, true);
	else if (strcmp(fault, PX_REMOTE_IS_TOO_OLD) == 0)
		px_peer_refuse_writes(peer, fault);
	return fault;
}

/* Is the answer but for the stamp as long as it may be, so maybe cut off? */
static bool
may_be_cut(const char *answer)
{
	const char *stamp = strstr(answer, PX_STAMP_BEGIN);

	return stamp == NULL || stamp - answer >= SHORT_NCHARS;
}

/*
 * Ask as in the last transaction, if the session may still show the stamp that
 * it has shown there.  NULL if it does not, or if the answer is too long.
 */
static text *
ask_briefly(px_write_target *target, px_peer *peer, const px_hello *self)
{
	text	   *answer;

	if (peer->write_stamp[0] == '\0')
		return NULL;
	answer = px_write_lane_ask(target, question_sql(self, target->plan.sql,
													false, peer->write_stamp,
													!peer->describes_long),
							   !peer->knows_host);
	if (answer == NULL)
		peer->write_stamp[0] = '\0';
	else if (!peer->describes_long && may_be_cut(text_to_cstring(answer)))
	{
		peer->describes_long = true;
		return NULL;
	}
	return answer;
}

/*
 * The answer to the question; NULL or empty if the functions are not the
 * extension's.
 */
static text *
ask(px_write_target *target, px_peer *peer, const px_hello *self)
{
	bool		is_known = target->lane->is_described;
	text	   *answer = is_known ? NULL : ask_briefly(target, peer, self);

	if (answer)
		return answer;
	return px_write_lane_ask(target, question_sql(self, target->plan.sql,
												  is_known, "", false),
							 !is_known && !peer->knows_host);
}

/* ---------------------------------------------------------------------
 * The answer
 * --------------------------------------------------------------------- */

/* The description in an answer, NUL-terminated; NULL if there is none. */
static char *
find_description(char *answer, bool is_known)
{
	char	   *begin = strstr(answer, DESCRIPTION_BEGIN);
	char	   *end = begin ? strstr(begin, DESCRIPTION_END) : NULL;

	if (is_known)
		return answer;
	if (end == NULL)
		return NULL;
	*end = '\0';
	return begin + strlen(DESCRIPTION_BEGIN);
}

/* The session's idle time-out, which stands after the description. */
static int
find_idle_timeout(const char *answer)
{
	const char *last = strrchr(answer, '>');
	int			ms;

	if (last == NULL)
		return 0;
	last += strspn(last, "> \n");
	return parse_int(last, &ms, GUC_UNIT_MS, NULL) ? Max(ms, 0) : 0;
}

static void
read_description(const char *servername, char *text,
				 px_description *description, px_request_column *columns)
{
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (text && px_description_read(text, description, columns,
									&fault) == PX_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_PROTOCOL_VIOLATION),
			 errmsg("invalid response from server \"%s\"", servername),
			 text ? errdetail_internal("%s",
									   px_remote_text(px_fault_text(&fault,
																   detail))) :
			 errdetail("Expected the answer of exchange.describe.")));
}

/* Why may the described statement not be given frames?  NULL if it may. */
static const char *
judge_description(const px_write_target *target, const px_peer *peer,
				  const px_description *description)
{
	if (description->against[0] != '\0')
		return px_remote_text(description->against);
	if (description->effects && target->plan.batch_size <= 1)
		return "remote triggers or rules, and batch_size is 1";
	if (pg_char_to_encoding(description->hello.encoding) !=
		GetDatabaseEncoding())
		return "encodings differ";
	return NULL;
}

/* The first description of a lane decides how its frames are compressed. */
static void
describe_lane(px_write_lane *lane, px_peer *peer, const px_hello *self,
			  const px_hello *remote)
{
	if (lane->is_described)
		return;
	lane->is_described = true;
	lane->link = px_peer_link(peer);
	lane->locality = px_hello_locality(self, remote,
									   px_downlink_socket(lane->downlink));
	if (px_downlink_socket(lane->downlink) != PGINVALID_SOCKET)
	{
		peer->knows_host = true;
		peer->is_same_host = lane->locality != PX_REMOTE;
	}
	else if (lane->locality == PX_REMOTE && peer->knows_host &&
			 peer->is_same_host)
		lane->locality = PX_SAME_HOST;
	lane->is_local = px_locality_is_local(lane->locality);
	lane->mode = lane->is_local ?
		PX_MODE_NONE : px_mode_for_server(lane->servername);
}

/* Begin to learn, for a request in mode auto. */
static void
begin_adapting(px_write_lane *lane, const px_request *request)
{
	uint64		seed = 0;

	if (request->random)
		seed = 1 | ((uint64) GetCurrentTimestamp() ^
					((uint64) MyProcPid << 40));
	px_adapt_init(&lane->adapt, px_choices_asked(request),
				  request->cpu_limit / 1000.0, (double) request->link_rate,
				  false, seed);
}

/* What would be a receiver's request when rows are read. */
static void
make_request(px_write_target *target, px_peer *peer, const px_hello *self,
			 const px_description *description, uint16 version)
{
	px_request *request = &target->request;
	px_write_lane *lane = target->lane;
	bool		is_first = !lane->is_described;

	describe_lane(lane, peer, self, &description->hello);
	if (lane->is_local)
		target->stats.local = lane->locality == PX_SAME_INSTANCE ?
			"same instance" : "same host";
	memset(request, 0, sizeof(*request));
	request->version = version;
	px_choices_ask(request, px_mode_choices(lane->mode),
				   self->codecs & description->hello.codecs);
	request->encodings &= description->hello.encodings;
	request->server_version = description->hello.server_version;
	request->batch_rows = px_batch_rows_max;
	request->batch_bytes = px_batch_bytes_max;
	request->slices = 1;
	request->ncolumns = description->ncolumns;
	if (request->adaptive)
	{
		request->cpu_limit = (uint32) rint(px_compression_cpu_limit * 1000);
		request->random = px_debug_random_choices;
		if (is_first)
			begin_adapting(lane, request);
	}
}

/* How many parameters has postgres_fdw's statement? */
static int
count_params(const px_write_plan *plan)
{
	return list_length(plan->attrs) + (plan->operation == CMD_INSERT ? 0 : 1);
}

const char *
px_write_ask(px_write_target *target)
{
	px_write_lane *lane = target->lane;
	px_peer    *peer;
	px_description description;
	px_request_column *columns;
	px_hello	self;
	uint16		version;
	text	   *answer;
	char	   *words;
	px_outcome	outcome;
	const char *against;

	px_write_lane_identify(lane, &target->plan);
	peer = px_peer_get(lane->user);
	if (peer->refusal)
		return pstrdup(peer->refusal);
	if (peer->write_refusal)
		return pstrdup(peer->write_refusal);
	px_hello_self(&self);
	answer = ask(target, peer, &self);
	if (answer == NULL || VARSIZE_ANY_EXHDR(answer) == 0)
		return ask_for_fault(target, peer);

	columns = palloc(PX_FRAME_COLUMNS_MAX * sizeof(px_request_column));
	words = text_to_cstring(answer);
	if (!lane->is_described)
	{
		px_stamp_take(peer->write_stamp, words);
		lane->idle_ms = find_idle_timeout(words);
	}
	read_description(lane->servername,
					 find_description(words, lane->is_described),
					 &description, columns);
	outcome = px_hello_judge(&self, &description.hello, &version);
	if (!px_is_ok(outcome))
	{
		px_peer_refuse(peer, outcome.reason, false);
		return outcome.reason;
	}
	against = judge_description(target, peer, &description);
	if (against)
		return against;
	if (description.ncolumns != count_params(&target->plan))
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"",
						lane->servername),
				 errdetail("Expected %d columns, got %d.",
						   count_params(&target->plan),
						   description.ncolumns)));

	make_request(target, peer, &self, &description, version);
	target->columns = repalloc(columns, description.ncolumns *
							   sizeof(px_request_column));
	target->is_dependent = description.keys || description.effects;
	target->exact = description.exact && !target->plan.do_nothing &&
		!target->plan.may_repeat;
	target->call_sql = px_write_call_sql(&target->plan, version, false,
										 NULL);
	target->hold_sql = px_write_call_sql(&target->plan, version, true, NULL);
	return NULL;
}
