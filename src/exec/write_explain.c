/*-------------------------------------------------------------------------
 *
 * write_explain.c
 *		What EXPLAIN says of foreign tables that are written to.
 *
 * A statement may route rows to thousands of partitions, for which it has a
 * single node.  So there is one sum for all, and each transport is named once.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"

#include "adapt/choice.h"
#include "compat.h"
#include "exec/explain_text.h"
#include "exec/write_explain.h"
#include "guc.h"

static const char *
mode_text(const px_write_explained *target)
{
	Oid			server = GetForeignTable(target->relid)->serverid;

	if (target->stats && target->stats->local)
		return psprintf("NONE (%s)", target->stats->local);
	return px_mode_name(
		px_mode_for_server(GetForeignServer(server)->servername));
}

/* The mode, or several if servers differ, and what was used. */
static const char *
compression_text(const px_write_explained *targets, int ntargets,
				 const px_write_stats *sum)
{
	List	   *names = NIL;
	StringInfoData buf;
	uint64		lz4 = sum->choices[PX_CHOICE_LZ4];
	uint64		zstd = sum->choices[PX_CHOICE_ZSTD];
	bool		has_choice = false;

	initStringInfo(&buf);
	for (int i = 0; i < ntargets; i++)
	{
		const char *name = mode_text(&targets[i]);
		ListCell   *lc;
		bool		is_new = true;

		if (targets[i].stats && targets[i].stats->local == NULL)
			has_choice = true;
		foreach(lc, names)
			is_new = is_new && strcmp(lfirst(lc), name) != 0;
		if (!is_new)
			continue;
		appendStringInfo(&buf, "%s%s", names != NIL ? ", " : "", name);
		names = lappend(names, unconstify(char *, name));
	}
	if (sum->frames > 0 && has_choice)
		appendStringInfo(&buf,
						 " (lz4 " UINT64_FORMAT " batches, zstd " UINT64_FORMAT
						 ", none " UINT64_FORMAT ")",
						 lz4, zstd, sum->frames - lz4 - zstd);
	return buf.data;
}

static const char *
transport_of(const px_write_explained *target)
{
	if (target->reason)
		return psprintf("postgres_fdw (%s)", target->reason);
	return target->stats ? target->stats->transport : NULL;
}

/* Each transport once, with the number of partitions if there are several. */
static void
explain_transports(const px_write_explained *targets, int ntargets,
				   ExplainState *es)
{
	List	   *transports = NIL;
	List	   *counts = NIL;
	StringInfoData buf;

	for (int i = 0; i < ntargets; i++)
	{
		const char *transport = transport_of(&targets[i]);
		ListCell   *lc;
		ListCell   *count;
		bool		is_new = transport != NULL;

		forboth(lc, transports, count, counts)
		{
			if (!is_new || strcmp(lfirst(lc), transport) != 0)
				continue;
			lfirst_int(count)++;
			is_new = false;
		}
		if (is_new)
		{
			transports = lappend(transports, unconstify(char *, transport));
			counts = lappend_int(counts, 1);
		}
	}
	if (transports == NIL)
		return;

	initStringInfo(&buf);
	for (int i = 0; i < list_length(transports); i++)
	{
		appendStringInfo(&buf, "%s%s", i > 0 ? ", " : "",
						 (char *) list_nth(transports, i));
		if (list_length(transports) > 1)
		{
			int			n = list_nth_int(counts, i);

			appendStringInfo(&buf, " (%d partition%s)", n, n == 1 ? "" : "s");
		}
	}
	ExplainPropertyText("Transport", buf.data, es);
}

static void
explain_text(const px_write_stats *sum, ExplainState *es)
{
	ExplainPropertyText("Wire",
						px_explain_wire(sum->wire_nbytes, sum->frames,
										sum->raw_nbytes),
						es);
	if (es->timing)
		ExplainPropertyText("Time",
							psprintf("encode %.1f ms, send wait %.1f ms, "
									 "apply %.1f ms",
									 sum->encode_ms, sum->wait_ms,
									 sum->apply_ms),
							es);
}

static void
explain_properties(const px_write_stats *sum, ExplainState *es)
{
	ExplainPropertyUInteger("Wire Bytes", NULL, sum->wire_nbytes, es);
	ExplainPropertyUInteger("Wire Batches", NULL, sum->frames, es);
	ExplainPropertyUInteger("Raw Bytes", NULL, sum->raw_nbytes, es);
	ExplainPropertyFloat("Ratio", NULL,
						 (double) sum->raw_nbytes / Max(sum->wire_nbytes, 1),
						 2, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Encode Time (ms)", NULL, sum->encode_ms, 3, es);
		ExplainPropertyFloat("Send Wait Time (ms)", NULL, sum->wait_ms, 3, es);
		ExplainPropertyFloat("Apply Time (ms)", NULL, sum->apply_ms, 3, es);
	}
}

static void
add_stats(px_write_stats *sum, const px_write_stats *stats)
{
	sum->rows += stats->rows;
	sum->frames += stats->frames;
	sum->raw_nbytes += stats->raw_nbytes;
	sum->wire_nbytes += stats->wire_nbytes;
	for (size_t i = 0; i < lengthof(sum->choices); i++)
		sum->choices[i] += stats->choices[i];
	sum->encode_ms += stats->encode_ms;
	sum->wait_ms += stats->wait_ms;
	sum->apply_ms += stats->apply_ms;
}

void
px_write_explain(const px_write_explained *targets, int ntargets,
				 ExplainState *es)
{
	px_write_stats sum = {0};
	bool		only_fdw = true;

	for (int i = 0; i < ntargets; i++)
	{
		if (targets[i].reason == NULL)
			only_fdw = false;
		if (targets[i].stats)
			add_stats(&sum, targets[i].stats);
	}
	if (!only_fdw)
		ExplainPropertyText("Compression",
							compression_text(targets, ntargets, &sum), es);
	explain_transports(targets, ntargets, es);
	if (sum.frames == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		explain_text(&sum, es);
	else
		explain_properties(&sum, es);
}
