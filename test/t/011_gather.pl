# Many streams at once: ExchangeGather starts those of all servers before it
# reads any, returns rows from whichever is ready, or merges them in order, and
# leaves nothing running when it is left early.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $coordinator = new_coordinator('coordinator');
$coordinator->safe_psql('postgres', q{
	CREATE TABLE events (shard int, id int, name text) PARTITION BY LIST (shard);
	CREATE TABLE endless (shard int, id int, filler text) PARTITION BY LIST (shard);
	CREATE TABLE wide (shard int, id int, filler text) PARTITION BY LIST (shard);
	CREATE TABLE gated (shard int, id int) PARTITION BY LIST (shard);
	CREATE TABLE failing (shard int, id int, filler text) PARTITION BY LIST (shard)});

# Four servers. "endless" and "wide" keep their backends blocked in sending,
# "gated" waits at a gate of its server before its first row, "failing" raises an error after many
# rows, on the third server alone. (nap says that it is immutable, so that it may
# be called by a stream.)
my (@shards, @gates);
for my $n (1 .. 4)
{
	my $shard = new_shard("shard$n");
	push @gates, make_gate($shard);
	$shard->safe_psql('postgres', qq{
		CREATE FUNCTION nap(float8) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT pg_sleep(\$1)::text';
		CREATE TABLE events AS SELECT $n AS shard, i * 4 + $n AS id, 'event ' || i AS name FROM generate_series(1, 5000) i;
		CREATE INDEX ON events (id);
		CREATE VIEW endless AS SELECT $n AS shard, id, repeat('x', 1000) AS filler FROM (SELECT generate_series(1, 2000000000) AS id) x;
		CREATE VIEW gated AS SELECT $n AS shard, i AS id FROM generate_series(1, 10) i WHERE CASE WHEN i = 1 THEN at_gate(i) ELSE true END;
		CREATE VIEW trickle AS SELECT 1 AS one FROM (SELECT generate_series(1, 2000) AS i) x
			WHERE nap(CASE WHEN i < 500 THEN 0.001 ELSE 600 END) IS NOT NULL;
		CREATE TABLE wide AS SELECT $n AS shard, i AS id, repeat('x', 1000) AS filler FROM generate_series(1, 10000) i;
		CREATE INDEX ON wide (id);
		CREATE VIEW failing AS SELECT $n AS shard, id, repeat('x', 1000 / CASE WHEN id = 30000 AND $n = 3 THEN 0 ELSE 1 END) AS filler
			FROM (SELECT generate_series(1, 2000000000) AS id) x;
		ANALYZE});
	add_server($coordinator, "shard$n", $shard);
	$coordinator->safe_psql('postgres', join(';', map {
		"CREATE FOREIGN TABLE ${_}_$n PARTITION OF $_ FOR VALUES IN ($n) SERVER shard$n OPTIONS (table_name '$_')"
	} qw(events endless wide gated failing)));
	push @shards, $shard;
}
# Rows of a millisecond each, of which frames take next to nothing; the last ones never come.
$coordinator->safe_psql('postgres', q{CREATE FOREIGN TABLE trickle (one int) SERVER shard1 OPTIONS (fetch_size '1')});
# For a LIMIT there are streams only if it is more than ten FETCHes.
my $fetch_one = 'ALTER FOREIGN TABLE %s OPTIONS (ADD fetch_size $$1$$);';
$coordinator->safe_psql('postgres', join('', map { sprintf($fetch_one, "endless_$_") . sprintf($fetch_one, "wide_$_") } 1 .. 4));
# A partition that is here.
$coordinator->safe_psql('postgres', q{
	CREATE TABLE mixed (shard int, id int, name text);
	CREATE TABLE mixed_local () INHERITS (mixed);
	INSERT INTO mixed_local SELECT 0, i, 'local ' || i FROM generate_series(1, 1000) i;
	CREATE FOREIGN TABLE mixed_1 () INHERITS (mixed) SERVER shard1 OPTIONS (table_name 'events');
	CREATE FOREIGN TABLE mixed_2 () INHERITS (mixed) SERVER shard2 OPTIONS (table_name 'events');
	SET pg_exchange.enabled = off;
	ANALYZE events; ANALYZE mixed});

my $session = open_session($coordinator);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
ask("SET statement_timeout = '180s'");

# Streams at work on each server: "1 1 1 1".
sub streams
{
	return join(' ', map { $_->safe_psql('postgres', q{
		SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND state = 'active'}) } @shards);
}

# Wait for so many streams on each server.
sub streams_become
{
	my ($expected, $name) = @_;
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	my $got = streams();
	while ($got ne $expected && time() < $until)
	{
		usleep(20_000);
		$got = streams();
	}
	return is($got, $expected, $name);
}

