/*-------------------------------------------------------------------------
 *
 * remote_plan.c
 *		The plan of a remote server, as part of our own EXPLAIN.
 *
 * Formats other than text have a structure that the remote could break, by
 * mistake or on purpose, were its output copied into ours.  So its JSON is
 * parsed, and each of its properties written anew through EXPLAIN's functions,
 * whatever our format is.  These escape what they know from PostgreSQL itself:
 * names, characters and numbers that it never has are replaced here.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/jsonfuncs.h"

#include "compat_json.h"
#include "conn/remote_text.h"
#include "exec/remote_plan.h"

#define REMOTE_PLAN		"Remote Plan"
#define LABEL_NBYTES_MAX	64

/* Objects and arrays inside each other: lines are indented by that. */
#define LEVELS_MAX		1000

/* ---------------------------------------------------------------------
 * Text
 * --------------------------------------------------------------------- */

/* "Seq Scan on t  (cost=0.00..1.00 rows=1 width=4) (actual ...)" */
static void
append_line(StringInfo out, const char *line, size_t nbytes, bool costs)
{
	static const char begin[] = "  (cost=";
	const char *end = line + nbytes;
	const char *at = line;

	for (; !costs && at + sizeof(begin) - 1 <= end; at++)
	{
		const char *close;

		if (memcmp(at, begin, sizeof(begin) - 1) != 0)
			continue;
		close = memchr(at, ')', end - at);
		if (close == NULL)
			break;
		appendBinaryStringInfo(out, line, at - line);
		line = close + 1;
		break;
	}
	appendBinaryStringInfo(out, line, end - line);
	appendStringInfoChar(out, '\n');
}

void
px_remote_plan_text(const char *text, ExplainState *es)
{
	(void) pg_verifymbstr(text, (int) strlen(text), false);
	appendStringInfoSpaces(es->str, es->indent * 2);
	appendStringInfoString(es->str, REMOTE_PLAN ":\n");
	while (*text)
	{
		size_t		nbytes = strcspn(text, "\n");
		char	   *line = px_remote_text(pnstrdup(text, nbytes));

		appendStringInfoSpaces(es->str, (es->indent + 1) * 2);
		append_line(es->str, line, nbytes, es->costs);
		text += nbytes;
		if (*text == '\n')
			text++;
	}
}

/* ---------------------------------------------------------------------
 * JSON
 * --------------------------------------------------------------------- */

/* An object or array of the plan that has begun. */
typedef struct level
{
	bool		is_array;
	bool		is_open;		/* as a group of EXPLAIN's; an array that has
								 * only scalars is a list instead */
	char	   *label;			/* NULL: an element of an array */
	List	   *scalars;		/* of an array so far */
} level;

typedef struct walk
{
	ExplainState *es;
	List	   *levels;			/* the innermost first; NIL outside the plan */
	char	   *label;			/* of the value that comes, or NULL */
} walk;

static level *
innermost(const walk *w)
{
	return w->levels ? linitial(w->levels) : NULL;
}

static bool
is_letter(char c)
{
	return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/*
 * YAML writes labels as they are, and XML makes element names of them, which
 * begin with a letter: let nothing else get there.
 */
static char *
safe_label(const char *label)
{
	char	   *copy = psprintf("%s%.*s", is_letter(*label) ? "" : "Item ",
								LABEL_NBYTES_MAX, label);

	for (char *p = copy; *p; p++)
	{
		if (!is_letter(*p) && !(*p >= '0' && *p <= '9') &&
			strchr(" -_()/%", *p) == NULL)
			*p = '?';
	}
	return copy;
}

/* What EXPLAIN calls the elements of its arrays of objects; XML shows it. */
static const char *
group_type(const walk *w)
{
	const level *outer = innermost(w);

	if (w->label)
		return w->label;
	if (outer->label && strcmp(outer->label, "Plans") == 0)
		return "Plan";
	if (outer->label && strcmp(outer->label, "Workers") == 0)
		return "Worker";
	return "Item";
}

/* An array turns out to have more than scalars. */
static void
open_array(walk *w)
{
	level	   *array = innermost(w);

	if (array && array->is_array && !array->is_open)
	{
		ExplainOpenGroup(array->label ? array->label : "Item", array->label,
						 false, w->es);
		array->is_open = true;
	}
}

static void
push(walk *w, bool is_array, bool is_open)
{
	level	   *l = palloc0(sizeof(level));

	if (list_length(w->levels) >= LEVELS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_CORRUPTED),
				 errmsg("invalid plan of a remote server"),
				 errdetail("Expected at most %d levels of JSON.",
						   LEVELS_MAX)));
	l->is_array = is_array;
	l->is_open = is_open;
	l->label = w->label;
	w->levels = lcons(l, w->levels);
	w->label = NULL;
}

