# Parallel plans on the coordinator: workers claim whole streams or slices,
# filter and join there, and hand rows to the leader through shared memory. And
# slices: a table read in several block ranges, of which no row is lost or
# doubled, whoever changes it meanwhile.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $coordinator = new_coordinator('coordinator', conf => <<EOC);
pg_exchange.local_scope = none
max_worker_processes = 16
max_parallel_workers_per_gather = 2
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
statement_timeout = '180s'
EOC
$coordinator->safe_psql('postgres', q{
	CREATE TABLE events (shard int, id int, name text) PARTITION BY LIST (shard);
	CREATE TABLE groups AS SELECT i AS id, 'group ' || i AS title FROM generate_series(0, 9) i;
	CREATE FUNCTION is_odd(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN RETURN $1 % 2 = 1; END$$;
	CREATE FUNCTION fails_at(int, int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS
		$$BEGIN IF $1 = $2 THEN RAISE 'row %', $1 USING ERRCODE = 'PX001'; END IF; RETURN true; END$$;
	CREATE FUNCTION is_slow(int) RETURNS bool LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$BEGIN PERFORM pg_sleep(0.3); RETURN true; END$$;
	CREATE TABLE held_up AS SELECT generate_series(1, 3) AS id;
	ANALYZE groups});
my @shards;
for my $n (1 .. 4)
{
	my $shard = new_shard("shard$n");
	$shard->safe_psql('postgres', qq{
		CREATE TABLE events AS SELECT $n AS shard, i * 4 + $n AS id, 'event ' || i AS name FROM generate_series(1, 25000) i;
		ANALYZE});
	add_server($coordinator, "shard$n", $shard);
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE events_$n PARTITION OF events FOR VALUES IN ($n) SERVER shard$n OPTIONS (table_name 'events')");
	push @shards, $shard;
}
$coordinator->safe_psql('postgres', q{
	SET pg_exchange.enabled = off;
	ANALYZE events});

my $session = open_session($coordinator);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}

# The same query, with and without exchanges, after some settings.
sub same
{
	my ($settings, $sql, $name) = @_;
	ask("BEGIN; $settings; SET LOCAL pg_exchange.enabled = off; SET LOCAL max_parallel_workers_per_gather = 0");
	my $expected = ask("$sql;");
	ask("ROLLBACK; BEGIN; $settings");
	my $got = ask("$sql;");
	is($session->{stderr}, '', "$name: there is no error");
	ask('ROLLBACK');
	ok($expected ne '', "$name: postgres_fdw has an answer");
	return is($got, $expected, "$name: the answer is the same");
}

my $filtered = 'SELECT count(*), sum(id), count(DISTINCT name) FROM events WHERE is_odd(id)';
my $one_filtered = 'SELECT count(*), sum(id), count(DISTINCT name) FROM events_2 WHERE is_odd(id + 1)';
my $one_joined = 'SELECT title, count(*), sum(e.id) FROM events_2 e JOIN groups g ON g.id = e.id % 10 WHERE is_odd(e.id + 1) GROUP BY title ORDER BY title';
my $joined = 'SELECT title, count(*), sum(e.id) FROM events e JOIN groups g ON g.id = e.id % 10 WHERE is_odd(e.id) GROUP BY title ORDER BY title';

# The plan.
{
	for ([$filtered, 'Gather', 'Exchange Type: Gather.*\(ExchangeReceive\)'], [$one_filtered, 'Receive', ''])
	{
		my ($sql, $node, $below) = @$_;
		my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $sql");
		like($plan, qr/Gather.*Workers Planned: [12].*Parallel Custom Scan \(Exchange$node\).*$below/s, "the plan is parallel: $sql");
		is(label('Local Transport', $plan), 'shm_mq (none)', 'rows between local processes are never compressed');
		like($plan, qr/Workers Launched: [12]/, 'workers are launched');
		unlike($plan, qr/Transport: postgres_fdw/, 'workers do not read by postgres_fdw');
	}
	like(ask("EXPLAIN (COSTS OFF) $_"), qr/Gather.*Partial.*Join.*Parallel Custom Scan/s, "workers join and aggregate: $_") for $joined, $one_joined;
	ask('SET pg_exchange.partial_aggregates = exact');
	unlike(ask("EXPLAIN (COSTS OFF) $_"), qr/Parallel Custom Scan/, "rows keep their order: $_") for $joined, $one_joined;
	ask('RESET pg_exchange.partial_aggregates');
}

# Results, whoever takes part.
my %participants = (
	'two workers' => '',
	'workers alone' => 'SET LOCAL parallel_leader_participation = off',
	'no worker to be had' => 'SET LOCAL max_parallel_workers = 0',
	'no worker to be had, and a leader that would not take part' =>
		'SET LOCAL max_parallel_workers = 0; SET LOCAL parallel_leader_participation = off',
	'more workers than streams' => 'SET LOCAL max_parallel_workers_per_gather = 6',
	'one connection per server' => 'SET LOCAL pg_exchange.max_connections_per_server = 1',
	'partition-wise' => 'SET LOCAL enable_partitionwise_aggregate = on; SET LOCAL enable_partitionwise_join = on');
for my $slices (1, 3)
{
	for my $who (sort keys %participants)
	{
		my $settings = ($slices > 1 ? "SET LOCAL pg_exchange.slices = $slices; " : '') . $participants{$who};
		same($settings, $filtered, "slices $slices, $who, filtered");
		same($settings, $joined, "slices $slices, $who, joined");
		same($settings, $one_filtered, "slices $slices, $who, one table");
		same($settings, $one_joined, "slices $slices, $who, one table, joined");
	}
	# Gather below a nested loop is run anew for each row.
	same(($slices > 1 ? "SET LOCAL pg_exchange.slices = $slices; " : '') .
		'SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_material = off',
		'SELECT g, x.* FROM generate_series(1, 4) g LEFT JOIN (SELECT count(*) AS n, max(id) AS id FROM events WHERE is_odd(id) GROUP BY shard) x ON x.n > g ORDER BY 1, 2, 3',
		"slices $slices, rescans");
	same(($slices > 1 ? "SET LOCAL pg_exchange.slices = $slices; " : ''),
		'SELECT shard, id FROM events WHERE is_odd(id) ORDER BY id LIMIT 20', "slices $slices, Gather Merge and LIMIT");
}

# A Gather that is rescanned, over streams with parameters: the leader may not
# read again what it has not claimed.
ask('SET plan_cache_mode = force_generic_plan; SET enable_material = off; SET enable_hashjoin = off; SET enable_mergejoin = off;
	PREPARE rescanned(int) AS SELECT count(*), sum(e.id) FROM generate_series(0, 2) x
		LEFT JOIN (SELECT * FROM events_2 WHERE id > $1 OFFSET 0) e ON e.id % 3 = x');
like(ask('EXPLAIN (COSTS OFF) EXECUTE rescanned(50000)'), qr/Nested Loop.*Gather.*Parallel Custom Scan/s, 'there is a Gather in a nested loop');
same('', 'EXECUTE rescanned(50000)', 'rescans with parameters');
ask('DEALLOCATE ALL; RESET plan_cache_mode; RESET enable_material; RESET enable_hashjoin; RESET enable_mergejoin');

# A subquery is rescanned before a hash table is made of it, and so are streams
# that an ExchangeGather begins before its children are run.
for my $aggregated (qw(off on))
{
	my $settings = "SET LOCAL pg_exchange.partial_aggregates = off; SET LOCAL enable_partitionwise_aggregate = $aggregated";
	for my $sql ('SELECT id FROM groups WHERE id + 49998 IN (SELECT count(*) FROM events WHERE is_odd(id)) OR id = 9 ORDER BY 1',
		'SELECT id FROM groups WHERE id * 3 + 4 NOT IN (SELECT id FROM events WHERE is_odd(id)) ORDER BY 1')
	{
		like(ask("BEGIN; $settings; EXPLAIN (COSTS OFF) $sql; ROLLBACK;"), qr/hashed SubPlan.*Gather.*Parallel Custom Scan \(ExchangeGather\)/s, "a hashed subquery is parallel, partition-wise $aggregated: $sql");
		same($settings, $sql, "a hashed subquery, partition-wise $aggregated: $sql");
	}
	same("$settings; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off; SET LOCAL enable_material = off",
		'SELECT g, n FROM generate_series(1, 3) g LEFT JOIN (SELECT count(*) AS n FROM events WHERE is_odd(id)) x ON n > g ORDER BY 1', "an aggregate in a nested loop, partition-wise $aggregated");
	same($settings, 'SELECT g, (SELECT n FROM (SELECT count(*) AS n FROM events WHERE is_odd(id) OFFSET 0) y WHERE n > g) FROM generate_series(0, 2) g', "a correlated subquery, partition-wise $aggregated");
	same($settings, 'SELECT g, x.* FROM generate_series(0, 1) g, LATERAL (SELECT count(*) FROM
		(SELECT id FROM (SELECT id + 1 AS id, name FROM events WHERE is_odd(id) UNION ALL SELECT id, title FROM groups) z WHERE is_odd(id + 1) OFFSET 0) y WHERE id > g) x', "a lateral UNION ALL, partition-wise $aggregated");
}

# Sessions of a role with few connections may end a little after their client.
sub await_none_of_few
{
	for my $shard (@shards[0, 1])
	{
		$shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'few'}) or die 'sessions stay';
	}
	return;
}