# Send a query and do not wait for what it returns; ask('') then does.
sub send_query
{
	my ($sql) = @_;
	$session->{stderr} = '';
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	return;
}

# The same query, with and without exchanges.
sub same
{
	my ($sql, $name) = @_;
	my $expected = ask("SET pg_exchange.enabled = off; $sql");
	my $got = ask("SET pg_exchange.enabled = on; $sql");
	ok($expected ne '', "$name: postgres_fdw has an answer");
	is($got, $expected, "$name: the answer is the same");
	return is($session->{stderr}, '', "$name: there is no error");
}

# Small frames do not wait for others.
is(ask('SELECT count(*) FROM (SELECT FROM trickle WHERE random() >= 0 LIMIT 20) x'), '20',
	'some rows of a slow query come before all of them are there');

# What EXPLAIN says.
my $scan = 'SELECT * FROM events;';
my $ordered = 'SELECT * FROM events ORDER BY id;';
{
	my $plan = ask("EXPLAIN (COSTS OFF) $scan");
	like($plan, qr/^Custom Scan \(ExchangeGather\)/, 'a Gather takes the place of Append');
	is(label('Exchange Type', $plan), 'Gather', 'EXPLAIN names the type Gather');
	is(scalar(() = $plan =~ /->  Custom Scan \(ExchangeReceive\)/g), 4, 'there are four streams below it');
	unlike($plan, qr/Append/, 'there is no Append then');
	is(streams(), '0 0 0 0', 'plain EXPLAIN does not connect');

	$plan = ask("EXPLAIN (COSTS OFF) $ordered");
	like($plan, qr/Custom Scan \(ExchangeGather\)/, 'a Gather takes the place of MergeAppend');
	is(label('Exchange Type', $plan), 'Merge', 'EXPLAIN names the type Merge');
	unlike($plan, qr/Append/, 'there is no MergeAppend');

	my $json = ask("EXPLAIN (ANALYZE, FORMAT JSON) $scan");
	like($json, qr/"Custom Plan Provider": "ExchangeGather"/, 'JSON names the node');
	like($json, qr/"Exchange Type": "Gather"/, 'JSON has its type');
	$plan = ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) $scan");
	like($plan, qr/^Custom Scan \(ExchangeGather\) \(actual rows=20000(\.00)? loops=1\)/, 'ANALYZE counts its rows');
	is(scalar(() = $plan =~ /Transport: exchange v1, stream/g), 4, 'all of its rows come by exchange');

	like(ask('EXPLAIN (COSTS OFF) SELECT name FROM mixed'), qr/^Custom Scan \(ExchangeGather\).*Seq Scan on mixed_local/s,
		'a local child stays below it');
	like(ask('EXPLAIN (COSTS OFF) SELECT id FROM events_1 UNION ALL SELECT id FROM events_2'),
		qr/^Custom Scan \(ExchangeGather\)/, 'UNION ALL has a Gather');
	like(ask('SET enable_partitionwise_aggregate = on; EXPLAIN (COSTS OFF) SELECT shard, count(*) FROM events GROUP BY shard'),
		qr/ExchangeGather/, 'partition-wise aggregates have a Gather');
	like(ask('EXPLAIN (COSTS OFF) SELECT * FROM events_1'), qr/^Custom Scan \(ExchangeReceive\)/, 'a single stream needs no Gather');
	like(ask("SET pg_exchange.enabled = off; EXPLAIN (COSTS OFF) $scan"), qr/^Append/, 'switched off, Append is as it was');
	ask('RESET enable_partitionwise_aggregate; SET pg_exchange.enabled = on');
}

# Below a LIMIT, streams begin at all servers if they do so without exchanges, too.
sub set_async
{
	my ($action) = @_;
	return $coordinator->safe_psql('postgres', join(';', map { "ALTER SERVER shard$_ OPTIONS ($action)" } 1 .. 4));
}

# Results.
my $rows = "SELECT count(*), sum(id), count(DISTINCT name) FROM";
same("$rows (SELECT * FROM events OFFSET 0) x;", 'all rows');
same("$ordered;", 'rows in order');
same('SELECT id, name FROM events ORDER BY id DESC LIMIT 50 OFFSET 100;', 'the other order, and LIMIT');

