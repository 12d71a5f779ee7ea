# pg_exchange.explain_remote between two servers, with auto_explain and
# pg_stat_statements on both: what they print and count, of parallel senders and
# receivers, in other encodings, and in the logs.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $observed = "shared_preload_libraries = 'pg_stat_statements, auto_explain'\ncompute_query_id = on\n" .
	"auto_explain.log_min_duration = -1\nauto_explain.log_analyze = on\nauto_explain.log_timing = off\n";
my $shard = new_shard('shard', extensions => [ 'pg_exchange', 'pg_stat_statements' ], conf => $observed . "
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
max_parallel_workers_per_gather = 2
");
my $coordinator = new_coordinator('coordinator', extensions => [ 'postgres_fdw', 'pg_exchange', 'pg_stat_statements' ],
	conf => $observed . "max_parallel_workers_per_gather = 0\npg_exchange.explain_remote = on\n");
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 50000) i;
	ANALYZE events});
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public LIMIT TO (events) FROM SERVER shard INTO public');

sub explained
{
	my ($options, $query, $settings, $database) = @_;
	return $coordinator->safe_psql($database // 'postgres', ($settings // '') . ";EXPLAIN ($options) $query");
}

# What is written to a server's log while something runs, and up to a plan of a
# node: a remote plan is logged when its portal goes, which nobody waits for.
sub log_of
{
	my ($node, $provider, $run) = @_;
	my $offset = -s $node->logfile;
	my $log = '';
	$run->();
	for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
	{
		$log = slurp_file($node->logfile, $offset);
		last if $log =~ /plan:.*$provider.*(?:Seq Scan|Transport: |"Server"|Server: )/s;
		usleep(100_000);
	}
	return $log;
}

# A parallel sender: the plan has what its workers have measured.
my $plan = explained('ANALYZE, BUFFERS OFF, COSTS OFF, TIMING OFF, SUMMARY OFF', 'SELECT * FROM events WHERE id > 10');
like($plan, qr/Remote Plan:\n\s+Custom Scan \(ExchangeForward\).*\n\s+->  Gather \(actual rows=\d+.*\n\s+Workers Planned: 2\n\s+Workers Launched: [12]\n\s+->  Parallel Custom Scan \(ExchangeSend\)/,
	'EXPLAIN shows the plan of a parallel sender');
my ($rows, $loops) = $plan =~ /Parallel Seq Scan on events \(actual rows=([\d.]+) loops=(\d)\)/;
ok($loops > 1 && abs($rows * $loops - 49990) <= $loops, 'it has the rows of all its workers') or diag($plan);
like(explained('COSTS OFF', 'SELECT * FROM events WHERE id > 10'),
	qr/Remote Plan:\n\s+Custom Scan \(ExchangeForward\)\n\s+->  Gather\n\s+Workers Planned: 2\n\s+->  Parallel Custom Scan \(ExchangeSend\)\n.*->  Parallel Seq Scan on events\n/s, 'EXPLAIN shows it without ANALYZE, too');

# Off: nothing of the kind, and plain EXPLAIN does not connect.
unlike(explained('ANALYZE', 'SELECT * FROM events', 'SET pg_exchange.explain_remote = off'), qr/Remote Plan/, 'there is no remote plan when explain_remote is off');
is($coordinator->safe_psql('postgres',
	'SET pg_exchange.explain_remote = off; CREATE TEMP TABLE x AS SELECT 1; PREPARE p AS SELECT * FROM events; EXPLAIN (COSTS OFF) EXECUTE p; SELECT count(*) FROM exchange.connections') =~ /\n(\d+)$/ && $1,
	'0', 'when it is off, EXPLAIN does not connect');

# A receiver in parallel: leader alone, or with workers.
my $parallel = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET pg_exchange.slices = 3';
like(explained('ANALYZE, COSTS OFF, TIMING OFF', 'SELECT count(*) FROM events WHERE random() < 2', $parallel),
	qr/Remote Plan:|No Remote Plan: workers have read the scan/, 'EXPLAIN shows the remote plan of a parallel receiver');
like(explained('ANALYZE, COSTS OFF, TIMING OFF', 'SELECT sum(id) FROM events WHERE abs(id) + length(name) > random()',
	"$parallel; SET parallel_leader_participation = off"),
	qr/Remote Plan/, 'a receiver whose leader does not read');

# The log of the coordinator: auto_explain with and without measuring.
my $query = 'SELECT * FROM events WHERE id <= 100';
my $log = log_of($coordinator, 'ExchangeReceive', sub { $coordinator->safe_psql('postgres', "LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; $query") });
like($log, qr/Custom Scan \(ExchangeReceive\) on events.*Transport: exchange v1, stream.*Remote Plan:.*Custom Scan \(ExchangeSend\).*Seq Scan on events.*Rows Removed by Filter/s,
	'auto_explain logs the remote plan');
$log = log_of($coordinator, 'ExchangeReceive', sub { $coordinator->safe_psql('postgres', "SET auto_explain.log_min_duration = 0; SET auto_explain.log_format = json; $query") });
my ($json) = $log =~ /plan:\n(\s*\{.*?\n\t\}\n)/s;
ok(defined $json, 'auto_explain logs JSON');
$json =~ s/^\t//mg;
is($coordinator->safe_psql('postgres', "SELECT jsonb_path_query_first(\$json\$$json\$json\$::jsonb, '\$.**.\"Remote Plan\".**.\"Relation Name\"')"),
	'"events"', 'the logged JSON has the remote plan');
$log = log_of($coordinator, 'ExchangeReceive', sub { $coordinator->safe_psql('postgres', "SET auto_explain.log_min_duration = 0; SET auto_explain.log_analyze = off; $query") });
like($log, qr/Custom Scan \(ExchangeReceive\) on events/, 'auto_explain without ANALYZE logs the plan');
unlike($log, qr/Remote Plan/, 'auto_explain without ANALYZE asks nobody for a remote plan');

# The log of the shard: the sender's own plan, with the node on top if asked for.
$shard->safe_psql('postgres', 'ALTER SYSTEM SET auto_explain.log_min_duration = 0; SELECT pg_reload_conf()');
for my $remote ('on', 'off')
{
	$log = log_of($shard, 'ExchangeSend', sub { explained('ANALYZE, COSTS OFF', $query, "SET pg_exchange.explain_remote = $remote") });
	like($log, qr/Query Text: SELECT exchange\.send.*Custom Scan \(ExchangeSend\).*Seq Scan on events/s, "auto_explain on the shard logs the query, explain_remote $remote");
	is($log =~ /ExchangePlan/ ? 'on' : 'off', $remote, 'ExchangePlan is there if, and only if, it was asked for');
}
$shard->safe_psql('postgres', 'ALTER SYSTEM RESET auto_explain.log_min_duration; SELECT pg_reload_conf()');

# pg_stat_statements: one entry for a query on either side, whatever the request says.
$_->safe_psql('postgres', 'SELECT pg_stat_statements_reset()') for $shard, $coordinator;
for my $remote ('on', 'off')
{
	$coordinator->safe_psql('postgres', "SET pg_exchange.explain_remote = $remote; SELECT count(name), max(id) FROM events WHERE random() < 2");
	explained('ANALYZE', 'SELECT name FROM events WHERE id > 5', "SET pg_exchange.explain_remote = $remote");
}
is($coordinator->safe_psql('postgres', q{SELECT calls, rows FROM pg_stat_statements WHERE query LIKE 'SELECT count(name)%'}), '2|2',
	'pg_stat_statements of the coordinator counts the query');
is($shard->safe_psql('postgres', q{SELECT sum(calls), count(*) FROM pg_stat_statements WHERE query LIKE 'SELECT exchange.send($1::pg_catalog.text, t.*)%public.events WHERE%'}), '2|1',
	'pg_stat_statements of the shard takes two requests for one query');

# Another encoding, here and there.
$shard->safe_psql('postgres', q{
	SET client_encoding = utf8;
	CREATE TABLE words AS SELECT i AS id, U&'gr\00fcn' AS word FROM generate_series(1, 100) i});
$coordinator->safe_psql('postgres', q{CREATE DATABASE latin1 ENCODING LATIN1 LOCALE 'C' TEMPLATE template0});
$coordinator->safe_psql('latin1', 'CREATE EXTENSION postgres_fdw; CREATE EXTENSION pg_exchange');
add_server($coordinator, 'shard', $shard, database => 'latin1');
$coordinator->safe_psql('latin1', 'CREATE FOREIGN TABLE words (id int, word text) SERVER shard');
for my $options ('ANALYZE', 'COSTS OFF', 'ANALYZE, FORMAT JSON', 'FORMAT XML')
{
	like(explained($options, q{SELECT * FROM words WHERE word = U&'gr\00fcn' AND id > 0}, "SET client_encoding = utf8", 'latin1'),
		qr/Remote.Plan.*gr\xc3\xbcn/s, "EXPLAIN works in Latin 1: $options");
}

# A remote that says something else than EXPLAIN would.
$shard->safe_psql('postgres', 'ALTER EXTENSION pg_exchange DROP FUNCTION exchange.send(text, record); ALTER FUNCTION exchange.send(text, record) RENAME TO saved');
like(explained('COSTS OFF', $query), qr/No Remote Plan: remote has functions of pg_exchange's names that are not pg_exchange's/, 'a remote that cannot tell its plan is no error');
$shard->safe_psql('postgres', 'ALTER FUNCTION exchange.saved(text, record) RENAME TO send; ALTER EXTENSION pg_exchange ADD FUNCTION exchange.send(text, record)');
like(explained('COSTS OFF', $query), qr/Remote Plan:/, 'a remote that can tell its plan does so');
$shard->stop('immediate');
like(explained('COSTS OFF', $query), qr/No Remote Plan: could not connect/, 'a remote that is away is no error of EXPLAIN');

done_testing();
