# Processes are killed (-KILL) or stopped (-STOP): the stream's backend on the
# shard, a parallel worker of it, the postmaster of the shard, the coordinator's
# backend, a parallel worker there; before the first row, in mid-stream, and
# when all rows were read. The query ends with an error or its rows, in bounded
# time; the next one works; nothing is left behind. (004_crash.pl has more about
# streams whose remote goes away.)
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

# How long connections that are given up may keep a session (pool.c), and
# how long a shard takes to notice that its coordinator is gone (sql.c).
my $abandon = 5;
my $notice = 10;

# Shared memory segments are files in the data directory, to be counted.
my $conf = "restart_after_crash = on\njit = off\ndynamic_shared_memory_type = mmap\nmax_worker_processes = 16\n";
my $parallel = "parallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\n";
my $shard = new_shard('shard', conf => $conf . $parallel . "parallel_leader_participation = off\n");
# A LIMIT of more than ten FETCHes has a stream: hence a fetch_size of 1. The
# views take their nap, if any, before the first row or in the midst; "par"
# has workers who do. nap says that it is immutable, so that it may be
# called by a stream. (nap_every has workers of the coordinator nap at each n-th row, where the leader waits for that.)
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 20000) i;
	ANALYZE events;
	CREATE FUNCTION nap(float8) RETURNS text IMMUTABLE LANGUAGE sql AS 'SELECT pg_sleep($1)::text';
	CREATE FUNCTION nap_at(int, int) RETURNS bool IMMUTABLE PARALLEL SAFE COST 100000 LANGUAGE plpgsql AS
		$$ BEGIN IF $1 = $2 THEN PERFORM pg_sleep(600); END IF; RETURN true; END $$;
	CREATE VIEW slow AS SELECT i AS id, nap(i * 600) AS filler FROM generate_series(1, 1) i;
	CREATE VIEW halting AS SELECT i AS id, CASE WHEN i < 20000 THEN repeat('x', 100) ELSE nap(sign(i) * 600) END AS filler
		FROM (SELECT generate_series(1, 20000) AS i) x;
	CREATE VIEW steady AS SELECT i AS id FROM (SELECT generate_series(1, 20000) AS i) x;
	CREATE VIEW endless AS SELECT id, repeat('x', 1000) AS filler FROM (SELECT generate_series(1, 2000000000) AS id) x;
	CREATE VIEW par_start AS SELECT id, name FROM events WHERE nap_at(id, 1);
	CREATE VIEW par_mid AS SELECT id, name FROM events WHERE nap_at(id, 19999)});
