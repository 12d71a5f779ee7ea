# A source of a join by HashPartition that lies: the coordinator passes its
# frames on without decoding them, but says which server has made a wrong one.
#
# The liar is a PostgreSQL server without the extension: see 015_lying_remote.pl.
use strict;
use warnings;

use Exchange;
use Frame;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $liar = new_shard('liar', extensions => [], conf => "allow_system_table_mods = on\n");
my $version_num = $liar->safe_psql('postgres', 'SHOW server_version_num');
$liar->safe_psql('postgres', qq{
	CREATE SCHEMA exchange;
	INSERT INTO pg_extension SELECT 99999, 'pg_exchange', 10, oid, false, '1.1' FROM pg_namespace WHERE nspname = 'exchange';
	CREATE TABLE forged (seq int, frame bytea);
	CREATE TABLE items AS SELECT 1::bigint AS qty, 1 AS ord;
	CREATE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql
		AS \$\$SELECT 'protocol=1-1 codecs=7 encodings=16383 endian=little encoding=UTF8 server_version=$version_num instance=0123456789abcdef0123456789abcdef export=1'\$\$;
	CREATE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql VOLATILE
		AS \$\$SELECT exchange.hello(hello) || ' pid=' || pg_backend_pid() || ' session=0123456789abcdef snapshot='
			|| CASE WHEN want_snapshot THEN pg_export_snapshot() ELSE '-' END || ' idle=0 against='\$\$;
	CREATE FUNCTION exchange.has_type(value record, number int) RETURNS boolean LANGUAGE plpgsql AS 'BEGIN RETURN true; END';
	CREATE FUNCTION exchange.send(request text, "row" anyelement) RETURNS SETOF bytea LANGUAGE sql VOLATILE
		AS 'SELECT frame FROM public.forged ORDER BY seq'});
let_lie($liar);

# The items go to the partitions of the orders.
my @shards = map { new_shard("shard$_") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.join_exchange = hash_partition\npg_exchange.local_scope = none\n");
add_server($coordinator, 'liar', $liar);
$coordinator->safe_psql('postgres', q{
	CREATE TABLE orders (id int, note text) PARTITION BY RANGE (id);
	CREATE FOREIGN TABLE items (qty bigint, ord int) SERVER liar});
foreach my $i (1, 2)
{
	$shards[$i - 1]->safe_psql('postgres', "CREATE TABLE orders_$i AS SELECT i AS id, md5(i::text) AS note FROM generate_series($i * 1000 - 999, $i * 1000) i");
	add_server($coordinator, "shard$i", $shards[$i - 1]);
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE orders_$i PARTITION OF orders FOR VALUES FROM ($i * 1000 - 999) TO ($i * 1000 + 1) SERVER shard$i; ANALYZE orders_$i");
}
my $query = 'SELECT sum(i.qty), count(o.note) FROM orders o JOIN items i ON i.ord = o.id';

my $session = open_session($coordinator);
$session->query('\set VERBOSITY verbose');
sub listen_to
{
	my (@frames) = @_;
	my $seq = 0;
	$liar->safe_psql('postgres', join('', "TRUNCATE forged;\n", map { 'INSERT INTO forged VALUES (' . $seq++ . q{, '\x} . unpack('H*', $_) . "');\n" } @frames));
	$session->{stderr} = '';
	return $session->query($query);
}

my @columns = ([ 20, 1, 8 ], [ 23, 1, 4 ]);
my %travels = (qty => [ 10, 20, 30 ], ord => [ [ 1, 2, 3 ], [ 1001, 1002, 1003 ] ]);
sub batch_of
{
	my ($target, %o) = @_;
	return batch(3, [ chunk(width => 8, nvalues => 3, encoded => pack('q<*', @{ $travels{qty} })),
			chunk(width => 4, nvalues => 3, encoded => pack('l<*', @{ $travels{ord}[$target] })) ], sender => $target, %o);
}
# Of each target: a schema, a batch and the end.
my ($schema, @other_schema) = map { schema(\@columns, sender => $_) } 0, 1;
my $batch = batch_of(0);
my $end = end_of([ $schema, $batch ]);
my @other = (@other_schema, batch_of(1));
push @other, end_of(\@other, sender => 1);

is(listen_to($schema, $batch, $end, @other), '120|6', 'the truth, so that a lie is only what differs from it');
is($session->{stderr}, '', 'the truth is no error');
like($session->query("EXPLAIN (ANALYZE, COSTS OFF) $query"), qr/Exchange Type: HashPartition\n((?!Not Sent).)*$/s, 'it is passed on');

sub lie
{
	my ($name, $message, @frames) = @_;
	is(listen_to(@frames), '', "$name: no row comes");
	like($session->{stderr}, qr/ERROR:  08P01: invalid (frame|response) from server "liar".*\n.*$message/, "$name: the error names the server that lies");
	unlike($session->{stderr}, qr/client|ERROR(.*\n)*.*ERROR/, "$name: nobody else");
	return;
}
my $late = batch_of(0, sequence => 3);
lie('two ends', qr/"frames after the end": expected 0, got 1/, $schema, $batch, $end, @other, $end);
lie('a batch after the end', qr/"frames after the end": expected 0, got 1/, $schema, $batch, $end, $late, @other);
lie('a batch that is lost', qr/"sequence number": expected 1, got 2/, $schema, $end, @other);
lie('a batch twice', qr/"sequence number": expected 2, got 1/, $schema, $batch, $batch, $end, @other);
lie('a batch that is lost, and its number', qr/"total rows": expected 3, got 0/, $schema, end_of([ $schema, $batch ], sequence => 1), @other);
lie('a wrong number of rows', qr/"total rows": expected 3, got 4/, $schema, batch_of(0, rows => 4), $end, @other);
lie('a wrong number of bytes', qr/"total wire bytes": expected 17, got \d+/, $schema, $batch, end_of([ $schema, $batch ], wire_nbytes => 17), @other);
lie('no schema', qr/"schema frame first": expected 1, got 0/, batch_of(0, sequence => 0), $end, @other);
lie('two schemas', qr/"schema frame first": expected 0, got 1/, $schema, schema(\@columns, sequence => 1), $end, @other);
lie('columns that are swapped', qr/"column type": expected 20, got 23/, schema([ reverse @columns ]), $batch, $end, @other);
lie('a column more', qr/"columns": expected 2, got 3/, schema([ @columns, $columns[1] ]), $batch, $end, @other);
lie('a target that gets nothing', qr/Expected ends of streams for 2 targets, got 1/, $schema, $batch, $end);
lie('a sender that does not end', qr/"end frame": expected 1, got 0/, $schema, $batch, $end, @other, schema(\@columns, sender => 2));
lie('a sender of other forms', qr/"column class of a further sender": expected 1, got 0/, $schema, $batch, $end, @other, schema([ [ 20, 0, 0 ], $columns[1] ], sender => 2));
lie('a plan', qr/"plan": expected 0, got 1/, $schema, $batch, $end, @other, frame(kind => PLAN, body => pack('V2', 1, 1) . 'pq'));

is(listen_to($schema, $batch, $end, @other), '120|6', 'the session goes on');
$session->quit;
$_->stop for $coordinator, @shards, $liar;
done_testing();
