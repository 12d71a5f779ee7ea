# What counts as local, and is then not compressed: the same instance whatever
# the address, the same host over TCP and over a Unix socket.  (Servers with
# addresses of their own need network namespaces: scripts/check-cluster.)
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tcp = "listen_addresses = '127.0.0.1,127.0.0.2'\n";
my $shard = new_shard('shard', conf => $tcp);
my $coordinator = new_coordinator('coordinator', conf => $tcp);
my $rows = 20000;
for my $node ($shard, $coordinator)
{
	$node->safe_psql('postgres', qq{
		CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, $rows) i});
}

# Foreign servers: of which node, by which host.
my %servers = (
	tcp => [ $shard, '127.0.0.1' ],
	socket => [ $shard, $shard->host ],
	loopback_tcp => [ $coordinator, '127.0.0.1' ],
	loopback_other => [ $coordinator, '127.0.0.2' ],
	loopback_socket => [ $coordinator, $coordinator->host ]);
for my $name (sort keys %servers)
{
	add_server($coordinator, $name, $servers{$name}[0], host => $servers{$name}[1]);
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE of_$name (id int, name text) SERVER $name OPTIONS (table_name 'events')});
}

# How the rows of a server come: as EXPLAIN says, and by the bytes it counts.
# "raw" if they take no less than the plain values, "less" if they do.
sub travels
{
	my ($server, $scope, $mode) = @_;
	my $settings = "SET pg_exchange.local_scope = $scope; SET pg_exchange.compression = $mode";
	my $plan = $coordinator->safe_psql('postgres',
		"$settings; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM of_$server");
	my $json = $coordinator->safe_psql('postgres',
		"$settings; EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) SELECT * FROM of_$server");
	my ($wire) = $json =~ /"Wire Bytes": (\d+)/;
	my ($raw) = $json =~ /"Raw Bytes": (\d+)/;
	is($coordinator->safe_psql('postgres', "$settings; SELECT count(*), sum(id), count(DISTINCT name) FROM (SELECT * FROM of_$server OFFSET 0) x"),
		"$rows|" . $rows * ($rows + 1) / 2 . "|$rows", "all rows come of $server, local_scope $scope, $mode");
	return label('Compression', $plan) =~ s/AUTO \(lz4 \d+ batches, zstd \d+, none \d+\)/AUTO (measured)/r . ', ' . (!$wire ? 'nothing' : $wire >= $raw ? 'raw' : 'less');
}

# The same for rows that are written there.
sub is_written
{
	my ($server, $scope, $mode) = @_;
	my $settings = "SET pg_exchange.local_scope = $scope; SET pg_exchange.compression = $mode";
	my $plan = $coordinator->safe_psql('postgres', qq{
		$settings; BEGIN;
		EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) INSERT INTO of_$server SELECT i, repeat('event', 10) FROM generate_series(1, $rows) i;
		ROLLBACK});
	my $json = $coordinator->safe_psql('postgres', qq{
		$settings; BEGIN;
		EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) INSERT INTO of_$server SELECT i, repeat('event', 10) FROM generate_series(1, $rows) i;
		ROLLBACK});
	my ($wire) = $json =~ /"Wire Bytes": (\d+)/;
	my ($raw) = $json =~ /"Raw Bytes": (\d+)/;
	return label('Compression', $plan) =~ s/AUTO \(lz4 \d+ batches, zstd \d+, none \d+\)/AUTO (measured)/r
		=~ s/(FAST|HIGH_COMPRESSION) \((lz4|zstd).*\)/$1/r . ', ' . (!$wire ? 'nothing' : $wire >= $raw ? 'raw' : 'less');
}

my %compressed = (
	fast => 'FAST (lz4), less',
	high_compression => 'HIGH_COMPRESSION (zstd), less',
	auto => 'AUTO (measured), less');
my $host = 'NONE (same host), raw';
my $instance = 'NONE (same instance), raw';
my %expected = (    # by local_scope; undef: as the mode says
	tcp => { none => undef, instance => undef, host => $host },
	socket => { none => undef, instance => undef, host => $host },
	loopback_tcp => { none => undef, instance => $instance, host => $instance },
	loopback_other => { none => undef, instance => $instance, host => $instance },
	loopback_socket => { none => undef, instance => $instance, host => $instance });
