/*-------------------------------------------------------------------------
 *
 * hello.h
 *		The hello: what the two ends of a stream say about themselves.
 *
 * The coordinator calls exchange.hello(its own hello) and gets the remote's
 * hello back.  A hello is one line of text: key=value words separated by
 * single spaces.  All keys below are required but the last three, which version
 * 1.0 has not.  Unknown keys are skipped, so that later versions can add some.
 *
 *	protocol=1-1		lowest and highest protocol version
 *	codecs=7			bit set of px_codec_id it can decode and encode
 *	encodings=7			bit set of px_encoding it can decode
 *	endian=little		or big
 *	encoding=UTF8		the database's encoding, PostgreSQL's name
 *	server_version=150020	server_version_num
 *	instance=4f0c…		opaque id of the running instance: 32 hex digits
 *	export=1			1: the session may call pg_export_snapshot
 *	spread=1			1: it reads the word spread of a request
 *	pull=5e21…			opaque id of the database of the running instance: 32
 *					hex digits.  It reads the words links, pulled and plain,
 *					and has the functions that go with them
 *	free=few			less than a tenth of the connections of the server are
 *					free.  Not in an admission: or of those that its role
 *					or database may have; quarter: fewer than that of those
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_HELLO_H
#define PX_WIRE_HELLO_H

#include "base/status.h"

/* Limit of a hello, which leaves room for words of later versions. */
#define PX_HELLO_NBYTES_MAX	512

/* How many connections are free on a server? */
typedef enum px_free
{
	PX_FREE_MANY,
	PX_FREE_QUARTER,				/* less than that */
	PX_FREE_FEW
} px_free;

typedef struct px_hello
{
	uint16_t	protocol_min;
	uint16_t	protocol_max;
	uint32_t	codecs;
	uint32_t	encodings;
	bool		little_endian;
	char		encoding[32];
	uint32_t	server_version;
	char		instance[33];
	bool		can_export;
	bool		can_spread;		/* false if there is no such key */
	char		pull_id[33];	/* "" if there is no such key */
	px_free		free;			/* PX_FREE_MANY if there is no such key */
} px_hello;

/*
 * Write the hello to buffer[cap], NUL-terminated.  Returns the length that it
 * has, or would have with a larger cap, without the NUL, as snprintf does.
 */
extern size_t px_hello_write(char *buffer, size_t cap, const px_hello *hello);

/*
 * Parse a hello.  Errors, where fault->what names the key: PX_BAD_HEADER if a
 * word is malformed or a key comes twice, PX_TRUNCATED if a key is missing,
 * PX_OVER_LIMIT if a number or the hello's length is out of range.  *hello is
 * undefined after an error.
 */
extern px_status px_hello_read(const char *text, px_hello *hello,
							   px_fault *fault);

/* The first " key=" in a text; NULL if there is none. */
extern const char *px_hello_find_key(const char *text, const char *key);

/*
 * Parse the hello that a longer text begins with: up to " key=", where key is
 * the first one after it.  Moves *at there.  Errors: those of px_hello_read,
 * and PX_BAD_HEADER (fault->what is key) if there is no such key.
 */
extern px_status px_hello_take(const char **at, const char *key,
							   px_hello *hello, px_fault *fault);

/* The highest protocol version that both ends have, or 0 if there is none. */
extern uint16_t px_hello_common_version(const px_hello *a, const px_hello *b);

#endif							/* PX_WIRE_HELLO_H */
