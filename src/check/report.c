/*-------------------------------------------------------------------------
 *
 * report.c
 *		The rows that exchange.check returns.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/builtins.h"
#include "utils/tuplestore.h"

#include "check/report.h"

#define REPORT_NCOLUMNS	6

void
px_report_add(px_report *report, px_finding finding)
{
	const char *texts[] = {
		report->server, finding.item, NULL, finding.fault, finding.found,
		finding.advice
	};
	Datum		values[REPORT_NCOLUMNS];
	bool		nulls[REPORT_NCOLUMNS];

	Assert(report->result->setDesc->natts == REPORT_NCOLUMNS);
	for (int i = 0; i < REPORT_NCOLUMNS; i++)
	{
		nulls[i] = texts[i] == NULL;
		values[i] = nulls[i] ? (Datum) 0 : CStringGetTextDatum(texts[i]);
	}
	nulls[2] = finding.unknown;
	values[2] = BoolGetDatum(finding.fault == NULL);
	tuplestore_putvalues(report->result->setResult, report->result->setDesc,
						 values, nulls);
}
