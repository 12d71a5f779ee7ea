/*-------------------------------------------------------------------------
 *
 * test_admission.c
 *		Tests of the admission (wire/admission.h).
 *
 * Every text is read from a buffer whose NUL is the last byte before a page
 * that cannot be accessed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/admission.h"

#define HELLO \
	"protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 " \
	"server_version=150020 instance=0123456789abcdef0123456789abcdef export=1"

#define COST " cost=85"
#define TYPES " types=same"

static const char admission_text[] =
HELLO COST TYPES " pid=4711 session=0123456789abcdef snapshot=00000003-0000001B-1 "
"idle=60000 against=calls%20function%20f";

static px_status
read_admission(const char *text, px_admission *admission, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_admission_read((const char *) g.data, admission,
										 fault);

	unit_guarded_free(&g);
	return status;
}

/* The text with its first old replaced by new. */
static void
expect(const char *old, const char *new, px_status expected, const char *what)
{
	const char *at = strstr(admission_text, old);
	char	   *text = unit_alloc(strlen(admission_text) + strlen(new) + 1);
	px_admission admission;
	px_fault	fault = {0};

	if (CHECK(at != NULL))
	{
		memcpy(text, admission_text, (size_t) (at - admission_text));
		strcat(text, new);
		strcat(text, at + strlen(old));
	}
	if (!CHECK_EQ(read_admission(text, &admission, &fault), expected) ||
		!CHECK(expected == PX_OK || strcmp(fault.what, what) == 0))
		printf("# admission: %s\n# what: %s\n", text, fault.what ? fault.what : "none");
	free(text);
}

static void
an_admission_round_trips(void)
{
	px_admission admission;
	char		text[sizeof(admission_text)];

	CHECK_EQ(read_admission(admission_text, &admission, NULL), PX_OK);
	CHECK_EQ(admission.hello.server_version, 150020);
	CHECK(admission.hello.can_export);
	CHECK_EQ(admission.cost, 85);
	CHECK(admission.same_types);
	CHECK_EQ(admission.pid, 4711);
	CHECK_EQ(admission.session, UINT64_C(0x0123456789abcdef));
	CHECK(strcmp(admission.snapshot, "00000003-0000001B-1") == 0);
	CHECK_EQ(admission.idle_ms, 60000);
	CHECK(strcmp(admission.against, "calls function f") == 0);
	CHECK_EQ(px_admission_write(text, sizeof(text), &admission),
			 strlen(admission_text));
	CHECK(strcmp(text, admission_text) == 0);
}

static void
empty_words_round_trip(void)
{
	static const char empty[] =
	HELLO " pid=1 session=0000000000000000 snapshot=- idle=0 against=";
	px_admission admission;
	char		text[sizeof(empty)];

	CHECK_EQ(read_admission(empty, &admission, NULL), PX_OK);
	CHECK_EQ(admission.cost, 0);
	CHECK(!admission.same_types);
	CHECK(admission.snapshot[0] == '\0');
	CHECK(admission.against[0] == '\0');
	CHECK_EQ(px_admission_write(text, sizeof(text), &admission),
			 strlen(empty));
	CHECK(strcmp(text, empty) == 0);
}

static void
every_byte_round_trips(void)
{
	px_admission admission;
	px_admission again;
	char		text[PX_ADMISSION_NBYTES_MAX + 1];

	CHECK_EQ(read_admission(admission_text, &admission, NULL), PX_OK);
	for (int begin = 1; begin < 256; begin += 127)
	{
		int			n = Min(127, 256 - begin);
		size_t		nbytes;

		for (int i = 0; i < n; i++)
			admission.against[i] = (char) (begin + i);
		admission.against[n] = '\0';
		nbytes = px_admission_write(text, sizeof(text), &admission);
		CHECK(nbytes < sizeof(text));
		for (size_t i = 0; i < nbytes; i++)
			CHECK(text[i] >= ' ' && text[i] < 127 &&
				  strchr("<>&\"'", text[i]) == NULL);
		CHECK_EQ(read_admission(text, &again, NULL), PX_OK);
		CHECK(strcmp(again.against, admission.against) == 0);
	}
}

static void
the_longest_admission_round_trips(void)
{
	px_admission admission;
	px_admission again;
	char		text[PX_ADMISSION_NBYTES_MAX + 1];
	char		cut[PX_ADMISSION_NBYTES_MAX + 1];
	size_t		nbytes;

	CHECK_EQ(read_admission(admission_text, &admission, NULL), PX_OK);
	admission.cost = INT32_MAX;
	admission.pid = INT32_MAX;
	admission.session = UINT64_MAX;
	admission.idle_ms = INT32_MAX;
	memset(admission.snapshot, 'A', sizeof(admission.snapshot) - 1);
	memset(admission.against, ' ', sizeof(admission.against) - 1);
	nbytes = px_admission_write(text, sizeof(text), &admission);
	CHECK(nbytes + PX_HELLO_NBYTES_MAX - strlen(HELLO) <=
		  PX_ADMISSION_NBYTES_MAX);
	CHECK_EQ(read_admission(text, &again, NULL), PX_OK);
	CHECK_EQ(again.cost, INT32_MAX);
	CHECK_EQ(again.pid, INT32_MAX);
	CHECK_EQ(again.session, UINT64_MAX);
	CHECK_EQ(again.idle_ms, INT32_MAX);
	CHECK(strcmp(again.snapshot, admission.snapshot) == 0);
	CHECK(strcmp(again.against, admission.against) == 0);

	/* writing stops at the end of the buffer */
	for (size_t cap = 1; cap <= nbytes; cap++)
	{
		CHECK_EQ(px_admission_write(cut, cap, &admission), nbytes);
		CHECK_EQ(strlen(cut), cap - 1);
		CHECK_MEM(cut, text, cap - 1);
	}
}

