/*-------------------------------------------------------------------------
 *
 * copy_lines.c
 *		The lines of rows that COPY has read, for errors that come late.
 *
 * COPY names the line in a callback of the error context stack.  So we change
 * what the callback looks at, and raise the error again.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "commands/copy.h"
#include "commands/copyfrom_internal.h"
#include "lib/stringinfo.h"

#include "compat_executor.h"
#include "exec/copy_lines.h"

/*
 * The callback shows at most 100 bytes of a line, whole characters, and
 * whether there are more.
 */
#define LINE_NBYTES_KEPT	(100 + 2 * MAX_MULTIBYTE_CHAR_LEN)

typedef struct copy_line
{
	uint64		number;
	uint32		offset;			/* of its text */
	bool		has_text;		/* not if the input is binary */
} copy_line;

struct px_copy_lines
{
	CopyFromState copy;			/* NULL if there was no line */
	int			nlines;
	int			cap;
	copy_line  *lines;
	StringInfoData text;		/* each ends in a NUL */
};

bool
px_copy_is_reading(void)
{
	return error_context_stack &&
		error_context_stack->callback == CopyFromErrorCallback;
}

int
px_copy_line_nbytes(void)
{
	if (!px_copy_is_reading())
		return 0;
	return ((CopyFromState) error_context_stack->arg)->line_buf.len;
}

px_copy_lines *
px_copy_lines_new(void)
{
	px_copy_lines *lines = palloc0(sizeof(px_copy_lines));

	lines->cap = 64;
	lines->lines = palloc(lines->cap * sizeof(copy_line));
	initStringInfo(&lines->text);
	return lines;
}

static copy_line *
add_line(px_copy_lines *lines, uint64 number)
{
	copy_line  *line;

	if (lines->nlines == lines->cap)
	{
		lines->cap *= 2;
		lines->lines = repalloc(lines->lines, lines->cap * sizeof(copy_line));
	}
	line = &lines->lines[lines->nlines++];
	line->number = number;
	line->offset = (uint32) lines->text.len;
	line->has_text = false;
	return line;
}

void
px_copy_lines_add(px_copy_lines *lines)
{
	CopyFromState copy;
	copy_line  *line;

	/* A function that COPY calls may read another row: not COPY's. */
	if (px_copy_is_reading())
		lines->copy = error_context_stack->arg;
	copy = lines->copy;
	if (copy == NULL)
		return;
	line = add_line(lines, copy->cur_lineno);
	if (copy->line_buf_valid && copy->line_buf.data)
	{
		line->has_text = true;
		appendBinaryStringInfo(&lines->text, copy->line_buf.data,
							   Min(copy->line_buf.len, LINE_NBYTES_KEPT));
		appendStringInfoCharMacro(&lines->text, '\0');
	}
}

void
px_copy_lines_add_from(px_copy_lines *lines, const px_copy_lines *from, int n)
{
	const copy_line *line = &from->lines[n];
	copy_line  *copy;

	lines->copy = from->copy;
	copy = add_line(lines, line->number);
	if (line->has_text)
	{
		copy->has_text = true;
		appendStringInfoString(&lines->text, from->text.data + line->offset);
		appendStringInfoCharMacro(&lines->text, '\0');
	}
}

void
px_copy_lines_throw(const px_copy_lines *lines, int n, bool batch,
					ErrorData *error)
{
	CopyFromState copy = lines->copy;
	const copy_line *line;
	ErrorContextCallback callback;

	if (copy == NULL || lines->nlines == 0)
	{
		ThrowErrorData(error);
		pg_unreachable();
	}
	line = &lines->lines[n < 0 || n >= lines->nlines ? lines->nlines - 1 : n];
	copy->cur_lineno = line->number;
	copy->cur_attname = NULL;
	copy->cur_attval = NULL;
	copy->line_buf_valid = line->has_text;
	if (line->has_text)
		copy->line_buf.data = lines->text.data + line->offset;

	px_copy_hide_line(copy, batch);

	/* When all rows have been read, COPY has removed its callback. */
	callback.callback = CopyFromErrorCallback;
	callback.arg = copy;
	callback.previous = error_context_stack;
	if (!px_copy_is_reading())
		error_context_stack = &callback;
	ThrowErrorData(error);
	pg_unreachable();
}
