# pgbouncer in transaction mode before the shard: each transaction may get
# another backend, one that has not loaded the library or lacks the settings of
# the session, and may have to wait for one. Rows are right all the same, and
# nothing hangs.  In session mode there are streams as without it.
#
# postgres_fdw's own settings do not stick there either (search_path, and so on:
# they leak into backends at random). With PostgreSQL's defaults on the shard
# that does not show, neither in what it reads nor in an exchange.
use strict;
use warnings;

use Exchange;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my ($pgbouncer) = grep { -x } map { "$_/pgbouncer" } split(/:/, $ENV{PATH}), '/usr/sbin', '/usr/local/sbin';
plan skip_all => 'pgbouncer is not installed' unless $pgbouncer;

my $shard = new_shard('shard');
$shard->safe_psql('postgres', q{
	CREATE TABLE events AS
		SELECT i AS id, 'event ' || i AS name, i / 100.0 AS amount, ARRAY[i / 3.0::float8] AS parts,
			timestamptz '2020-02-03 04:05:06+00' + i * interval '1 minute' AS at, i * interval '-1 hour' AS since
		FROM generate_series(1, 5000) i;
});

# The pooler: "shard" hands out its backends in turn, "narrow" has a single one;
# "steady" hands out its four by session.
my $folder = PostgreSQL::Test::Utils::tempdir_short;
my $port = PostgreSQL::Test::Cluster::get_free_port();
my $upstream = sprintf('host=%s port=%s dbname=postgres user=%s', $shard->host, $shard->port,
	$shard->safe_psql('postgres', 'SELECT current_user'));
# Since 1.21 it may give prepared statements names of its own, which the
# DEALLOCATE of postgres_fdw does not know; since 1.24 it does so by default.
my ($minor) = qx{$pgbouncer --version} =~ /PgBouncer 1\.(\d+)/;
my $prepared = $minor < 21 ? '' : "max_prepared_statements = 0\n";
append_to_file("$folder/pgbouncer.ini", <<EOC);
[databases]
shard = $upstream pool_size=8
narrow = $upstream pool_size=1
steady = $upstream pool_size=4 pool_mode=session
[pgbouncer]
listen_port = $port
unix_socket_dir = $folder
auth_type = any
pool_mode = transaction
server_round_robin = 1
$prepared
EOC
my $pooler = IPC::Run::start([ $pgbouncer, "$folder/pgbouncer.ini" ], '<', \undef, '>', "$folder/log", '2>&1');
END
{
	local $?;
	$pooler->kill_kill if $pooler;
}
for (1 .. 10 * $PostgreSQL::Test::Utils::timeout_default)
{
	last if -S "$folder/.s.PGSQL.$port";
	usleep(100_000);
}

my $coordinator = new_coordinator('coordinator');
for my $database (qw(shard narrow steady))
{
	add_server($coordinator, $database, $shard, host => $folder, port => $port, dbname => $database);
	$coordinator->safe_psql('postgres', qq{
		CREATE SCHEMA $database;
		IMPORT FOREIGN SCHEMA public FROM SERVER $database INTO $database});
}

# Have so many backends stand behind the pooler, none of which has loaded the
# library: those that are there are ended, and transactions of postgres_fdw
# alone hold one each.
sub renew_backends
{
	my ($n) = @_;
	$shard->safe_psql('postgres', q{
		SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
		WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()});
	my @sessions = map { $coordinator->background_psql('postgres') } 1 .. $n;
	$_->query_safe('SET pg_exchange.enabled = off; BEGIN; SELECT FROM shard.events LIMIT 1;') for @sessions;
	is($shard->safe_psql('postgres', q{
		SELECT count(*) FROM pg_stat_activity WHERE application_name = 'postgres_fdw' AND state = 'idle in transaction'}),
		$n, 'backends behind the pooler are fresh');
	$_->query_safe('COMMIT') for @sessions;
	$_->quit for @sessions;
}

my $scan = 'SELECT count(*), sum(id), sum(amount), max(at) FROM (SELECT * FROM shard.events OFFSET 0) x;';
my $rows = $shard->safe_psql('postgres', 'SELECT count(*), sum(id), sum(amount), max(at) FROM events');
my $explain = 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM shard.events;';
my $stream = 'exchange v1, stream';
my $unloaded = 'exchange v1, session (remote backend has not loaded pg_exchange)';

# A session's hello loads the library in one backend, its stream gets another:
# tried once more, then read by postgres_fdw's. What was tried loads it there, so
# that sooner or later there is no backend without it.
renew_backends(6);
my %seen;
my $wrong = 0;
for my $try (1 .. 8)
{
	my ($transport, $got) = $coordinator->safe_psql('postgres', $explain . $scan) =~ /Transport: (.*?)\n.*\n(.*)$/s;
	$seen{$transport}++;
	$wrong++ if $got ne $rows;
}
is($wrong, 0, 'new sessions have the right rows');
is_deeply([ sort keys %seen ], [ $unloaded, $stream ], "postgres_fdw's session reads at first, then a stream");
like(slurp_file($shard->logfile), qr/ERROR:  exchange.send was not recognized by the planner/, 'backends were switched');