static px_json_result
object_start(void *arg)
{
	walk	   *w = arg;

	if (w->levels == NIL && w->label == NULL)
		return PX_JSON_DONE;	/* what the plan is in */
	open_array(w);
	ExplainOpenGroup(group_type(w), w->label, true, w->es);
	push(w, false, true);
	return PX_JSON_DONE;
}

static px_json_result
object_end(void *arg)
{
	walk	   *w = arg;
	level	   *l = innermost(w);

	if (l == NULL)
		return PX_JSON_DONE;
	w->levels = list_delete_first(w->levels);
	w->label = l->label;
	ExplainCloseGroup(w->levels || l->label ? group_type(w) : REMOTE_PLAN,
					  l->label, true, w->es);
	w->label = NULL;
	return PX_JSON_DONE;
}

static px_json_result
array_start(void *arg)
{
	walk	   *w = arg;
	level	   *outer = innermost(w);

	if (outer == NULL)
	{
		w->label = NULL;		/* no plan is an array */
		return PX_JSON_DONE;
	}
	if (outer->is_array)
		open_array(w);
	push(w, true, false);
	return PX_JSON_DONE;
}

static px_json_result
array_end(void *arg)
{
	walk	   *w = arg;
	level	   *l = innermost(w);

	if (l == NULL)
		return PX_JSON_DONE;
	w->levels = list_delete_first(w->levels);
	if (l->is_open)
		ExplainCloseGroup(l->label ? l->label : "Item", l->label, false,
						  w->es);
	else if (l->scalars && l->label)
		ExplainPropertyList(l->label, l->scalars, w->es);
	else if (l->scalars)
		ExplainPropertyListNested("Item", l->scalars, w->es);
	w->label = NULL;
	return PX_JSON_DONE;
}

static px_json_result
field_start(void *arg, char *name, bool isnull)
{
	walk	   *w = arg;

	/* Outside, the only field of interest is the plan. */
	if (w->levels != NIL)
		w->label = safe_label(name);
	else
		w->label = strcmp(name, "Plan") == 0 ? pstrdup(REMOTE_PLAN) : NULL;
	return PX_JSON_DONE;
}

static bool
is_cost(const char *label)
{
	return strcmp(label, "Startup Cost") == 0 ||
		strcmp(label, "Total Cost") == 0 || strcmp(label, "Plan Rows") == 0 ||
		strcmp(label, "Plan Width") == 0;
}

static void
put_scalar(walk *w, const char *token, JsonTokenType type)
{
	const char *point;
	double		number;
	int64		integer;

	switch (type)
	{
		case JSON_TOKEN_STRING:
			ExplainPropertyText(w->label, px_remote_text(token), w->es);
			break;
		case JSON_TOKEN_NUMBER:
			point = strchr(token, '.');
			number = strtod(token, NULL);
			if (isinf(number))
				ExplainPropertyText(w->label, token, w->es);
			else if (strpbrk(token, ".eE"))
				ExplainPropertyFloat(w->label, NULL, number,
									 point ? Min((int) strspn(point + 1,
															  "0123456789"),
												 9) :
											 0,
									 w->es);
			else
			{
				errno = 0;
				integer = strtoll(token, NULL, 10);
				if (errno == 0)
					ExplainPropertyInteger(w->label, NULL, integer, w->es);
				else
					ExplainPropertyText(w->label, token, w->es);
			}
			break;
		case JSON_TOKEN_TRUE:
		case JSON_TOKEN_FALSE:
			ExplainPropertyBool(w->label, type == JSON_TOKEN_TRUE, w->es);
			break;
		default:
			break;
	}
}

static px_json_result
scalar(void *arg, char *token, JsonTokenType type)
{
	walk	   *w = arg;
	level	   *l = innermost(w);

	if (l && l->is_array && !l->is_open)
		l->scalars = lappend(l->scalars, px_remote_text(token));
	else if (l && !l->is_array && w->label &&
			 (w->es->costs || !is_cost(w->label)))
		put_scalar(w, token, type);
	w->label = NULL;
	return PX_JSON_DONE;
}

void
px_remote_plan_json(const char *json, ExplainState *es)
{
	walk		w = {.es = es};
	JsonSemAction actions = {
		.semstate = &w,
		.object_start = object_start,
		.object_end = object_end,
		.array_start = array_start,
		.array_end = array_end,
		.object_field_start = field_start,
		.scalar = scalar,
	};
	text	   *copy = cstring_to_text(json);

	(void) pg_verifymbstr(json, (int) strlen(json), false);

	/* All of it must be well-formed before any of it is written. */
	pg_parse_json_or_ereport(px_json_lexer(copy), &(JsonSemAction) {0});
	pg_parse_json_or_ereport(px_json_lexer(copy), &actions);
}