# A worker that gets no connection leaves its slices to the leader, which must
# get to the scan.
for my $limit (1 .. 4)
{
	$shards[$_]->safe_psql('postgres', "DROP ROLE IF EXISTS few; CREATE ROLE few LOGIN CONNECTION LIMIT $limit; GRANT pg_read_all_data TO few") for 0, 1;
	$coordinator->safe_psql('postgres', q{
		DROP SERVER IF EXISTS few1 CASCADE; DROP SERVER IF EXISTS few2 CASCADE; DROP TABLE IF EXISTS few} .
		join('', map { my $port = $shards[$_ - 1]->port; my $host = $shards[$_ - 1]->host;
			"; CREATE SERVER few$_ FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$host', port '$port', dbname 'postgres');
			CREATE USER MAPPING FOR CURRENT_USER SERVER few$_ OPTIONS (user 'few')" } 1, 2) . q{;
		CREATE TABLE few (shard int, id int, name text) PARTITION BY LIST (shard)} .
		join('', map { "; CREATE FOREIGN TABLE few_$_ PARTITION OF few FOR VALUES IN ($_) SERVER few$_ OPTIONS (table_name 'events')" } 1, 2) . q{;
		SET pg_exchange.enabled = off; ANALYZE few});
	await_none_of_few();
	my $other = open_session($coordinator);
	($session, $other) = ($other, $session);
	for my $slices (1, 3)
	{
		my $settings = "SET LOCAL pg_exchange.slices = $slices; SET LOCAL pg_exchange.partial_aggregates = off; ";
		same($settings, $_, "at most $limit connections, slices $slices: $_") for
			'SELECT count(*), sum(id) FROM few WHERE is_odd(id)', 'SELECT count(*), sum(id) FROM few_1 WHERE is_odd(id)',
			'SELECT count(*), sum(a.id) FROM few a JOIN few b USING (id) WHERE is_odd(a.id) AND is_odd(b.id)',
			'SELECT count(*), sum(a.id) FROM few_1 a JOIN few_1 b USING (id) WHERE is_odd(a.id)',
			'SELECT count(*), sum(id) FROM (SELECT id FROM few_1 WHERE is_odd(id) UNION ALL SELECT id FROM few_2 WHERE is_odd(id)) x',
			'WITH RECURSIVE r(n, id) AS (SELECT 1, 5 UNION ALL SELECT n + 1, j.id FROM r, (SELECT a.id FROM few a JOIN few b USING (id) WHERE is_odd(a.id) AND is_odd(b.id)) j
				WHERE j.id = r.id + 4 AND n < 4) SELECT * FROM r',
			('SELECT id FROM groups WHERE id * 3 + 4 NOT IN (SELECT id FROM few WHERE is_odd(id)) ORDER BY 1') x 5;
	}
	($session, $other) = ($other, $session);
	$other->quit;
}