my $coordinator = new_coordinator('coordinator', conf => $conf);
add_server($coordinator, 'shard', $shard, options => "connect_timeout '2'");
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE events (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE slow (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE halting (id int, filler text) SERVER shard;
	CREATE FOREIGN TABLE endless (id int, filler text) SERVER shard OPTIONS (fetch_size '1');
	CREATE FOREIGN TABLE steady (id int) SERVER shard;
	CREATE FOREIGN TABLE par_start (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE par_mid (id int, name text) SERVER shard;
	CREATE FUNCTION nap_every(id int, n int) RETURNS bool IMMUTABLE PARALLEL SAFE COST 100000 LANGUAGE plpgsql AS $$
	BEGIN
		IF (id + 1) % n <> 0 THEN
			RETURN true;
		ELSIF EXISTS (SELECT FROM pg_stat_activity WHERE pid = pg_backend_pid() AND leader_pid IS NOT NULL) THEN
			PERFORM pg_sleep(600);
		END IF;
		WHILE NOT EXISTS (SELECT FROM pg_stat_activity WHERE leader_pid = pg_backend_pid() AND wait_event = 'PgSleep') LOOP
			PERFORM pg_stat_clear_snapshot();
		END LOOP;
		RETURN true;
	END $$;
	SET pg_exchange.enabled = off;
	ANALYZE events});
make_gate($coordinator)->quit;

my $scan = 'SELECT count(*), sum(id) FROM (SELECT * FROM events OFFSET 0) x;';
my $rows = '20000|200010000';
my $stream = q{FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND backend_type = 'client backend'};

my ($session, $pid);
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub begin_session
{
	$session = open_session($coordinator);
	ask('\set VERBOSITY verbose');
	$pid = ask('SELECT pg_backend_pid();');
	ask($scan);
	return;
}
# Send a query and do not wait for what it returns; ask('') then does.
sub send_query
{
	my ($sql) = @_;
	$session->{stderr} = '';
	$session->query_until(qr/sent/, "\\echo sent\n$sql;\n");
	return;
}
# Wait for one process that the condition is true for; returns its id.
sub find_process
{
	my ($node, $condition) = @_;
	$node->poll_query_until('postgres', "SELECT count(*) >= 1 FROM pg_stat_activity WHERE $condition") or die "no process: $condition";
	return $node->safe_psql('postgres', "SELECT pid FROM pg_stat_activity WHERE $condition LIMIT 1");
}
sub sender_in { return find_process($shard, "application_name = 'pg_exchange' AND backend_type = 'client backend' AND wait_event = '$_[0]'"); }
sub segments
{
	my ($node) = @_;
	return scalar(my @files = glob($node->data_dir . '/pg_dynshmem/*'));
}
my %segments;

# A test that fails must not leave a stopped server.
my $stopped;
END
{
	kill('CONT', $stopped) if $stopped;
}

# The user cancels what the session is at.
sub cancel_query
{
	$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	ask('');
	return;
}
sub broken
{
	my ($name) = @_;
	return like($session->{stderr}, qr/ERROR:  (08006|57P0[123]): /, "$name: the query ends with an error of the connection");
}
# All is as it should be; the session may be another one.
sub goes_on
{
	my ($name, %options) = @_;
	if ($options{new_session})
	{
		$session->{run}->kill_kill;
		wait_until_up($coordinator);
		begin_session();
	}
	wait_until_up($shard);
	ask('ROLLBACK; RESET statement_timeout');
	# The way back to exchanges, where a session did not answer.
	ask(q{ALTER SERVER shard OPTIONS (SET connect_timeout '2')}) if $options{avoided};
	is(ask($scan), $rows, "$name: the next query works");
	is($session->{stderr}, '', "$name: there is no error");
	like(ask('EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM events;'), qr/Transport: exchange v1, stream/, "$name: the rows come by exchange");
	is(ask('SELECT pg_backend_pid();'), $pid, "$name: the backend is the same") unless $options{new_session};
	ok($shard->poll_query_until('postgres', qq{SELECT count(*) = 1 $stream}), "$name: the shard keeps one stream's session");
	ok($shard->poll_query_until('postgres', qq{SELECT count(*) = 0 FROM pg_stat_activity WHERE backend_type = 'parallel worker'
		OR application_name IN ('pg_exchange', 'postgres_fdw') AND state <> 'idle'}), "$name: nothing runs on the shard");
	is_deeply([ map { glob($_->data_dir . '/pg_snapshots/*') } $shard, $coordinator ], [], "$name: no snapshot is left");
	is_deeply([ map { glob($_->data_dir . '/base/pgsql_tmp/*') } $shard, $coordinator ], [], "$name: no temporary file is left");
	# Statistics are in such segments, too, which makes for more than none; after
	# a crash they are fewer.
	for ($shard, $coordinator)
	{
		$segments{ $_->name } //= segments($_);
		cmp_ok(segments($_), '<=', $segments{ $_->name }, "$name: no shared memory is left on " . $_->name);
	}
	return;
}
begin_session();
goes_on('at first');

# A session that keeps the gate closed, until it quits.
sub close_gate
{
	my $gate = open_session($coordinator);
	$gate->query('SELECT pg_advisory_lock(7)');
	return $gate;
}

# A query that is, on the shard, where it should be at that moment; returns the
# stream's backend.
my %moments = (
	start => sub { send_query('SELECT * FROM slow'); return sender_in('PgSleep'); },
	mid => sub { send_query('SELECT count(filler) FROM (SELECT filler FROM halting OFFSET 0) x'); return sender_in('PgSleep'); },
	blocked => sub {
		my $gate = close_gate();
		ask('BEGIN');
		send_query('SELECT count(*) FROM (SELECT id, filler FROM endless OFFSET 0) x WHERE CASE WHEN id = 1 THEN at_gate(id) ELSE true END');
		my $sender = sender_in('ClientWrite');
		$gate->quit;
		return $sender; },
	end => sub { ask($scan); return find_process($shard, "application_name = 'pg_exchange' AND state = 'idle'"); });

# ---- the stream's backend on the shard ----------------------------------------

for my $moment (qw(start mid))
{
	my $name = "remote backend killed, $moment";
	kill('KILL', $moments{$moment}->());
	ask('');
	broken($name);
	goes_on($name);
}
kill('KILL', $moments{end}->());
wait_until_up($shard);
goes_on('remote backend killed, end');

for my $moment (qw(start mid blocked))
{
	my $name = "remote backend stopped, $moment";
	my $sender = $moments{$moment}->();
	kill('STOP', $sender);
	my $started = time();
	cancel_query();
	like($session->{stderr}, qr/ERROR:  57014: /, "$name: the query can be cancelled");
	within($abandon, $started, $name);
	is(ask("ROLLBACK; $scan"), $rows, "$name: the next query works meanwhile");
	kill('CONT', $sender);
	goes_on($name);
}
{
	my $name = 'remote backend stopped, end';
	my $sender = $moments{end}->();
	kill('STOP', $sender);
	my $started = time();
	is(ask($scan), $rows, "$name: the next query works");
	within(5, $started, $name);
	kill('CONT', $sender);
	goes_on($name, avoided => 1);
}

# ---- the postmaster of the shard ------------------------------------------------

sub postmaster_pid { return (split(/\n/, slurp_file($shard->data_dir . '/postmaster.pid')))[0]; }
for my $moment (qw(start mid blocked end))
{
	my $name = "remote postmaster killed, $moment";
	$moments{$moment}->();
	my $postmaster = postmaster_pid();
	$shard->kill9;
	usleep(10_000) while kill(0, $postmaster);
	if ($moment ne 'end')
	{
		ask('');
		broken($name);
		ask('ROLLBACK');
	}
	ask($scan);
	like($session->{stderr}, qr/ERROR:  08001: could not connect to server "shard"/, "$name: the error is that of postgres_fdw");
	# Its backends notice, and end, before another postmaster may start.
	my $until = time() + $PostgreSQL::Test::Utils::timeout_default;
	usleep(200_000) while !$shard->start(fail_ok => 1) && time() < $until;
	goes_on($name);
}

# A stopped postmaster takes no connection, and no request to cancel. (Nor does
# it let a parallel query end: so none runs meanwhile.)
{
	my $name = 'remote postmaster stopped, start';
	$session->quit;
	$session = open_session($coordinator);
	$session->query('\set VERBOSITY verbose');
	$pid = ask('SELECT pg_backend_pid();');
	ask("SET pg_exchange.enabled = off; $scan RESET pg_exchange.enabled");
	kill('STOP', $stopped = postmaster_pid());
	my $started = time();
	is(ask($scan), $rows, "$name: the next query works by postgres_fdw's connection");
	within(2, $started, "$name, connect_timeout");
	kill('CONT', postmaster_pid());
	goes_on($name, avoided => 1);
}
{
	my $name = 'remote postmaster stopped, mid';
	my $gate = close_gate();
	send_query('SELECT count(*), sum(id) FROM (SELECT * FROM steady OFFSET 0) x WHERE CASE WHEN id = 1 THEN at_gate(id) ELSE true END');
	find_process($coordinator, "pid = $pid AND wait_event = 'advisory'");
	kill('STOP', $stopped = postmaster_pid());
	$gate->quit;
	is(ask(''), $rows, "$name: the query that runs goes on");
	is($session->{stderr}, '', "$name: there is no error");
	kill('CONT', $stopped);

	$gate = close_gate();
	send_query('SELECT count(*) FROM (SELECT FROM (SELECT id, filler FROM endless OFFSET 0) x WHERE at_gate(id) LIMIT 20) y');
	sender_in('ClientWrite');
	kill('STOP', $stopped);
	my $started = time();
	$gate->quit;
	is(ask(''), 20, "$name: a stream can be left early");
	is($session->{stderr}, '', "$name: there is no error");
	within($abandon, $started, $name);
	kill('CONT', postmaster_pid());
	goes_on($name);
}
{
	my $name = 'remote postmaster stopped, end';
	$moments{end}->();
	kill('STOP', $stopped = postmaster_pid());
	is(ask('SELECT count(*), sum(id) FROM (SELECT * FROM steady OFFSET 0) x'), $rows, "$name: the next query works, on the connection that was kept");
	kill('CONT', postmaster_pid());
	goes_on($name);
}

# ---- a parallel worker of the shard ---------------------------------------------

my %par = (start => 'par_start', mid => 'par_mid');
sub worker_of
{
	my ($node) = @_;
	return find_process($node, "backend_type = 'parallel worker' AND wait_event = 'PgSleep'");
}
for my $moment (qw(start mid))
{
	my $name = "remote parallel worker killed, $moment";
	send_query("SELECT count(name) FROM (SELECT name FROM $par{$moment} OFFSET 0) x");
	kill('KILL', worker_of($shard));
	ask('');
	broken($name);
	goes_on($name);

	$name = "remote parallel worker stopped, $moment";
	send_query("SELECT count(name) FROM (SELECT name FROM $par{$moment} OFFSET 0) x");
	my $worker = worker_of($shard);
	kill('STOP', $worker);
	my $started = time();
	cancel_query();
	like($session->{stderr}, qr/ERROR:  57014: /, "$name: the query can be cancelled");
	within($abandon, $started, $name);
	kill('CONT', $worker);
	goes_on($name);
}

# ---- the backend of the coordinator -----------------------------------------------

for my $moment (qw(start mid blocked end))
{
	my $name = "backend killed, $moment";
	$moments{$moment}->();
	kill('KILL', $pid);
	my $started = time();
	# Of the shard's sessions one is asleep, and must look for its client.
	ok($shard->poll_query_until('postgres', "SELECT count(*) = 0 $stream"), "$name: the shard notices");
	within($notice, $started, $name);
	goes_on($name, new_session => 1);
}
for my $moment (qw(start mid blocked))
{
	my $name = "backend stopped, $moment";
	$moments{$moment}->();
	kill('STOP', $pid);
	usleep(500_000);
	kill('CONT', $pid);
	cancel_query();
	like($session->{stderr}, qr/ERROR:  57014: /, "$name: it goes on, and the query can be cancelled");
	goes_on($name);
}
{
	my $name = 'backend stopped among rows';
	send_query('SELECT count(*), sum(id) FROM (SELECT id FROM endless LIMIT 200000) x');
	usleep(100_000);
	kill('STOP', $pid);
	usleep(500_000);
	kill('CONT', $pid);
	is(ask(''), '200000|20000100000', "$name: all rows come");
	goes_on($name);
}

# ---- a parallel worker of the coordinator ---------------------------------------

$coordinator->append_conf('postgresql.conf', $parallel . "max_parallel_workers_per_gather = 2\npg_exchange.slices = 3\n");
$coordinator->reload;
# A session that has had workers keeps some shared memory for the next ones.
delete $segments{coordinator};
goes_on('parallel plan');
my %nap_every = (start => 100, mid => 5000);
for my $moment (qw(start mid))
{
	my $sql = "SELECT count(name) FROM events WHERE nap_every(id, $nap_every{$moment})";

	my $name = "parallel worker stopped, $moment";
	send_query($sql);
	my $worker = worker_of($coordinator);
	kill('STOP', $worker);
	$coordinator->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	usleep(500_000);
	kill('CONT', $worker);	# PostgreSQL waits for its workers, whatever happens
	ask('');
	like($session->{stderr}, qr/ERROR:  57014: /, "$name: the query is cancelled as soon as the worker goes on");
	goes_on($name);

	$name = "parallel worker killed, $moment";
	send_query($sql);
	kill('KILL', worker_of($coordinator));
	ok($shard->poll_query_until('postgres', "SELECT count(*) = 0 $stream"), "$name: the shard notices");
	goes_on($name, new_session => 1);
}
$session->quit;

# ---- nothing is left --------------------------------------------------------

ok($shard->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('pg_exchange', 'postgres_fdw')}),
	'no session is left on the shard');

done_testing();
