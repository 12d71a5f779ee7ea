# Results of every size from 1 to 300 rows, of many kinds of values, in every
# mode, as whole results and as last batches: the sender makes no frame that
# the receiver refuses, and nothing is lost.  Rows of many columns, in small
# frames.  NaNs arrive with the bits that they have by postgres_fdw.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# What stands in a row of each kind, made of its number i.
my %kinds = (
	short_texts => [ v => q{'some words ' || i * 7 || ' and more'} ],
	log_lines => [ v => q{'session ' || (i * 7919) % 10007 || ' opened for user ' || (ARRAY['alice', 'bob', 'christopher', 'dave'])[1 + i % 4]
		|| ' by (uid=' || i % 5 || ')'} ],
	mixed_texts => [ v => q{left(repeat(md5(i::text), 9), i * 37 % 270)} ],
	long_texts => [ v => q{left(repeat(md5(i::text) || i, 20), 300 + i * 7 % 200)} ],
	few_texts => [ v => q{(ARRAY['air', 'rail', 'truck', '', 'by ship'])[1 + i % 5]} ],
	empty_texts => [ v => q{CASE WHEN i % 7 = 3 THEN repeat(i || ',', i) ELSE '' END} ],
	texts_and_nulls => [ v => q{CASE WHEN i % 3 <> 1 THEN 'row ' || i * i END}, w => q{CASE WHEN i % 50 = 0 THEN md5(i::text) END} ],
	templates => [ v => q{'Customer#' || lpad((i * 31)::text, 9, '0')} ],
	padded => [ v => q{('name ' || md5(i::text))::char(60)} ],
	json => [ v => q{json_build_object('id', i, 'name', 'n' || i, 'tags', array_fill(i, ARRAY[i % 4]))} ],
	jsonb => [ v => q{jsonb_build_object('id', i, 'name', 'n' || i, 'tags', array_fill(i, ARRAY[i % 4]))} ],
	bytes => [ v => q{decode(left(repeat(md5(i::text), 4), i * 14 % 120), 'hex')} ],
	numerics => [ v => q{(i * 1.37)::numeric(12,2)}, w => q{CASE WHEN i % 29 = 7 THEN 'NaN' ELSE i / 100.0 END::numeric},
		x => q{i::numeric ^ (i % 20)} ],
	numbers => [ v => q{i}, w => q{(i * 7919 % 1000)::int2}, x => q{i / 8.0::float8}, y => q{sqrt(i)::float4}, z => q{i % 3 = 0} ],
	times => [ v => q{date '2024-01-01' + i * 3}, w => q{timestamptz '2024-01-01' + i * interval '61 s'},
		x => q{i * interval '1 day 7 min'}, y => q{time '00:00' + i * interval '3 min'} ],
	opaque => [ v => q{md5(i::text)::uuid}, w => q{('10.0.' || i % 256 || '.1')::inet}, x => q{('relation ' || i)::name} ],
	arrays => [ v => q{array_fill(i, ARRAY[i % 5])}, w => q{ARRAY['a' || i, NULL, 'b']}, x => q{ARRAY[[i, 2], [3, i]]},
		y => q{ARRAY[i / 2.0::float8, NULL]} ],
	wide => [ map { ("t$_" => qq{'w' || i * $_}, "n$_" => qq{CASE WHEN i % $_ = 1 THEN i END}) } 1 .. 20 ],
	toasted => [ v => q{repeat('text ' || i || ' that repeats, ', 90 + i % 50)}, w => q{i} ],
);

my @modes = (
	'pg_exchange.compression = none',
	'pg_exchange.compression = fast',
	'pg_exchange.compression = high_compression',
	'pg_exchange.compression = auto',
	'pg_exchange.compression = auto; SET pg_exchange.debug_random_choices = on',
);

# Rows of a batch at most, and the sizes of results: as whole ones, of which
# the first 64 rows are a batch, and such that the last batch has every size.
my @sizes = ([ 0, 1, 300 ], [ 7, 1, 28 ], [ 64, 65, 128 ], [ 128, 193, 300 ]);

