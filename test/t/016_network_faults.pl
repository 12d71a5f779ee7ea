# What the network may do to a stream: bytes flipped, connections cut or reset
# at any byte, everything slow, nothing at all any more. The query gets the
# right rows or an error, in the time that settings allow; the next one works,
# and nothing is left behind at either end.
#
# Only streams are harmed, and the requests to cancel them: postgres_fdw's own
# connection has no checksums.
use strict;
use warnings;

use OwnNamespaces;
use Exchange;
use Peer;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $seed = $ENV{PG_TEST_SEED} // 20261;
srand($seed);
note("seed $seed (PG_TEST_SEED)");

# How long connections that are given up may keep a session: see pool.c.
my $abandon = 5;

my $shard = new_shard('shard', conf => "listen_addresses = '127.0.0.1'\n");
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name, (i * 7919 % 100003)::numeric / 100 AS amount,
			md5(i::text) AS token, timestamptz '2020-02-03 04:05:06+00' + i * interval '1 minute' AS at
		FROM generate_series(1, 4000) i;
	CREATE TABLE few AS SELECT * FROM events WHERE id <= 20;
	CREATE VIEW wide AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 20000) i;
	CREATE VIEW endless AS SELECT id, repeat(md5(id::text), 32) AS filler FROM (SELECT generate_series(1, 2000000000) AS id) x});
my $proxy = Peer->new('fault_proxy', $shard->port);
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
my $tables = join(';', map { "CREATE FOREIGN TABLE ${_}_%1\$s (id int, name text, amount numeric, token text, at timestamptz) SERVER %1\$s OPTIONS (table_name '$_')" } qw(events few));
$tables .= ';' . join(';', map { "CREATE FOREIGN TABLE ${_}_%1\$s (id int, filler text) SERVER %1\$s OPTIONS (table_name '$_')" } qw(wide endless));
my %options = (
	plain => '',
	hasty => "connect_timeout '2'",
	alive => "keepalives_idle '1', keepalives_interval '1', keepalives_count '2', tcp_user_timeout '3000', connect_timeout '2'");
for my $server (sort keys %options)
{
	add_server($coordinator, $server, $shard, host => '127.0.0.1', port => $proxy->port,
		options => join(', ', "fetch_size '1000'", $options{$server} || ()));
	$coordinator->safe_psql('postgres', sprintf($tables, $server));
}
my $rows = 'SELECT count(*), md5(string_agg(x::text, $$,$$ ORDER BY id)) FROM (SELECT * FROM %s OFFSET 0) x;';
my %expected = map { $_ => $shard->safe_psql('postgres', sprintf($rows, $_)) } qw(events few wide);

my $session;
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub begin_session
{
	$session->quit if $session;
	$session = open_session($coordinator);
	ask('\set VERBOSITY verbose');
	return ask('SELECT pg_backend_pid();');
}
# As postgres_fdw would: its connection is there from now on.
sub begin_session_of
{
	my ($server) = @_;
	my $pid = begin_session();
	ask("SET pg_exchange.enabled = off; SELECT id FROM few_$server LIMIT 1; RESET pg_exchange.enabled;");
	return $pid;
}
sub scan
{
	my ($table, $server) = @_;
	return ask(sprintf($rows, "${table}_$server"));
}
sub error_is
{
	my ($sqlstate, $name) = @_;
	return like($session->{stderr}, qr/ERROR:  $sqlstate: /, $name);
}
sub transport
{
	my ($table) = @_;
	return label('Transport', ask("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM $table;"));
}
sub nothing_runs
{
	my ($name) = @_;
	return ok($shard->poll_query_until('postgres', q{
		SELECT count(*) = 0 FROM pg_stat_activity
		WHERE application_name IN ('pg_exchange', 'postgres_fdw') AND state <> 'idle'}), "$name: nothing is left running on the shard");
}
sub goes_on
{
	my ($server, $name) = @_;
	$proxy->tell('heal');
	ask("SET statement_timeout = '180s'");
	is(scan('events', $server), $expected{events}, "$name: the next query works");
	is($session->{stderr}, '', "$name: there is no error");
	return nothing_runs($name);
}
# Anonymous memory in kB and open files of a backend.
sub usage
{
	my ($pid) = @_;
	slurp_file("/proc/$pid/status") =~ /^RssAnon:\s+(\d+) kB/m or die 'no RssAnon';
	return ($1, scalar(my @files = glob("/proc/$pid/fd/*")));
}

# ---- flipped bits -----------------------------------------------------------