# The leader is held up by rows of its own, and workers get no connection: they
# wait for it; but not if it wants no more rows.
ask('SET enable_seqscan = off; SET enable_mergejoin = off; SET enable_nestloop = off; SET pg_exchange.lookup_joins = off; SET pg_exchange.partial_aggregates = off; SET pg_exchange.join_exchange = off');
{
	my $join = 'SELECT a.id FROM few a JOIN few b USING (id) WHERE is_odd(a.id) AND is_odd(b.id)';
	my $late = "(SELECT id FROM held_up WHERE is_slow(id) UNION ALL $join) x";
	like(ask("EXPLAIN (COSTS OFF) SELECT count(*), sum(id) FROM $late"),
		qr/Gather\n.*Parallel Custom Scan \(ExchangeGather\).*Parallel Seq Scan on held_up.*Parallel Hash Join.*Parallel Custom Scan \(ExchangeGather\)/s, 'workers make a hash table while the leader is held up');
	await_none_of_few();
	$_->safe_psql('postgres', 'ALTER ROLE few CONNECTION LIMIT 1') for @shards[0, 1];
	same('', "SELECT count(*), sum(id) FROM $late", 'a leader that comes late');
	same('', "SELECT 1 FROM $late LIMIT 1", 'a leader that does not come');
	same('', "SELECT (SELECT count(*) FROM (SELECT id FROM $late LIMIT 2) y) FROM generate_series(1, 3)", 'the same below a subquery');
	same('SET LOCAL enable_nestloop = on; SET LOCAL enable_material = off; SET LOCAL enable_memoize = off',
		"SELECT g, n FROM generate_series(1, 3) g LEFT JOIN LATERAL (SELECT count(*) AS n FROM (SELECT id FROM $late WHERE id > g LIMIT 5) y) z ON true", 'the same in a nested loop');
	$_->safe_psql('postgres', 'ALTER ROLE few CONNECTION LIMIT -1') for @shards[0, 1];
}

