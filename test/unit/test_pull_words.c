/*-------------------------------------------------------------------------
 *
 * test_pull_words.c
 *		Tests of what is said about rows that are pulled (wire/pull_words.h).
 *
 * Every text is read from a buffer whose NUL is the last byte before a page
 * that cannot be accessed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/pull_words.h"

#define ID		"0123456789abcdef0123456789abcdef"
#define TOKEN	"17.0f1e2d3c4b5a6978.8796a5b4c3d2e1f0"

/* The status, or PX_TRAILING if something is left. */
#define DEFINE_READ(name, type) \
static px_status \
read_##name(const char *text, type *to, px_fault *fault) \
{ \
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1); \
	const char *at = (const char *) g.data; \
	px_status	status = px_pull_##name##_take(&at, to, fault); \
\
	if (status == PX_OK && *at != '\0') \
		status = PX_TRAILING; \
	unit_guarded_free(&g); \
	return status; \
}

DEFINE_READ(peer, px_pull_peer)
DEFINE_READ(link, px_pull_link)
DEFINE_READ(offer, px_pull_offer)
DEFINE_READ(sum, px_pull_sum)

static void
a_peer_round_trips(void)
{
	char		written[256];
	px_text		text = {written, sizeof(written), 0};
	px_pull_peer peer;

	CHECK_EQ(read_peer("sh%20%22rd%0A " ID, &peer, NULL), PX_OK);
	CHECK(strcmp(peer.server, "sh \"rd\n") == 0);
	CHECK(strcmp(peer.database, ID) == 0);
	px_pull_peer_put(&text, &peer);
	px_text_end(&text);
	CHECK(strcmp(written, "sh%20%22rd%0A " ID) == 0);
}

