/*-------------------------------------------------------------------------
 *
 * pull_words.c
 *		What is said about rows that servers of a join pull from each other.
 *
 *-------------------------------------------------------------------------
 */
#include "c.h"

#include "wire/delivery.h"
#include "wire/pull_words.h"
#include "wire/request.h"

static void
put_number(px_text *text, uint64_t number)
{
	px_text_put(text, " ");
	px_text_put_number(text, (int64_t) number);
}

void
px_pull_peer_put(px_text *text, const px_pull_peer *peer)
{
	px_text_put_escaped(text, peer->server);
	px_text_put(text, " ");
	px_text_put(text, peer->database);
}

void
px_pull_link_put(px_text *text, const px_pull_link *link)
{
	px_pull_peer_put(text, &link->source);
	px_text_put(text, " ");
	px_receipt_put(text, &link->token);
	put_number(text, link->links);
	put_number(text, link->link);
	put_number(text, link->parts);
	put_number(text, link->inbox);
	put_number(text, link->number);
	put_number(text, link->step);
}

void
px_pull_offer_put(px_text *text, const px_pull_offer *offer)
{
	px_text_put_number(text, offer->links);
	px_text_put(text, " ");
	px_text_put_hex(text, offer->pulled);
}

void
px_pull_sum_put(px_text *text, const px_pull_sum *sum)
{
	px_text_put_number(text, (int64_t) sum->rows);
	put_number(text, sum->batches);
	put_number(text, sum->raw_nbytes);
	put_number(text, sum->wire_nbytes);
}

static px_status
take_blank(const char **at, const char *what, px_fault *fault)
{
	return px_text_take(at, " ") ? PX_OK :
		px_fail(fault, PX_BAD_HEADER, what, 0, 0);
}

/* Read a blank and a number. */
static px_status
take_number(const char **at, const char *what, int64_t min, int64_t max,
			uint32_t *number, px_fault *fault)
{
	int64_t		wide = 0;
	px_status	status = take_blank(at, what, fault);

	if (status == PX_OK)
		status = px_text_take_number(at, what, min, max, &wide, fault);
	*number = (uint32_t) wide;
	return status;
}

px_status
px_pull_peer_take(const char **at, px_pull_peer *peer, px_fault *fault)
{
	px_status	status = px_text_take_escaped(at, "server", peer->server,
											  sizeof(peer->server), fault);

	if (status == PX_OK)
		status = take_blank(at, "server", fault);
	if (status != PX_OK)
		return status;
	if (peer->server[0] == '\0')
		return px_fail(fault, PX_BAD_HEADER, "server", 0, 0);
	if (px_text_take_chars(at, "0123456789abcdef", peer->database,
						   sizeof(peer->database)) !=
		sizeof(peer->database) - 1)
		return px_fail(fault, PX_BAD_HEADER, "database", 0, 0);
	return PX_OK;
}

/* Do the numbers of a link, each of which is in range, fit together? */
static px_status
check_link(const px_pull_link *link, px_fault *fault)
{
	if (link->link >= link->links)
		return px_fail(fault, PX_BAD_HEADER, "link", link->links - 1,
					   link->link);
	if (link->links * link->parts > PX_REQUEST_TARGETS_MAX)
		return px_fail(fault, PX_BAD_HEADER, "parts",
					   PX_REQUEST_TARGETS_MAX / link->links, link->parts);
	if (link->number + (link->parts - 1) * link->step >= PX_INBOX_SOURCES_MAX)
		return px_fail(fault, PX_BAD_HEADER, "step", PX_INBOX_SOURCES_MAX - 1,
					   link->number + (link->parts - 1) * link->step);
	return PX_OK;
}

px_status
px_pull_link_take(const char **at, px_pull_link *link, px_fault *fault)
{
	px_status	status = px_pull_peer_take(at, &link->source, fault);

	if (status == PX_OK)
		status = take_blank(at, "deposit", fault);
	if (status == PX_OK)
		status = px_receipt_take(at, &link->token, fault);
	if (status == PX_OK)
		status = take_number(at, "links", 1, PX_REQUEST_TARGETS_MAX,
							 &link->links, fault);
	if (status == PX_OK)
		status = take_number(at, "link", 0, PX_REQUEST_TARGETS_MAX - 1,
							 &link->link, fault);
	if (status == PX_OK)
		status = take_number(at, "parts", 1, PX_REQUEST_TARGETS_MAX,
							 &link->parts, fault);
	if (status == PX_OK)
		status = take_number(at, "inbox", 1, PX_INBOX_MAX, &link->inbox,
							 fault);
	if (status == PX_OK)
		status = take_number(at, "number", 0, PX_INBOX_SOURCES_MAX - 1,
							 &link->number, fault);
	if (status == PX_OK)
		status = take_number(at, "step", 0, PX_INBOX_SOURCES_MAX, &link->step,
							 fault);
	return status == PX_OK ? check_link(link, fault) : status;
}

px_status
px_pull_offer_take(const char **at, px_pull_offer *offer, px_fault *fault)
{
	int64_t		links = 0;
	px_status	status = px_text_take_number(at, "links", 1,
											 PX_REQUEST_TARGETS_MAX, &links,
											 fault);

	if (status == PX_OK)
		status = take_blank(at, "links", fault);
	if (status != PX_OK)
		return status;
	offer->links = (uint32_t) links;
	if (!px_text_take_hex(at, &offer->pulled) || offer->pulled == 0 ||
		(offer->pulled & ~(UINT64_MAX >> (PX_REQUEST_TARGETS_MAX - links))) !=
		0)
		return px_fail(fault, PX_BAD_HEADER, "pulled", 0, 0);
	return PX_OK;
}

px_status
px_pull_sum_take(const char **at, px_pull_sum *sum, px_fault *fault)
{
	uint64_t   *const numbers[] = {
		&sum->rows, &sum->batches, &sum->raw_nbytes, &sum->wire_nbytes
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
	{
		int64_t		number = 0;
		px_status	status = i > 0 ? take_blank(at, "sum", fault) : PX_OK;

		if (status == PX_OK)
			status = px_text_take_number(at, "sum", 0, INT64_MAX, &number,
										 fault);
		if (status != PX_OK)
			return status;
		*numbers[i] = (uint64_t) number;
	}
	return PX_OK;
}