# No server is asked before it is known which partitions are pruned, and none
# is left idle while workers read.
for my $sql (map { "SELECT count(*), sum(id)$_ FROM events WHERE shard = (SELECT min(id) + 2 FROM groups) AND is_odd(id)" } '', ', count(DISTINCT name)')
{
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $sql");
	like($plan, qr/Workers Launched: 0.*Parallel Custom Scan \(ExchangeGather\)/s, "partitions are pruned when the query runs: $sql");
	my $n = () = $plan =~ /\(ExchangeReceive\) on [^\n]* \(never executed\)/g;
	is($n, 3, 'three of them');
	same('', $sql, $sql);
}
$shards[1]->safe_psql('postgres', q{ALTER SYSTEM SET idle_in_transaction_session_timeout = '10s'; SELECT pg_reload_conf()});
ask('SELECT exchange.disconnect_all(); SELECT postgres_fdw_disconnect_all()');
like(ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $filtered"), qr/Workers Planned: 2.*Workers Launched: 0/s, 'the leader keeps a session awake, alone');
$shards[1]->safe_psql('postgres', q{ALTER SYSTEM RESET idle_in_transaction_session_timeout; SELECT pg_reload_conf()});
ask('SELECT exchange.disconnect_all(); SELECT postgres_fdw_disconnect_all()');

# However many partitions a server has, participants divide its connections.
{
	my $shard = $shards[0];
	$shard->safe_psql('postgres', join(';', map { "CREATE TABLE parts_$_ AS SELECT $_ AS shard, id, name FROM events" } 1 .. 13) .
		'; ANALYZE; ALTER SYSTEM SET log_connections = on; SELECT pg_reload_conf()');
	$coordinator->safe_psql('postgres', 'CREATE TABLE parts (shard int, id int, name text) PARTITION BY LIST (shard)' .
		join('', map { "; CREATE FOREIGN TABLE parts_$_ PARTITION OF parts FOR VALUES IN ($_) SERVER shard1" } 1 .. 13) .
		'; SET pg_exchange.enabled = off; ANALYZE parts');
	my $sql = $filtered =~ s/events/parts/r;
	ask('SELECT exchange.disconnect_all()');
	my $from = -s $shard->logfile;
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $sql");
	like($plan, qr/Workers Launched: 2.*Parallel Custom Scan \(ExchangeGather\)/s, 'participants read 13 partitions of one server');
	my $n = () = slurp_file($shard->logfile, $from) =~ /connection authorized: .*application_name=pg_exchange/g;
	ok($n >= 2 && $n <= 4, "over $n connections, at most 4");
	$from = -s $shard->logfile;
	$sql = 'SELECT count(*), sum(id) FROM (SELECT id FROM parts WHERE is_odd(id) UNION ALL SELECT -id FROM parts WHERE is_odd(id)) x';
	$plan = ask("SELECT exchange.disconnect_all(); EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $sql");
	like($plan, qr/Workers Launched: 2.*\(ExchangeGather\).*\(ExchangeGather\)/s, 'an ExchangeGather below an ExchangeGather');
	$n = () = slurp_file($shard->logfile, $from) =~ /connection authorized: .*application_name=pg_exchange/g;
	ok($n >= 2 && $n <= 6, "over $n connections, at most two for each participant");
	same('', $sql, 'an ExchangeGather below an ExchangeGather');
	$sql = $filtered =~ s/events/parts/r;
	same('', $sql, '13 partitions of one server');
	$shard->safe_psql('postgres', 'ALTER SYSTEM RESET log_connections; SELECT pg_reload_conf()');
}
# Before workers are launched, all servers are asked; but not where their rows
# may turn out not to be wanted: they may be locked.
{
	my $locker = open_session($shards[0]);
	$locker->query('BEGIN; LOCK TABLE parts_1, parts_13 IN ACCESS EXCLUSIVE MODE;');
	ask('SET pg_exchange.runtime_filters = off');
	for my $sql (q{SELECT count(*) FROM parts WHERE is_odd(id) AND current_setting('my.wanted') = 'yes'},
		'SELECT count(*) FROM parts WHERE is_odd(id) AND (SELECT count(*) FROM groups) < 0',
		'SELECT count(*) FROM (SELECT id FROM events_1 UNION ALL SELECT id FROM parts WHERE (SELECT count(*) FROM groups) < 0) x WHERE is_odd(id)',
		'SELECT count(*) FROM parts e JOIN groups g ON g.id = e.id WHERE is_odd(e.id) AND g.id > 100')
	{
		my $settings = "SET LOCAL my.wanted = 'no'; SET LOCAL statement_timeout = '60s'; SET LOCAL enable_seqscan = on";
		like(ask("BEGIN; $settings; EXPLAIN (COSTS OFF) $sql; ROLLBACK;"), qr/Workers Planned: 2.*Parallel Custom Scan \(ExchangeGather\)/s, "the plan is parallel: $sql");
		same($settings, $sql, "a table that is not wanted is locked: $sql");
	}
	ask('RESET pg_exchange.runtime_filters');
	$locker->query('ROLLBACK;');
	$locker->quit;

	my $plan = ask('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM parts WHERE is_odd(id) LIMIT 20000');
	like($plan, qr/Workers Planned: 2.*Workers Launched: 0/s, 'not all rows are wanted');
	my $n = () = $plan =~ /\(ExchangeReceive\) on [^\n]* \(never executed\)/g;
	cmp_ok($n, '>', 6, 'most partitions are not read');
	unlike($plan, qr/Transport: [^\n]*few rows/, 'but by a stream');
	like(ask('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT id FROM events_2 WHERE is_odd(id + 1) LIMIT 3'), qr/Workers Launched: 0.*Transport: [^\n]*\(few rows are wanted\)/s, 'few rows are wanted of a parallel scan');
}

ask('RESET enable_seqscan; RESET enable_mergejoin; RESET enable_nestloop; RESET pg_exchange.lookup_joins; RESET pg_exchange.partial_aggregates; RESET pg_exchange.join_exchange');

# Partitions are in the query's order, as without a parallel plan, also if a later one is larger.
{
	$shards[0]->safe_psql('postgres', 'CREATE TABLE small AS SELECT 1 AS shard, id, name FROM events WHERE id < 2000; ANALYZE small');
	$coordinator->safe_psql('postgres', q{
		CREATE TABLE sized (shard int, id int, name text) PARTITION BY LIST (shard);
		CREATE FOREIGN TABLE sized_1 PARTITION OF sized FOR VALUES IN (1) SERVER shard1 OPTIONS (table_name 'small');
		CREATE FOREIGN TABLE sized_2 PARTITION OF sized FOR VALUES IN (2) SERVER shard2 OPTIONS (table_name 'events');
		SET pg_exchange.enabled = off; ANALYZE sized});
	my $locker = open_session($shards[1]);
	$locker->query('BEGIN; LOCK TABLE events IN ACCESS EXCLUSIVE MODE;');
	my $sql = 'SELECT id FROM sized WHERE is_odd(id) LIMIT 100';
	like(ask("EXPLAIN (COSTS OFF) $sql"), qr/Parallel Custom Scan \(ExchangeGather\).*sized_1.*sized_2/s, 'a parallel plan in order of partitions');
	same(q{SET LOCAL statement_timeout = '60s'}, $sql, 'a later and larger partition is locked');
	$locker->query('ROLLBACK;');
	$locker->quit;
}

# An error in a worker, or of the leader's making.
for my $leader (qw(on off))
{
	ask("SET parallel_leader_participation = $leader; SELECT count(*) FROM events WHERE fails_at(id, 90003)");
	like($session->{stderr}, qr/ERROR:  row 90003/, "an error ends the query where the leader takes part: $leader");
	ask('SELECT count(*) FROM events WHERE is_odd(id) LIMIT 1');
	is($session->{stderr}, '', 'the session goes on after that error');
}
ask('RESET parallel_leader_participation');
ok($shards[0]->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND state <> 'idle'}),
	'nothing is left running on the shards');

