/*-------------------------------------------------------------------------
 *
 * senders.c
 *		The senders of a stream, and what each has sent so far.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "tuple/fault.h"
#include "tuple/senders.h"

px_sender_totals *
px_senders_find(px_senders *senders, uint32 sender)
{
	px_sender_totals *totals;

	for (int i = 0; i < senders->n; i++)
	{
		if (senders->all[i].sender == sender)
			return &senders->all[i];
	}

	if (senders->n == senders->max)
	{
		int			max = Max(8, senders->max * 2);
		Size		nbytes = max * sizeof(px_sender_totals);

		senders->all = senders->all ? repalloc(senders->all, nbytes) :
			MemoryContextAlloc(senders->context, nbytes);
		senders->max = max;
	}
	totals = &senders->all[senders->n++];
	memset(totals, 0, sizeof(*totals));
	totals->sender = sender;
	return totals;
}

bool
px_senders_have_ended(const px_senders *senders)
{
	for (int i = 0; i < senders->n; i++)
	{
		if (!senders->all[i].ended)
			return false;
	}
	return senders->n > 0;
}

void
px_senders_require_ends(const px_senders *senders, const char *servername)
{
	px_require(servername, "end frame", 1,
			   px_senders_have_ended(senders) ? 1 : 0);
}
