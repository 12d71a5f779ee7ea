# A server must not end its session as idle while rows for it come slowly,
# however long what it says of the statement is: that is asked for briefly once
# its session is known.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $idle = '2s';
my $cut_nchars = 500;    # SHORT_NCHARS of exec/write_ask.c
my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 's', $shard, options => "batch_size '100'");

# What the answer has before the time-out, for such a table.  There are the oids
# of types in it: that of float8 has a digit more than that of int.
my $hello = 'protocol=1-1 codecs=7 encodings=7 endian=little encoding=UTF8 server_version=150000 instance=0123456789abcdef0123456789abcdef export=1';
sub answer_nchars
{
	my ($nints, $nfloats) = @_;
	my @types = (('int') x $nints, ('float8') x $nfloats);
	my $columns = join ', ', map { "c$_ $types[$_ - 1]" } 1 .. @types;
	my $params = join ', ', map { "\$$_" } 1 .. @types;
	return $shard->safe_psql('postgres', qq{
		DROP TABLE IF EXISTS wide;
		CREATE TABLE wide ($columns);
		SELECT length('<describe></describe>' || exchange.describe('$hello', 'INSERT INTO public.wide VALUES ($params)'))});
}

my $nints = 1;
$nints++ while answer_nchars($nints + 1, 0) <= $cut_nchars;
my $nfloats = $cut_nchars - answer_nchars($nints, 0);
my $nchars = answer_nchars($nints - $nfloats, $nfloats);
is($nchars, $cut_nchars, 'the time-out is just behind what is asked for');

$shard->safe_psql('postgres', "CREATE TABLE narrow (c1 int); ALTER DATABASE postgres SET idle_in_transaction_session_timeout = '$idle'");
$coordinator->safe_psql('postgres', q{IMPORT FOREIGN SCHEMA public FROM SERVER s INTO public});
my $session = open_session($coordinator);
$session->query_safe('SET pg_exchange.min_write_rows = 1');

# By now the session has shown its stamp (conn/stamp.h).
$session->query_safe('INSERT INTO narrow SELECT generate_series(1, 10)') for 1 .. 2;
for my $table ('narrow', 'wide')
{
	my $out = $session->query("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) INSERT INTO $table (c1) SELECT i FROM generate_series(1, 80) i, LATERAL (SELECT pg_sleep(0.05 + i * 0)) s");
	is($session->{stderr}, '', "$table: there is no error");
	like(label('Transport', $out), qr/^exchange/, "$table: the rows go by exchange");
}
is($shard->safe_psql('postgres', 'SELECT count(*) FROM wide'), 80, 'all rows are there');
$session->quit;

done_testing();
