# What somebody can do who calls the functions by hand by which servers of a join
# pull rows: offers that are interrupted, collectors that wait, servers that do
# not answer.  A frame that was cut off has crashed a server once.
use strict;
use warnings;

use Exchange;
use IO::Socket::INET;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = new_shard('node', extensions => [ 'postgres_fdw', 'pg_exchange' ], conf => "pg_exchange.join_pull = on\n");
add_server($node, 'shard2', $node);
my $began;
sub sql
{
	my ($sql) = @_;
	return $node->safe_psql('postgres', $sql);
}

sub request
{
	my ($links, $pulled) = @_;
	return "version=1 encodings=1 codec=none level=0 batch_rows=65536 batch_bytes=1048576 server_version=150000 targets=$links links=$links pulled="
	  . sprintf('%016x', $pulled) . ' plain=0000000000000000 columns=20:-1';
}
sub send_sql
{
	my ($links, $pulled, $n, $from) = @_;
	return "SELECT exchange.send('" . request($links, $pulled) . "', t.*) FROM (SELECT (-4)::int8, (g % $links)::int4 FROM generate_series(1, $n) g"
	  . ($from // '') . ') t';
}
sub hand
{
	my $psql = open_session($node);
	$psql->query('\set VERBOSITY terse');
	return $psql;
}
sub of
{
	my ($psql, $sql) = @_;
	$psql->{stderr} = '';
	my $text = $psql->query($sql);
	return $psql->{stderr} ? $psql->{stderr} =~ s/^psql:\S+ //mr : $text;
}
# Begin a query, and go on.
sub start
{
	my ($psql, $sql) = @_;
	$psql->query_until(qr/begun/, "\\echo begun\n$sql;\n");
	return;
}
# Begin to collect, and go on once all that is there was read.
sub start_to_collect
{
	my ($psql, $sql) = @_;
	start($psql, $sql);
	$node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'MessageQueueReceive'}) or die 'nobody collects';
	return;
}
# Empty values only say that the session is there.
my $collect = q{SELECT count(*) FILTER (WHERE f <> ''), coalesce(sum(octet_length(f)), 0) > 0 FROM (SELECT exchange.collect('%s', %d) AS f) x};

foreach my $token ('1.0000000000000000.0000000000000000', '4294967295.0123456789abcdef.0123456789abcdef')
{
	like(of(hand(), "SELECT exchange.collect('$token', 0)"), qr/ERROR:  there are no rows to collect/, 'a token of nobody');
}

# While a query waits for room in a queue, it is cancelled, and the transaction
# goes on: nothing that comes after may be taken for the rest of a frame.
my ($a, $b) = (hand(), hand());
my $pid_a = of($a, 'SELECT pg_backend_pid()');
of($a, 'BEGIN');
my $token = of($a, q{SELECT exchange.offer('1 0000000000000001')});
of($a, 'SAVEPOINT s');
like(of($a, send_sql(2, 1, 10)), qr/ERROR:  no rows were offered in this transaction/, 'a query of other links than those that are offered');
of($a, 'ROLLBACK TO s; RELEASE s');
like(of($a, send_sql(2, 3, 10)), qr/ERROR:  no rows were offered in this transaction/, 'a query of more links than those that are offered');
of($a, 'ROLLBACK');

sub offer_two
{
	my ($psql, $pulled) = @_;
	of($psql, 'BEGIN');
	return of($psql, "SELECT exchange.offer('2 " . sprintf('%016x', $pulled) . "')");
}
$token = offer_two($a, 3);
of($a, 'SAVEPOINT s');
like(of($a, send_sql(2, 3, 1000)), qr/ERROR:  offered rows cannot be sent inside a subtransaction/, 'no offered row is sent in a subtransaction');
of($a, 'ROLLBACK TO s; RELEASE s');
start($b, sprintf($collect, $token, 0));
start(my $c = hand(), sprintf($collect, $token, 1));
like(of($a, send_sql(2, 3, 1000)), qr/^$/, 'but after it');
like(of($b, 'SELECT 1'), qr/^3\|t\n1$/, 'whoever collects has a schema, a batch and an end');
like(of($c, 'SELECT 1'), qr/^3\|t\n1$/, 'and so has another one');
like(of($a, send_sql(2, 3, 1000)), qr/ERROR:  no rows were offered in this transaction/, 'an offer is for one query');
of($a, 'ROLLBACK');

