# Bounds on the connections of streams: max_connections over all sessions, its
# view, and that nothing is left counted however a session ends;
# max_connections_per_backend; and idle_timeout, in sessions that are idle.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $shard = new_shard('shard');
my $gate = make_gate($shard);
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	CREATE VIEW held AS SELECT id, name FROM events WHERE id < 10000 OR id > 10001 OR at_gate(id);
	ANALYZE});
my $coordinator = new_coordinator('coordinator',
	conf => "shared_preload_libraries = 'pg_exchange'\npg_exchange.remote_statistics = off\nrestart_after_crash = on\n");
for my $name (qw(shard other third))
{
	add_server($coordinator, $name, $shard);
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE ${name}_events (id int, name text) SERVER $name OPTIONS (table_name 'events')});
}
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE held (id int, name text) SERVER shard;
	CREATE ROLE watcher LOGIN; CREATE ROLE monitor LOGIN IN ROLE pg_read_all_stats});

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM shard_events OFFSET 0) x';
my $rows = '20000|200010000';
my $explain = 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM shard_events';
my $stream = 'exchange v1, stream';
my $refused = 'exchange v1, session (as many connections are open as is allowed)';

my @sessions = map { open_session($coordinator) } 1 .. 3;
sub ask
{
	my ($session, $sql) = @_;
	$session->{stderr} = '';
	return $session->query("$sql;");
}
sub transport { return label('Transport', ask($_[0], $explain)); }
sub pid_of { return ask($_[0], 'SELECT pg_backend_pid()'); }
sub shown
{
	my ($columns, $where, @options) = @_;
	return $coordinator->safe_psql('postgres', "SELECT $columns FROM exchange.pg_stat_exchange_connections WHERE " . ($where // 'true'), @options);
}
sub wait_until_shown
{
	my ($n, $where) = @_;
	$where //= 'true';
	return $coordinator->poll_query_until('postgres', "SELECT count(*) = $n FROM exchange.pg_stat_exchange_connections WHERE $where");
}

# ---- the view ---------------------------------------------------------------

is(shown('count(*)'), 0, 'no connections at first');
is(ask($sessions[0], $scan), $rows, 'a scan');
my $pid = pid_of($sessions[0]);
is(shown("pid = $pid, datname, srvname, state, streams, wire_bytes > 0, since <= state_change"),
	't|postgres|shard|idle|1|t|t', 'its connection is shown to other sessions');
is(shown('remote_pid'), ask($sessions[0], 'SELECT remote_pid FROM exchange.connections'), 'with the process over there');
is(shown('pid IS NOT NULL, usesysid IS NOT NULL, srvname, state, remote_pid', undef, extra_params => [ '-U', 'watcher' ]), 't|t|||',
	'without details to other users');
is(shown('srvname, state', undef, extra_params => [ '-U', 'monitor' ]), 'shard|idle', 'with details to those who may read all statistics');

# ---- max_connections --------------------------------------------------------

# The connection of the first session counts, also while it is idle.  In a
# transaction block nobody can take it away.
ask($_, 'SET pg_exchange.max_connections = 1') for @sessions;
ask($sessions[0], 'BEGIN');
is(transport($sessions[0]), $stream, 'a session with a connection');
is(transport($sessions[1]), $refused, 'where all connections are taken, the session reads');
is(ask($sessions[1], $scan), $rows, 'the same rows');
is(transport($sessions[0]), $stream, 'who has the connection keeps it');
cmp_ok($coordinator->safe_psql('postgres', q{SELECT sum(connections_refused) FROM exchange.pg_stat_exchange}), '>', 0, 'that is counted');
ask($sessions[0], 'COMMIT; SELECT exchange.disconnect_all()');
is(transport($sessions[1]), $stream, 'a connection that is closed leaves room');

# One that was not used for a second is closed by its session, which is idle,
# when another one wants it.
is(ask($sessions[1], 'SELECT count(*) FROM exchange.connections'), 1, 'a session with an idle connection');
my $got = '';
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if ($got = transport($sessions[0])) eq $stream;
	usleep(100_000);
}
is($got, $stream, 'gives it up for another session');
is(shown('pid'), pid_of($sessions[0]), 'which has the only one now');
ask($sessions[0], 'SELECT exchange.disconnect_all()');
is(transport($sessions[1]), $stream, 'and the other way round');
is(label('Transport', ask($sessions[0], 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM other_events')), $stream, 'another server counts by itself');
ask($sessions[1], 'SET pg_exchange.max_connections = 2');
is(transport($sessions[2]), $refused, 'each session goes by its own setting');
ask($sessions[2], 'SET pg_exchange.max_connections = 2');
is(transport($sessions[2]), $stream, 'and may have one more with a higher one');
ask($_, 'SELECT exchange.disconnect_all(); SET pg_exchange.max_connections = 1') for @sessions;
is(shown('count(*)'), 0, 'all connections are closed');

# However a session ends, nothing stays counted.  Each time it has a stream that
# stops at the gate.
$gate->query_safe('SELECT pg_advisory_lock(7)');
sub begin_held
{
	my $session = open_session($coordinator);
	$session->query_safe('SET pg_exchange.max_connections = 1;');
	my $pid = $session->query_safe('SELECT pg_backend_pid();');
	$session->query_until(qr/begun/, "\\echo begun\nSELECT count(*) FROM held;\n");
	ok(wait_until_shown(1, "pid = $pid AND state = 'active'"), 'a stream is held');
	ok($shard->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted}), 'at the gate');
	is(transport($sessions[1]), $refused, 'there is no connection for others');
	return ($session, $pid);
}
my ($session, $held_pid) = begin_held();
is($coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($held_pid)"), 't', 'the query is canceled');
ok(wait_until_shown(0, "state = 'active'"), 'nothing is active after that');
is(shown('count(*)'), ask($session, 'SELECT count(*) FROM exchange.connections'), 'the view agrees with the session about its connections');
$session->quit;
ok(wait_until_shown(0), 'a session that ends has none');

($session, $held_pid) = begin_held();
is($coordinator->safe_psql('postgres', "SELECT pg_terminate_backend($held_pid)"), 't', 'the session is terminated');
ok(wait_until_shown(0), 'it has no connection after that');
is(transport($sessions[1]), $stream, 'another session has one');
ask($sessions[1], 'SELECT exchange.disconnect_all()');
eval { $session->quit };

# Workers of parallel plans, in slices.
is(ask($sessions[1], q{SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET pg_exchange.slices = 3;
	SET pg_exchange.max_connections = 2; SELECT count(*), sum(id) FROM shard_events WHERE random() < 2}), $rows, 'rows of parallel workers');
is(shown('count(*)', 'pid <> ' . pid_of($sessions[1])), 0, 'workers leave no connections');
cmp_ok(shown('count(*)'), '<=', 2, 'and there are no more than are allowed');
ask($sessions[1], 'RESET ALL; SET pg_exchange.max_connections = 1; SELECT exchange.disconnect_all()');

# A crash.
($session, $held_pid) = begin_held();
kill('KILL', $held_pid);
eval { $session->quit };
eval { $_->quit } for @sessions;
wait_until_up($coordinator);
is(shown('count(*)'), 0, 'a crash leaves none');
@sessions = map { open_session($coordinator) } 1 .. 3;
ask($_, 'SET pg_exchange.max_connections = 1') for @sessions;
is(transport($sessions[0]), $stream, 'and others have their connections again');
ask($sessions[0], 'SELECT exchange.disconnect_all()');
$gate->query_safe('SELECT pg_advisory_unlock(7)');

# ---- max_connections_per_backend --------------------------------------------

my $three = 'SELECT id FROM shard_events UNION ALL SELECT id FROM other_events UNION ALL SELECT id FROM third_events';
my $all = "SELECT count(*), sum(id) FROM ($three) x";
ask($sessions[0], 'SET pg_exchange.max_connections = 0; SET pg_exchange.max_connections_per_backend = 2');
my $all_refused = q{SELECT sum(connections_refused) FROM exchange.pg_stat_exchange};
my $before = $coordinator->safe_psql('postgres', $all_refused);
is(ask($sessions[0], $all), '60000|600030000', 'all rows of more servers than there may be connections');
cmp_ok($coordinator->safe_psql('postgres', $all_refused), '>', $before, 'the third server is refused one while the others have theirs');
is(ask($sessions[0], 'SELECT count(*) FROM exchange.connections'), 2, 'there are no more connections than are allowed');
is(ask($sessions[0], 'SELECT pg_sleep(1.1)'), '', 'some time later');
ask($sessions[0], 'SELECT count(*) FROM (SELECT * FROM third_events OFFSET 0) x');
is(ask($sessions[0], q{SELECT count(*), count(*) FILTER (WHERE srvname = 'third') FROM exchange.connections}), '2|1',
	'a connection that was not used for a second makes room for one to another server');

# ---- idle_timeout -----------------------------------------------------------

# Sessions that do nothing close their connections.
ask($_, 'RESET ALL; SELECT exchange.disconnect_all()') for @sessions;
ask($sessions[0], q{SET pg_exchange.idle_timeout = '200ms'});
is(ask($sessions[0], $scan), $rows, 'a scan in a session with an idle timeout');
ok(wait_until_shown(0), 'its connection is closed while the session is idle');
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pg_exchange'}), 'over there, too');
is(ask($sessions[0], $scan), $rows, 'then it makes a new one');
ask($sessions[0], 'SELECT 1 / 0');
like($sessions[0]->{stderr}, qr/division by zero/, 'an error');
ok(wait_until_shown(0), 'does not keep it from being closed');
is(ask($sessions[0], 'SELECT count(*) FROM exchange.connections'), 0, 'the session knows');

# A transaction block keeps its connections until it ends.
ask($sessions[0], 'BEGIN');
is(ask($sessions[0], $scan), $rows, 'a scan in a transaction block');
ask($sessions[0], 'SELECT pg_sleep(0.5)');
is(ask($sessions[0], 'SELECT count(*) FROM exchange.connections'), 1, 'whose connection stays');
ask($sessions[0], 'COMMIT');
ok(wait_until_shown(0), 'until it ends');

# Who has set no timeout keeps them; a timeout that is set later counts, too.
ask($sessions[1], 'SET pg_exchange.idle_timeout = 0');
is(ask($sessions[1], $scan), $rows, 'a scan in a session without a timeout');
is(ask($sessions[0], $scan), $rows, 'and in the other one');
ok(wait_until_shown(0, 'pid = ' . pid_of($sessions[0])), 'the other one closes its connection');
is(shown('pid'), pid_of($sessions[1]), 'this one does not');
ask($sessions[1], q{SET pg_exchange.idle_timeout = '1h'});
is(ask($sessions[1], $scan), $rows, 'an hour');
ask($sessions[1], q{SET pg_exchange.idle_timeout = '100ms'});
ok(wait_until_shown(0), 'a shorter timeout counts from when it was set');

$_->quit for @sessions, $gate;
done_testing();
