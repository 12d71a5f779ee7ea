/*-------------------------------------------------------------------------
 *
 * toasted.h
 *		Values of any length, some of them as TOAST has compressed them.
 *
 * A column of form bytes under construction may have values that are not to be
 * undone only to be compressed again: those numbered by column->positions.
 * Their bytes, and lengths, are those that TOAST has stored; column->toasts
 * says by which method, and how long they are in truth.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_COLUMN_STRINGS_TOASTED_H
#define PX_COLUMN_STRINGS_TOASTED_H

#include "column/column.h"

/* PostgreSQL's va_tcinfo: true length, and method in the highest two bits. */
#define PX_TOAST_NBYTES(toast)		((toast) & PX_FRAME_NBYTES_MAX)
#define PX_TOAST_METHOD(toast)		((toast) >> 30)
#define PX_TOAST_PGLZ				0
#define PX_TOAST_LZ4				1

/*
 * A value is taken as TOAST has compressed it if that has saved so many bytes:
 * then the chunk is smaller than a plain one, whatever else is in it.  Its
 * header and those of its children take 24, their padding up to 14, and each
 * such value takes 8 and up to 3 of padding besides its bytes.
 */
#define PX_TOAST_SAVING_MIN			64

/*
 * Bytes that one compressed byte makes at most: LZ4 adds up to 255 to a length
 * for each byte more, pglz makes 273 of three.
 */
#define PX_TOAST_RATIO_MAX			255

/*
 * Does pglz_decompress of a PostgreSQL (its server_version_num) keep within
 * its bounds, whatever it is given?  Since 15.5, 16.1 and 17.
 */
extern bool px_pglz_is_bounded(int server_version);

/*
 * May pglz be undone here?  To be set once, before anything is decoded.  If
 * not, a value compressed by it is an error (PX_CODEC_FAILED).
 */
extern bool px_pglz_may_be_undone;

static inline bool
px_column_is_toasted(const px_column *column)
{
	return column->ntoasts > 0;
}

/* Size of the values in a plain chunk, where nothing is compressed. */
extern size_t px_toasted_true_nbytes(const px_column *column);

#endif							/* PX_COLUMN_STRINGS_TOASTED_H */