# Slices: no row is lost or doubled while the table is updated, vacuumed and
# grows. The writer keeps count and sum of what a snapshot may see.
{
	my $shard = $shards[0];
	$shard->safe_psql('postgres', q{
		CREATE TABLE moving AS SELECT i AS id, 1 AS v, repeat('x', 200) AS filler FROM generate_series(1, 20000) i;
		CREATE TABLE rounds AS SELECT 0 AS n;
		CREATE TABLE stop (now bool);
		ANALYZE moving});
	$coordinator->safe_psql('postgres', 'CREATE FOREIGN TABLE moving (id int, v int, filler text) SERVER shard1;
		SET pg_exchange.enabled = off; ANALYZE moving');
	my $writer = $shard->background_psql('postgres', on_error_stop => 0);
	$writer->query_until(qr/begun/, q{\echo begun
		DO $$ BEGIN FOR n IN 1 .. 100000 LOOP
			UPDATE moving SET v = v + 1 WHERE id % 20 = n % 20;
			UPDATE moving SET v = v - 1 WHERE id % 20 = n % 20;
			INSERT INTO moving SELECT -i, 0, repeat('y', 200) FROM generate_series(1, 500) i;
			DELETE FROM moving WHERE id < 0 AND n % 3 = 0;
			UPDATE rounds SET n = rounds.n + 1;
			COMMIT;
			EXIT WHEN EXISTS (SELECT FROM stop);
		END LOOP; END $$;
		\echo ended
	});
	my ($wrong, $scans) = ('', 0);
	ask('SET pg_exchange.slices = 3');
	while ($scans < 40 || $shard->safe_psql('postgres', 'SELECT n FROM rounds') <= 10)
	{
		$shard->safe_psql('postgres', 'VACUUM moving') if $scans % 5 == 0;
		ask('SET max_parallel_workers_per_gather = ' . ($scans % 2 ? 0 : 2));
		my $got = ask(q{SELECT count(*) FILTER (WHERE id > 0), count(DISTINCT id) FILTER (WHERE id > 0), sum(v) FROM (SELECT id, v FROM moving OFFSET 0) x});
		$wrong = $got if $got ne '20000|20000|20000';
		$scans++;
	}
	is($wrong, '', "all of $scans scans see each row once");
	$shard->safe_psql('postgres', 'INSERT INTO stop VALUES (true)');
	like($shard->safe_psql('postgres', q{SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange'}), qr/^[3-9]$/,
		'the slices come over three connections at least');
	$writer->quit;

	# What cannot be sliced is one stream, and right.
	for my $sql ('SELECT count(*), sum(v) FROM moving WHERE id > 0', 'SELECT id FROM moving WHERE id > 0 ORDER BY id LIMIT 5',
		'SELECT count(*), count(b.id) FROM moving a LEFT JOIN moving b ON a.id = b.id + 1 WHERE a.id > 0',
		'SELECT id % 3, count(*) FROM moving WHERE id > 0 GROUP BY 1 ORDER BY 1')
	{
		same('SET LOCAL pg_exchange.slices = 3', $sql, "slices of: $sql");
	}
}
# A parallel scan that is left to postgres_fdw has a child that was not there when the workers' instruments were made.
$shards[1]->safe_psql('postgres', 'DROP EXTENSION pg_exchange');
for my $workers (0, 2)
{
	ask("SELECT exchange.disconnect_all(); SET max_parallel_workers = $workers; RESET max_parallel_workers_per_gather");
	my $plan = ask("EXPLAIN (ANALYZE, VERBOSE, TIMING OFF, COSTS OFF, SUMMARY OFF) $one_joined;");
	is($session->{stderr}, '', "a parallel scan without an exchange, of $workers workers: no error");
	like($plan, qr/Parallel Custom Scan \(ExchangeReceive\).*Transport: postgres_fdw \(remote has no pg_exchange\).*Foreign Scan/s, 'EXPLAIN has its child');
}
$session->quit;

done_testing();
