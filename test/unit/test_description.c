/*-------------------------------------------------------------------------
 *
 * test_description.c
 *		Tests of the description (wire/description.h), and of the order and
 *		the result of exchange.apply (wire/apply_words.h).
 *
 * Every text is read from a buffer whose NUL is the last byte before a page
 * that cannot be accessed.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include <stdlib.h>

#include "unit.h"
#include "wire/apply_words.h"
#include "wire/description.h"
#include "wire/held_error.h"

#define HELLO \
	"protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 " \
	"server_version=150020 instance=0123456789abcdef0123456789abcdef export=1"

static const char description_text[] =
HELLO " against=view%20v effects=1 exact=0 keys=1 columns=20:-1,1700:983042,0:-1";

static px_request_column columns[PX_FRAME_COLUMNS_MAX];

static px_status
read_description(const char *text, px_description *description,
				 px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_description_read((const char *) g.data,
											 description, columns, fault);

	unit_guarded_free(&g);
	return status;
}

static px_status
read_order(const char *text, px_apply_order *order, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_apply_order_read((const char *) g.data, order,
											 fault);

	unit_guarded_free(&g);
	return status;
}

static px_status
read_result(const char *text, px_apply_result *result, px_fault *fault)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_status	status = px_apply_result_read((const char *) g.data, result,
											  fault);

	unit_guarded_free(&g);
	return status;
}

/* The description with its first old replaced by new. */
static void
expect(const char *old, const char *new, px_status expected, const char *what)
{
	const char *at = strstr(description_text, old);
	char	   *text = unit_alloc(strlen(description_text) + strlen(new) + 1);
	px_description description;
	px_fault	fault = {0};

	if (CHECK(at != NULL))
	{
		memcpy(text, description_text, (size_t) (at - description_text));
		strcat(text, new);
		strcat(text, at + strlen(old));
	}
	if (!CHECK_EQ(read_description(text, &description, &fault), expected) ||
		!CHECK(expected == PX_OK || strcmp(fault.what, what) == 0))
		printf("# description: %s\n# what: %s\n", text,
			   fault.what ? fault.what : "none");
	free(text);
}

static void
a_description_round_trips(void)
{
	px_description description;
	char		text[sizeof(description_text)];

	CHECK_EQ(read_description(description_text, &description, NULL), PX_OK);
	CHECK_EQ(description.hello.server_version, 150020);
	CHECK(strcmp(description.against, "view v") == 0);
	CHECK(description.effects);
	CHECK(!description.exact);
	CHECK(description.keys);
	CHECK_EQ(description.ncolumns, 3);
	CHECK_EQ(columns[0].type_oid, 20);
	CHECK_EQ(columns[0].typmod, -1);
	CHECK_EQ(columns[1].typmod, 983042);
	CHECK_EQ(columns[2].type_oid, 0);
	CHECK_EQ(px_description_write(text, sizeof(text), &description, columns),
			 strlen(description_text));
	CHECK(strcmp(text, description_text) == 0);
}

static void
the_longest_description_fits_its_limit(void)
{
	px_description description;
	char	   *text = unit_alloc(PX_DESCRIPTION_NBYTES_MAX + 1);
	char	   *cut = unit_alloc(PX_DESCRIPTION_NBYTES_MAX + 1);
	size_t		nbytes;

	CHECK_EQ(read_description(description_text, &description, NULL), PX_OK);
	memset(description.against, ' ', sizeof(description.against) - 1);
	description.ncolumns = PX_FRAME_COLUMNS_MAX;
	for (int i = 0; i < PX_FRAME_COLUMNS_MAX; i++)
		columns[i] = (px_request_column) {UINT32_MAX, INT32_MAX};
	nbytes = px_description_write(text, PX_DESCRIPTION_NBYTES_MAX + 1,
								  &description, columns);
	CHECK(nbytes + PX_HELLO_NBYTES_MAX - strlen(HELLO) <=
		  PX_DESCRIPTION_NBYTES_MAX);
	CHECK_EQ(read_description(text, &description, NULL), PX_OK);
	CHECK_EQ(description.ncolumns, PX_FRAME_COLUMNS_MAX);
	CHECK_EQ(strlen(description.against), sizeof(description.against) - 1);

	/* writing stops at the end of the buffer */
	for (size_t cap = 1; cap <= nbytes; cap += 97)
	{
		CHECK_EQ(px_description_write(cut, cap, &description, columns),
				 nbytes);
		CHECK_EQ(strlen(cut), cap - 1);
		CHECK_MEM(cut, text, cap - 1);
	}
	free(cut);
	free(text);
}

