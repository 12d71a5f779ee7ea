/*-------------------------------------------------------------------------
 *
 * verify.h
 *		Reading a sender's frames with the checks of their receiver.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_TUPLE_VERIFY_H
#define PX_TUPLE_VERIFY_H

#include "tuple/fill.h"

/*
 * For assertions: check that the receiver that has made the request accepts
 * the frame, if its limits have their defaults.  For a batch, fill holds its
 * columns; their values are not compared.  codec is NULL only if the request
 * has no codec.  Returns true, or raises an internal error that says what is
 * wrong.
 */
extern bool px_frame_is_acceptable(const uint8_t *frame, size_t nbytes,
								   const px_request *request,
								   const px_fill *fill,
								   px_codec_context *codec);

#endif							/* PX_TUPLE_VERIFY_H */
