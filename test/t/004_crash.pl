# The remote goes away: between scans, between the frames of a stream, its
# backend alone or all of it. The query that reads a stream ends with the error
# that was its own; the next one works; nothing is left running.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard', conf => "restart_after_crash = on\n");
# "endless" keeps its backend blocked in sending, "sleepy" in the middle of the
# query, "slow" in a query that has not sent a frame. (nap says that it is
# immutable, so that it may be called by a stream.)
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 10000) i;
	CREATE FUNCTION nap(int) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT pg_sleep(600)::text';
	CREATE VIEW endless AS SELECT id, repeat('x', 1000) AS filler FROM (SELECT generate_series(1, 2000000000) AS id) x;
	CREATE VIEW sleepy AS SELECT i AS id, CASE WHEN i < 20000 THEN '' ELSE nap(i) END AS filler
		FROM (SELECT generate_series(1, 20000) AS i) x;
	CREATE VIEW slow AS SELECT i AS id, nap(i) AS filler FROM generate_series(1, 1) i;
});

my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard);
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE endless (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE sleepy (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE slow (id int, filler text) SERVER shard;
});

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM events OFFSET 0) x;';
my $rows = '10000|50005000';

my $session = open_session($coordinator);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
# Send a query and do not wait for what it returns; ask('') then does.
sub send_query
{
	my ($sql) = @_;
	$session->{stderr} = '';
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	return;
}
ask('\set VERBOSITY verbose');
my $gate = make_gate($coordinator);
my $coordinator_pid = ask('SELECT pg_backend_pid();');

# Wait until the stream's backend on the shard is in this wait event; return
# its process id.
sub sender_in
{
	my ($wait_event) = @_;
	my $query = qq{FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND wait_event = '$wait_event'};
	$shard->poll_query_until('postgres', "SELECT count(*) = 1 $query") or die "no sender in $wait_event";
	return $shard->safe_psql('postgres', "SELECT pid $query");
}

# A query in a transaction that has begun to read, and stands still while its
# stream fills the sockets; and let it go on.
sub begin_endless
{
	ask('BEGIN');
	$gate->query('SELECT pg_advisory_lock(7)');
	send_query('SELECT count(*) FROM (SELECT id, filler FROM endless OFFSET 0) x WHERE CASE WHEN id = 1 THEN at_gate(id) ELSE true END');
	return;
}
sub read_on
{
	$gate->query('SELECT pg_advisory_unlock(7)');
	return ask('');
}