static void
malformed_descriptions_are_refused(void)
{
	expect("protocol=1-1", "protocol=0-1", PX_BAD_HEADER, "protocol");
	expect(" export=1", "", PX_TRUNCATED, "export");
	expect("export=1", "export=1 tea=green", PX_OK, NULL);
	expect(" against=", " xagainst=", PX_BAD_HEADER, "against");
	expect("view%20v", "", PX_OK, NULL);
	expect("view%20v", "view v", PX_BAD_HEADER, "effects");
	expect("view%20v", "view%2", PX_BAD_HEADER, "against");
	expect("view%20v", "%61", PX_BAD_HEADER, "against");
	expect("effects=1", "effects=2", PX_OVER_LIMIT, "effects");
	expect("effects=1", "effects=", PX_BAD_HEADER, "effects");
	expect("effects=1 exact=0", "exact=0 effects=1", PX_BAD_HEADER, "effects");
	expect("exact=0", "exact=-1", PX_BAD_HEADER, "exact");
	expect("exact=0 keys", "exact=0keys", PX_BAD_HEADER, "keys");
	expect("keys=1", "keys=2", PX_OVER_LIMIT, "keys");
	expect("keys=1 ", "keys=1", PX_BAD_HEADER, "columns");
	expect("keys=1", "keys=1 tea=green", PX_BAD_HEADER, "columns");
	expect(",0:-1", ",", PX_BAD_HEADER, "columns");
	expect(",0:-1", ",0:-1 ", PX_BAD_HEADER, "columns");
	expect("20:-1", "4294967296:-1", PX_OVER_LIMIT, "columns");
}

static void
truncated_descriptions_are_refused(void)
{
	size_t		last = (size_t) (strstr(description_text, "columns=") -
								 description_text) + strlen("columns=20:-1");
	char		text[sizeof(description_text)];
	px_description description;

	for (size_t n = 0; n < last; n++)
	{
		memcpy(text, description_text, n);
		text[n] = '\0';
		CHECK(read_description(text, &description, NULL) != PX_OK);
	}
}