# A cursor that has put some frames, and is fetched from in a subtransaction.
$token = offer_two($a, 1);
of($a, 'DECLARE c NO SCROLL CURSOR FOR ' . send_sql(2, 1, 1000000));
like(of($a, 'SELECT count(*) FROM (SELECT 1) x; FETCH 1 FROM c'), qr/^1\n\\x/, 'a cursor puts frames, and returns one of the other link');
start_to_collect($b, sprintf($collect, $token, 0));
of($a, 'SAVEPOINT s');
like(of($a, 'FETCH 5 FROM c'), qr/ERROR:  offered rows cannot be sent inside a subtransaction/, 'it does not in a subtransaction');
like(of($b, 'SELECT 1'), qr/^[1-9]\d*\|t\n1$/, 'whoever collects from it has what was put, and the end');
of($a, 'ROLLBACK TO s; RELEASE s');
like(of($a, send_sql(2, 1, 1000)), qr/ERROR:  rows that were offered cannot be sent any more/, 'the offer is void');
of($a, 'ROLLBACK');
like(of($a, 'BEGIN; ' . send_sql(2, 1, 1000)), qr/ERROR:  no rows were offered in this transaction/, 'another transaction has none');
of($a, 'ROLLBACK');

# Offers that are made again and again take no memory.
my $memory = q{SELECT sum(used_bytes) FROM pg_backend_memory_contexts};
my $again = q{SELECT count(exchange.offer('64 ffffffffffffffff')) FROM generate_series(1, 100)};
of($a, 'BEGIN');
of($a, $again);
my $before = of($a, $memory);
of($a, $again);
cmp_ok(of($a, $memory) - $before, '<', 100_000, 'a hundred offers leave no memory');
of($a, 'ROLLBACK');

# One that is closed before its end.
$token = offer_two($a, 1);
of($a, 'DECLARE c NO SCROLL CURSOR FOR ' . send_sql(2, 1, 1000000));
of($a, 'FETCH 1 FROM c');
start_to_collect($b, sprintf($collect, $token, 0));
of($a, 'CLOSE c');
like(of($b, 'SELECT 1'), qr/^[1-9]\d*\|t\n1$/, 'a cursor is closed: whoever collects has the end');
like(of($a, send_sql(2, 1, 1000)), qr/ERROR:  rows that were offered cannot be sent any more/, 'a cursor is closed: the offer is void');
of($a, 'ROLLBACK');
$token = offer_two($a, 1);
of($a, 'DECLARE c NO SCROLL CURSOR FOR ' . send_sql(2, 1, 1000000));
of($a, 'FETCH 1 FROM c');
like(of($a, send_sql(2, 1, 1000)), qr/ERROR:  rows that were offered are those of another query/, 'two queries for one offer');
of($a, 'ROLLBACK');

# A query that waits for room is cancelled.
$token = offer_two($a, 1);
start($a, send_sql(2, 1, 1000000));
ok($node->poll_query_until('postgres', "SELECT wait_event = 'MessageQueueSend' FROM pg_stat_activity WHERE pid = $pid_a"), 'a query waits for room');
sql("SELECT pg_cancel_backend($pid_a)");
like(of($a, 'SELECT 1'), qr/canceling statement due to user request/, 'it is cancelled');
like(of($b, sprintf($collect, $token, 0)), qr/ERROR:  there are no rows to collect/, 'what it has put is nobody\'s any more');
of($a, 'ROLLBACK');

# Who has opened a queue keeps the segment; but nobody else opens it after its end.
$token = offer_two($a, 3);
start($b, sprintf($collect, $token, 0));
my $pid_b;
ok($node->poll_query_until('postgres', q{SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'MessageQueueReceive'}), 'a collector waits');
$pid_b = sql(q{SELECT pid FROM pg_stat_activity WHERE wait_event = 'MessageQueueReceive'});
kill 'STOP', $pid_b;
of($a, 'ROLLBACK');
like(of($c, sprintf($collect, $token, 1)), qr/ERROR:  there are no rows to collect/, 'an offer that has ended is not to be had, even if its memory is there');
kill 'CONT', $pid_b;
like(of($b, 'SELECT 1'), qr/^0\|f\n1$/, 'nothing was sent');

