/*-------------------------------------------------------------------------
 *
 * choice.h
 *		The choices for a batch, and their translations.
 *
 * A choice is one way to compress a batch: an entry of px_choices.  A set of
 * choices is a bit set, 1 << px_choice.  A mode of the settings is such a set:
 * mode auto has all choices, the other modes have one.  The request carries a
 * set, and the sender takes its choices from it:
 *
 *		mode -> set				px_mode_choices (exec/request.c)
 *		set -> request			px_choices_ask
 *		request -> set			px_choices_asked
 *		choice -> options		px_choice_options
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_ADAPT_CHOICE_H
#define PX_ADAPT_CHOICE_H

#include "codec/codec.h"
#include "column/encode.h"
#include "wire/frame.h"
#include "wire/request.h"

typedef struct px_choice_entry
{
	const char *name;			/* as EXPLAIN spells it */
	uint32_t	encodings;		/* set of encodings */
	px_codec_id codec;
	bool		codec_on_ints;	/* try the codec on packed integers, too */
} px_choice_entry;

extern const px_choice_entry px_choices[PX_CHOICE_COUNT];

#define PX_CHOICES_ALL	((UINT32_C(1) << PX_CHOICE_COUNT) - 1)

/*
 * Set the words of a request that ask for a set of choices, which must not be
 * empty: encodings, codec, codecs and adaptive.  sender_codecs is a bit set of
 * the codecs that the sender has: a choice whose codec is missing becomes
 * PX_CHOICE_ENCODED.  If the set has several choices, the sender chooses for
 * each batch.
 */
extern void px_choices_ask(px_request *request, uint32_t choices,
						   uint32_t sender_codecs);

/* The set of choices that a request asks for; never empty. */
extern uint32_t px_choices_asked(const px_request *request);

/*
 * Set encodings, codec, codec_on_ints and level of options for a choice out of
 * the set that the request asks for.
 */
extern void px_choice_options(const px_request *request, px_choice choice,
							  px_encode_options *options);

#endif							/* PX_ADAPT_CHOICE_H */
