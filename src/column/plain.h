/*-------------------------------------------------------------------------
 *
 * plain.h
 *		The plain encoding: values as they stand in a px_column.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_PLAIN_H
#define PX_COLUMN_PLAIN_H

#include "column/column.h"

/* Pointers to n values of any width in n * width bytes. */
extern void px_plain_pointers(const uint8_t *encoded, uint32_t n,
							  unsigned width, const uint8_t **values);

#endif							/* PX_COLUMN_PLAIN_H */
