/*-------------------------------------------------------------------------
 *
 * write_error.c
 *		Errors of rows that were sent, as postgres_fdw would raise them.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"

#include "compat.h"
#include "conn/remote_text.h"
#include "exec/write_error.h"
#include "wire/held_error.h"

/* The line that the remote adds to the context of an error. */
#define ROW_LINE		"pg_exchange row "

/* What postgres_fdw adds after it. */
#define COMMAND_LINE	"remote SQL command: "

#define VALUES_BEGIN	" VALUES ("

/*
 * Find the last line of text[len] that begins with prefix; returns NULL if
 * there is none.
 */
static char *
last_line(char *text, size_t len, const char *prefix)
{
	size_t		n = strlen(prefix);
	char	   *p = text + len;

	while (p > text)
	{
		p--;
		if ((p == text || p[-1] == '\n') && (size_t) (text + len - p) >= n &&
			strncmp(p, prefix, n) == 0)
			return p;
	}
	return NULL;
}

/*
 * Where the error names postgres_fdw's statement; NULL if it does not.  The
 * remote may have sent the same statement to a server of its own: the last
 * line is ours.
 */
static char *
find_statement(char *context, const char *sql)
{
	return last_line(context, strlen(context),
					 psprintf(COMMAND_LINE "%s", sql));
}

/* Cut the row's line out of context; returns the row, or -1. */
static int
cut_row(char *context, char *command)
{
	char	   *line = last_line(context, (size_t) (command - context),
								 ROW_LINE);
	char	   *end;
	unsigned long row;

	if (line == NULL)
		return -1;
	row = strtoul(line + strlen(ROW_LINE), &end, 10);
	if (end == line + strlen(ROW_LINE) || (*end != '\n' && *end != '\0'))
		return -1;
	if (*end == '\n')
		end++;
	memmove(line, end, strlen(end) + 1);
	return row < PG_INT32_MAX ? (int) row : -1;
}

/* The same for COPY: of rows with the same position, batch_size at a time. */
static int
rows_of_copy_statement(const px_write_piece *piece, uint32 size, uint32 row)
{
	uint32		begin = row;
	uint32		end = row + 1;

	while (begin > 0 && piece->positions[begin - 1] == piece->positions[row])
		begin--;
	begin += (row - begin) / size * size;
	while (end < piece->rows && end < begin + size &&
		   piece->positions[end] == piece->positions[row])
		end++;
	return (int) (end - begin);
}

/* How many rows had postgres_fdw's statement with that row? */
static int
rows_of_statement(const px_write_target *target, const px_write_piece *piece,
				  int row)
{
	const px_write_plan *plan = &target->plan;
	uint32		size = (uint32) plan->batch_size;
	uint32		begin;

	if (plan->operation != CMD_INSERT || size <= 1)
		return 1;

	/* A question: as many rows are likely to come. */
	if (piece == NULL)
		return (int) size;
	if (px_write_is_copy_batch(target) && piece->rows > 0)
		return rows_of_copy_statement(piece, size,
									  Min((uint32) Max(row, 0),
										  piece->rows - 1));
	begin = (uint32) Max(row, 0) / size * size;
	if (begin + size <= piece->rows || !piece->last)
		return (int) size;
	return (int) (piece->rows > begin ? piece->rows - begin : 1);
}

/*
 * The statement for rows rows, from that for one: postgres_fdw repeats the
 * parentheses after VALUES, with other parameters.
 */
static char *
statement_for(const px_write_plan *plan, int rows)
{
	const char *values = strstr(plan->sql, VALUES_BEGIN);
	const char *next;
	const char *end;
	StringInfoData sql;
	int			param = 0;

	/* A name may contain anything; what follows it does not. */
	while (values && (next = strstr(values + 1, VALUES_BEGIN)) != NULL)
		values = next;
	if (rows <= 1 || values == NULL)
		return pstrdup(plan->sql);
	values += strlen(VALUES_BEGIN) - 1;
	end = strchr(values, ')');
	if (end == NULL)
		return pstrdup(plan->sql);
	end++;

	initStringInfo(&sql);
	appendBinaryStringInfo(&sql, plan->sql, (int) (values - plan->sql));
	for (int row = 0; row < rows; row++)
	{
		if (row > 0)
			appendStringInfoString(&sql, ", ");
		for (const char *p = values; p < end; p++)
		{
			if (*p != '$')
			{
				appendStringInfoCharMacro(&sql, *p);
				continue;
			}
			appendStringInfo(&sql, "$%d", ++param);
			while (p + 1 < end && p[1] >= '0' && p[1] <= '9')
				p++;
		}
	}
	appendStringInfoString(&sql, end);
	return sql.data;
}

/* Make the error's context that of postgres_fdw; returns the row, or -1. */
static int
edit_context(ErrorData *error, const px_write_target *target,
			 const px_write_piece *piece)
{
	const px_write_plan *plan = &target->plan;
	char	   *command;
	int			row;
	int			rows;

	if (error->context == NULL)
		return -1;
	command = find_statement(error->context, plan->sql);
	if (command == NULL)
		return -1;
	row = cut_row(error->context, command);
	rows = rows_of_statement(target, piece, row);
	command = find_statement(error->context, plan->sql);
	if (rows > 1 && command)
	{
		char	   *tail = command + strlen(COMMAND_LINE) + strlen(plan->sql);

		*command = '\0';
		error->context = psprintf("%s" COMMAND_LINE "%s%s", error->context,
								  statement_for(plan, rows), tail);
	}
	return row;
}