# All is as it should be: the session works, on the shard and here, by exchange;
# no stream is left running on the shard.
sub goes_on
{
	my ($name) = @_;
	wait_until_up($shard);
	is(ask($scan), $rows, "$name: the next query works");
	is($session->{stderr}, '', "$name: there is no error");
	like(ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;'), qr/Transport: exchange v1, stream/, "$name: the rows come by exchange");
	ok($shard->poll_query_until('postgres', q{
		SELECT count(*) = 0 FROM pg_stat_activity
		WHERE application_name IN ('pg_exchange', 'postgres_fdw') AND state <> 'idle'}),
		"$name: nothing is left running on the shard");
	is(ask('SELECT pg_backend_pid();'), $coordinator_pid, "$name: the coordinator's backend is the same");
}

my $admin_shutdown = qr/^.*ERROR:  57P01: terminating connection due to administrator command/m;
my $connection_failure = qr/^.*ERROR:  08006: (server closed the connection unexpectedly|could not receive data from server: Connection reset by peer)/m;

goes_on('at first');

# The backend is terminated in the midst of a query: it says so.
ask('BEGIN');
send_query('SELECT count(filler) FROM (SELECT * FROM sleepy OFFSET 0) x');
$shard->safe_psql('postgres', 'SELECT pg_terminate_backend(' . sender_in('PgSleep') . ')');
ask('');
like($session->{stderr}, $admin_shutdown, 'backend terminated while it works: the query ends with its words');
ask($scan);
like($session->{stderr}, qr/25P02: current transaction is aborted/, 'backend terminated: the transaction is over');
ask('ROLLBACK');
goes_on('backend terminated while it works');

# Blocked in sending, it can say nothing any more; unless its last frame went out just then.
begin_endless();
$shard->safe_psql('postgres', 'SELECT pg_terminate_backend(' . sender_in('ClientWrite') . ')');
read_on();
like($session->{stderr}, qr/$connection_failure|$admin_shutdown/m, 'backend terminated while it sends: the query ends with an error');
ask('ROLLBACK');
goes_on('backend terminated while it sends');

# A subtransaction catches it, and its transaction goes on with its snapshot.
ask('BEGIN;' . $scan);
ask('SAVEPOINT s');
send_query('SELECT count(filler) FROM (SELECT * FROM sleepy OFFSET 0) x');
$shard->safe_psql('postgres', 'SELECT pg_terminate_backend(' . sender_in('PgSleep') . ')');
$shard->safe_psql('postgres', 'INSERT INTO events VALUES (0)');
ask('');
like($session->{stderr}, $admin_shutdown, 'backend terminated in a subtransaction: the query ends with its words');
ask('ROLLBACK TO s');
is(ask($scan), $rows, 'after a rollback to the savepoint the snapshot is the same');
like(ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;'), qr/Transport: exchange v1, stream/, 'the rows come by exchange then');
ask('COMMIT');
is($session->{stderr}, '', 'the transaction commits');
$shard->safe_psql('postgres', 'DELETE FROM events WHERE id = 0');

# postgres_fdw's connection is terminated within a transaction: there is no
# snapshot any more, and no way on, as without exchanges. (postgres_fdw says
# 08006 here: it had been idle, and libpq read the reason as a notice.)
for my $enabled (qw(off on))
{
	ask("SET pg_exchange.enabled = $enabled; BEGIN; $scan");
	$shard->safe_psql('postgres', q{
		SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'});
	ask($scan);
	like($session->{stderr}, qr/ERROR:  08006: FATAL:  terminating connection due to administrator command/,
		"postgres_fdw's backend terminated: the transaction cannot go on, exchange $enabled");
	ask('ROLLBACK');
}
goes_on("postgres_fdw's backend terminated");

# The same while rows for two servers are collected, before any were sent: the
# error names postgres_fdw's statement, as without frames.
add_server($coordinator, 'too', $shard);
$shard->safe_psql('postgres', 'CREATE TABLE loaded (part int, id int)');
$coordinator->safe_psql('postgres', q{
	CREATE TABLE loaded (part int, id int) PARTITION BY LIST (part);
	CREATE FOREIGN TABLE loaded0 PARTITION OF loaded FOR VALUES IN (0) SERVER shard OPTIONS (table_name 'loaded');
	CREATE FOREIGN TABLE loaded1 PARTITION OF loaded FOR VALUES IN (1) SERVER too OPTIONS (table_name 'loaded');
});
for my $writes (qw(off on))
{
	$gate->query('SELECT pg_advisory_lock(7)');
	ask("SET pg_exchange.writes = $writes");
	send_query('INSERT INTO loaded SELECT i % 2, i FROM generate_series(1, 1000) i WHERE CASE WHEN i = 600 THEN at_gate(i) ELSE true END');
	$coordinator->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted});
	$shard->safe_psql('postgres', q{
		SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE application_name = 'postgres_fdw'});
	read_on();
	like($session->{stderr}, qr/CONTEXT:  remote SQL command: INSERT INTO public.loaded\(part, id\) VALUES \(\$1, \$2\)$/m,
		"postgres_fdw's backends terminated: the error names its statement, writes $writes");
	is($shard->safe_psql('postgres', 'SELECT count(*) FROM loaded'), '0', "no row is left, writes $writes");
}
goes_on("postgres_fdw's backends terminated while rows were collected");

# A backend that crashes takes the shard with it, which restarts.
begin_endless();
kill('KILL', sender_in('ClientWrite'));
read_on();
like($session->{stderr}, $connection_failure, 'backend killed while it sends: the query ends with an error');
ask('ROLLBACK');
goes_on('backend killed while it sends');

# The shard stops at once: between queries, …
$shard->stop('immediate');
ask($scan);
like($session->{stderr}, qr/ERROR:  08001: could not connect to server "shard"/, 'no shard: the error is that of postgres_fdw');
$shard->start;
goes_on('shard restarted after a failed query');
$shard->stop('immediate');
$shard->start;
goes_on('shard restarted between queries');

# … between the queries of a transaction, …
ask('BEGIN; ' . $scan);
$shard->stop('immediate');
$shard->start;
ask($scan);
like($session->{stderr}, qr/ERROR:  (57P02|08006): /, 'shard restarted within a transaction: its snapshot is gone');
ask('ROLLBACK');
goes_on('shard restarted within a transaction');

# … in the midst of a stream, …
begin_endless();
sender_in('ClientWrite');
$shard->stop('immediate');
read_on();
like($session->{stderr}, $connection_failure, 'shard stopped in the midst of a stream: the query ends with an error');
ask('ROLLBACK');
$shard->start;
goes_on('shard stopped in the midst of a stream');

# … and while a session waits for the first frame.
my $waiting = open_session($coordinator);
$waiting->query('\set VERBOSITY verbose');
$waiting->query_until(qr/asked/, "\\echo asked\nSELECT * FROM slow;\n\\echo answered\n");
sender_in('PgSleep');
$shard->stop('immediate');
$waiting->query('SELECT 1;');
like($waiting->{stderr}, qr/ERROR:  (57P02|08006): /, 'shard stopped before the first frame: the query ends with an error');
$waiting->quit;
$shard->start;
goes_on('shard stopped before the first frame');

# Stopped in earnest, it waits for no exchange that is idle.
$shard->stop('fast');
$shard->start;
goes_on('shard restarted in peace');
$session->quit;
$gate->quit;

done_testing();
