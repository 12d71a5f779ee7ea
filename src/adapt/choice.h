/*-------------------------------------------------------------------------
 *
 * choice.h
 *		What may be chosen for a batch, and who translates it into what.
 *
 * A choice is one way to compress a batch: an entry of px_choices.  A set of
 * choices is a bit set, 1 << px_choice.  A mode of the settings is a set: that
 * of mode auto has all choices, those of the other modes have one.  The
 * request carries a set, and the sender draws its choices from it:
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
 * Have a request ask for choices, as far as the sender has their codecs: a
 * choice whose codec it lacks becomes PX_CHOICE_ENCODED.  The set is not
 * empty.  With several choices the sender chooses for each batch.
 */
extern void px_choices_ask(px_request *request, uint32_t choices,
						   uint32_t sender_codecs);

/* The set that a request asks for; never empty. */
extern uint32_t px_choices_asked(const px_request *request);

/*
 * Set encodings, codec and level of options to what a choice of that set
 * means for the request.
 */
extern void px_choice_options(const px_request *request, px_choice choice,
							  px_encode_options *options);

#endif							/* PX_ADAPT_CHOICE_H */
