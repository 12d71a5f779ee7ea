# How often a scan waits for the network: a proxy between the servers counts
# the turns of each connection, that is how often the client speaks after the
# server has.  The proxy is a process of this test; it forwards every byte,
# but for one request to cancel, if told so.
use strict;
use warnings;

use Exchange;
use IO::Select;
use IO::Socket::UNIX;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator');

# The proxy listens where a server of port 1 would, and appends a byte to a
# file for each turn.
my $folder = PostgreSQL::Test::Utils::tempdir_short();
my $turns_file = "$folder/turns";
my $lose_cancel = "$folder/lose_cancel";    # if there is such a file
my $listener = IO::Socket::UNIX->new(Local => "$folder/.s.PGSQL.1", Listen => 10)
  or die "cannot listen: $!";
my $proxy = fork() // die "cannot fork: $!";
if ($proxy == 0)
{
	run_proxy($listener, $shard->host . '/.s.PGSQL.' . $shard->port, $turns_file);
	POSIX::_exit(0);
}
close $listener;
END { kill 'KILL', $proxy if $proxy; }

sub run_proxy
{
	my ($from, $to, $file) = @_;
	my $select = IO::Select->new($from);
	my (%peer, %is_client, %server_spoke);
	open my $turns, '>>', $file or die $!;
	$turns->autoflush(1);

	while (my @ready = $select->can_read)
	{
		for my $socket (@ready)
		{
			if ($socket == $from)
			{
				my $client = $from->accept or next;
				my $server = IO::Socket::UNIX->new(Peer => $to) or do { close $client; next };
				($peer{$client}, $peer{$server}) = ($server, $client);
				$is_client{$client} = 1;
				delete $is_client{$server};    # it may have the name of one that is gone
				$server_spoke{$client} = 1;
				$select->add($client, $server);
				next;
			}
			my $other = $peer{$socket} or next;
			my $n = sysread($socket, my $data, 65536);
			if (!$n)
			{
				$select->remove($socket, $other);
				delete @peer{$socket, $other};
				close $_ for $socket, $other;
				next;
			}
			if ($is_client{$socket} && substr($data, 4, 4) eq pack('N', 80877102) && unlink $lose_cancel)
			{
				$select->remove($socket, $other);
				delete @peer{$socket, $other};
				close $_ for $socket, $other;
				next;
			}
			if ($is_client{$socket})
			{
				print $turns '.' if $server_spoke{$socket};
				$server_spoke{$socket} = 0;
			}
			else
			{
				$server_spoke{$other} = 1;
			}
			for (my $sent = 0; $sent < $n;)
			{
				$sent += syswrite($other, $data, $n - $sent, $sent) // last;
			}
		}
	}
}

$shard->safe_psql('postgres', q{
	CREATE TABLE items AS SELECT i AS id, 'item ' || i AS name, i % 10 AS kind FROM generate_series(1, 1000) i;
	CREATE UNIQUE INDEX ON items (id);
	ANALYZE items;
});
add_server($coordinator, 'shard', $shard, host => $folder, port => 1);
$coordinator->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public;
	ANALYZE items;
	CREATE TABLE outer_ids AS SELECT i AS id FROM generate_series(1, 100) i;
	ANALYZE outer_ids;
});

my $session = $coordinator->background_psql('postgres');
my $scan = 'SELECT count(*) FROM (SELECT name FROM items OFFSET 0) x;';
my $distinct = 'SELECT count(*) FROM (SELECT DISTINCT kind FROM items OFFSET 0) x;';
my $nested = 'SELECT count(n.name) FROM outer_ids o JOIN LATERAL (SELECT name FROM items i WHERE i.id = o.id OFFSET 0) n ON true;';

# Turns so far, when the proxy has come to rest: a COMMIT that nobody waits
# for may still be on its way.
sub turns_so_far
{
	my $turns = -1;
	while ($turns != (-s $turns_file // 0))
	{
		$turns = -s $turns_file // 0;
		usleep(100_000);
	}
	return $turns;
}

# Turns that a query takes.
sub turns
{
	my ($query, $expected) = @_;
	my $before = turns_so_far();
	is($session->query($query), $expected, "this query has the right answer: $query");
	return turns_so_far() - $before;
}

# Connections, hellos, and the caches of both sides.
$session->query("$scan SET enable_hashjoin = off; SET enable_mergejoin = off; $nested $distinct");

# The connection of postgres_fdw begins its transaction, and answers what it is
# asked about the query through a cursor: DECLARE and FETCH (three turns); the
# stream takes one and its COMMIT, which nobody waits for, another.  Later scans
# of the transaction ask anew, because the query is another or the transaction
# may have written: DECLARE, FETCH and CLOSE; the last two travel beside the
# stream.
# With autocommit, postgres_fdw commits.  The session transport asks once in a
# transaction, and its own cursor costs what one of postgres_fdw's does.
is(turns("BEGIN; $scan", '1000'), 5, 'the first scan of a transaction takes five turns');
is(turns($scan, '1000'), 5, 'another scan of the transaction takes five turns');
is(turns($nested, '100'), 300, 'a nested loop takes three turns for each outer row, as postgres_fdw does');
is(turns($distinct, '10'), 5, 'a scan whose server is asked about types, too, takes as many turns');
is(turns("$scan COMMIT;", '1000'), 6, 'the last scan and the COMMIT of postgres_fdw take six turns');
is(turns("SET pg_exchange.enabled = off; BEGIN; $nested", '100'), 301, 'postgres_fdw takes three turns for each outer row');
$session->query('COMMIT; SET pg_exchange.enabled = on;');
is(turns($scan, '1000'), 6, 'a scan in a transaction of its own takes six turns');

# Small partitions of a server go together.  If the order of execution is open,
# the queries of all are sent at once; else when the first one was read.  (Mode
# auto would measure the link before that.)
$session->query_safe('SET pg_exchange.compression = fast');
$coordinator->safe_psql('postgres', q{
	CREATE TABLE parts (id int, name text, kind int) PARTITION BY LIST (kind);
	SELECT format('CREATE FOREIGN TABLE part_%s PARTITION OF parts FOR VALUES IN (%s) SERVER shard OPTIONS (table_name $$items$$)', i, i)
	FROM generate_series(1, 6) i \gexec
	ANALYZE parts;
});
my $gather = 'SELECT count(*) FROM (SELECT name FROM parts OFFSET 0) x;';
$session->query_safe($gather);
is(turns($gather, '6000'), 7, 'six partitions of a server take one turn more than one');
$coordinator->safe_psql('postgres', q{ALTER SERVER shard OPTIONS (ADD async_capable 'true')});
$session->query_safe($gather);
is(turns($gather, '6000'), 6, 'six asynchronous ones take as many as one');
$coordinator->safe_psql('postgres', q{ALTER SERVER shard OPTIONS (DROP async_capable)});
$session->quit;

# The stream of a transaction that has written is cancelled before it waits for
# what that has locked.  But a session ignores a cancel that comes while it
# reads the next command: as if the first one was lost, so another must follow.
open my $mark, '>', $lose_cancel or die $!;
close $mark;
my (undef, $out, $err) = $coordinator->psql('postgres',
	"BEGIN; SET LOCAL statement_timeout = '180s'; $scan TRUNCATE items; $scan ROLLBACK;");
is($out, "1000\n0", 'a lost cancel is followed by another');
is($err, '', 'it comes in time');
ok(!-e $lose_cancel, 'one cancel was lost');

done_testing();
