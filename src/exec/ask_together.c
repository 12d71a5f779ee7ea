/*-------------------------------------------------------------------------
 *
 * ask_together.c
 *		One question about several scans of a server.
 *
 * A question takes the remote longer to check than most queries take to plan,
 * and three statements.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"

#include "exec/ask_session.h"
#include "exec/ask_together.h"
#include "exec/ask_types.h"
#include "exec/open_reader.h"
#include "exec/writer.h"
#include "transport/question.h"

/*
 * The answer has a kilobyte for each scan, and is one value.  The remote plans
 * all of their queries before it answers.
 */
#define SCANS_MAX	64

/* A longer question is asked in parts, but not about less than one scan. */
#define QUESTION_NBYTES_MAX	(256 * 1024)

struct px_ask_together
{
	px_receive_state *const *scans;
	int			n;
	uint32		trial;
	px_question_item *items;	/* until the answer was noted */
	px_fdw_cursor *cursor;
	SubTransactionId subid;		/* in which the cursor was made */
};

px_ask_together *
px_ask_together_send(px_receive_state *const *scans, int n, bool waits,
					 uint32 trial)
{
	px_ask_together *asked = palloc(sizeof(px_ask_together));
	px_receive_state *first = scans[0];
	EState	   *estate = first->css.ss.ps.state;
	Size		nbytes = 0;

	asked->scans = scans;
	asked->trial = trial;
	asked->items = palloc(Min(n, SCANS_MAX) * sizeof(px_question_item));
	for (asked->n = 0; asked->n < Min(n, SCANS_MAX); asked->n++)
	{
		px_question_item *item = &asked->items[asked->n];

		item->query = scans[asked->n]->remote_sql;
		item->types = px_ask_types_along(scans[asked->n]);
		item->locks = asked->n > 0 || !waits ? PX_LOCKS_TRY : PX_LOCKS_WAIT;
		item->trial = trial;
		nbytes += px_question_nbytes(item->query, item->types);
		if (asked->n > 0 && nbytes > QUESTION_NBYTES_MAX)
			break;
	}

	px_writer_before_scan(estate, first->foreign->fs_server);
	asked->subid = GetCurrentSubTransactionId();
	asked->cursor = px_fdw_cursor_new(estate, first->foreign->fs_server,
									  first->rtindex, first->userid, NIL,
									  first->remote_sql, nbytes);
	px_question_ask(asked->cursor, px_receive_peer(first), asked->items,
					asked->n, true);
	for (int i = 0; i < asked->n; i++)
		px_ask_note_asked(scans[i], asked->items[i].types != NULL,
						  asked->items[i].locks == PX_LOCKS_TRY ? trial : 0);
	return asked;
}

void
px_ask_together_collect(px_ask_together *asked)
{
	px_receive_state *first = asked->scans[0];
	px_outcome	outcome;

	px_ask_let_answer(asked->cursor, first->foreign->fs_server);
	outcome = px_question_answer(asked->cursor, px_receive_peer(first),
								 first->servername, -1, asked->items,
								 asked->n);
	for (int i = 0; i < asked->n; i++)
	{
		px_receive_state *scan = asked->scans[i];
		px_outcome	judged;

		if (px_is_ok(outcome) && asked->items[i].deferred)
		{
			px_ask_defer(scan);
			continue;
		}
		judged = px_ask_note_answer(scan, outcome, &asked->items[i]);
		if (!px_is_ok(judged))
			scan->session_next = px_open_keep_reason(scan, judged.reason);
	}
	pfree(asked->items);
}

void
px_ask_together_send_release(px_ask_together *asked)
{
	px_question_item release = {.locks = PX_LOCKS_RELEASE,
	.trial = asked->trial};

	px_fdw_cursor_rescan(asked->cursor);
	px_question_ask(asked->cursor, px_receive_peer(asked->scans[0]), &release,
					1, false);
}

void
px_ask_together_collect_release(px_ask_together *asked)
{
	px_receive_state *first = asked->scans[0];
	px_question_item release = {0};

	(void) px_question_answer(asked->cursor, px_receive_peer(first),
							  first->servername, -1, &release, 1);
}

void
px_ask_together_end(px_ask_together *asked)
{
	/* If the subtransaction has ended, so may have the cursor. */
	if (asked->subid == GetCurrentSubTransactionId())
		px_question_end(asked->cursor, px_receive_peer(asked->scans[0]));
	pfree(asked);
}