static void
an_order_round_trips(void)
{
	static const char text[] = "version=1 batch_size=2147483647";
	char		again[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_order order;
	px_fault	fault = {0};

	CHECK_EQ(read_order(text, &order, NULL), PX_OK);
	CHECK_EQ(order.version, 1);
	CHECK_EQ(order.batch_size, INT32_MAX);
	CHECK_EQ(px_apply_order_write(again, sizeof(again), &order), strlen(text));
	CHECK(strcmp(again, text) == 0);

	CHECK_EQ(read_order("", &order, &fault), PX_BAD_HEADER);
	CHECK(strcmp(fault.what, "version") == 0);
	CHECK_EQ(read_order("version=2 tea=green", &order, &fault),
			 PX_BAD_VERSION);
	CHECK_EQ(read_order("version=1", &order, &fault), PX_BAD_HEADER);
	CHECK(strcmp(fault.what, "batch_size") == 0);
	CHECK_EQ(read_order("version=1  batch_size=1", &order, &fault),
			 PX_BAD_HEADER);
	CHECK_EQ(read_order("version=1 batch_size=0", &order, &fault),
			 PX_OVER_LIMIT);
	CHECK_EQ(read_order("version=1 batch_size=2147483648", &order, &fault),
			 PX_OVER_LIMIT);
	CHECK_EQ(read_order("version=1 batch_size=1 ", &order, &fault),
			 PX_BAD_HEADER);
	CHECK_EQ(order.deposit.handle, 0);
}

/* The order with such a receipt. */
static px_status
read_receipt(const char *receipt, px_apply_order *order)
{
	char		text[128];
	px_fault	fault = {0};
	px_status	status;

	snprintf(text, sizeof(text), "version=1 batch_size=1 deposit=%s", receipt);
	status = read_order(text, order, &fault);
	CHECK(status == PX_OK || strcmp(fault.what, "deposit") == 0);
	return status;
}

static void
an_order_may_name_a_deposit(void)
{
#define SECRET	"0f1e2d3c4b5a6978.8796a5b4c3d2e1f0"
	static const char text[] =
		"version=1 batch_size=2147483647 deposit=4294967295." SECRET;
	char		again[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_order order;

	CHECK_EQ(read_order(text, &order, NULL), PX_OK);
	CHECK_EQ(order.deposit.handle, UINT32_MAX);
	CHECK_EQ(order.deposit.secret[0], UINT64_C(0x0f1e2d3c4b5a6978));
	CHECK_EQ(order.deposit.secret[1], UINT64_C(0x8796a5b4c3d2e1f0));
	CHECK_EQ(px_apply_order_write(again, sizeof(again), &order), strlen(text));
	CHECK(strcmp(again, text) == 0);

	CHECK_EQ(read_receipt("1." SECRET, &order), PX_OK);
	CHECK_EQ(read_receipt("1." SECRET " ", &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("", &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("x." SECRET, &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("0." SECRET, &order), PX_OVER_LIMIT);
	CHECK_EQ(read_receipt("4294967296." SECRET, &order), PX_OVER_LIMIT);
	CHECK_EQ(read_receipt("1", &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("1.0f1e2d3c4b5a6978", &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("1.0f1e2d3c4b5a6978-8796a5b4c3d2e1f0", &order),
			 PX_BAD_HEADER);
	CHECK_EQ(read_receipt("1." SECRET "0", &order), PX_BAD_HEADER);
	CHECK_EQ(read_receipt("1.0F1E2D3C4B5A6978.8796a5b4c3d2e1f0", &order),
			 PX_BAD_HEADER);
}

static void
a_result_round_trips(void)
{
	static const char text[] = "rows=9223372036854775807 us=1234";
	char		again[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_result result;
	px_fault	fault = {0};

	CHECK_EQ(read_result(text, &result, NULL), PX_OK);
	CHECK_EQ(result.rows, INT64_MAX);
	CHECK_EQ(result.us, 1234);
	CHECK_EQ(px_apply_result_write(again, sizeof(again), &result),
			 strlen(text));
	CHECK(strcmp(again, text) == 0);

	CHECK_EQ(read_result("", &result, &fault), PX_BAD_HEADER);
	CHECK(strcmp(fault.what, "rows") == 0);
	CHECK_EQ(read_result("rows=1", &result, &fault), PX_BAD_HEADER);
	CHECK(strcmp(fault.what, "us") == 0);
	CHECK_EQ(read_result("rows=-1 us=1", &result, &fault), PX_BAD_HEADER);
	CHECK_EQ(read_result("rows=1 us=x", &result, &fault), PX_BAD_HEADER);
	CHECK_EQ(read_result("rows=1 us=1x", &result, &fault), PX_BAD_HEADER);
	CHECK(!result.gone);
	CHECK_EQ(read_result("rows=0 us=1 deposit=gone", &result, &fault), PX_OK);
	CHECK(result.gone);
	CHECK_EQ(px_apply_result_write(again, sizeof(again), &result),
			 strlen("rows=0 us=1 deposit=gone"));
	CHECK(strcmp(again, "rows=0 us=1 deposit=gone") == 0);
	CHECK_EQ(read_result("rows=0 us=1 deposit=gone ", &result, &fault),
			 PX_BAD_HEADER);
	CHECK_EQ(read_result("rows=0 us=1 deposit=here", &result, &fault),
			 PX_BAD_HEADER);
	CHECK_EQ(read_result("rows=9223372036854775808 us=1", &result, &fault),
			 PX_OVER_LIMIT);
}

static void
an_order_may_hold_errors(void)
{
	static const char text[] = "version=1 batch_size=7 hold=1";
	char		again[PX_APPLY_WORDS_NBYTES_MAX];
	px_apply_order order;
	px_fault	fault = {0};

	CHECK_EQ(read_order(text, &order, NULL), PX_OK);
	CHECK(order.hold);
	CHECK_EQ(px_apply_order_write(again, sizeof(again), &order), strlen(text));
	CHECK(strcmp(again, text) == 0);
	CHECK_EQ(read_order("version=1 batch_size=7", &order, NULL), PX_OK);
	CHECK(!order.hold);
	CHECK_EQ(read_order("version=1 batch_size=7 hold=0", &order, &fault),
			 PX_BAD_HEADER);
	CHECK_EQ(read_order("version=1 batch_size=7 hold=1 hold=1", &order,
						&fault), PX_BAD_HEADER);
}

/* Read an error at a guard page, with as much room as it may take. */
static px_status
read_held(const char *text, px_held_error *error, char *room)
{
	unit_guarded g = unit_guarded_copy(text, strlen(text) + 1);
	px_fault	fault = {0};
	px_status	status = px_held_error_read((const char *) g.data, error, room,
											&fault);

	CHECK_EQ(status, fault.status);
	unit_guarded_free(&g);
	return status;
}

static void
a_held_error_round_trips(void)
{
	static const char text[] =
		"error=23505 message=a%20%25%0Ab detail= hint=%C3%A9 context=row%207";
	char		room[sizeof(text)];
	char		again[sizeof(text)];
	px_held_error error;

	CHECK_EQ(read_held(text, &error, room), PX_OK);
	CHECK(strcmp(error.sqlstate, "23505") == 0);
	CHECK(strcmp(error.message, "a %\nb") == 0);
	CHECK(strcmp(error.detail, "") == 0);
	CHECK(strcmp(error.hint, "\303\251") == 0);
	CHECK(strcmp(error.context, "row 7") == 0);
	CHECK_EQ(px_held_error_write(again, sizeof(again), &error), strlen(text));
	CHECK(strcmp(again, text) == 0);
	CHECK(px_held_error_is(text));
	CHECK(!px_held_error_is("rows=1 us=1"));

	for (size_t n = 0; n < sizeof(text) - 1 - strlen("row%207"); n++)
	{
		memcpy(again, text, n);
		again[n] = '\0';
		CHECK_EQ(read_held(again, &error, room), PX_BAD_HEADER);
	}
	CHECK_EQ(read_held("error=2350 message=a detail= hint= context=", &error,
					   room), PX_BAD_HEADER);
	CHECK_EQ(read_held("error=23505X message=a detail= hint= context=", &error,
					   room), PX_BAD_HEADER);
	CHECK_EQ(read_held("error=23505 message=a detail= hint= context= x=1",
					   &error, room), PX_BAD_HEADER);
}

int
main(void)
{
	RUN(a_description_round_trips);
	RUN(the_longest_description_fits_its_limit);
	RUN(malformed_descriptions_are_refused);
	RUN(truncated_descriptions_are_refused);
	RUN(an_order_round_trips);
	RUN(an_order_may_name_a_deposit);
	RUN(a_result_round_trips);
	RUN(an_order_may_hold_errors);
	RUN(a_held_error_round_trips);

	return unit_done();
}
