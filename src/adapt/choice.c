/*-------------------------------------------------------------------------
 *
 * choice.c
 *		The choices for a batch, and their translations.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "adapt/choice.h"

#define BIT(n)	(UINT32_C(1) << (n))

/* Only zstd makes integers smaller that are already packed. */
const px_choice_entry px_choices[PX_CHOICE_COUNT] = {
	[PX_CHOICE_PLAIN] = {"plain", PX_ENCODINGS_PLAIN, PX_CODEC_NONE, false},
	[PX_CHOICE_ENCODED] = {"encoded", PX_ENCODINGS_ALL, PX_CODEC_NONE, false},
	[PX_CHOICE_LZ4] = {"lz4", PX_ENCODINGS_ALL, PX_CODEC_LZ4, false},
	[PX_CHOICE_ZSTD] = {"zstd", PX_ENCODINGS_ALL, PX_CODEC_ZSTD, true},
};

/* The choice with this codec.  PX_CHOICE_PLAIN has none. */
static px_choice
choice_with_codec(uint8_t codec)
{
	for (int choice = PX_CHOICE_ENCODED; choice < PX_CHOICE_COUNT; choice++)
	{
		if (px_choices[choice].codec == codec)
			return (px_choice) choice;
	}
	return PX_CHOICE_ENCODED;
}

void
px_choices_ask(px_request *request, uint32_t choices, uint32_t sender_codecs)
{
	request->encodings = 0;
	request->codec = PX_CODEC_NONE;
	request->codecs = 0;
	request->adaptive = (choices & (choices - 1)) != 0;
	for (int choice = 0; choice < PX_CHOICE_COUNT; choice++)
	{
		const px_choice_entry *entry = &px_choices[choice];

		if ((choices & BIT(choice)) == 0)
			continue;
		request->encodings |= entry->encodings;
		if ((sender_codecs & BIT(entry->codec)) == 0)
			continue;
		if (request->adaptive)
			request->codecs |= BIT(entry->codec);
		else
			request->codec = entry->codec;
	}
}

uint32_t
px_choices_asked(const px_request *request)
{
	uint32_t	choices = BIT(PX_CHOICE_PLAIN);

	/*
	 * Any encoding may contain integers, which any of these may encode.  If
	 * the receiver does not have all of them, columns are sent plain.
	 */
	if (!px_encodings_have(request->encodings, PX_ENCODINGS_INTS))
		return choices;
	if (!request->adaptive)
		return BIT(choice_with_codec(request->codec));
	choices |= BIT(PX_CHOICE_ENCODED);
	for (uint8_t codec = PX_CODEC_NONE + 1; codec < PX_CODEC_COUNT; codec++)
	{
		if (request->codecs & BIT(codec))
			choices |= BIT(choice_with_codec(codec));
	}
	return choices;
}

void
px_choice_options(const px_request *request, px_choice choice,
				  px_encode_options *options)
{
	const px_choice_entry *entry = &px_choices[choice];

	options->encodings = request->encodings & entry->encodings;

	/* A request may have plain columns only, and a codec nevertheless. */
	options->codec = request->adaptive ? entry->codec : request->codec;
	options->codec_on_ints = entry->codec_on_ints;
	options->level = request->level;
}
