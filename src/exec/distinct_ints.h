/*-------------------------------------------------------------------------
 *
 * distinct_ints.h
 *		Whether integers that come one by one are all different.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_EXEC_DISTINCT_INTS_H
#define PX_EXEC_DISTINCT_INTS_H

/*
 * A bitmap of the integers up to now, from the word of the least of them to
 * that of the greatest.
 */
typedef struct px_distinct_ints
{
	MemoryContext context;		/* of the bitmap */
	int64		nwords_max;		/* the bitmap is not larger than that */
	uint64	   *words;			/* NULL before the first integer */
	int64		nwords;
	int64		first_word;		/* bit 0 of words[0] is this times 64 */
	bool		distinct;		/* as far as is known, all are different */
} px_distinct_ints;

/*
 * Begin without an integer.  A zeroed struct may be begun, and one that was
 * begun before: its memory is freed.
 */
extern void px_distinct_ints_begin(px_distinct_ints *ints,
								   MemoryContext context, int64 nwords_max);

/*
 * Add an integer.  After the same one was there already, or if the bitmap
 * would become too large, distinct is false for good, and there is no bitmap.
 */
extern void px_distinct_ints_add(px_distinct_ints *ints, int64 value);

/* There are no more integers: are all different?  Frees the bitmap. */
extern bool px_distinct_ints_end(px_distinct_ints *ints);

#endif							/* PX_EXEC_DISTINCT_INTS_H */
