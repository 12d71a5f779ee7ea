/*-------------------------------------------------------------------------
 *
 * apply_words.h
 *		What is asked of exchange.apply beside its rows, and what it answers.
 *
 * Both are one line of key=value words in the order below, separated by single
 * spaces.  The order:
 *
 *	version=1			protocol version of the frames
 *	batch_size=100		rows that postgres_fdw would have in a statement
 *	hold=1				if a row fails, undo what was done for the frames, and
 *						answer with the error (held_error.h), so that the
 *						session can go on; else the word is left out
 *	deposit=17.0f….87…	where the frames are (receipt.h); the word is left out
 *						if they are the text argument
 *
 * The result:
 *
 *	rows=4096			rows that the statement was reported to affect
 *	us=1234				microseconds that it took
 *	deposit=gone		there is no such deposit, and nothing was done; else
 *						the word is left out
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_APPLY_WORDS_H
#define PX_WIRE_APPLY_WORDS_H

#include "wire/receipt.h"

/* The greatest length of either. */
#define PX_APPLY_WORDS_NBYTES_MAX	160

typedef struct px_apply_order
{
	uint16_t	version;
	uint32_t	batch_size;		/* 1 .. INT32_MAX */
	bool		hold;
	px_receipt	deposit;		/* handle 0: none */
} px_apply_order;

typedef struct px_apply_result
{
	uint64_t	rows;
	uint64_t	us;
	bool		gone;			/* the deposit */
} px_apply_result;

/*
 * Write one to buffer[cap], NUL-terminated.  Returns the length that it has,
 * or would have with a larger cap, without the NUL, as snprintf does.
 */
extern size_t px_apply_order_write(char *buffer, size_t cap,
								   const px_apply_order *order);
extern size_t px_apply_result_write(char *buffer, size_t cap,
									const px_apply_result *result);

/*
 * Parse one.  Errors, where fault->what names the key: PX_BAD_HEADER for any
 * deviation from the form above, PX_OVER_LIMIT for a number out of range,
 * PX_BAD_VERSION for a version outside PX_PROTOCOL_MIN .. MAX, and those of
 * receipt.h.  The struct is undefined after an error.
 */
extern px_status px_apply_order_read(const char *text, px_apply_order *order,
									 px_fault *fault);
extern px_status px_apply_result_read(const char *text,
									  px_apply_result *result,
									  px_fault *fault);

#endif							/* PX_WIRE_APPLY_WORDS_H */