# All rows have been sent, and some are not wanted: that takes no cancel, which would be a connection.
for my $shard (@shards)
{
	$shard->append_conf('postgresql.conf', 'log_connections = on');
	$shard->reload;
}
my $first = 'SELECT id, name FROM events ORDER BY id LIMIT 10';
ask($first) for 1 .. 2;
my @logged = map { -s $_->logfile } @shards;
ask($first);
unlike(slurp_file($shards[$_]->logfile, $logged[$_]), qr/connection received/, "shard $_ is sent no cancel for rows that have come") for 0 .. $#shards;
same("$rows mixed;", 'a local child');
same('SELECT id, name FROM mixed ORDER BY id, name LIMIT 3000;', 'a local child in order');
same('SELECT shard, count(*) FROM events WHERE id % 3 = 0 GROUP BY shard ORDER BY shard;', 'groups');
same("$rows (SELECT id, name FROM events_1 UNION ALL SELECT id, name FROM events_4 UNION ALL SELECT 1, 'x') x;", 'UNION ALL');
same('SELECT g, e.* FROM generate_series(1, 60) g CROSS JOIN LATERAL (SELECT * FROM events WHERE id = g * 7 OFFSET 0) e ORDER BY g, id;',
	'rescans with a parameter');
same("SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off;
	SELECT count(*), sum(e.id) FROM generate_series(1, 3) g JOIN (SELECT * FROM events OFFSET 0) e ON e.id > g; RESET ALL;
	SET statement_timeout = '180s';", 'rescans without');
same("SET enable_partitionwise_join = on; SET enable_partitionwise_aggregate = on;
	SELECT a.shard, count(*), sum(b.id) FROM events a JOIN events b ON a.shard = b.shard AND a.id = b.id GROUP BY a.shard ORDER BY 1;
	RESET enable_partitionwise_join; RESET enable_partitionwise_aggregate;", 'joined partition-wise');
same("SET plan_cache_mode = force_generic_plan; PREPARE p (int) AS $rows events WHERE shard = \$1;
	EXECUTE p (2); EXECUTE p (4); EXECUTE p (5); DEALLOCATE p; RESET plan_cache_mode;", 'pruned at run time');
{
	my @offsets = map { -s $_->logfile } @shards;
	ask('SET plan_cache_mode = force_generic_plan; PREPARE p (int) AS SELECT name FROM events WHERE shard = $1; EXECUTE p (3); DEALLOCATE p; RESET plan_cache_mode');
	is(join(' ', map { scalar(() = slurp_file($shards[$_]->logfile, $offsets[$_]) =~ /LOG: .*SELECT exchange\.send\(/g) } 0 .. 3),
		'0 0 1 0', 'only the partition that is left after pruning is asked');
}

# All at once: while the consumer stands still at the first row, every server is
# at work, blocked in sending.
my $gate = make_gate($coordinator);
set_async(q{ADD async_capable 'true'});
ask("SET pg_exchange.receive_buffer = '4MB'");
for my $query ('SELECT id, filler FROM endless OFFSET 0', 'SELECT id, filler FROM wide ORDER BY id OFFSET 0')
{
	$gate->query('SELECT pg_advisory_lock(7)');
	$session->query_until(qr/sent/, "\\echo sent\nSELECT count(*), max(length(filler)) FROM (SELECT filler FROM ($query) x WHERE at_gate(id) LIMIT 60) y;\n");
	streams_become('1 1 1 1', 'all servers send while the consumer stands still');
	usleep(1_000_000);
	is(streams(), '1 1 1 1', 'they go on, one stream on each');
	$gate->query('SELECT pg_advisory_unlock(7)');
	is(ask(''), '60|1000', "the first rows come: $query");
	streams_become('0 0 0 0', 'a LIMIT that is reached leaves nothing running');
}
ask('RESET pg_exchange.receive_buffer');
$gate->quit;
set_async('DROP async_capable');

# LIMIT.
ask('BEGIN');
is(ask('SELECT count(*) FROM (SELECT shard, id FROM endless LIMIT 20) x'), 20, 'a LIMIT of 20 has 20 rows');
streams_become('0 0 0 0', 'a LIMIT of 20 leaves nothing running');
like(ask('SELECT shard, id FROM endless LIMIT 1'), qr/^\d\|1$/, 'a LIMIT of 1 has a row');
is(ask("$rows (SELECT * FROM events OFFSET 0) x"), '20000|200090000|5000', 'the transaction goes on');
ask('COMMIT');

# Close and open the gates of servers, which are counted from 1.
sub close_gates { $gates[ $_ - 1 ]->query('SELECT pg_advisory_lock(7)') for @_; return; }
sub open_gates { $gates[ $_ - 1 ]->query('SELECT pg_advisory_unlock(7)') for @_; return; }

# Four servers that are slow to begin are slow together.
for my $order ('', 'ORDER BY id')
{
	close_gates(1 .. 4);
	send_query("SELECT count(*) FROM (SELECT * FROM gated $order OFFSET 0) x");
	streams_become('1 1 1 1', "no server waits for another one to begin, $order");
	open_gates(1 .. 4);
	is(ask(''), 40, "all their rows come, $order");
}

# Whichever is ready comes first.
{
	my $union = 'SELECT shard FROM gated_1 UNION ALL SELECT shard FROM events_2';
	my @tables = qw(gated_1 events_2);
	$coordinator->safe_psql('postgres', join('', map { sprintf($fetch_one, $_) } @tables));
	my $limited = "SELECT count(*), min(shard), max(shard) FROM (SELECT shard FROM ($union) x LIMIT 20) y";
	close_gates(1);
	send_query($limited);
	streams_become('1 0 0 0', 'if the first server has all that a LIMIT wants, nothing begins at another one');
	open_gates(1);
	is(ask(''), '20|1|2', 'it has not, so the others are asked');
	set_async(q{ADD async_capable 'true'});
	close_gates(1);
	is(ask($limited), '20|2|2', 'a server that is ready does not wait for one that is not');
	streams_become('0 0 0 0', 'the other one does not go on waiting');
	open_gates(1);
	set_async('DROP async_capable');
	$coordinator->safe_psql('postgres', join('', map { "ALTER FOREIGN TABLE $_ OPTIONS (DROP fetch_size);" } @tables));
	is(ask("SELECT count(*), sum(shard) FROM ($union) x"), '5010|10010', 'it gets all rows in the end');
}

# EXCEPT and INTERSECT count on reading one side before the other.
for ([ 'SELECT id FROM gated_1 EXCEPT SELECT id FROM events WHERE shard = 2 AND id < 8 EXCEPT SELECT generate_series(1, 4) ORDER BY 1', '5 7 8 9 10' ],
	[ 'SELECT id FROM gated_1 INTERSECT SELECT generate_series(8, 20) ORDER BY 1', '8 9 10' ])
{
	my ($query, $expected) = @$_;
	close_gates(1);
	send_query($query);
	streams_become('1 0 0 0', "the first side of a set operation is the slow one: $query");
	open_gates(1);
	is(ask(''), join("\n", split(/ /, $expected)), "that does not change the result: $query");
}

# A local child runs while the sockets fill.
{
	my $here = make_gate($coordinator, 'at_local_gate');
	$here->query('SELECT pg_advisory_lock(7)');
	close_gates(1, 2);
	send_query('SELECT count(*) FROM (SELECT id FROM gated_1 UNION ALL SELECT id FROM gated_2 UNION ALL SELECT i FROM generate_series(1, 1) i WHERE at_local_gate(i)) x');
	streams_become('1 1 0 0', 'servers work');
	ok($coordinator->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}),
		'a local child runs while they do');
	open_gates(1, 2);
	$here->query('SELECT pg_advisory_unlock(7)');
	is(ask(''), 21, 'all rows come');
	$here->quit;
}

# Errors and cancel.
ask(q{SET statement_timeout = '180s'});
ask('SELECT count(filler) FROM (SELECT filler FROM failing OFFSET 0) x');
like($session->{stderr}, qr/ERROR:  division by zero\n/, 'an error of one server is the error of the query');
streams_become('0 0 0 0', 'that error leaves nothing running on the others');
ask("SET statement_timeout = '1s'; SELECT count(filler) FROM (SELECT filler FROM endless OFFSET 0) x");
like($session->{stderr}, qr/canceling statement due to statement timeout/, 'statement_timeout ends the query');
streams_become('0 0 0 0', 'statement_timeout leaves nothing running');
ask("SET statement_timeout = '180s'");
ask('BEGIN');
ask("$rows (SELECT * FROM events OFFSET 0) x");	# a snapshot cannot be had in a subtransaction
ask('SAVEPOINT s; SELECT count(filler) FROM (SELECT filler FROM failing OFFSET 0) x');
like($session->{stderr}, qr/ERROR:  division by zero\n/, 'an error of one server ends a query in a subtransaction');
ask('ROLLBACK TO s');
is(ask("$rows (SELECT * FROM events OFFSET 0) x"), '20000|200090000|5000', 'the transaction goes on after it');
ask('COMMIT');

# A server without the extension, among others.
$shards[1]->safe_psql('postgres', 'DROP EXTENSION pg_exchange');
my $other = open_session($coordinator);
is($other->query("$rows (SELECT * FROM events OFFSET 0) x;"), '20000|200090000|5000', 'all rows come of a server that has no pg_exchange');
is(join(',', $other->query("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $scan") =~ /Transport: (\w+)/g),
	'exchange,postgres_fdw,exchange,exchange', 'only its own rows come by postgres_fdw');
is($other->query('SELECT id FROM events ORDER BY id LIMIT 5;'), join("\n", 5 .. 9), 'the rows come in order, too');
is($other->{stderr}, '', 'there is no error');
$other->quit;
$_->quit for $session, @gates;

done_testing();