my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard);
for my $kind (sort keys %kinds)
{
	my @columns = @{ $kinds{$kind} };
	my @names = map { $columns[ 2 * $_ ] } 0 .. $#columns / 2;
	my $list = join(', ', map { "$columns[2 * $_ + 1] AS $columns[2 * $_]" } 0 .. $#columns / 2);
	$shard->safe_psql('postgres', qq{
		CREATE TABLE $kind AS SELECT i AS id, $list FROM generate_series(1, 300) i;
		CREATE INDEX ON $kind (id)});
}
# One kind is a table whose rows come by TOAST, each in pieces.
$shard->safe_psql('postgres', q{
	ALTER TABLE toasted SET (toast_tuple_target = 128);
	CREATE TABLE stored (LIKE toasted INCLUDING ALL);
	INSERT INTO stored SELECT * FROM toasted;
	ALTER TABLE toasted RENAME TO not_toasted;
	ALTER TABLE stored RENAME TO toasted;
	CREATE TABLE nans (id int, v float8, w float4, x float8[], y float8[], z float4[]);
	INSERT INTO nans SELECT i, n, n::float4, ARRAY[1, n], ARRAY[NULL, n], ARRAY[n::float4, 2]
		FROM (SELECT i, CASE WHEN i % 3 = 0 THEN 'NaN' WHEN i % 3 = 1 THEN 'inf'::float8 - 'inf'::float8 ELSE i END AS n
			FROM generate_series(1, 200) i) x;
	ANALYZE});
$shard->safe_psql('postgres', 'CREATE TABLE columns AS SELECT ' . join(', ', map { "hashint4(i * 1201 + $_) AS c$_" } 1 .. 1200) .
	' FROM generate_series(1, 300) i');
$coordinator->safe_psql('postgres', 'IMPORT FOREIGN SCHEMA public FROM SERVER shard INTO public;
	CREATE TABLE expected (kind text, n int, count bigint, hash numeric)');

my $session = open_session($coordinator);
$session->query('SET pg_exchange.local_scope = none');   # both nodes are on one host

# The rows, and no error.
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	my $rows = $session->query($sql);
	return $rows . $session->{stderr};
}

# Not the id: a column alone has no room that others leave it.
sub columns_of
{
	my ($kind) = @_;
	my @columns = @{ $kinds{$kind} };
	return join(', ', map { $columns[ 2 * $_ ] } 0 .. $#columns / 2);
}

for my $kind (sort keys %kinds)
{
	my $columns = columns_of($kind);
	ask("SET pg_exchange.enabled = off;
		INSERT INTO expected SELECT '$kind', id, count(*) OVER w, sum(hash) OVER w
			FROM (SELECT id, hashtextextended(ROW($columns)::text, 0) AS hash FROM $kind OFFSET 0) x WINDOW w AS (ORDER BY id);
		SET pg_exchange.enabled = on");
	is(ask("SELECT count(*) FROM expected WHERE kind = '$kind'"), 300, "$kind: postgres_fdw has 300 rows");
	like(ask("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT $columns FROM $kind WHERE id <= 20"), qr/Transport: exchange v1, stream/,
		"$kind: the rows come by exchange");
}

for my $mode (@modes)
{
	ask("SET $mode");
	for my $kind (sort keys %kinds)
	{
		my $columns = columns_of($kind);
		my $wrong = '';
		for (@sizes)
		{
			my ($batch_rows, $first, $last) = @$_;
			ask($batch_rows ? "SET pg_exchange.batch_rows_max = $batch_rows" : 'RESET pg_exchange.batch_rows_max');
			$wrong .= ask(qq{
				SELECT format('batches of $batch_rows: %s rows: got %s, hash %s', e.n, x.count, x.hash)
				FROM expected e CROSS JOIN LATERAL (
					SELECT count(*), sum(hashtextextended(ROW($columns)::text, 0)) AS hash
					FROM (SELECT $columns FROM $kind WHERE id <= e.n OFFSET 0) t) x
				WHERE e.kind = '$kind' AND e.n BETWEEN $first AND $last AND (x.count, x.hash) IS DISTINCT FROM (e.count, e.hash)});
		}
		is($wrong, '', "$kind: any number of rows comes as it is, SET $mode");
	}
}
ask('RESET pg_exchange.batch_rows_max; RESET pg_exchange.debug_random_choices');

# Headers of many columns count, too, where frames must be small.
{
	my $count = 'SELECT count(*), sum(hashtextextended(x::text, 0)) FROM (SELECT * FROM columns OFFSET 0) x';
	my $expected = ask("SET pg_exchange.enabled = off; $count");
	like($expected, qr/^300\|/, 'postgres_fdw has rows of 1200 columns');
	ask("SET pg_exchange.enabled = on; SET pg_exchange.max_frame_bytes = '64kB'");
	is(ask("SET pg_exchange.compression = $_; $count"), $expected, "rows of many columns fit small frames, compression $_") for qw(none fast);
	ask('RESET pg_exchange.max_frame_bytes');
}

# NaNs.
{
	my $bits = q{SELECT id, float8send(v), float4send(w), array_send(x), array_send(y), array_send(z) FROM nans ORDER BY id};
	my $expected = ask("SET pg_exchange.enabled = off; $bits");
	like($expected, qr/^1\|\\x7ff8000000000000\|\\x7fc00000\|/, 'postgres_fdw makes NaNs of one kind');
	ask('SET pg_exchange.enabled = on');
	is(ask("SET pg_exchange.compression = $_; $bits"), $expected, "an exchange makes NaNs of that kind, compression $_") for qw(none fast high_compression);
}
$session->quit;

done_testing();