# In the midst of a stream nearly every byte is one of a frame: a flipped bit is
# found by its checksum, or by libpq if it is in a header of its own. libpq may
# then wait for a message that is longer than what comes: statement_timeout.
my $clean = qr/ERROR:  (08P01|XX001|08006|57014): /;
for my $compression (qw(none fast high_compression))
{
	my $pid = begin_session();
	ask("SET pg_exchange.compression = $compression");
	scan('events', 'plain');
	$proxy->tell('heal');
	is(scan('events', 'plain'), $expected{events}, "$compression: the query works");
	my $total = $proxy->tell('passed exchange');
	cmp_ok($total, '>', 20000, "$compression: the rows come by exchange");

	my ($wrong, $next, $resets, @usage, %seen) = ('', '', 0);
	for my $trial (1 .. 120)
	{
		my $at = 500 + int(rand($total - 500));
		my $bit = int(rand(8));
		$proxy->tell('harm', 'exchange', 'flip', $at, $bit);
		ask(q{SET statement_timeout = '3s'});
		my $got = scan('events', 'plain');
		my $kind = $session->{stderr} =~ $clean ? $1 : 'none';
		$seen{$kind}++;
		$wrong .= "bit $bit of byte $at: '$got' $session->{stderr}\n" if $kind eq 'none' && ($got ne $expected{events} || $session->{stderr} ne '');

		$proxy->tell('heal');
		ask(q{SET statement_timeout = '180s'});
		$got = scan('events', 'plain');
		$next .= "after bit $bit of byte $at: '$got' $session->{stderr}\n" if $got ne $expected{events};
		@usage = usage($pid) if $trial == 60;
	}
	my @after = usage($pid);
	note("$compression: " . join(', ', map { "$seen{$_} $_" } sort keys %seen) . "; $usage[0] to $after[0] kB");
	is($wrong, '', "$compression: of 120 flipped bits none yields a wrong row");
	is($next, '', "$compression: the next query works after each");
	cmp_ok(($seen{'08P01'} // 0) + ($seen{XX001} // 0), '>=', 110, "$compression: nearly all are found by their checksum");
	cmp_ok($after[0], '<', $usage[0] + 1024, "$compression: memory does not grow");
	is($after[1], $usage[1], "$compression: the number of open files does not grow");
	is(ask('SELECT pg_backend_pid()'), $pid, "$compression: the backend lives");
	nothing_runs($compression);
}

# The answers before the first frame are libpq's messages, without checksums:
# what is wrong with them keeps the exchange from beginning, or ends it.
{
	my ($wrong, $next, %seen) = ('', '');
	for my $trial (1 .. 16)
	{
		begin_session();
		ask("SET statement_timeout = '8s'");
		scan('few', 'plain');
		my $at = int(rand(400));
		my $bit = int(rand(8));
		$proxy->tell('harm', 'exchange', 'flip', $at, $bit);
		my $got = scan('events', 'plain');
		my $kind = $session->{stderr} =~ /ERROR:  (\S+): / ? $1 : $got eq $expected{events} ? 'right' : 'wrong';
		$seen{$kind}++;
		$wrong .= "bit $bit of byte $at: '$got' $session->{stderr}\n" if $kind eq 'wrong';
		$proxy->tell('heal');
		ask(q{SET statement_timeout = '180s'});
		$got = scan('events', 'plain');
		$next .= "after bit $bit of byte $at: '$got' $session->{stderr}\n" if $got ne $expected{events};
	}
	note('at the beginning: ' . join(', ', map { "$seen{$_} $_" } sort keys %seen));
	is($wrong, '', 'flipped bits at the beginning yield no wrong row');
	is($next, '', 'the next query works after flipped bits at the beginning');
	nothing_runs('flipped bits at the beginning');
}

# ---- ends of connections ----------------------------------------------------

for my $action (qw(cut reset))
{
	my $pid = begin_session();
	scan('events', 'plain');
	$proxy->tell('heal');
	scan('events', 'plain');
	my $total = $proxy->tell('passed exchange');
	my ($wrong, $next, @usage, %seen) = ('', '');
	my @at = (0, 1, 100, 300, $total - 30, $total - 6, $total - 1, map { int(rand($total)) } 1 .. 33);
	for my $trial (0 .. $#at)
	{
		$proxy->tell('harm', 'exchange', $action, $at[$trial]);
		my $got = scan('events', 'plain');
		my $kind = $session->{stderr} =~ /ERROR:  (08006): / ? $1 : $got eq $expected{events} && $session->{stderr} eq '' ? 'right' : 'wrong';
		$seen{$kind}++;
		$wrong .= "$action at $at[$trial]: '$got' $session->{stderr}\n" if $kind eq 'wrong';
		$proxy->tell('heal');
		$got = scan('events', 'plain');
		$next .= "after $action at $at[$trial]: '$got' $session->{stderr}\n" if $got ne $expected{events};
		@usage = usage($pid) if $trial == 15;
	}
	my @after = usage($pid);
	note("$action: " . join(', ', map { "$seen{$_} $_" } sort keys %seen) . "; $usage[0] to $after[0] kB");
	is($wrong, '', "connection $action at " . @at . ' places: the right rows or an error');
	is($next, '', "connection $action: the next query works");
	cmp_ok($seen{'08006'} // 0, '>=', 25, "connection $action: in the midst of a stream it is an error");
	cmp_ok($seen{right} // 0, '>=', 3, "connection $action: before the first frame it is no error");
	cmp_ok($after[0], '<', $usage[0] + 1024, "connection $action: memory does not grow");
	is($after[1], $usage[1], "connection $action: the number of open files does not grow");
	is($proxy->tell('open exchange'), 1, "connection $action: one connection is open");
	nothing_runs("connection $action");
}

# ---- a slow network ---------------------------------------------------------

begin_session();
$proxy->tell('harm', 'exchange', 'delay', 0, 1);
is(scan('few', 'plain'), $expected{few}, 'a byte a millisecond: all rows come');
is($session->{stderr}, '', 'a byte a millisecond: there is no error');
$proxy->tell('harm', 'exchange', 'delay', 0, 173);
is(scan('events', 'plain'), $expected{events}, 'odd pieces: all rows come');
is(transport('few_plain'), 'exchange v1, stream', 'the rows come by exchange');
goes_on('plain', 'slow network');

# ---- a network gone silent, which still acknowledges --------------------------

# In mid-stream: statement_timeout, and the time to give the connection up. The
# request to cancel is not answered either.
begin_session_of('plain');
ask("SET statement_timeout = '2s'");
scan('few', 'plain');
$proxy->tell('harm', 'cancel', 'hold', 0);
$proxy->tell('harm', 'exchange', 'hold', 300000);
my $started = time();
scan('wide', 'plain');
error_is('57014', 'silent in mid-stream: statement_timeout ends the query');
within(2 + $abandon, $started, 'silent in mid-stream');
goes_on('plain', 'silent in mid-stream');

# Many streams are given up together, not one after the other: that would take more than 100 seconds.
ask("SET pg_exchange.max_connections_per_server = 20; SET statement_timeout = '10s'");
$proxy->tell('harm', 'cancel', 'hold', 0);
$proxy->tell('harm', 'exchange', 'hold', 30_000_000);
$started = time();
ask('SELECT count(filler) FROM (' . join(' UNION ALL ', ('SELECT filler FROM endless_plain') x 20) . ') x');
error_is('57014', 'twenty streams silent: statement_timeout ends the query');
within(10 + $abandon, $started, 'twenty streams silent');
goes_on('plain', 'twenty streams silent');

# A cursor that is closed, a LIMIT that is reached: no error at all.
$proxy->tell('harm', 'cancel', 'hold', 0);
$proxy->tell('harm', 'exchange', 'hold', 3000000);
$started = time();
is(ask('SELECT count(*) FROM (SELECT * FROM endless_plain LIMIT 1000) x'), 1000, 'silent when the LIMIT is reached: all rows come');
within($abandon, $started, 'silent when the LIMIT is reached');
goes_on('plain', 'silent when the LIMIT is reached');

# At the start, on a connection that was kept: postgres_fdw's way.
ask("SET statement_timeout = '180s'");
$proxy->tell('harm', 'exchange', 'hold', 0);
$started = time();
is(scan('events', 'plain'), $expected{events}, 'silent at the start: all rows come');
within(5, $started, 'silent at the start');
like(transport('few_plain'), qr/exchange v1, session \(a session did not answer/, 'silent at the start: EXPLAIN says why');
goes_on('plain', 'silent at the start');

# At the start, on a new connection: connect_timeout, or a default.
begin_session_of('hasty');
$proxy->tell('harm', 'exchange', 'hold', 0);
$started = time();
is(scan('events', 'hasty'), $expected{events}, 'silent while connecting: all rows come');
within(2, $started, 'silent while connecting, connect_timeout');
like(transport('few_hasty'), qr/exchange v1, session \(a session did not answer/, 'silent while connecting: EXPLAIN says why');
goes_on('hasty', 'silent while connecting');

# While it is silent the user cancels; and it comes back in time.
begin_session_of('plain');
scan('few', 'plain');
$proxy->tell('harm', 'exchange', 'hold', 300000);
{
	my $other = open_session($coordinator);
	my $pid = ask('SELECT pg_backend_pid()');
	$session->query_until(qr/asked/, "\\echo asked\n" . sprintf($rows, 'wide_plain') . "\n");
	usleep(1_500_000);
	$proxy->tell('heal');
	is(ask(''), $expected{wide}, 'a network that comes back: all rows come');
	is($session->{stderr}, '', 'a network that comes back: there is no error');

	$proxy->tell('harm', 'exchange', 'hold', 300000);
	$session->query_until(qr/asked/, "\\echo asked\n" . sprintf($rows, 'wide_plain') . "\n");
	usleep(500_000);
	$started = time();
	$other->query("SELECT pg_cancel_backend($pid)");
	ask('');
	error_is('57014', 'silent, and the user cancels');
	within($abandon, $started, 'silent, and the user cancels');
	$other->quit;
}
goes_on('plain', 'silent, and the user cancels');

# ---- a network that is gone -----------------------------------------------------

SKIP:
{
	skip 'packets cannot be dropped here: no namespaces of our own', 1 unless $OwnNamespaces::entered;

	# In mid-stream: the server's TCP keepalive settings.
	begin_session_of('alive');
	scan('few', 'alive');
	$proxy->tell('harm', 'exchange', 'drop', 300000);
	$started = time();
	scan('wide', 'alive');
	error_is('08006', 'network gone in mid-stream: TCP keepalives end the query');
	like($session->{stderr}, qr/Connection timed out/, 'network gone in mid-stream: the error says so');
	within(5, $started, 'network gone in mid-stream');
	goes_on('alive', 'network gone in mid-stream');

	# With statement_timeout alone: no packet that asks for a cancel gets through.
	begin_session_of('plain');
	ask("SET statement_timeout = '2s'");
	scan('few', 'plain');
	$proxy->tell('harm', 'exchange', 'drop', 300000);
	$started = time();
	scan('wide', 'plain');
	error_is('57014', 'network gone in mid-stream: statement_timeout ends the query');
	within(2 + $abandon, $started, 'network gone in mid-stream, without keepalives');
	goes_on('plain', 'network gone in mid-stream, without keepalives');

	# At the start, on a connection that was kept: tcp_user_timeout, then connect_timeout.
	begin_session_of('alive');
	scan('few', 'alive');
	$proxy->tell('harm', 'exchange', 'drop', 0);
	$started = time();
	is(scan('events', 'alive'), $expected{events}, 'network gone at the start: all rows come');
	within(3 + 2, $started, 'network gone at the start: tcp_user_timeout, connect_timeout');
	goes_on('plain', 'network gone at the start');
}

# As the shard sees it: its tcp_user_timeout.
$shard->append_conf('postgresql.conf', "tcp_user_timeout = '2s'\n");
$shard->reload;
begin_session_of('plain');
scan('few', 'plain');
$proxy->tell('harm', 'exchange', 'hold', 300000);
$session->query_until(qr/asked/, "\\echo asked\nSELECT count(filler) FROM (SELECT filler FROM endless_plain OFFSET 0) x;\n");
ok($shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name = 'pg_exchange'}),
	'the shard gives up by its tcp_user_timeout');
$proxy->tell('heal');
ask('');
error_is('08006', 'the coordinator learns of it when the connection ends');
goes_on('plain', 'the shard gave up');
$session->quit;

# ---- nothing is left --------------------------------------------------------

ok($shard->poll_query_until('postgres', q{
	SELECT count(*) = 0 FROM pg_stat_activity WHERE application_name IN ('pg_exchange', 'postgres_fdw')}),
	'no session is left on the shard');
is_deeply([ map { glob($_->data_dir . '/pg_snapshots/*') } $shard, $coordinator ], [], 'no snapshot is left');
is_deeply([ map { glob($_->data_dir . '/base/pgsql_tmp/*') } $shard, $coordinator ], [], 'no temporary file is left');
unlike(slurp_file($_->logfile), qr/PANIC|was terminated by signal|TRAP:/, $_->name . ' has not crashed') for $shard, $coordinator;

done_testing();
