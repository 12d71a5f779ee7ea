/*-------------------------------------------------------------------------
 *
 * sample.h
 *		Samples of foreign tables, taken by their servers.
 *
 * One query reads the samples of several tables, by exchanges like any other
 * query: so all servers work at the same time, and rows travel as frames.
 *
 *-------------------------------------------------------------------------
 */
#ifndef PX_PLAN_SAMPLE_H
#define PX_PLAN_SAMPLE_H

#include "access/htup.h"
#include "access/tupdesc.h"
#include "nodes/pg_list.h"
#include "portability/instr_time.h"

#include "plan/ask_statistics.h"

typedef struct px_sample
{
	Oid			relid;
	Oid			owner;
	int			target;			/* rows that are wanted */

	/* What the server was asked beforehand; it may not have answered. */
	px_asked_table *asked;

	/*
	 * The rows, of the table's row type as it was when they were read; NULL
	 * before that.
	 */
	HeapTuple  *rows;
	TupleDesc	desc;
	int			nrows;
	double		nseen;			/* rows that have arrived */
	double		fraction;		/* of the table that was sent */
	MemoryContext context;		/* of rows, or NULL */
	double		milliseconds;	/* until the last row had arrived */
} px_sample;

/* The number of rows of the table, as far as the sample tells. */
extern double px_sample_total(const px_sample *sample);

/* Its size in pages; 1 at least. */
extern double px_sample_pages(const px_sample *sample);

/* Has the table still the row type that the rows have? */
extern bool px_sample_fits(const px_sample *sample, TupleDesc desc);

/*
 * Read samples (px_sample) of tables that have the same owner, who is the
 * current user.  Errors are those of a query that reads the tables.  The rows
 * are in contexts below CurrentMemoryContext.
 */
extern void px_samples_read(List *samples);

/* Keep so many rows at most, chosen at random. */
extern void px_sample_thin(px_sample *sample, int nrows);

/* Free the rows. */
extern void px_sample_free(px_sample *sample);

#endif							/* PX_PLAN_SAMPLE_H */