static void
other_peers_are_refused(void)
{
	static const struct
	{
		const char *text;
		px_status	status;
		const char *what;
	}			cases[] = {
		{"", PX_BAD_HEADER, "server"},
		{" " ID, PX_BAD_HEADER, "server"},
		{"shard", PX_BAD_HEADER, "server"},
		{"sh ard " ID, PX_BAD_HEADER, "database"},
		{"sh\nard " ID, PX_BAD_HEADER, "server"},
		{"shard  " ID, PX_BAD_HEADER, "database"},
		{"shard 0123", PX_BAD_HEADER, "database"},
		{"shard " ID "0", PX_BAD_HEADER, "database"},
		{"shard 0123456789ABCDEF0123456789abcdef", PX_BAD_HEADER, "database"},
		{"a123456789a123456789a123456789a123456789a123456789a123456789abcd "
		ID, PX_OVER_LIMIT, "server"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		px_pull_peer peer;
		px_fault	fault = {0};

		CHECK_EQ(read_peer(cases[i].text, &peer, &fault), cases[i].status);
		CHECK(fault.what && strcmp(fault.what, cases[i].what) == 0);
	}
}

static void
the_longest_name_is_read(void)
{
	char		name[PX_PULL_SERVER_NBYTES];
	char		text[PX_PULL_SERVER_NBYTES + sizeof(ID)];
	px_pull_peer peer;

	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	snprintf(text, sizeof(text), "%s " ID, name);
	CHECK_EQ(read_peer(text, &peer, NULL), PX_OK);
	CHECK(strcmp(peer.server, name) == 0);
}

static void
a_link_round_trips(void)
{
	const char *line = "shard2 " ID " " TOKEN " 4 3 16 256 7 8";
	char		written[256];
	px_text		text = {written, sizeof(written), 0};
	px_pull_link link;

	CHECK_EQ(read_link(line, &link, NULL), PX_OK);
	CHECK(strcmp(link.source.server, "shard2") == 0);
	CHECK_EQ(link.token.handle, 17);
	CHECK_EQ(link.links, 4);
	CHECK_EQ(link.link, 3);
	CHECK_EQ(link.parts, 16);
	CHECK_EQ(link.inbox, 256);
	CHECK_EQ(link.number, 7);
	CHECK_EQ(link.step, 8);
	px_pull_link_put(&text, &link);
	px_text_end(&text);
	CHECK(strcmp(written, line) == 0);
}

static void
numbers_that_make_no_sense_are_refused(void)
{
	static const struct
	{
		const char *numbers;
		px_status	status;
		const char *what;
	}			cases[] = {
		{"", PX_BAD_HEADER, "links"},
		{" 4 3 16 256 7", PX_BAD_HEADER, "step"},
		{" 4 3 16 256 7 8 9", PX_TRAILING, NULL},
		{" 0 0 1 1 0 0", PX_OVER_LIMIT, "links"},
		{" 65 0 1 1 0 0", PX_OVER_LIMIT, "links"},
		{" 4 4 1 1 0 0", PX_BAD_HEADER, "link"},
		{" 4 64 1 1 0 0", PX_OVER_LIMIT, "link"},
		{" 4 -1 1 1 0 0", PX_BAD_HEADER, "link"},
		{" 4 3 0 1 0 0", PX_OVER_LIMIT, "parts"},
		{" 4 3 17 1 0 0", PX_BAD_HEADER, "parts"},
		{" 64 3 64 1 0 0", PX_BAD_HEADER, "parts"},
		{" 4 3 1 0 0 0", PX_OVER_LIMIT, "inbox"},
		{" 4 3 1 257 0 0", PX_OVER_LIMIT, "inbox"},
		{" 4 3 1 1 4096 0", PX_OVER_LIMIT, "number"},
		{" 4 3 2 1 4095 1", PX_BAD_HEADER, "step"},
		{" 1 0 64 1 4095 4096", PX_BAD_HEADER, "step"},
		{" 4 3 1 1 0 4097", PX_OVER_LIMIT, "step"},
		{" 4 3 1 1 4095 4096", PX_OK, NULL},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
	{
		char		line[256];
		px_pull_link link;
		px_fault	fault = {0};

		snprintf(line, sizeof(line), "shard2 " ID " " TOKEN "%s",
				 cases[i].numbers);
		CHECK_EQ(read_link(line, &link, &fault), cases[i].status);
		if (cases[i].what)
			CHECK(fault.what && strcmp(fault.what, cases[i].what) == 0);
	}
}

static void
an_offer_round_trips(void)
{
	char		written[64];
	px_text		text = {written, sizeof(written), 0};
	px_pull_offer offer;

	CHECK_EQ(read_offer("64 8000000000000001", &offer, NULL), PX_OK);
	CHECK_EQ(offer.links, 64);
	CHECK(offer.pulled == UINT64CONST(0x8000000000000001));
	px_pull_offer_put(&text, &offer);
	px_text_end(&text);
	CHECK(strcmp(written, "64 8000000000000001") == 0);
}

static void
other_offers_are_refused(void)
{
	px_pull_offer offer;

	CHECK_EQ(read_offer("", &offer, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_offer("1", &offer, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_offer("0 0000000000000001", &offer, NULL), PX_OVER_LIMIT);
	CHECK_EQ(read_offer("65 0000000000000001", &offer, NULL), PX_OVER_LIMIT);
	CHECK_EQ(read_offer("1 0000000000000000", &offer, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_offer("1 0000000000000002", &offer, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_offer("1 000000000000001", &offer, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_offer("1 0000000000000001x", &offer, NULL), PX_TRAILING);
}

static void
a_sum_round_trips(void)
{
	const char *line = "1 20 300 9223372036854775807";
	char		written[128];
	px_text		text = {written, sizeof(written), 0};
	px_pull_sum sum;

	CHECK_EQ(read_sum(line, &sum, NULL), PX_OK);
	CHECK_EQ(sum.rows, 1);
	CHECK_EQ(sum.batches, 20);
	CHECK_EQ(sum.raw_nbytes, 300);
	CHECK(sum.wire_nbytes == INT64_MAX);
	px_pull_sum_put(&text, &sum);
	px_text_end(&text);
	CHECK(strcmp(written, line) == 0);
	CHECK_EQ(read_sum("", &sum, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_sum("1 2 3", &sum, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_sum("1 2 -3 4", &sum, NULL), PX_BAD_HEADER);
	CHECK_EQ(read_sum("1 2 3 9223372036854775808", &sum, NULL),
			 PX_OVER_LIMIT);
}

int
main(void)
{
	RUN(a_peer_round_trips);
	RUN(other_peers_are_refused);
	RUN(the_longest_name_is_read);
	RUN(a_link_round_trips);
	RUN(numbers_that_make_no_sense_are_refused);
	RUN(an_offer_round_trips);
	RUN(other_offers_are_refused);
	RUN(a_sum_round_trips);
	return unit_done();
}
