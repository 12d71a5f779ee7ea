/*-------------------------------------------------------------------------
 *
 * report.h
 *		The rows that exchange.check returns.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_CHECK_REPORT_H
#define PX_CHECK_REPORT_H

#include "foreign/foreign.h"
#include "nodes/execnodes.h"

typedef struct px_report
{
	ReturnSetInfo *result;		/* rows are put there */
	const char *server;			/* that rows are about; NULL: this one */
} px_report;

/* What exchange.check has found out about one thing. */
typedef struct px_finding
{
	const char *item;			/* what was looked at */
	const char *fault;			/* a name for what is wrong; NULL: nothing */
	const char *found;			/* words of a remote are in the database
								 * encoding by now */
	const char *advice;			/* what to do about it; may be NULL, and
								 * may be there if nothing is wrong */
	bool		unknown;		/* it could not be looked at */
} px_finding;

/* Add a row. */
extern void px_report_add(px_report *report, px_finding finding);

#endif							/* PX_CHECK_REPORT_H */