/* Only against may be shorter than it was. */
static void
truncated_admissions_are_refused(void)
{
	size_t		against =
		(size_t) (strstr(admission_text, "against=") - admission_text) + 8;
	char		text[sizeof(admission_text)];
	px_admission admission;

	for (size_t n = 0; n < strlen(admission_text); n++)
	{
		memcpy(text, admission_text, n);
		text[n] = '\0';
		CHECK(read_admission(text, &admission, NULL) != PX_OK || n >= against);
	}
}

static void
malformed_admissions_are_refused(void)
{
	static const char *const keys[] = {"pid", "session", "snapshot", "idle",
									   "against"};

	for (size_t i = 0; i < lengthof(keys); i++)
	{
		char		right[32];
		char		wrong[32];

		snprintf(right, sizeof(right), " %s=", keys[i]);
		snprintf(wrong, sizeof(wrong), " x%s=", keys[i]);
		expect(right, wrong, PX_BAD_HEADER, keys[i]);
	}
	expect("protocol=1-1", "protocol=0-1", PX_BAD_HEADER, "protocol");
	expect(" export=1", "", PX_TRUNCATED, "export");
	expect("export=1", "export=1 tea=green", PX_OK, NULL);
	expect("export=1 cost", "export=1  cost", PX_BAD_HEADER, "hello");
	expect(" cost=85", "", PX_OK, NULL);
	expect(" cost=85", " tea=green cost=85", PX_OK, NULL);
	expect("cost=85", "cost=", PX_BAD_HEADER, "cost");
	expect("cost=85", "cost=0", PX_OVER_LIMIT, "cost");
	expect("cost=85", "cost=085", PX_BAD_HEADER, "cost");
	expect("cost=85", "cost=8.5", PX_BAD_HEADER, "cost");
	expect("cost=85", "cost=2147483648", PX_OVER_LIMIT, "cost");
	expect("cost=85", "cost=85 cost=85", PX_BAD_HEADER, "cost");
	expect("cost=85", "cost=85 tea=green", PX_OK, NULL);
	expect("cost=85 types=same", "types=same cost=85", PX_OK, NULL);
	expect("types=same pid=4711", "pid=4711 cost=85", PX_BAD_HEADER, "session");
	expect(" types=same", "", PX_OK, NULL);
	expect("types=same", "types=", PX_BAD_HEADER, "types");
	expect("types=same", "types=1", PX_BAD_HEADER, "types");
	expect("types=same", "types=same1", PX_BAD_HEADER, "types");
	expect("types=same", "types=same types=same", PX_BAD_HEADER, "types");
	expect("types=same pid=4711", "pid=4711 types=same", PX_BAD_HEADER, "session");
	expect("pid=4711", "pid=0", PX_OVER_LIMIT, "pid");
	expect("pid=4711", "pid=-1", PX_BAD_HEADER, "pid");
	expect("pid=4711", "pid=2147483648", PX_OVER_LIMIT, "pid");
	expect("pid=4711", "pid=4711 pid=4711", PX_BAD_HEADER, "session");
	expect("pid=4711", "pid=4711 tea=green", PX_BAD_HEADER, "session");
	expect("session=0", "session=", PX_BAD_HEADER, "session");
	expect("session=0", "session=00", PX_BAD_HEADER, "session");
	expect("session=0", "session=A", PX_BAD_HEADER, "session");
	expect("snapshot=00000003-0000001B-1", "snapshot=", PX_BAD_HEADER, "snapshot");
	expect("snapshot=0", "snapshot=-0", PX_BAD_HEADER, "snapshot");
	expect("snapshot=0", "snapshot='", PX_BAD_HEADER, "snapshot");
	expect("1B-1", "1b-1", PX_BAD_HEADER, "idle");
	expect("1B-1", "1B-1'", PX_BAD_HEADER, "idle");
	expect("snapshot=0",
		   "snapshot=00000000000000000000000000000000000000000000", PX_OK,
		   NULL);
	expect("snapshot=0",
		   "snapshot=00000000000000000000000000000000000000000000000",
		   PX_BAD_HEADER, "snapshot");
	expect("idle=60000", "idle=", PX_BAD_HEADER, "idle");
	expect("idle=60000", "idle=2147483648", PX_OVER_LIMIT, "idle");
	expect("%20f", "%20f ", PX_BAD_HEADER, "against");
	expect("%20f", " f", PX_BAD_HEADER, "against");
	expect("%20f", "%0", PX_BAD_HEADER, "against");
	expect("%20f", "%", PX_BAD_HEADER, "against");
	expect("%20f", "%00f", PX_BAD_HEADER, "against");
	expect("%20f", "%61f", PX_BAD_HEADER, "against");
	expect("%20f", "%2ff", PX_BAD_HEADER, "against");
	expect("%20f", "%2Ff", PX_OK, NULL);
}

