/*-------------------------------------------------------------------------
 *
 * test_choice.c
 *		Tests of what modes, requests and options make of a choice
 *		(adapt/choice.h).
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/choice.h"
#include "unit.h"

#define SET(choice)		(UINT32_C(1) << (choice))

static void
a_set_that_is_asked_for_is_the_set_that_arrives(void)
{
	uint32_t	adaptive = SET(PX_CHOICE_PLAIN) | SET(PX_CHOICE_ENCODED);

	for (int choice = 0; choice < PX_CHOICE_COUNT; choice++)
	{
		px_request	request = {0};

		px_choices_ask(&request, SET(choice), PX_CODECS_ALL);
		CHECK(!request.adaptive);
		CHECK_EQ(px_choices_asked(&request), SET(choice));
	}
	for (uint32_t set = adaptive; set <= PX_CHOICES_ALL; set++)
	{
		px_request	request = {0};

		if ((set & adaptive) != adaptive)
			continue;
		px_choices_ask(&request, set, PX_CODECS_ALL);
		CHECK(request.adaptive);
		CHECK_EQ(px_choices_asked(&request), set);
	}
}

static void
a_codec_that_the_sender_lacks_is_not_asked_for(void)
{
	px_request	request = {0};

	px_choices_ask(&request, SET(PX_CHOICE_ZSTD),
				   PX_CODECS_ALL & ~PX_CODEC_BIT(PX_CODEC_ZSTD));
	CHECK_EQ(request.codec, PX_CODEC_NONE);
	CHECK_EQ(request.encodings, PX_ENCODINGS_ALL);
	CHECK_EQ(px_choices_asked(&request), SET(PX_CHOICE_ENCODED));

	px_choices_ask(&request, PX_CHOICES_ALL,
				   PX_CODECS_ALL & ~PX_CODEC_BIT(PX_CODEC_ZSTD));
	CHECK_EQ(px_choices_asked(&request),
			 PX_CHOICES_ALL & ~SET(PX_CHOICE_ZSTD));
}

/* Old receivers, and other programs, may know less. */
static void
who_lacks_encodings_of_integers_gets_plain_columns_with_the_codec(void)
{
	px_request	request = {.encodings = 1 | 4, .codec = PX_CODEC_LZ4};
	px_encode_options options = {0};

	CHECK_EQ(px_choices_asked(&request), SET(PX_CHOICE_PLAIN));
	px_choice_options(&request, PX_CHOICE_PLAIN, &options);
	CHECK_EQ(options.encodings, 1);
	CHECK_EQ(options.codec, PX_CODEC_LZ4);

	request.adaptive = true;
	request.codecs = PX_CODECS_ALL;
	CHECK_EQ(px_choices_asked(&request), SET(PX_CHOICE_PLAIN));
	px_choice_options(&request, PX_CHOICE_PLAIN, &options);
	CHECK_EQ(options.codec, PX_CODEC_NONE);
}

static void
options_are_those_of_the_choice_as_far_as_the_receiver_reads_them(void)
{
	px_request	request = {.encodings = PX_ENCODINGS_ALL & ~8u,
	.adaptive = true, .codecs = PX_CODECS_ALL, .level = 3};

	for (int choice = 0; choice < PX_CHOICE_COUNT; choice++)
	{
		px_encode_options options = {0};

		px_choice_options(&request, (px_choice) choice, &options);
		CHECK_EQ(options.encodings,
				 choice == PX_CHOICE_PLAIN ? 1 : request.encodings);
		CHECK_EQ(options.codec, px_choices[choice].codec);
		CHECK_EQ(options.codec_on_ints, choice == PX_CHOICE_ZSTD);
		CHECK_EQ(options.level, 3);
	}
}

int
main(void)
{
	RUN(a_set_that_is_asked_for_is_the_set_that_arrives);
	RUN(a_codec_that_the_sender_lacks_is_not_asked_for);
	RUN(who_lacks_encodings_of_integers_gets_plain_columns_with_the_codec);
	RUN(options_are_those_of_the_choice_as_far_as_the_receiver_reads_them);

	return unit_done();
}