/*
 * When would postgres_fdw have written the row?  At once, if its statement has
 * one row.  Else when the target has a row after those of the statement, or the
 * source has no more rows, in the order of the targets.
 */
static uint64
position_of(const px_write_target *target, const px_write_piece *piece,
			int row)
{
	uint32		size = (uint32) Max(target->plan.batch_size, 1);
	uint32		due = (uint32) Max(row, 0) / size * size + size;

	if (piece == NULL || piece->rows == 0)
		return 0;
	if (px_write_is_copy_batch(target))
	{
		uint64		position = piece->positions[Min((uint32) Max(row, 0),
													piece->rows - 1)];

		return px_write_was_given(target->writer, position) ? position :
			PX_WRITE_AT_END + target->number;
	}
	if (size == 1)
		due--;
	if (due < piece->rows)
		return piece->positions[due];
	if (due == piece->rows && piece->next_position > 0)
		return piece->next_position;
	return PX_WRITE_AT_END + target->number;
}

/* In a PG_CATCH: see px_write_fail, which also says that the lane failed. */
pg_noreturn static void
fail(px_write_target *target, const px_write_piece *piece, int row,
	 ErrorContextCallback *stack)
{
	px_write_state *writer = target->writer;
	ErrorData  *error;

	MemoryContextSwitchTo(writer->context);
	error = CopyErrorData();
	FlushErrorState();
	error_context_stack = stack;

	if (row < 0)
		row = edit_context(error, target, piece);
	writer->failed = true;
	writer->failed_at = position_of(target, piece, row);
	if (piece && piece->lines)
		px_copy_lines_throw(piece->lines, row, target->plan.batch_size > 1,
							error);
	ThrowErrorData(error);
	pg_unreachable();
}

void
px_write_fail(px_write_target *target, const px_write_piece *piece, int row,
			  ErrorContextCallback *stack)
{
	target->lane->failed = true;
	fail(target, piece, row, stack);
}

static void
read_held(const char *servername, const char *words, px_held_error *held)
{
	char	   *room = palloc(strlen(words) + 1);
	px_fault	fault;
	char		detail[PX_FAULT_NBYTES_MAX];

	if (px_held_error_read(words, held, room, &fault) != PX_OK)
		ereport(ERROR,
				(errcode(ERRCODE_PROTOCOL_VIOLATION),
				 errmsg("invalid response from server \"%s\"", servername),
				 errdetail_internal("%s",
									px_remote_text(px_fault_text(&fault,
																 detail)))));
}

/* Text of the remote, valid in the database encoding. */
static const char *
verified(const char *text)
{
	return pg_verifymbstr(text, (int) strlen(text), true) ? text :
		px_remote_text(text);
}

/* As postgres_fdw raises errors of the remote. */
pg_noreturn static void
raise_held(const px_held_error *held, const char *reported)
{
	const char *state = held->sqlstate;

	ereport(ERROR,
			(errcode(MAKE_SQLSTATE(state[0], state[1], state[2], state[3],
								   state[4])),
			 errmsg_internal("%s", verified(held->message)),
			 held->detail[0] ?
			 errdetail_internal("%s", verified(held->detail)) : 0,
			 held->hint[0] ? errhint("%s", verified(held->hint)) : 0,
			 held->context[0] ?
			 errcontext("%s", verified(held->context)) : 0,
			 errcontext(COMMAND_LINE "%s", reported)));
	pg_unreachable();
}

void
px_write_raise_held(px_write_target *target, const px_write_piece *piece,
					const char *words)
{
	ErrorContextCallback *stack = error_context_stack;
	px_held_error held;

	read_held(target->lane->servername, words, &held);
	error_context_stack = NULL;
	PG_TRY();
	{
		raise_held(&held, target->plan.sql);
	}
	PG_CATCH();
	{
		fail(target, piece, -1, stack);
	}
	PG_END_TRY();
	pg_unreachable();
}

/*
 * Where the error names the statement of the call that is in flight; NULL if
 * it does not.
 */
static char *
find_command(const px_write_lane *lane, const ErrorData *error)
{
	if (lane->target == NULL || error->context == NULL)
		return NULL;
	return find_statement(error->context, lane->target->plan.sql);
}

/* Cut off the error context of who has met the error. */
static void
cut_local_context(const px_write_lane *lane, ErrorData *error)
{
	find_command(lane, error)[strlen(COMMAND_LINE) +
							  strlen(lane->target->plan.sql)] = '\0';
}

/*
 * Two servers may be sent the same statement.  Then neither call is waited
 * for, and the error counts as that of the first one.  But an error of a row
 * that postgres_fdw itself was writing is none of a call to another server.
 */
bool
px_write_claim_error(px_write_state *writer, ErrorData *error)
{
	px_write_lane *first = NULL;
	const ErrorData *kept;

	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
	{
		if ((writer->passes_to && writer->passes_to != lane) ||
			find_command(lane, error) == NULL)
			continue;
		lane->failed = true;
		if (first == NULL)
			first = lane;
	}
	if (first == NULL)
		return false;
	kept = px_downlink_kept_error(first->downlink);
	if (kept)
		*error = *kept;
	else
		cut_local_context(first, error);
	writer->failed = true;
	writer->failed_at =
		position_of(first->target, first->piece,
					edit_context(error, first->target, first->piece));

	/* No call is in flight to them any more. */
	for (px_write_lane *lane = writer->lanes; lane; lane = lane->next)
	{
		if (lane->failed)
			lane->target = NULL;
	}
	return true;
}
