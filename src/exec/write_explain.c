/*-------------------------------------------------------------------------
 *
 * write_explain.c
 *		What EXPLAIN says of a foreign table that is written to.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "foreign/foreign.h"
#include "utils/rel.h"

#include "adapt/choice.h"
#include "compat.h"
#include "exec/explain_text.h"
#include "exec/write_explain.h"
#include "guc.h"

static const char *
compression_text(px_mode mode, const px_write_stats *stats)
{
	const char *name = px_mode_name(mode);
	uint64		lz4;
	uint64		zstd;

	if (stats == NULL || stats->frames == 0 || mode == PX_MODE_NONE)
		return name;
	lz4 = stats->choices[PX_CHOICE_LZ4];
	zstd = stats->choices[PX_CHOICE_ZSTD];
	if (mode == PX_MODE_AUTO)
		return psprintf("AUTO (lz4 " UINT64_FORMAT " batches, zstd "
						UINT64_FORMAT ", none " UINT64_FORMAT ")",
						lz4, zstd, stats->frames - lz4 - zstd);
	return psprintf("%s (%s)", name,
					lz4 > 0 ? "lz4" : zstd > 0 ? "zstd" : "none");
}

static void
explain_text(const px_write_stats *stats, ExplainState *es)
{
	ExplainPropertyText("Wire",
						px_explain_wire(stats->wire_nbytes, stats->frames,
										stats->raw_nbytes),
						es);
	if (es->timing)
		ExplainPropertyText("Time",
							psprintf("encode %.1f ms, send wait %.1f ms, "
									 "apply %.1f ms",
									 stats->encode_ms, stats->wait_ms,
									 stats->apply_ms),
							es);
}

static void
explain_properties(const px_write_stats *stats, ExplainState *es)
{
	ExplainPropertyUInteger("Wire Bytes", NULL, stats->wire_nbytes, es);
	ExplainPropertyUInteger("Wire Batches", NULL, stats->frames, es);
	ExplainPropertyUInteger("Raw Bytes", NULL, stats->raw_nbytes, es);
	ExplainPropertyFloat("Ratio", NULL,
						 stats->wire_nbytes > 0 ? (double) stats->raw_nbytes /
						 stats->wire_nbytes : 0.0,
						 2, es);
	if (es->timing)
	{
		ExplainPropertyFloat("Encode Time (ms)", NULL, stats->encode_ms, 3,
							 es);
		ExplainPropertyFloat("Send Wait Time (ms)", NULL, stats->wait_ms, 3,
							 es);
		ExplainPropertyFloat("Apply Time (ms)", NULL, stats->apply_ms, 3, es);
	}
}

void
px_write_explain(Relation relation, const px_write_stats *stats,
				 const char *reason, ExplainState *es)
{
	const ForeignServer *server = GetForeignServer(
		GetForeignTable(RelationGetRelid(relation))->serverid);

	if (reason)
	{
		ExplainPropertyText("Transport",
							psprintf("postgres_fdw (%s)", reason), es);
		return;
	}
	ExplainPropertyText(
		"Compression",
		compression_text(px_mode_for_server(server->servername), stats), es);
	if (stats == NULL)
		return;
	ExplainPropertyText("Transport", stats->transport, es);
	if (stats->frames == 0)
		return;
	if (es->format == EXPLAIN_FORMAT_TEXT)
		explain_text(stats, es);
	else
		explain_properties(stats, es);
}
