/*-------------------------------------------------------------------------
 *
 * types_question.h
 *		What is asked of a remote about the types of columns.
 *
 * The question that px_ask_types_begin takes is put together of the queries
 * that it is about.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_TYPES_QUESTION_H
#define PX_PLAN_TYPES_QUESTION_H

#include "lib/stringinfo.h"
#include "nodes/pg_list.h"

typedef struct px_types_question
{
	StringInfoData tests;
	StringInfoData from;
	int			nqueries;
} px_types_question;

extern void px_types_question_begin(px_types_question *question);

/*
 * Have the columns of a remote query the types that are declared here?
 * columns is parallel to its columns: expressions, or NULL for one that may
 * have any type.  Those that are members of ordered must also have the order
 * that they have here.
 */
extern void px_types_question_add(px_types_question *question,
								  const char *sql, const List *columns,
								  const List *ordered);

/* Would the answer to another question be yes, too?  It may be NIL. */
extern void px_types_question_add_other(px_types_question *question,
										const List *types);

/*
 * What px_ask_types_begin takes; see px_ask_types_item about nparams.  NIL if
 * any types will do.
 */
extern List *px_types_question_end(const px_types_question *question,
								   int nparams);

#endif							/* PX_PLAN_TYPES_QUESTION_H */
