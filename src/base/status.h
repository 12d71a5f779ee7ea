/*-------------------------------------------------------------------------
 *
 * status.h
 *		What the pure layers (base/ to adapt/) return.
 *
 * These layers never raise errors and never allocate: a function returns
 * PX_OK or says what was wrong, and where that helps fills a px_fault with
 * what it expected and what it got.  Only the layers above turn that into an
 * ereport.
 *
 * A status has one meaning.  PX_OK from a function that writes means that all
 * of it was written.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_BASE_STATUS_H
#define PX_BASE_STATUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum px_status
{
	PX_OK = 0,
	PX_TRUNCATED,				/* fewer bytes than the format calls for */
	PX_TRAILING,				/* more bytes than the format calls for */
	PX_BAD_MAGIC,				/* not a frame at all */
	PX_BAD_VERSION,				/* a protocol version we do not speak */
	PX_BAD_KIND,				/* unknown frame kind */
	PX_BAD_CHECKSUM,			/* CRC32C differs */
	PX_BAD_HEADER,				/* a field has a value the format forbids */
	PX_BAD_ENCODING,			/* unknown encoding, or not one of this form */
	PX_BAD_CODEC,				/* unknown codec */
	PX_BAD_VALUE,				/* an encoded value is malformed */
	PX_OVER_LIMIT,				/* a size or count exceeds its hard limit */
	PX_CODEC_FAILED,			/* the codec library refused the bytes */

	/*
	 * The rest are no errors of the input.  After each of them, what stands
	 * after the writer's old position means nothing.
	 */
	PX_UNSUITABLE,				/* the values are not of the form that this
								 * encoding is for */
	PX_NOT_SMALLER,				/* the result would exceed the size that makes
								 * it worth while */
	PX_NO_SPACE					/* the caller's buffer is smaller than the
								 * function asks for */
} px_status;

/*
 * Details of the last failure.  "what" is a static string that names the
 * field in the words of doc/wire.md; expected and got are its values, or 0/0
 * where numbers say nothing.
 */
typedef struct px_fault
{
	px_status	status;
	const char *what;
	uint64_t	expected;
	uint64_t	got;
} px_fault;

/* Fill *fault (which may be NULL) and return its status. */
static inline px_status
px_fail(px_fault *fault, px_status status, const char *what,
		uint64_t expected, uint64_t got)
{
	if (fault)
	{
		fault->status = status;
		fault->what = what;
		fault->expected = expected;
		fault->got = got;
	}
	return status;
}

/* A short lower-case phrase for a status; never NULL. */
extern const char *px_status_text(px_status status);

#define PX_FAULT_NBYTES_MAX		160

/*
 * Write a sentence on the details to buffer, NUL-terminated: what was
 * expected and what came, or that the field is malformed where numbers say
 * nothing.  Returns buffer.
 */
extern const char *px_fault_text(const px_fault *fault,
								 char buffer[PX_FAULT_NBYTES_MAX]);

#endif							/* PX_BASE_STATUS_H */
