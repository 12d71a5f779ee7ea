/*-------------------------------------------------------------------------
 *
 * encodinglist.h
 *		The encodings: each one's number, and its entry in the table.
 *
 * The numbers travel in chunk headers and as bits of the sets in hello and
 * request: they are never reused.  encoding.h makes the enum and the
 * declarations of this list, encoding.c the table.  src/README.md says how to
 * add an encoding.
 *
 *-------------------------------------------------------------------------
 */

/* There is deliberately no #ifndef PX_COLUMN_ENCODINGLIST_H here. */

/* PX_ENCODING(constant, number, entry) */

PX_ENCODING(PX_ENC_PLAIN, 0, px_encoding_plain)
PX_ENCODING(PX_ENC_CONSTANT, 1, px_encoding_constant)
PX_ENCODING(PX_ENC_FOR, 2, px_encoding_for)
PX_ENCODING(PX_ENC_DELTA, 3, px_encoding_delta)
PX_ENCODING(PX_ENC_RLE, 4, px_encoding_rle)
PX_ENCODING(PX_ENC_SCALED, 5, px_encoding_scaled)
PX_ENCODING(PX_ENC_DECIMAL, 6, px_encoding_decimal)
PX_ENCODING(PX_ENC_PLANES, 7, px_encoding_planes)
PX_ENCODING(PX_ENC_RELATED, 8, px_encoding_related)
PX_ENCODING(PX_ENC_SPLIT, 9, px_encoding_split)
PX_ENCODING(PX_ENC_DICTIONARY, 10, px_encoding_dictionary)
PX_ENCODING(PX_ENC_TEMPLATE, 11, px_encoding_template)
PX_ENCODING(PX_ENC_PATCHED, 12, px_encoding_patched)
PX_ENCODING(PX_ENC_TOASTED, 13, px_encoding_toasted)
