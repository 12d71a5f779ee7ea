/*-------------------------------------------------------------------------
 *
 * pull_words.h
 *		What is said about rows that servers of a join pull from each other.
 *
 * All of it is text that comes from another server: words that single spaces
 * separate.  doc/wire.md, §15, is the normative description.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_WIRE_PULL_WORDS_H
#define PX_WIRE_PULL_WORDS_H

#include "base/text.h"
#include "wire/hello.h"
#include "wire/receipt.h"

/* As many links has one call at most, and as many peers one question. */
#define PX_PULL_LINKS_MAX		4096

/* The length of a foreign server's name, with the NUL: NAMEDATALEN. */
#define PX_PULL_SERVER_NBYTES	64

/* A source, as a server that wants its rows knows it: "shard2 5e21..." */
typedef struct px_pull_peer
{
	char		server[PX_PULL_SERVER_NBYTES];	/* foreign server that may
												 * lead there */
	char		database[sizeof(((px_hello *) 0)->pull_id)];	/* of its hello */
} px_pull_peer;

/*
 * What one source offers to one target:
 *
 *	shard2 5e21... 17.0f....87... 4 0 16 1 0 4
 *
 * server, database, token, links, link, parts, inbox, number, step
 */
typedef struct px_pull_link
{
	px_pull_peer source;
	px_receipt	token;
	uint32_t	links;			/* of the source; its targets are links *
								 * parts .. PX_REQUEST_TARGETS_MAX */
	uint32_t	link;			/* this one of them, from 0 */
	uint32_t	parts;			/* of the rows, 1 .. */
	uint32_t	inbox;			/* 1 .. PX_INBOX_MAX */
	uint32_t	number;			/* of the source of the inbox for part 0 */
	uint32_t	step;			/* from the one for a part to the next; the
								 * last one is below PX_INBOX_SOURCES_MAX */
} px_pull_link;

/* What is offered: "4 000000000000000d". */
typedef struct px_pull_offer
{
	uint32_t	links;			/* 1 .. PX_REQUEST_TARGETS_MAX */
	uint64_t	pulled;			/* bit i: link i is; not 0 */
} px_pull_offer;

/* What has come of a link: "rows batches raw_nbytes wire_nbytes". */
typedef struct px_pull_sum
{
	uint64_t	rows;
	uint64_t	batches;
	uint64_t	raw_nbytes;
	uint64_t	wire_nbytes;
} px_pull_sum;

extern void px_pull_peer_put(px_text *text, const px_pull_peer *peer);
extern void px_pull_link_put(px_text *text, const px_pull_link *link);
extern void px_pull_offer_put(px_text *text, const px_pull_offer *offer);
extern void px_pull_sum_put(px_text *text, const px_pull_sum *sum);

/*
 * Read one, and move *at after it.  Errors, where fault->what names the word:
 * PX_BAD_HEADER for any other form, and for numbers that do not fit together,
 * PX_OVER_LIMIT for a number out of range.  After an error, *at and the struct
 * are undefined.
 */
extern px_status px_pull_peer_take(const char **at, px_pull_peer *peer,
								   px_fault *fault);
extern px_status px_pull_link_take(const char **at, px_pull_link *link,
								   px_fault *fault);
extern px_status px_pull_offer_take(const char **at, px_pull_offer *offer,
									px_fault *fault);
extern px_status px_pull_sum_take(const char **at, px_pull_sum *sum,
								  px_fault *fault);

#endif							/* PX_WIRE_PULL_WORDS_H */
