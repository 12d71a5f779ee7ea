# What a transaction leaves to its end, where that does not go well: no
# descriptor is left to wait with, or a remote does not answer any more.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $shard = new_shard('shard');
$shard->safe_psql('postgres', q{
	CREATE TABLE t AS SELECT i AS id, 'row ' || i AS v FROM generate_series(1, 20000) i; ANALYZE});
my $coordinator = new_coordinator('coordinator',
	conf => "pg_exchange.local_scope = none\npg_exchange.min_bytes = 0\nmax_files_per_process = 100\nrestart_after_crash = off\n");
$coordinator->safe_psql('postgres', 'CREATE EXTENSION dblink');
for my $name (qw(first second))
{
	add_server($coordinator, $name, $shard);
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE $name (id int, v text) SERVER $name OPTIONS (table_name 't')");
}

# ---- no descriptor is left ---------------------------------------------------

# Connections of dblink take all descriptors.  A subtransaction is rolled back while a stream's COMMIT is under way.
my $session = open_session($coordinator);
my $dsn = join(' ', 'host=' . $shard->host, 'port=' . $shard->port, 'dbname=postgres');
my $begin = q{SELECT count(*) FROM (SELECT * FROM first OFFSET 0) x};
is($session->query_safe("$begin;"), 20000, 'a stream');
$session->query(qq{
	DO \$\$ DECLARE n int := 0; BEGIN
		PERFORM count(*) FROM first x JOIN generate_series(1, 2) g ON true;
		PERFORM count(*) FROM second x JOIN generate_series(1, 2) g ON true;
		BEGIN
			LOOP
				PERFORM dblink_connect('c' || n, '$dsn');
				n := n + 1;
			END LOOP;
		EXCEPTION WHEN OTHERS THEN
			RAISE NOTICE 'after % connections: %', n > 10, sqlerrm;
		END;
	END \$\$});
like($session->{stderr}, qr/Too many open files/, 'dblink has used up all descriptors');
$session->{stderr} = '';
unlike(slurp_file($coordinator->logfile), qr/PANIC/, 'nobody has panicked');
$session->query(q{SELECT count(dblink_disconnect(name)) FROM unnest(dblink_get_connections()) name});
is($session->query_safe("$begin;"), 20000, 'the session goes on');
$session->quit;

# ---- a kept connection that is silent ----------------------------------------

$session = open_session($coordinator);
my $both = 'SELECT count(*), sum(id) FROM (SELECT * FROM first UNION ALL SELECT * FROM second OFFSET 0) x';
is($session->query_safe("BEGIN; $both;"), '40000|400020000', 'streams from two servers');
my @pids = split /\n/, $shard->safe_psql('postgres', q{SELECT pid FROM pg_stat_activity WHERE application_name = 'pg_exchange'});
is(scalar @pids, 2, 'their connections are kept');
kill 'STOP', @pids;
my $began = time();
is($session->query_safe("$both;"), '40000|400020000', 'both are silent: the rows come all the same');
within(30, $began, 'silent connections are given up');
kill 'CONT', @pids;
$session->query_safe('COMMIT');
$session->quit;

done_testing();