# How long a collector waits.
$token = offer_two($a, 3);
of($b, q{SET statement_timeout = '1s'});
like(of($b, sprintf($collect, $token, 0)), qr/canceling statement due to statement timeout/, 'nobody sends: the collector\'s statement_timeout counts');
sql('CREATE FUNCTION nap(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN IF i = 500 THEN PERFORM pg_sleep(3); END IF; RETURN true; END $$');
start($a, send_sql(2, 3, 1000, ' WHERE nap(g)'));
ok($node->poll_query_until('postgres', "SELECT query LIKE '%exchange.send%' AND wait_event = 'PgSleep' FROM pg_stat_activity WHERE pid = $pid_a"), 'the query sleeps');
like(of($b, sprintf($collect, $token, 1)), qr/^3\|t$/, 'somebody sends: it does not');
of($b, 'RESET statement_timeout');
of($a, 'SELECT 1');
of($a, 'ROLLBACK');
$token = offer_two($a, 3);
start($b, sprintf($collect, $token, 0));
ok($node->poll_query_until('postgres', "SELECT wait_event = 'MessageQueueReceive' FROM pg_stat_activity WHERE pid = $pid_b"), 'a collector waits again');
sql("SELECT pg_cancel_backend($pid_b)");
like(of($b, 'SELECT 1'), qr/canceling statement due to user request/, 'it can be cancelled');
start($c, sprintf($collect, $token, 1));
ok($node->poll_query_until('postgres', "SELECT count(*) = 1 FROM pg_stat_activity WHERE wait_event = 'MessageQueueReceive'"), 'another one waits');
$began = time();
$c->{run}->kill_kill;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE wait_event = 'MessageQueueReceive'"), 'its client has gone: it notices');
within(2, $began, 'its client has gone');
of($a, 'ROLLBACK');

# Who may not, and what makes no sense.
my $id = 'f' x 32;
my $own_id = sql(q{SELECT substring(exchange.hello('protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=150000 instance=0123456789abcdef0123456789abcdef export=1') FROM ' pull=([0-9a-f]+)')});
is(of($a, "SELECT exchange.can_pull('shard2 $id')"), '-', 'a server that leads elsewhere');
is(of($a, "SELECT exchange.can_pull(E'nobody $id\\nshard1 $own_id')"), '-h', 'a server that is not there, and oneself');
like(of($a, $_), qr/ERROR:  invalid/, "$_: refused") for
  "SELECT exchange.can_pull('')", "SELECT exchange.can_pull('shard2')", "SELECT exchange.can_pull(E'shard2 $id\\n')", "SELECT exchange.can_pull('shard2 $id x')",
  "SELECT exchange.can_pull(string_agg('a $id', E'\\n')) FROM generate_series(1, 4097)", "SELECT exchange.pull('')", "SELECT exchange.pull('shard2 $id')",
  "SELECT exchange.offer('1 0000000000000000')", "SELECT exchange.offer('1 0000000000000002')", "SELECT exchange.offer('65 0000000000000001')",
  "SELECT exchange.offer('1 0000000000000001 ')", "SELECT exchange.collect('x', 0)";
is(of($a, "SELECT length(exchange.can_pull(string_agg('a $id', E'\\n'))) FROM generate_series(1, 4096)"), 4096, 'as many servers as may be');
like(of($a, "SELECT exchange.pull('shard2 $id 1.0000000000000000.0000000000000000 1 0 1 1 0 1')"), qr/ERROR:  could not connect to server "shard2" to pull rows from it/, 'a link whose server leads elsewhere: the error names it');
like(of($a, "SELECT exchange.pull('shard1 $own_id 1.0000000000000000.0000000000000000 1 0 1 1 0 1')"), qr/ERROR:  server "shard1" has no rows to collect/, 'a link of nothing: the error names it');

