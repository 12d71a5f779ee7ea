/*-------------------------------------------------------------------------
 *
 * verify.h
 *		A sender's own frames, read as their receiver reads them.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_VERIFY_H
#define PX_TUPLE_VERIFY_H

#include "tuple/fill.h"

/*
 * For assertions: would the receiver that has made the request, with its
 * settings as they come, take a frame that has just been made?  For a batch,
 * fill holds its columns.  codec is NULL only if the request has none.
 * Returns true, or raises an error that says what is wrong.
 */
extern bool px_frame_is_acceptable(const uint8_t *frame, size_t nbytes,
						   const px_request *request, const px_fill *fill,
						   px_codec_context *codec);

#endif							/* PX_TUPLE_VERIFY_H */
