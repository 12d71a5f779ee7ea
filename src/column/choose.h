/*-------------------------------------------------------------------------
 *
 * choose.h
 *		Which encoding makes a column smallest.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_CHOOSE_H
#define PX_COLUMN_CHOOSE_H

#include "column/column.h"

typedef struct px_encoding_choice
{
	uint8_t		encoding;		/* px_encoding */
	size_t		encoded_nbytes; /* never more than the column's values_nbytes */
	int64_t		base;			/* PX_ENC_FOR only, as px_for_measure's */
	unsigned	b;				/* PX_ENC_FOR only, as px_for_measure's */
} px_encoding_choice;

/*
 * Choose the encoding of a column with at least one value; always plain if
 * encodings is false.  Reads the values at most twice.
 */
extern void px_encoding_choose(const px_column *column, bool encodings,
							   px_encoding_choice *choice);

#endif							/* PX_COLUMN_CHOOSE_H */
