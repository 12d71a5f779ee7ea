# Many servers on this host: their backends take its processors from the one
# that reads.  So some begin at once, and others when they have begun, or when
# the reader has nothing to read.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $servers = 24;
my $at_once = 8;
my $shard = new_shard('shard', conf => "max_connections = 120\n");
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.min_bytes = 0\n");
$coordinator->safe_psql('postgres', q{
	CREATE TABLE parts (id int, v text, part int) PARTITION BY LIST (part);
	CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (0);
	INSERT INTO part_0 VALUES (0, 'here', 0)});

# A view waits at its first row while there is the file.
my $gate = $shard->data_dir . '/closed';
$shard->safe_psql('template1', q{
	CREATE EXTENSION pg_exchange;
	CREATE FUNCTION gate(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
		BEGIN
			WHILE (pg_stat_file('closed', true)).size IS NOT NULL LOOP PERFORM pg_sleep(0.01); END LOOP;
			RETURN n;
		END$$});
for my $n (1 .. $servers)
{
	$shard->safe_psql('postgres', "CREATE DATABASE db$n");
	$shard->safe_psql("db$n", qq{
		CREATE TABLE rows AS SELECT i AS id, 'row ' || i AS v, $n AS part FROM generate_series(1, 500) i;
		CREATE VIEW part AS SELECT id, v, CASE WHEN id = 1 THEN gate(part) ELSE part END AS part FROM rows;
		ANALYZE rows});
	add_server($coordinator, "s$n", $shard, dbname => "db$n", options => q{async_capable 'true'});
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE part_$n PARTITION OF parts FOR VALUES IN ($n) SERVER s$n OPTIONS (table_name 'part')});
}
$coordinator->safe_psql('postgres', 'ANALYZE parts');

# All rows are read here, by the session, and each is used as soon as it is there.
my $query = 'SELECT count(pg_advisory_xact_lock_shared(part)), sum(id), sum(part) FROM (SELECT * FROM parts OFFSET 0) p';
my $right = join('|', $servers * 500 + 1, $servers * 500 * 501 / 2, 500 * $servers * ($servers + 1) / 2);
my $session = open_session($coordinator);
is($session->query_safe($query), $right, 'right rows');
like($session->query_safe("EXPLAIN (COSTS OFF) $query"), qr/^\s*->\s+Custom Scan \(ExchangeGather\)/m, 'by one gather');

# The statement at work in the session; returns when it has begun.
sub begin_query
{
	$session->query_until(qr/begun/, "\\echo begun\n$query;\n");
	return;
}

# Streams that have got their query, and have not ended.
my $streams = q{FROM pg_stat_activity WHERE application_name LIKE 'pg_exchange%' AND query LIKE 'SELECT exchange.send%' AND state <> 'idle'};

# How often the session's backend has waited.
my $backend = $session->query_safe('SELECT pg_backend_pid()');
sub waits
{
	my ($waits) = slurp_file("/proc/$backend/status") =~ /^voluntary_ctxt_switches:\s*(\d+)/m;
	return $waits;
}

# The query stops at the row that is here, when those have begun that begin at once.
my $holder = open_session($coordinator);
$holder->query_safe('SELECT pg_advisory_lock(0)');
begin_query();
ok($coordinator->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), 'a row that is here is read');
ok($shard->poll_query_until('postgres', "SELECT count(*) >= $at_once $streams"), "$at_once streams begin");
is($shard->safe_psql('postgres', "SELECT count(*) $streams"), $at_once, 'and no more, while there are rows to read');
$holder->query_safe('SELECT pg_advisory_unlock(0)');
is($session->query_safe('SELECT 1'), "$right\n1", 'right rows');

# When nothing comes of these, the others do not wait for it.
append_to_file($gate, '');
begin_query();
ok($shard->poll_query_until('postgres', "SELECT count(*) = $servers $streams"), 'all streams begin when there is nothing to read');
my $waits = waits();
sleep(2);
cmp_ok(waits() - $waits, '<', 100, 'then it waits, and does not look again and again');
unlink($gate);
is($session->query_safe('SELECT 1'), "$right\n1", 'right rows again');

# Nor does a cancel.
append_to_file($gate, '');
$session->query("SET statement_timeout = '1s'; $query");
like($session->{stderr}, qr/statement timeout/, 'a time-out meanwhile');
$session->{stderr} = '';
unlink($gate);
is($session->query_safe("SET statement_timeout = 0; $query"), $right, 'the next query');
done_testing();
