# A coordinator in single-user mode, where there is no postmaster to wait for:
# streams, the session, several streams at once, and errors of the remote.
use strict;
use warnings;

use Exchange;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard');
$shard->safe_psql('postgres', 'CREATE TABLE events AS SELECT i AS id FROM generate_series(1, 7000) i');
# Long enough to be read ahead.
$shard->safe_psql('postgres', 'CREATE VIEW long AS SELECT i AS id, repeat(md5(i::text), 4) AS word FROM generate_series(1, 60000) i');
my $coordinator = new_coordinator('coordinator');
for my $server (qw(one other))
{
	add_server($coordinator, $server, $shard);
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE events_$server (id int) SERVER $server OPTIONS (table_name 'events')");
}
$coordinator->safe_psql('postgres', q{CREATE FOREIGN TABLE missing (id int) SERVER one; CREATE FOREIGN TABLE long (id int, word text) SERVER one});
$coordinator->stop;

# What a stand-alone backend prints for these statements, each on its line.
sub run_alone
{
	my $input = join('', map { "$_\n" } @_);
	my $output = '';
	IPC::Run::run([ 'postgres', '--single', '-D', $coordinator->data_dir, 'postgres' ], '<', \$input, '>', \$output, '2>&1',
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $output;
}

my $sums = run_alone(
	'SELECT sum(id) AS by_stream FROM (SELECT * FROM events_one OFFSET 0) x',
	'SET pg_exchange.transport = session',
	'SELECT sum(id) AS by_session FROM (SELECT * FROM events_one OFFSET 0) x',
	'SELECT i, EXISTS (SELECT FROM (SELECT * FROM long OFFSET 0) l WHERE l.id > 30000 + i AND l.word > $$$$) AS anew FROM generate_series(1, 3) i',
	'RESET pg_exchange.transport',
	'SELECT sum(id) AS of_both FROM (SELECT * FROM events_one UNION ALL SELECT * FROM events_other OFFSET 0) x',
	'SELECT sum(id) AS of_none FROM (SELECT * FROM missing OFFSET 0) x',
	'SELECT sum(id) AS afterwards FROM (SELECT * FROM events_one OFFSET 0) x');
like($sums, qr/by_stream = "24503500"/, 'a stream is read in single-user mode');
like($sums, qr/by_session = "24503500"/, 'the session is read in single-user mode');
like($sums, qr/of_both = "49007000"/, 'two streams are waited for in single-user mode');
is(scalar(() = $sums =~ /anew = "t"/g), 3, 'a scan begins anew while its next portion is on its way');
like($sums, qr/relation "public\.missing" does not exist.*afterwards = "24503500"/s, 'an error of the remote is raised, and the next query works');
unlike($sums, qr/epoll_ctl|PANIC/, 'no wait fails');

done_testing();