for my $server (sort keys %servers)
{
	for my $scope (qw(none instance host))
	{
		# All modes for one server of each kind: they do not differ by address.
		for my $mode ($server =~ /other|tcp/ ? 'fast' : sort keys %compressed)
		{
			is(travels($server, $scope, $mode), $expected{$server}{$scope} // $compressed{$mode},
				"the compression is right of $server, local_scope $scope, $mode");
			is(is_written($server, $scope, $mode), $expected{$server}{$scope} // ($compressed{$mode} =~ s/(FAST|HIGH_COMPRESSION) \(.*\)/$1/r),
				"the compression is right to $server, local_scope $scope, $mode");
		}
	}
}

# ---- streams that do not pay ----

# 6,000 rows are some 90 kB.  That they come from this host is known when the
# session has shown its stamp (conn/stamp.h).
$shard->safe_psql('postgres', q{CREATE TABLE few AS SELECT i AS id, 'event ' || i AS name FROM generate_series(1, 6000) i});
$coordinator->safe_psql('postgres', 'CREATE FOREIGN TABLE few (id int, name text) SERVER tcp; ANALYZE few');
my $session = open_session($coordinator);
sub transport
{
	my ($min_bytes) = @_;
	return label('Transport', $session->query("SET pg_exchange.min_bytes = '$min_bytes'; EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM few;"));
}
is(transport('64kB'), 'exchange v1, stream', 'a stream reads more than min_bytes');
transport('64kB') for 1 .. 2;
is(transport('64kB'), 'exchange v1, session (little is expected)', 'from a server on this host, the session reads up to three times min_bytes');
is(transport('20kB'), 'exchange v1, stream', 'a stream reads more');

# Where the session reads, it exports no snapshot but for later statements.
$shard->safe_psql('postgres', q{CREATE VIEW exported AS SELECT id % 2 AS part, (SELECT count(*) FROM pg_ls_dir('pg_snapshots')) AS files FROM few});
$coordinator->safe_psql('postgres', q{
	CREATE TABLE exported (part int, files bigint) PARTITION BY LIST (part);
	CREATE FOREIGN TABLE exported_0 PARTITION OF exported FOR VALUES IN (0) SERVER tcp OPTIONS (table_name 'exported');
	CREATE FOREIGN TABLE exported_1 PARTITION OF exported FOR VALUES IN (1) SERVER tcp OPTIONS (table_name 'exported');
	ANALYZE exported});
my $snapshots = 'SELECT files, count(*) FROM exported GROUP BY files';
$session->query_safe(q{SET pg_exchange.min_bytes = '64kB'});
is(() = $session->query_safe("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $snapshots") =~ /session \(little is expected\)/g, 2, 'the session reads aggregates');
is($session->query_safe($snapshots), '0|12000', 'it has exported no snapshot');
is($session->query_safe("BEGIN; $snapshots; COMMIT"), '1|12000', 'in a longer transaction it has');

# The session has told that its functions are genuine, and is asked about types
# alone; but in each transaction.
$shard->safe_psql('postgres', q{
	DROP VIEW exported;
	CREATE VIEW exported AS SELECT (id % 2)::numeric AS part, 0::numeric AS files FROM few});
is(() = $session->query_safe("EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) $snapshots") =~ /columns have other types on the server/g, 2, 'other types are noticed');
is($session->query_safe($snapshots), '0|12000', 'with the right answer');
$session->quit;

# With shared memory, one session has to find that out for all.
my $streams = q{SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pg_exchange%'};

sub first_query
{
	$session = open_session($coordinator);
	my $found = transport('64kB') . ', streams have ' . $shard->safe_psql('postgres', $streams);
	$session->quit;
	$shard->poll_query_until('postgres', $streams, '0');
	return $found;
}
my $as_stream = 'exchange v1, stream, streams have 1';
is(first_query(), $as_stream, 'without shared memory each session begins with a stream') for 1 .. 2;
$coordinator->append_conf('postgresql.conf', "shared_preload_libraries = 'pg_exchange'\n");
$coordinator->restart;
is(first_query(), $as_stream, 'with shared memory so does the first one');
is(first_query(), 'exchange v1, session (little is expected), streams have 0', 'others know that the server is near');
is($coordinator->safe_psql('postgres', 'SELECT count(*) FROM exchange.links'), '0', 'that is not a rate to be shown');
$coordinator->safe_psql('postgres', q{ALTER SERVER tcp OPTIONS (ADD connect_timeout '60')});
is(first_query(), $as_stream, 'a server that was changed may be elsewhere');

done_testing();