# The same within a session, whose connections to the pooler stay.
my $session = $coordinator->background_psql('postgres', on_error_stop => 0);
sub ask
{
	my ($sql) = @_;
	return $session->query($sql);
}
is(ask($scan), $rows, 'a session has the right rows');
renew_backends(6);
%seen = ();
$wrong = 0;
for my $try (1 .. 8)
{
	$seen{ label('Transport', ask($explain)) }++;
	$wrong++ if ask($scan) ne $rows;
}
is($wrong, 0, 'a session whose backends are switched has the right rows');
ok($seen{$stream}, 'a stream reads in the end');
is(join(',', grep { $_ ne $stream && $_ ne $unloaded } keys %seen), '', "if it is not a stream, postgres_fdw's session reads");

# A transaction keeps its backends: snapshot and own writes are as ever.
ask('BEGIN;');
is(ask($scan), $rows, 'a transaction has the right rows');
$shard->safe_psql('postgres', q{INSERT INTO events (id) VALUES (0)});
is(ask($scan), $rows, 'a transaction keeps its snapshot');
ask('UPDATE shard.events SET id = id + 1 WHERE id > 0;');
is(ask('SELECT sum(id) FROM (SELECT id FROM shard.events OFFSET 0) x;'), 5000 * 5001 / 2 + 5000, 'its own writes');
ask('ROLLBACK;');
$shard->safe_psql('postgres', 'DELETE FROM events WHERE id = 0');
ask(q{
	SET pg_exchange.enabled = off;
	CREATE TEMP TABLE expected AS SELECT * FROM shard.events;
	SET pg_exchange.enabled = on;
	CREATE TEMP TABLE got AS SELECT * FROM shard.events});
is(ask('SELECT count(*) FROM got;'), 5000, 'all rows come');
is(ask('SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) x;'), 0, 'they are no other than those of postgres_fdw');
is(ask('SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) x;'), 0, 'none of them is missing');
is($session->{stderr}, '', 'there is no error in all that');
$session->quit;

# The only backend is postgres_fdw's, for as long as the transaction lasts: an
# stream cannot wait for it.
{
	my $plan = $coordinator->safe_psql('postgres', 'EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM narrow.events');
	like($plan, qr/rows=5000(\.00)? .*Transport: exchange v1, session \((session does not answer in time|a session did not answer within the last minute)\)/s, "where no backend is to be had, postgres_fdw's session reads");
}

# By transaction, what takes several transactions of one session over there, or
# connections of our own beside it: joins that send rows to the server, lookups,
# aggregates, cursors, and writes by connections of their own.
$shard->safe_psql('postgres', q{
	CREATE TABLE big AS SELECT i AS id, i % 1000 AS key, repeat('x', i % 50) AS filler FROM generate_series(1, 60000) i;
	CREATE INDEX ON big (key);
	CREATE TABLE target (id int, name text);
	CREATE TABLE targets0 (id int, name text);
	CREATE TABLE targets1 (id int, name text);
	CREATE TABLE lines0 AS SELECT i AS id, i % 20000 AS ord, i % 7 AS qty FROM generate_series(0, 79998, 2) i;
	CREATE TABLE lines1 AS SELECT i AS id, i % 20000 AS ord, i % 7 AS qty FROM generate_series(1, 79999, 2) i;
	CREATE TABLE orders0 AS SELECT i AS id, i % 13 AS customer, 'order ' || i AS what FROM generate_series(0, 19999) i WHERE i % 3 = 0;
	CREATE TABLE orders1 AS SELECT i AS id, i % 13 AS customer, 'order ' || i AS what FROM generate_series(0, 19999) i WHERE i % 3 > 0;
	ANALYZE});
add_server($coordinator, 'shard2', $shard, host => $folder, port => $port, dbname => 'shard');
$coordinator->safe_psql('postgres', q{
	CREATE TABLE small AS SELECT i * 3 AS key, 'small ' || i AS what FROM generate_series(1, 300) i;
	ANALYZE small;
	CREATE FOREIGN TABLE shard.big (id int, key int, filler text) SERVER shard OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE shard.target (id int, name text) SERVER shard OPTIONS (schema_name 'public');
	CREATE TABLE lines (id int, ord int, qty int) PARTITION BY LIST ((id % 2));
	CREATE TABLE orders (id int, customer int, what text) PARTITION BY LIST ((id % 3 > 0));
	CREATE TABLE targets (id int, name text) PARTITION BY LIST ((id % 2));
	CREATE FOREIGN TABLE targets0 PARTITION OF targets FOR VALUES IN (0) SERVER shard OPTIONS (schema_name 'public', batch_size '100');
	CREATE FOREIGN TABLE targets1 PARTITION OF targets FOR VALUES IN (1) SERVER shard2 OPTIONS (schema_name 'public', batch_size '100');
	CREATE FOREIGN TABLE lines0 PARTITION OF lines FOR VALUES IN (0) SERVER shard OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE lines1 PARTITION OF lines FOR VALUES IN (1) SERVER shard2 OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE orders0 PARTITION OF orders FOR VALUES IN (false) SERVER shard OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE orders1 PARTITION OF orders FOR VALUES IN (true) SERVER shard2 OPTIONS (schema_name 'public');
	SET pg_exchange.enabled = off;
	ANALYZE shard.big; ANALYZE lines, orders});
