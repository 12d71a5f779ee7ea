/*-------------------------------------------------------------------------
 *
 * pg_exchange.c
 *		Library entry point: initializes each module.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

#include "conn/stamp.h"
#include "exec/run.h"
#include "exec/trim.h"
#include "guc.h"
#include "library.h"
#include "node/armour.h"
#include "node/broadcast.h"
#include "node/forward.h"
#include "node/gather.h"
#include "node/inbox.h"
#include "node/insert.h"
#include "node/key_scan.h"
#include "node/keys.h"
#include "node/lookup.h"
#include "node/modify.h"
#include "node/plan.h"
#include "node/receive.h"
#include "node/send.h"
#include "node/unpack.h"
#include "plan/append_agg.h"
#include "plan/append_rows.h"
#include "plan/apply_call.h"
#include "plan/broadcast.h"
#include "plan/estimate.h"
#include "plan/filter_cost.h"
#include "plan/join_record.h"
#include "plan/key_descents.h"
#include "plan/late_pruning.h"
#include "plan/lookup.h"
#include "plan/marker.h"
#include "plan/nestloop.h"
#include "plan/partial_agg.h"
#include "plan/partitionwise.h"
#include "plan/paths.h"
#include "plan/place.h"
#include "plan/plain_explain.h"
#include "plan/rewrite.h"
#include "plan/row_function.h"
#include "plan/unpack.h"
#include "plan/whole_agg.h"
#include "plan/write_mark.h"
#include "stats/stats.h"
#include "tuple/pglz.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

void
_PG_init(void)
{
	px_library_init();
	px_guc_init();
	px_pglz_init();
	px_stamp_init();
	px_stats_init();
	px_send_init();
	px_forward_node_init();
	px_plan_node_init();
	px_armour_node_init();
	px_unpack_node_init();
	px_inbox_node_init();
	px_marker_init();
	px_key_descents_init();
	px_receive_init();
	px_gather_init();
	px_insert_node_init();
	px_lookup_init();
	px_keys_init();
	px_key_scan_init();
	px_broadcast_init();
	px_run_init();
	px_trim_init();
	px_modify_init();
	px_estimate_init();
	px_plain_explain_init();
	px_paths_init();
	px_partial_agg_init();
	px_whole_agg_init();
	px_append_agg_init();
	px_join_record_init();
	px_broadcast_plan_init();
	px_partitionwise_init();
	px_late_pruning_init();
	px_append_rows_init();
	px_lookup_plan_init();
	px_filter_cost_init();
	px_nestloop_init();
	px_place_init();
	px_rewrite_init();
	px_write_mark_init();
	px_apply_call_plan_init();
	px_row_function_plan_init();
	px_unpack_plan_init();
}