static void
too_long_admissions_are_refused(void)
{
	px_admission admission;
	px_fault	fault = {0};
	char		text[2000];

	/* a reason of 127 characters, and of one more */
	snprintf(text, sizeof(text), "%.*s%0127d",
			 (int) (strstr(admission_text, "calls") - admission_text),
			 admission_text, 0);
	CHECK_EQ(read_admission(text, &admission, NULL), PX_OK);
	CHECK_EQ(strlen(admission.against), 127);
	strcat(text, "0");
	CHECK_EQ(read_admission(text, &admission, &fault), PX_OVER_LIMIT);
	CHECK(strcmp(fault.what, "against") == 0);

	/* a hello with these words as long as it may be, and longer */
	for (int more = 0; more < 2; more++)
	{
		int			n = PX_HELLO_NBYTES_MAX - (int) strlen(HELLO COST TYPES) - 3 + more;

		snprintf(text, sizeof(text), "x=%0*d %s", n, 0, admission_text);
		CHECK_EQ(read_admission(text, &admission, &fault),
				 more ? PX_OVER_LIMIT : PX_OK);
	}
	CHECK(strcmp(fault.what, "hello") == 0);
}

static void
a_wish_round_trips(void)
{
	static const struct
	{
		px_wish		wish;
		const char *text;
	}			wishes[] = {
		{{PX_LOCKS_AS_JUDGED, 0, false}, ""},
		{{PX_LOCKS_AS_JUDGED, 0, true}, " types=1"},
		{{PX_LOCKS_WAIT, 17, false}, " locks=wait:17"},
		{{PX_LOCKS_TRY, 1, false}, " locks=try:1"},
		{{PX_LOCKS_TRY, 1, true}, " locks=try:1 types=1"},
		{{PX_LOCKS_RELEASE, UINT32_MAX, true}, " locks=release:4294967295 types=1"},
	};

	for (size_t i = 0; i < lengthof(wishes); i++)
	{
		char		words[PX_WISH_NBYTES_MAX];
		char		text[256];
		px_wish		wish;

		px_wish_write(words, &wishes[i].wish);
		CHECK(strcmp(words, wishes[i].text) == 0);
		snprintf(text, sizeof(text), "%s%s later=1", HELLO, words);
		CHECK_EQ(px_wish_read(text, &wish, NULL), PX_OK);
		CHECK_EQ(wish.locks, wishes[i].wish.locks);
		CHECK_EQ(wish.trial, wishes[i].wish.trial);
		CHECK_EQ(wish.types, wishes[i].wish.types);
	}
}

static void
malformed_wishes_are_refused(void)
{
	static const struct
	{
		const char *text;
		px_status	expected;
		const char *what;
	}			wishes[] = {
		{" locks=", PX_BAD_HEADER, "locks"},
		{" locks=wait", PX_BAD_HEADER, "locks"},
		{" locks=try", PX_BAD_HEADER, "locks"},
		{" locks=try:", PX_BAD_HEADER, "locks"},
		{" locks=try:x", PX_BAD_HEADER, "locks"},
		{" locks=try:1x", PX_BAD_HEADER, "locks"},
		{" locks=try:-1", PX_BAD_HEADER, "locks"},
		{" locks=try:01", PX_BAD_HEADER, "locks"},
		{" locks=try:0", PX_OVER_LIMIT, "locks"},
		{" locks=release:4294967296", PX_OVER_LIMIT, "locks"},
		{" types=", PX_BAD_HEADER, "types"},
		{" types=0", PX_BAD_HEADER, "types"},
		{" locks=try:1 types=11", PX_BAD_HEADER, "types"},
		{" types=same", PX_BAD_HEADER, "types"},
	};

	for (size_t i = 0; i < lengthof(wishes); i++)
	{
		px_wish		wish;
		px_fault	fault = {0};

		if (!CHECK_EQ(px_wish_read(wishes[i].text, &wish, &fault),
					  wishes[i].expected) ||
			!CHECK(strcmp(fault.what, wishes[i].what) == 0))
			printf("# %s\n", wishes[i].text);
	}
}

int
main(void)
{
	RUN(an_admission_round_trips);
	RUN(empty_words_round_trip);
	RUN(every_byte_round_trips);
	RUN(the_longest_admission_round_trips);
	RUN(truncated_admissions_are_refused);
	RUN(malformed_admissions_are_refused);
	RUN(too_long_admissions_are_refused);
	RUN(a_wish_round_trips);
	RUN(malformed_wishes_are_refused);

	return unit_done();
}