my %by_transaction = (
	'a broadcast join' => 'SET pg_exchange.join_exchange = broadcast;
		SELECT what, count(*), sum(length(filler)) FROM shard.big JOIN small USING (key) GROUP BY what ORDER BY what COLLATE "C"',
	'a join by hash partitions' => 'SET pg_exchange.join_exchange = hash_partition;
		SELECT customer, count(*), sum(qty), count(DISTINCT l.id) FROM lines l JOIN orders o ON o.id = l.ord GROUP BY 1 ORDER BY 1',
	'a lookup join' => 'SET enable_hashjoin = off; SET enable_mergejoin = off; SET pg_exchange.join_exchange = off;
		SELECT count(*), sum(b.id), max(what COLLATE "C") FROM small JOIN shard.big b USING (key)',
	'a cursor' => 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM shard.big ORDER BY id; FETCH 3 FROM c;
		SELECT count(*) FROM (SELECT * FROM shard.big OFFSET 0) x; MOVE 30000 FROM c; FETCH 2 FROM c; COMMIT',
	'slices' => 'SET pg_exchange.slices = 3; SELECT count(*), sum(id), sum(length(filler)) FROM shard.big WHERE random() < 2',
	'writes' => q{BEGIN; INSERT INTO shard.target SELECT i, 'target ' || i FROM generate_series(1, 20000) i;
		UPDATE shard.target SET name = name || random()::text WHERE id % 2 = 0;
		SELECT count(*), sum(id) FROM (SELECT * FROM shard.target OFFSET 0) x; DELETE FROM shard.target WHERE id > 100 OR random() > 2;
		SELECT count(*), sum(id) FROM shard.target; COMMIT; DELETE FROM shard.target},
	'writes by connections of their own' => q{SET pg_exchange.debug_random_choices = on; SET pg_exchange.local_scope = none;
		SET pg_exchange.compression = none;
		INSERT INTO targets SELECT i, repeat('x', 100) || i FROM generate_series(1, 20000) i;
		SELECT count(*), sum(id), sum(length(name)) FROM targets; DELETE FROM targets WHERE id > 0});
for my $what (sort keys %by_transaction)
{
	my $expected = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; SET pg_exchange.writes = off; $by_transaction{$what}");
	my $steady = $coordinator->background_psql('postgres', on_error_stop => 0);
	$steady->query("SET statement_timeout = '180s';");
	renew_backends(3);
	my @answers = map { scalar($steady->query("$by_transaction{$what};")) } 1 .. 4;
	is(scalar(grep { $_ ne $expected } @answers), 0, "$what by transaction: the rows are those of postgres_fdw")
		or diag("expected:\n$expected\ngot:\n" . join("\n", @answers));
	is($steady->{stderr}, '', "$what: without an error");
	$steady->quit;
}

my $log = slurp_file($shard->logfile);
like($log, qr/exchange\.$_\(/, "exchange.$_ was called") for qw(fill_inbox inbox unpack in_filter apply deposit send_text);

# By session: a stream at once, on a connection that keeps its backend.  The
# pooler counts connections; an idle one that is closed is there for others.
my $steady_explain = $explain =~ s/shard\./steady./r;
my $steady_scan = $scan =~ s/shard\./steady./r;
my @steady = map { $coordinator->background_psql('postgres', on_error_stop => 0) } 1 .. 3;
is(label('Transport', $steady[0]->query($steady_explain)), $stream, 'by session, a stream reads');
is($steady[0]->query($steady_scan), $rows, 'the right rows');
is(label('Transport', $steady[1]->query($steady_explain)), $stream, 'the same in another session');
like($steady[2]->query("SET statement_timeout = '180s'; SET pg_exchange.transport = session; SET idle_session_timeout = 0;"), qr/^$/, 'a third session');
$_->query(q{SET pg_exchange.idle_timeout = '100ms';}) for @steady[0, 1];
is($steady[2]->query($steady_scan), $rows, 'has a connection as soon as an idle one is closed');
$_->quit for @steady;

done_testing();