# Clients that go away while frames come and go.
sql('CREATE FUNCTION slow(i int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.1); RETURN true; END $$');
my ($sender, @collectors) = map { hand() } 1 .. 3;
my @pids = map { of($_, 'SELECT pg_backend_pid()') } $sender, @collectors;
$token = offer_two($sender, 3);
start($sender, send_sql(2, 3, 600, ' WHERE slow(g)') =~ s/batch_rows=65536/batch_rows=1/r);
start($collectors[$_], sprintf($collect, $token, $_)) for 0, 1;
ok($node->poll_query_until('postgres', "SELECT count(*) = 2 FROM pg_stat_activity WHERE query LIKE '%exchange.collect%' AND state = 'active' AND pid IN (" . join(', ', @pids) . ')'), 'two collect');
$began = time();
$collectors[0]->{run}->kill_kill;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pids[1]"), 'the client of a collector goes away while frames come: it notices');
$sender->{run}->kill_kill;
ok($node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pids[0]"), 'so does a sender');
cmp_ok(time() - $began, '<', 45, 'they do not go on to the end of the query');
like(of($collectors[1], 'SELECT 1'), qr/\n1$/, 'the other collector has what came');
$collectors[1]->quit;

# Shared memory has not many segments: a session keeps few of offers that have
# ended.
of($b, 'BEGIN');
for (1 .. 16)
{
	$token = offer_two($a, 1);
	is(of($b, "DECLARE c$_ CURSOR FOR SELECT exchange.collect('$token', 0); FETCH 1 FROM c$_"), '\x', "collection $_: nothing has come, which is said");
	of($a, 'ROLLBACK');
}
$token = offer_two($a, 1);
like(of($b, sprintf($collect, $token, 0)), qr/ERROR:  too many calls of exchange.collect are open in this session/, 'there are no more');
is(of($b, "ROLLBACK; BEGIN; DECLARE c CURSOR FOR SELECT exchange.collect('$token', 0); FETCH 1 FROM c; ROLLBACK"), '\x', 'those of a transaction that has ended do not count');
of($a, 'ROLLBACK');

# A parallel worker's transaction is not one.
sql(q{CREATE TABLE few AS SELECT i FROM generate_series(1, 10000) i; ANALYZE few;
	CREATE FUNCTION offers(i int) RETURNS text PARALLEL SAFE LANGUAGE plpgsql AS 'BEGIN RETURN exchange.offer(''1 0000000000000001''); END'});
like(of($a, q{BEGIN; SET LOCAL parallel_leader_participation = off; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0; SET LOCAL min_parallel_table_scan_size = 0; SELECT count(offers(i)) FROM few}),
	qr/ERROR:  cannot execute exchange.offer\(\) during a parallel operation/, 'no offer in a parallel worker');
of($a, 'ROLLBACK');

# A server that fails is tried once.
sql(q{CREATE SERVER failing FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '/nowhere'); CREATE USER MAPPING FOR CURRENT_USER SERVER failing});
my $log = -s $node->logfile;
is(of($a, "SET log_min_messages = debug1; SELECT exchange.can_pull(E'" . join('\n', ("failing $id") x 50) . "'); RESET log_min_messages"), '-' x 50, 'a server that cannot be reached');
is(scalar(() = slurp_file($node->logfile, $log) =~ /no rows are pulled from server "failing"/g), 1, 'it is tried once');

# Servers that do not answer.
my $silent = IO::Socket::INET->new(Listen => 100, LocalAddr => '127.0.0.1') or die $!;
sql("CREATE SERVER silent$_ FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '" . $silent->sockport . "', connect_timeout '600'); CREATE USER MAPPING FOR CURRENT_USER SERVER silent$_") for 1 .. 20;
$began = time();
is(of($a, 'SELECT exchange.can_pull(E\'' . join('\n', map { "silent$_ $id" } 1 .. 20) . '\')'), '-' x 20, 'servers that do not answer');
within(5, $began, 'servers that do not answer');
is(of($a, "SELECT exchange.can_pull('silent1 $id')"), '-', 'one that did not answer is not asked again at once');

eval { $_->quit } for $a, $b;
done_testing();
