/*-------------------------------------------------------------------------
 *
 * distinct_ints.c
 *		Whether integers that come one by one are all different.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "exec/distinct_ints.h"

/* A word has 1 << WORD_SHIFT bits. */
#define WORD_SHIFT		6
#define WORD_MASK		((1 << WORD_SHIFT) - 1)

static void
free_words(px_distinct_ints *ints)
{
	if (ints->words)
		pfree(ints->words);
	ints->words = NULL;
	ints->nwords = 0;
}

void
px_distinct_ints_begin(px_distinct_ints *ints, MemoryContext context,
					   int64 nwords_max)
{
	free_words(ints);
	ints->context = context;
	ints->nwords_max = nwords_max;
	ints->distinct = true;
}

/*
 * Have the bitmap contain a word; false if it would be too large.  It becomes
 * twice as large, at the end that was too short, for integers that come in
 * their order.  No word is beyond 2^57 either way: nothing overflows.
 */
static bool
extend(px_distinct_ints *ints, int64 word)
{
	int64		first = ints->words ? Min(ints->first_word, word) : word;
	int64		end = ints->words ?
		Max(ints->first_word + ints->nwords, word + 1) : word + 1;
	int64		nwords = Max(end - first, Min(ints->nwords * 2,
											  ints->nwords_max));
	uint64	   *words;

	if (nwords > ints->nwords_max)
		return false;
	if (ints->words && word < ints->first_word)
		first = end - nwords;
	words = MemoryContextAllocExtended(ints->context, nwords * sizeof(uint64),
									   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (ints->words)
		memcpy(words + (ints->first_word - first), ints->words,
			   ints->nwords * sizeof(uint64));
	free_words(ints);
	ints->words = words;
	ints->nwords = nwords;
	ints->first_word = first;
	return true;
}

void
px_distinct_ints_add(px_distinct_ints *ints, int64 value)
{
	int64		word = value >> WORD_SHIFT;
	uint64		bit = UINT64CONST(1) << (value & WORD_MASK);

	if (!ints->distinct)
		return;
	if (ints->words == NULL || word < ints->first_word ||
		word - ints->first_word >= ints->nwords)
		ints->distinct = extend(ints, word);
	if (ints->distinct)
	{
		uint64	   *place = &ints->words[word - ints->first_word];

		ints->distinct = (*place & bit) == 0;
		*place |= bit;
	}
	if (!ints->distinct)
		free_words(ints);
}

bool
px_distinct_ints_end(px_distinct_ints *ints)
{
	free_words(ints);
	return ints->distinct;
}
