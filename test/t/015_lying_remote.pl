# A remote that lies: it speaks the protocol, but what it returns was forged.
# Each lie is an error that says what was expected, in a backend that lives on,
# with no more memory than before.
#
# The remote is a PostgreSQL server without the extension.  Its schema exchange
# has functions of the same names; send returns the frames that this test has
# put into a table.
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
	CREATE TABLE forged (lie int, seq int, frame bytea, error text);
	CREATE INDEX ON forged (lie);
	CREATE FUNCTION exchange.hello(hello text) RETURNS text LANGUAGE sql
		AS \$\$SELECT 'protocol=1-1 codecs=7 encodings=16383 endian=little encoding=UTF8 server_version=$version_num
			instance=0123456789abcdef0123456789abcdef export=1'\$\$;
	CREATE FUNCTION exchange.admit(hello text, query text, want_snapshot boolean) RETURNS text LANGUAGE sql VOLATILE
		AS \$\$SELECT exchange.hello(hello) || ' pid=' || pg_backend_pid() || ' session=0123456789abcdef snapshot='
			|| CASE WHEN want_snapshot THEN pg_export_snapshot() ELSE '-' END || ' idle=0 against='\$\$;
	CREATE FUNCTION public.raise_error(sqlstate text) RETURNS bytea LANGUAGE plpgsql
		AS \$\$BEGIN RAISE EXCEPTION 'on purpose' USING ERRCODE = sqlstate; END\$\$;
	CREATE FUNCTION exchange.send(request text, "row" anyelement) RETURNS SETOF bytea LANGUAGE sql VOLATILE
		AS \$\$SELECT CASE WHEN error IS NULL THEN frame ELSE public.raise_error(error) END FROM
			(SELECT * FROM public.forged WHERE lie = (SELECT substring(current_query() from '(?:lie_|lie = )(\\d+)')::int) ORDER BY seq) f\$\$;
	UPDATE pg_proc SET prosrc = regexp_replace(prosrc, E'\\n\\t+', ' ', 'g') WHERE proname = 'hello';
});

let_lie($liar);

my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
add_server($coordinator, 'liar', $liar, options => "fetch_size '1'");    # a LIMIT of more than ten FETCHes is a stream
$coordinator->safe_psql('postgres', q{
	CREATE DOMAIN positive AS int CHECK (VALUE > 0);
	CREATE DOMAIN label AS text NOT NULL CHECK (VALUE <> 'forbidden');
	CREATE DOMAIN small_array AS int[] CHECK (array_length(VALUE, 1) < 3)});

# Type oid, class and width of the columns that follow, as they travel.
my %travels = (
	bool => [ 16, 1, 1 ], int4 => [ 23, 1, 4 ], int8 => [ 20, 1, 8 ], oid => [ 26, 1, 4 ], date => [ 1082, 1, 4 ],
	time => [ 1083, 1, 8 ], timetz => [ 1266, 1, 12 ], timestamp => [ 1114, 1, 8 ], timestamptz => [ 1184, 1, 8 ],
	uuid => [ 2950, 1, 16 ], macaddr8 => [ 774, 1, 8 ], text => [ 25, 2, 0 ], json => [ 114, 2, 0 ], name => [ 19, 2, 0 ], bytea => [ 17, 2, 0 ],
	numeric => [ 1700, 3, 0 ], 'bool[]' => [ 1000, 4, 1 ], 'int4[]' => [ 1007, 4, 4 ], 'int8[]' => [ 1016, 4, 8 ],
	'date[]' => [ 1182, 4, 4 ], jsonb => [ 3802, 0, 0 ], 'varchar(5)' => [ 1043, 2, 0, 9 ],
	'char(3)' => [ 1042, 2, 0, 7 ], 'char(100000)' => [ 0, 0, 0 ], 'numeric(3,1)' => [ 1700, 3, 0, (3 << 16 | 1) + 4 ], 'numeric(30,2)' => [ 1700, 3, 0, (30 << 16 | 2) + 4 ],
	'timestamp(0)' => [ 1114, 1, 8, 0 ], 'interval(0)' => [ 1186, 1, 16, (0x7fff << 16) ], 'timetz(1)' => [ 1266, 1, 12, 1 ],
	positive => [ 23, 1, 4 ], label => [ 25, 2, 0 ], small_array => [ 1007, 4, 4 ]);

my @lies;

# A lie: what to call it, types of the columns, the frames (undef is a null, a
# reference to a SQLSTATE an error), and what must come of it: SQLSTATE and what
# the rest of the message matches; or rows, if it is not a lie.  Options: settings.
sub lie
{
	my ($name, $types, $frames, $sqlstate, $message, %o) = @_;
	push @lies, { name => $name, types => $types, frames => $frames, sqlstate => $sqlstate, message => $message, %o };
	return;
}

sub schema_of
{
	return schema([ map { $travels{$_} } @{ $_[0] } ]);
}

# A lie in the chunks of the only batch.
sub lie_in_batch
{
	my ($name, $types, $rows, $chunks, $sqlstate, $message, %o) = @_;
	lie($name, $types, [ stream(schema_of($types), batch($rows, $chunks, %{ $o{frame} // {} })) ], $sqlstate, $message, %o);
	return;
}

# int4 values, plain; values of form bytes, plain.
sub ints
{
	my ($values, %o) = @_;
	return chunk(width => 4, nvalues => scalar @$values, encoded => pack('l<*', @$values), %o);
}

sub strings
{
	my ($values, %o) = @_;
	return chunk(form => 1, nvalues => scalar @$values, encoded => packed(@$values), %o);
}

my ($protocol, $corrupt) = ('08P01', 'XX001');
my @int = ('int4');
my $schema = schema_of(\@int);
my $batch = batch(3, [ ints([ 1, 2, 3 ]) ]);
my @truth = stream($schema, $batch);

# --- The truth, so that a lie is only what differs from it -----------------

lie('the truth', \@int, \@truth, undef, "1\n2\n3");
lie('the truth about nothing', \@int, [ stream($schema) ], undef, '');
lie_in_batch('the truth about text', ['text'], 2, [ strings([ 'ä', 'x' x 200 ]) ], undef, "ä\n" . 'x' x 200);
lie_in_batch('the truth about nulls', ['int4'], 3, [ ints([ 1, 3 ], nulls => 2, bitmap => "\x02") ], undef, "1\n\n3");
lie_in_batch('the truth about arrays', ['int4[]'], 2,
	[ chunk(form => 2, width => 4, nvalues => 2, encoded => pack('V2', 0, 0) . child(0, 4, pack('V2', 3, 1)) . child(0, 4, pack('V2', 7, 8))) ],
	undef, "{7,8}\n{}");

# --- Frames ----------------------------------------------------------------

sub lie_in_frame
{
	my ($name, $message, $sqlstate, %wrong) = @_;
	lie($name, \@int, [ $schema, batch(3, [ ints([ 1, 2, 3 ]) ], %wrong) ], $sqlstate // $protocol, $message);
	return;
}

lie_in_frame('wrong CRC', qr/checksum mismatch.*"crc32c": expected 305419896, got \d+/, $corrupt, crc => 0x12345678);
lie_in_frame('wrong magic', qr/not an exchange frame.*"magic": expected \d+, got \d+/, undef, magic => 'PGXG');
lie_in_frame("unknown version $_", qr/unsupported protocol version.*"version": expected 1, got $_/, undef, version => $_) for 0, 2, 65535;
lie_in_frame("unknown kind $_", qr/unknown frame kind.*"kind": expected 5, got $_/, undef, kind => $_) for 0, 6, 255;
lie_in_frame('an unknown choice', qr/"choice": expected 3, got 4/, undef, choice => 4);
lie_in_frame('reserved bytes', qr/"reserved": expected 0, got 7/, undef, reserved => 7);
lie_in_frame('a sender beyond all workers', qr/"sender": expected 1024, got 1025/, undef, sender => 1025);
lie_in_frame('no rows', qr/"rows": expected 1, got 0/, undef, rows => 0);
lie_in_frame('65537 rows', qr/"rows": expected 65536, got 65537/, undef, rows => 65537);
lie_in_frame('4 billion rows', qr/"rows": expected 65536, got 4294967295/, undef, rows => 0xffffffff);
lie_in_frame('no columns', qr/"columns": expected 1, got 0/, undef, columns => 0);
lie_in_frame('1665 columns', qr/"columns": expected 1664, got 1665/, undef, columns => 1665);
lie_in_frame('another number of columns than the schema', qr/"columns": expected 1, got 2/, undef, columns => 2);
lie_in_frame('a raw size of 2^64 - 1', qr/"raw_nbytes": expected \d+, got 18446744073709551615/, undef, raw_nbytes => '18446744073709551615');
lie_in_frame('a body of 4 GB', qr/"body_nbytes": expected \d+, got 4294967295/, undef, body_nbytes => 0xffffffff);
lie_in_frame('a body that is not there', qr/data is truncated.*"frame body": expected 1000, got 40/, undef, body_nbytes => 1000);
lie_in_frame('more body than announced', qr/unexpected data at the end.*"frame body": expected 32, got 40/, undef, body_nbytes => 32);
lie('half a header', \@int, [ substr($schema, 0, 20) ], $protocol, qr/"frame header": expected 40, got 20/);
lie('an empty bytea', \@int, [''], $protocol, qr/"frame header": expected 40, got 0/);
lie('an empty bytea in mid-stream', \@int, [ $schema, '', $batch ], $protocol, qr/"frame header": expected 40, got 0/);
lie('a null instead of a frame', \@int, [undef], $protocol, qr/Expected one column with a frame, got null/);
lie('a null in mid-stream', \@int, [ $schema, $batch, undef ], $protocol, qr/Expected one column with a frame, got null/);

# --- Streams ---------------------------------------------------------------

lie('no frame at all', \@int, [], $protocol, qr/"end frame": expected 1, got 0/);
lie('missing end', \@int, [ $schema, $batch ], $protocol, qr/"end frame": expected 1, got 0/);
lie('one end of two senders', \@int, [ @truth, schema([ $travels{int4} ], sender => 3) ], $protocol, qr/"end frame": expected 1, got 0/);
lie("wrong total of $_", \@int, [ $schema, $batch, end_of([ $schema, $batch ], $_ => 17) ], $protocol, qr/"total [a-z ]+": expected 17, got \d+/)
	for 'rows', 'batches', 'raw_nbytes', 'wire_nbytes';
lie('an end of 47 bytes', \@int, [ $schema, frame(kind => LAST, sequence => 1, body => 'x' x 47) ], $protocol, qr/"end body": expected 56, got 47/);
lie('a plan that nobody asked for', \@int, [ @truth, frame(kind => PLAN, body => pack('V2', 1, 1) . 'pq') ], $protocol, qr/"plan": expected 1, got 0/);
sub plan_of
{
	my ($text, $json) = @_;
	return frame(kind => PLAN, body => pack('V2', length $text, length $json) . $text . $json);
}
lie('a plan of what EXPLAIN never has', \@int, [ @truth,
	plan_of("Seq Scan\e[2J on t\n  Filter: (a = 'ä')", '{"Plan": {"": 1, "1abc": "\u0001\u009b\uffff", "-": [1, "\u0002"], "x": 1e999, "-1e999": -1e999, "ä<b>": 99999999999999999999,
		"xy: {": {"<": [{"a\\nb": true}]}, "y": 1e-400}}') ], $protocol, qr/"plan": expected 1, got 0/);
lie('a plan that is no text', \@int, [ @truth, plan_of("Seq Scan \xff\xfe", '{"Plan": {"Node Type": "Seq Scan"}}') ], $protocol, qr/"plan": expected 1, got 0/);
lie('a plan that is no JSON', \@int, [ @truth, plan_of('Seq Scan', '{"Plan": {"Node Type": "Seq Scan"}') ], $protocol, qr/"plan": expected 1, got 0/);
lie('a plan of 2000 levels', \@int, [ @truth, plan_of('Seq Scan', '{"Plan":' . '{"a":' x 2000 . '1' . '}' x 2001) ], $protocol, qr/"plan": expected 1, got 0/);
lie('frames after the end', \@int, [ @truth, batch(3, [ ints([ 1, 2, 3 ]) ], sequence => 3) ], $protocol, qr/"frames after the end": expected 0, got 1/);
lie('two ends', \@int, [ @truth, $truth[2] ], $protocol, qr/"frames after the end"/);
lie('a gap in the sequence', \@int, [ stream($schema, batch(3, [ ints([ 1, 2, 3 ]) ], sequence => 2)) ], $protocol, qr/"sequence number": expected 1, got 2/);
lie('the same frame twice', \@int, [ $schema, $batch, $batch ], $protocol, qr/"sequence number": expected 2, got 1/);
lie('two schemas', \@int, [ $schema, schema([ $travels{int4} ], sequence => 1) ], $protocol, qr/"schema frame first": expected 0, got 1/);
lie('no schema', \@int, [ batch(3, [ ints([ 1, 2, 3 ]) ], sequence => 0) ], $protocol, qr/"schema frame first": expected 1, got 0/);
lie('an end for a beginning', \@int, [ end_of([]) ], $protocol, qr/"schema frame first": expected 1, got 0/);
lie('a slice that nobody asked for', \@int, [ slice(1, 0, 0, 1), $schema ], $protocol, qr/"slice frame first": expected 0, got 1/);
lie('no slice where one was asked for', \@int, \@truth, $protocol, qr/"slice frame first": expected 1, got 0/, settings => 'pg_exchange.slices = 2');
lie('more slices than were asked for', \@int, [ slice(3, 100, 1, 0) ], $protocol, qr/"slices": expected 2, got 3/, settings => 'pg_exchange.slices = 2');
lie('slices and a reason not to', \@int, [ slice(2, 100, 1, 4) ], $protocol, qr/"slices with that reason"/, settings => 'pg_exchange.slices = 2');
lie('an unknown reason not to slice', \@int, [ slice(1, 0, 0, 99) ], $protocol, qr/"reason not to slice": expected 4, got 99/, settings => 'pg_exchange.slices = 2');
lie('more rows in a batch than were asked for', \@int, [ $schema, $batch ], $protocol, qr/"rows of a batch": expected 2, got 3/, settings => 'pg_exchange.batch_rows_max = 2');
lie('rows, and then a word that there is no ExchangeSend', \@int, [ $schema, $batch, \'PX001' ], 'PX001', qr/on purpose/);
lie('rows, and then a word to run it elsewhere', \@int, [ $schema, $batch, \'PX002' ], 'PX002', qr/on purpose/);
lie('a schema, and then a word that there is no function', \@int, [ $schema, \'42883' ], '42883', qr/on purpose/);

# --- Schemas ---------------------------------------------------------------

lie('a schema of more columns', \@int, [ schema([ $travels{int4}, $travels{int4} ]) ], $protocol, qr/"columns": expected 1, got 2/);
lie('another type', \@int, [ schema([ [ 20, 1, 8 ] ]) ], $protocol, qr/"column type": expected 23, got 20/);
lie('another class', \@int, [ schema([ [ 23, 2, 0 ] ]) ], $protocol, qr/"column class": expected 1, got 2/);
lie('another width', \@int, [ schema([ [ 23, 1, 8 ] ]) ], $protocol, qr/"column width": expected 4, got 8/);
lie('another typmod', ['varchar(5)'], [ schema([ [ 1043, 2, 0, 50 ] ]) ], $protocol, qr/"column typmod": expected 9, got 50/);
lie('an unknown class', \@int, [ schema([ [ 23, 9, 0 ] ]) ], $protocol, qr/"schema column class": expected 4, got 9/);
lie('a width of 3', \@int, [ schema([ [ 23, 1, 3 ] ]) ], $protocol, qr/"schema column width"/);
lie('reserved bytes in a schema', \@int, [ schema([ $travels{int4} ], column_reserved => 1) ], $protocol, qr/"schema column reserved": expected 0, got 1/);
lie('half a schema', \@int, [ frame(kind => SCHEMA, columns => 1, body => 'x' x 6) ], $protocol, qr/"schema body": expected 12, got 6/);
lie('a second sender of another class', \@int, [ $schema, schema([ [ 23, 0, 0 ] ], sender => 1) ], $protocol, qr/"column class of a further sender": expected 1, got 0/);

# --- Chunks ----------------------------------------------------------------

sub lie_in_chunk
{
	my ($name, $message, %wrong) = @_;
	lie_in_batch($name, \@int, 3, [ ints([ 1, 2, 3 ], %wrong) ], $protocol, $message);
	return;
}

lie_in_chunk("unknown encoding $_", qr/unsupported encoding.*"encoding": expected 13, got $_/, encoding => $_) for 14, 255;
lie_in_chunk("unknown codec $_", qr/unknown codec.*"codec": expected 2, got $_/, codec => $_) for 3, 255;
lie_in_chunk('an unknown null layout', qr/"null layout": expected 2, got 3/, nulls => 3);
lie_in_chunk('an unknown form', qr/"form": expected 2, got 9/, form => 9);
lie_in_chunk('a chunk of width 3', qr/"width"/, width => 3);
lie_in_chunk('a scale of 19', qr/"scale": expected 18, got 19/, scale => 19);
lie_in_chunk('an int with a scale', qr/"chunk scale": expected 0, got 2/, scale => 2);
lie_in_chunk('reserved bytes in a chunk', qr/"chunk reserved": expected 0, got 5/, reserved => 5);
lie_in_chunk('an encoding of text for ints', qr/unsupported encoding.*"encoding of this form and width"/, encoding => 10);
lie_in_chunk('4 GB of values', qr/size exceeds the limit.*got 4294967295/, encoded_nbytes => 0xffffffff);
lie_in_chunk('a payload of 4 GB', qr/"stored_nbytes": expected 12, got 4294967295/, stored_nbytes => 0xffffffff);
lie_in_chunk('a head of 4 GB', qr/"head_nbytes": expected 12, got 4294967295/, head_nbytes => 0xffffffff);
lie_in_chunk('more bytes than values', qr/"encoded_nbytes": expected 12, got 16/, encoded => "\0" x 16);
lie_in_chunk('fewer values than rows', qr/"nvalues": expected 3, got 2/, nvalues => 2);
lie_in_chunk('more values than rows', qr/"nvalues": expected 3, got 4294967295/, nvalues => 0xffffffff);
lie_in_chunk('a type that changes between schema and batch', qr/"chunk form": expected 0, got 1/, form => 1, width => 0, encoded => packed('a', 'b', 'c'));
lie_in_chunk('a width that changes between schema and batch', qr/"chunk width": expected 4, got 8/, width => 8, encoded => "\0" x 24);
lie_in_batch('rows that differ between columns', [ 'int4', 'text' ], 3, [ ints([ 1, 2, 3 ]), strings([ 'a', 'b' ]) ], $protocol, qr/"nvalues": expected 3, got 2/);
lie_in_batch('nulls that differ from the bitmap', \@int, 3, [ ints([ 1, 2 ], nulls => 2, bitmap => "\x03") ], $protocol, qr/null|"nvalues"/);
lie_in_batch('null bits behind the last row', \@int, 3, [ ints([ 1, 2 ], nulls => 2, bitmap => "\x12") ], $protocol, qr/bitmap|spare/);
lie_in_batch('bytes behind the last chunk', \@int, 3, [ ints([ 1, 2, 3 ]) ], $protocol, qr/unexpected data at the end.*"batch body"/, frame => { trailing => "\0" x 8 });
lie_in_batch('padding that is not zero', \@int, 3, [ ints([ 1, 2, 3 ], stored => pack('l<*', 1, 2, 3) . 'junk', stored_nbytes => 12) ], $protocol, qr/"padding"/);

# --- Codecs, and sizes that they make ---------------------------------------

lie_in_batch("$_->[0] that is none", ['text'], 1,
	[ chunk(form => 1, codec => $_->[1], nvalues => 1, stored => 'junk' x 5, encoded => '', encoded_nbytes => 100, plain_nbytes => 100) ],
	$corrupt, qr/compression library reported a failure.*"$_->[0]"/) for [ 'lz4', 1 ], [ 'zstd', 2 ];

# A zstd frame of a few bytes and then n times 'x', in blocks of 128 kB that take
# four bytes each: a ratio of 32,000.
sub zstd_bomb
{
	my ($first, $n) = @_;
	my $bomb = "\x28\xb5\x2f\xfd\x00\x38" . substr(pack('V', length($first) << 3), 0, 3) . $first;
	for (; $n > 0; $n -= 131072)
	{
		my $nbytes = $n > 131072 ? 131072 : $n;
		$bomb .= substr(pack('V', $nbytes << 3 | 2 | ($n <= 131072 ? 1 : 0)), 0, 3) . 'x';
	}
	return $bomb;
}

# One text value of so many bytes, honest about its size or not.
sub bomb
{
	my ($nbytes, %o) = @_;
	return chunk(form => 1, codec => 2, nvalues => 1, stored => zstd_bomb(pack('V', ($nbytes + 4) * 4), $nbytes),
		encoded => '', encoded_nbytes => $nbytes + 4, plain_nbytes => $nbytes + 4, %o);
}

lie_in_batch('a large value that compresses well', ['text'], 1, [ bomb(5_000_000) ], undef, 5_000_000, select => 'length(c0)');
lie_in_batch('a decompression bomb of 10,000:1', ['text'], 1, [ bomb(400_000_000) ], $protocol, qr/size exceeds the limit.*"raw_nbytes": expected \d+, got 4000000\d\d/);
lie_in_batch('a decompression bomb that plays small', ['text'], 1, [ bomb(400_000_000, plain_nbytes => 8) ], $protocol, qr/size exceeds the limit.*"sum of encoded_nbytes": expected 32, got 400000004/);
lie_in_batch('a decompression bomb of more than it says', ['text'], 1, [ bomb(4_000_000, encoded_nbytes => 1000, plain_nbytes => 1000) ], $corrupt, qr/compression library reported a failure.*"zstd": expected 1000, got \d+/);
lie_in_batch('100 million elements out of nothing', ['int8[]'], 1,
	[ chunk(form => 2, width => 8, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 100_000_001)) . child(1, 8, "\0" x 8)) ],
	$protocol, qr/size exceeds the limit.*"decoded bytes": expected \d+, got 800000000/);
lie_in_batch('blanks out of nothing', ['text'], 1,
	[ chunk(form => 1, encoding => 9, nvalues => 1, encoded => pack('V2', 500_000_000, 0) . child(0, 4, pack('V', 0))) ],
	$protocol, qr/size exceeds the limit.*"decoded bytes": expected \d+, got \d+/);
lie_in_batch('an array that no datum can be', ['int8[]'], 1,
	[ chunk(form => 2, width => 8, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 0x7ffffff + 1)) . child(1, 8, "\0" x 8), plain_nbytes => 0x3fffffe0) ],
	$protocol, qr/"elements of an array": expected \d+, got 134217727/, settings => 'pg_exchange.max_decompression_ratio = 2147483647');
lie_in_batch('blanks that no length can say', ['text'], 1,
	[ chunk(form => 1, encoding => 9, nvalues => 1, encoded => pack('V2', 0x3fffffff, 0) . child(0, 4, pack('V', 0)), plain_nbytes => 0x3fffff00) ],
	$protocol, qr/"padded length": expected 1073741819, got 1073741823/, settings => 'pg_exchange.max_decompression_ratio = 2147483647');
# Encoded once, but read by the type's input function for each row.
lie_in_batch('one text for many rows', ['jsonb'], 1000,
	[ chunk(form => 1, encoding => 1, nvalues => 1000, encoded => packed('"' . 'j' x 300_000 . '"')) ],
	$protocol, qr/size exceeds the limit.*"decoded bytes": expected \d+, got \d+/);
lie_in_batch('one numeric for many rows', ['numeric'], 4000,
	[ chunk(form => 1, encoding => 1, nvalues => 4000, encoded => packed(pack('n4 n*', 2000, 1999, 0, 0, (1234) x 2000))) ],
	$protocol, qr/size exceeds the limit.*"decoded bytes": expected \d+, got \d+/);
lie('a frame of more than max_frame_bytes', ['text'], [ stream(schema_of(['text']), batch(1, [ strings([ 'x' x 100_000 ]) ])) ],
	$protocol, qr/Expected a frame of at most 65536 bytes, got 1000\d\d/, settings => 'pg_exchange.max_frame_bytes = 65536');
lie('a ratio beyond max_decompression_ratio', ['text'], [ stream(schema_of(['text']), batch(1, [ bomb(9_000_000) ])) ],
	$protocol, qr/size exceeds the limit.*"raw_nbytes"/, settings => 'pg_exchange.max_decompression_ratio = 2');

# --- Encodings -------------------------------------------------------------

# Ints of encodings that decode to what they should not.
sub lie_in_ints
{
	my ($name, $encoding, $encoded, $sqlstate, $message) = @_;
	lie_in_batch($name, \@int, 3, [ chunk(width => 4, encoding => $encoding, nvalues => 3, encoded => $encoded, plain_nbytes => 200) ], $sqlstate, $message);
	return;
}
lie_in_ints('a sum that is no int4', 2, pack('Q< C x7 C', 0x7fffffff, 2, 0x3f), $corrupt, qr/"frame of reference difference": expected 0, got 3/);
lie_in_ints('differences beyond an int4', 3, pack('q<', 2147483647) . child(0, 8, pack('q<2', 1, 1)), $corrupt, qr/"bits of a value"/);
lie_in_ints('runs longer than the rows', 4, pack('V2', 2, 0) . child(0, 8, pack('q<2', 5, 5)) . child(0, 8, pack('q<2', 1, 2)), $corrupt, qr/run/);
lie_in_ints('4 billion runs', 4, pack('V2', 0xffffffff, 0), $corrupt, qr/"number of runs": expected 3, got 4294967295/);
lie_in_ints('a child of 4 GB', 3, pack('q<', 1) . child(0, 8, '', nbytes => 0xfffffff0), $protocol, qr/"child": expected 4294967280, got 0/);
{
	my $nested = pack('q<', 1) . child(0, 8, pack('q<2', 1, 1));
	my $deep = child(0, 8, pack('q<3', 1, 1, 1));
	$deep = child(5, 8, pack('q<2', 0, 1) . $deep) for 1 .. 4;
	lie_in_ints('encodings five deep', 5, pack('q<2', 0, 1) . $deep, $protocol, qr/"depth of encodings": expected 4, got 4|"depth of encodings"/);
	$deep = child(5, 8, pack('q<2', 0, 1) . $deep) for 1 .. 100;
	lie_in_ints('encodings a hundred deep', 5, pack('q<2', 0, 1) . $deep, $protocol, qr/"depth of encodings"|sum of encoded/);
}
lie_in_ints('a column related to itself', 8, pack('v x6', 0) . child(0, 8, pack('q<3', 1, 2, 3)), $corrupt, qr/"related column"/);
lie_in_ints('a column related to no column', 8, pack('v x6', 65535) . child(0, 8, pack('q<3', 1, 2, 3)), $corrupt, qr/"related column": expected 0, got 65535/);
lie_in_batch('decimals of an oid', ['oid'], 2, [ chunk(width => 4, encoding => 6, nvalues => 2, encoded => "\0" x 8 . child(1, 8, pack('q<', -1)), plain_nbytes => 100) ],
	$protocol, qr/unsupported encoding/);

sub lie_in_text
{
	my ($name, $encoding, $encoded, $sqlstate, $message, $type) = @_;
	lie_in_batch($name, [ $type // 'text' ], 3, [ chunk(form => 1, encoding => $encoding, nvalues => 3, encoded => $encoded, plain_nbytes => 1000) ], $sqlstate, $message);
	return;
}
lie_in_text('a length of nothing', 0, "\x01\x03\x03", $corrupt, qr/"packed value size"/);
lie_in_text('a value beyond the end', 0, "\x03\x03\xff", $protocol, qr/"packed value": expected 127, got 1/);
lie_in_text('a value of 1 GB', 0, "\x03\x03\0\0\xfc\xff\xff\xff", $protocol, qr/"packed value": expected 1073741823, got 4/);
lie_in_text('a long header for a short value', 0, "\x03\x03\0\0" . pack('V', 8 * 4) . 'abcd', $corrupt, qr/"packed value size"/);
lie_in_text('values left over', 0, packed('a', 'b', 'c', 'd'), $protocol, qr/"packed values"/);
lie_in_text('lengths of 4 GB', 9, pack('V2', 0, 0) . child(0, 4, pack('V3', 0xffffffff, 1, 1)) . 'abc', $corrupt, qr/"length of a string"/);
lie_in_text('a code that has no entry', 10, pack('V2', 2, 0) . child(0, 2, pack('v3', 0, 1, 2)) . packed('a', 'b'), $corrupt, qr/"code of a dictionary": expected 1, got 2/);
lie_in_text('a dictionary of 4 billion entries', 10, pack('V2', 0xffffffff, 0) . child(0, 2, pack('v3', 0, 0, 0)) . packed('a'), $corrupt, qr/"entries of a dictionary": expected 3/);
lie_in_text('digits outside of the template', 11, align(pack('C C x6 C a3', 3, 1, 7, 'a00')) . child(1, 8, pack('q<', 1)), $corrupt, qr/"position in a template"/);
lie_in_text('toast of 1 GB', 13, pack('V2', 1, 0x3fffffff) . child(0, 4, pack('V', 0)) . child(0, 4, pack('V', 0x3ffffff0)) . packed('a', 'b', 'c'), $protocol, qr/size exceeds the limit/);
lie_in_text('toast that is none', 13, pack('V2', 1, 101) . child(0, 4, pack('V', 0)) . child(0, 4, pack('V', 100)) . packed("\xff\xff\xff", 'b', 'c'), $corrupt, qr/"compressed value": expected 100, got 3/);

# --- Values ----------------------------------------------------------------

lie_in_batch('a NUL in text', ['text'], 1, [ strings(["a\0b"]) ], '22021', qr/invalid byte sequence for encoding "UTF8": 0x00/);
lie_in_batch('invalid UTF-8 in text', ['text'], 1, [ strings(["a\xffb"]) ], '22021', qr/invalid byte sequence for encoding "UTF8": 0xff/);
lie_in_batch('half a character', ['text'], 2, [ strings([ "\xc3", "\xbc" ]) ], '22021', qr/invalid byte sequence/);
lie_in_batch('invalid UTF-8 in a dictionary', ['text'], 2, [ chunk(form => 1, encoding => 10, nvalues => 2, encoded => pack('V2', 1, 0) . child(1, 2, "\0\0") . packed("\xfe"), plain_nbytes => 100) ],
	'22021', qr/invalid byte sequence/);
lie_in_batch('invalid UTF-8 in a template', ['text'], 2, [ chunk(form => 1, encoding => 11, nvalues => 2, encoded => align(pack('C C x6 C a3', 3, 1, 1, "\xfe00")) . child(1, 8, pack('q<', 1)), plain_nbytes => 100) ],
	'22021', qr/invalid byte sequence/);
lie_in_batch('invalid UTF-8 in json', ['json'], 1, [ strings(["\"\xff\""]) ], '22021', qr/invalid byte sequence/);
lie_in_batch('a name of 64 bytes', ['name'], 1, [ strings([ 'n' x 64 ]) ], $corrupt, qr/"length of a name": expected 63, got 64/);
lie_in_batch('a bool of 2', ['bool'], 2, [ chunk(width => 1, nvalues => 2, encoded => "\x01\x02") ], '22P03', qr/invalid boolean value.*Expected 0 or 1/);
lie_in_batch('a date out of range', ['date'], 1, [ ints([ 2147483000 ]) ], '22008', qr/date out of range.*Expected .*, got 2147483000/);
lie_in_batch('a time out of range', ['time'], 1, [ chunk(width => 8, nvalues => 1, encoded => pack('q<', 86400000001)) ], '22008', qr/time out of range.*Expected .*, got 86400000001/);
lie_in_batch('a time zone out of range', ['timetz'], 1, [ chunk(width => 12, nvalues => 1, encoded => pack('q< l<', 0, 60000)) ], '22009', qr/time zone displacement out of range.*Expected .*, got 60000/);
lie_in_batch('a timestamp out of range', ['timestamptz'], 1, [ chunk(width => 8, nvalues => 1, encoded => pack('q<', 9223372036854775800)) ], '22008', qr/timestamp out of range.*Expected .*, got 9223372036854775800/);
lie_in_batch('a value outside a domain', ['positive'], 3, [ ints([ 1, 0, 3 ]) ], '23514', qr/violates check constraint "positive_check"/);
lie_in_batch('text outside a domain', ['label'], 2, [ strings([ 'good', 'forbidden' ]) ], '23514', qr/violates check constraint "label_check"/);
lie_in_batch('a null outside a domain', ['label'], 2, [ strings(['good'], nulls => 2, bitmap => "\x02") ], '23502', qr/does not allow null values/);
lie_in_batch('nothing but nulls outside a domain', ['label'], 2, [ chunk(form => 1, nulls => 1, nvalues => 0, encoded => '') ], '23502', qr/does not allow null values/);
lie_in_batch('an array outside a domain', ['small_array'], 1,
	[ chunk(form => 2, width => 4, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 4)) . child(1, 4, pack('V', 7)), plain_nbytes => 100) ],
	'23514', qr/violates check constraint/);

# What does not fit the typmod that the remote says its column has is coerced, or
# refused, as by the input function; json is read as by its own.
lie_in_batch('varchar(5) of five', ['varchar(5)'], 3, [ strings([ 'abcde', 'äöüäö', '' ]) ], undef, "abcde\näöüäö\n");
lie_in_batch('varchar(5) of six', ['varchar(5)'], 2, [ strings([ 'abcde', 'abcdef' ]) ], '22001', qr/value too long for type character varying\(5\)/);
lie_in_batch('varchar(5) of six of two bytes', ['varchar(5)'], 1, [ strings(['äöüäöü']) ], '22001', qr/value too long for type character varying\(5\)/);
lie_in_batch('varchar(5) of five and a blank', ['varchar(5)'], 1, [ strings(['abcde ']) ], undef, '[abcde]', select => q{format('[%s]', c0)});
lie_in_batch('char(3) of three', ['char(3)'], 2, [ strings([ 'abc', 'äöü' ]) ], undef, "abc\näöü");
lie_in_batch('char(3) of four', ['char(3)'], 1, [ strings(['abcd']) ], '22001', qr/value too long for type character\(3\)/);
lie_in_batch('char(3) of three bytes, but two characters', ['char(3)'], 1, [ strings(['aä']) ], undef, 4, select => 'octet_length(c0)');
lie_in_batch('char(3) of one', ['char(3)'], 2, [ strings([ 'abc', 'a' ]) ], undef, "3\n3", select => 'octet_length(c0)');
lie_in_batch('numeric(3,1) that fits', ['numeric(3,1)'], 2, [ chunk(width => 8, nvalues => 2, scale => 1, encoded => pack('q<2', 999, -999)) ], undef, "99.9\n-99.9");
lie_in_batch('numeric(3,1) of four digits', ['numeric(3,1)'], 2, [ chunk(width => 8, nvalues => 2, scale => 1, encoded => pack('q<2', 0, 1000)) ], '22003', qr/numeric field overflow.*precision 3, scale 1/);
lie_in_batch('numeric(3,1) of scale 2', ['numeric(3,1)'], 1, [ chunk(width => 8, nvalues => 1, scale => 2, encoded => pack('q<', 125)) ], undef, '1.3');
lie_in_batch('numeric(3,1) as sent', ['numeric(3,1)'], 1, [ strings([ pack('n5', 1, 0, 0, 0, 100) ]) ], '22003', qr/numeric field overflow/);
lie_in_batch('numeric(30,2) of 18 digits', ['numeric(30,2)'], 1, [ chunk(width => 8, nvalues => 1, scale => 2, encoded => pack('q<', 9223372036854775807)) ], undef, '92233720368547758.07');
lie_in_batch('timestamp(0) with microseconds', ['timestamp(0)'], 3, [ chunk(width => 8, nvalues => 3, encoded => pack('q<3', 1000000, 1499999, 9223372036854775807)) ], undef,
	"2000-01-01 00:00:01\n2000-01-01 00:00:01\ninfinity");
lie_in_batch('interval(0) with microseconds', ['interval(0)'], 1, [ chunk(width => 16, nvalues => 1, encoded => pack('q< l<2', 1499999, 0, 0)) ], undef, '00:00:01');
lie_in_batch('timetz(1) with microseconds', ['timetz(1)'], 1, [ chunk(width => 12, nvalues => 1, encoded => pack('q< l<', 1010000, 0)) ], undef, '00:00:01+00');
lie_in_batch('json', ['json'], 2, [ strings([ '{"a": [1, 2.5e3, "\u00e4", null]}', ' "x" ' ]) ], undef, qq({"a": [1, 2.5e3, "\\u00e4", null]}\n "x" ));
lie_in_batch('json that is none', ['json'], 2, [ strings([ '1', '{"no json' ]) ], '22P02', qr/invalid input syntax for type json/);
lie_in_batch('json of 10,000 levels', ['json'], 1, [ strings([ '[' x 100_000 ]) ], '54001|22P02', qr/stack depth limit exceeded|invalid input syntax/);

# What values become is for fetch_size rows at a time.
lie_in_batch('a blank for 400 MB', ['char(100000)'], 4000, [ chunk(form => 1, encoding => 1, nvalues => 4000, encoded => packed('a'), plain_nbytes => 8_000_000) ], undef, 4000,
	select => 'count(x.c0) FROM (SELECT c0', from => 'OFFSET 0) x', bounded => 1);
lie_in_batch('a list for 1 GB', ['jsonb'], 250, [ chunk(form => 1, encoding => 1, nvalues => 250, encoded => packed('[' . join(',', (0) x 16000) . ']'), plain_nbytes => 8_300_000) ], undef, 250,
	select => 'count(x.c0) FROM (SELECT c0', from => 'OFFSET 0) x', bounded => 1);
# Errors come in the order of rows.
lie_in_batch('a value that is not asked for', ['jsonb'], 150, [ strings([ ('1') x 100, 'oops', ('1') x 49 ]) ], undef, 70,
	select => 'count(x.c0) FROM (SELECT c0', from => 'WHERE random() < 2 LIMIT 70) x');
lie_in_batch('two that are', [ 'jsonb', 'positive' ], 3, [ strings([ '1', '2', 'oops' ]), ints([ 1, 0, 1 ]) ], '23514', qr/positive_check/);

# numeric_send's form: digits, weight, sign, scale, then the digits.
my %numerics = (
	'digits that are not there' => [ pack('n4', 5, 0, 0, 0), '08P01|22P03', qr/insufficient data|numeric/ ],
	'65535 digits that are not there' => [ pack('n4', 65535, 0, 0, 0), '08P01|22P03', qr/insufficient data|numeric/ ],
	'a digit of 10000' => [ pack('n5', 1, 0, 0, 0, 10000), '22P03', qr/invalid digit in external "numeric" value/ ],
	'an unknown sign' => [ pack('n5', 1, 0, 0x1234, 0, 1), '22P03', qr/invalid sign in external "numeric" value/ ],
	'a scale of 65535' => [ pack('n5', 1, 0, 0, 65535, 1), '22P03', qr/invalid scale in external "numeric" value/ ],
	'digits left over' => [ pack('n6', 1, 0, 0, 0, 1, 2), '22P03', qr/numeric from server "liar".*Expected 10 bytes, got 12/ ],
	'one byte' => [ 'x', '08P01|22P03', qr/insufficient data|numeric/ ]);
for my $name (sort keys %numerics)
{
	my ($bytes, $sqlstate, $message) = @{ $numerics{$name} };
	lie_in_batch("a numeric with $name", ['numeric'], 1, [ strings([$bytes]) ], $sqlstate, $message);
	lie_in_batch("an exception with $name", ['numeric'], 1,
		[ chunk(width => 8, encoding => 12, nvalues => 1, encoded => pack('V2', 1, 0) . child(1, 8, "\0" x 8) . child(1, 4, pack('V', 0)) . packed($bytes), plain_nbytes => 1000) ],
		$sqlstate, $message);
}
lie_in_batch('exceptions beyond the rows', ['numeric'], 1,
	[ chunk(width => 8, encoding => 12, nvalues => 1, encoded => pack('V2', 1, 0) . child(1, 8, "\0" x 8) . child(1, 4, pack('V', 1)) . packed(pack('n4', 0, 0, 0xc000, 0)), plain_nbytes => 1000) ],
	$corrupt, qr/"position of an exception"/);

# array_send's form: dimensions, nulls, element type, then sizes and lower bounds, then the elements.
sub array_sent
{
	my (@fields) = @_;
	return chunk(form => 2, width => 4, nvalues => 1, encoded => pack('V2', 1, 0) . child(1, 4, pack('V', 0)) . child(0, 4, '') . packed(pack('N*', @fields)), plain_nbytes => 1000);
}
my $too_large = '54000|22P03|08P01';
lie_in_batch('an array of another element type', ['int4[]'], 1, [ array_sent(1, 0, 20, 1, 1, 8, 0, 0) ], '42804|22P03', qr/wrong element type|binary/);
lie_in_batch('an array of 100 dimensions', ['int4[]'], 1, [ array_sent(100, 0, 23) ], $too_large, qr/number of array dimensions/);
lie_in_batch('an array of -1 dimensions', ['int4[]'], 1, [ array_sent(0xffffffff, 0, 23) ], $too_large, qr/number of (array )?dimensions/);
lie_in_batch('an array of 2^31 - 1 elements', ['int4[]'], 1, [ array_sent(1, 0, 23, 0x7fffffff, 1) ], $too_large, qr/array size exceeds|too large/);
lie_in_batch('an array of -5 elements', ['int4[]'], 1, [ array_sent(1, 0, 23, 0xfffffffb, 1) ], $too_large, qr/array size exceeds|invalid|insufficient/);
lie_in_batch('an array whose elements are not there', ['int4[]'], 1, [ array_sent(1, 0, 23, 3, 1) ], $too_large, qr/insufficient data/);
lie_in_batch('an element of 2 GB', ['int4[]'], 1, [ array_sent(1, 0, 23, 1, 1, 0x7fffffff) ], $too_large, qr/insufficient data/);
lie_in_batch('an array with bytes left over', ['int4[]'], 1, [ array_sent(0, 0, 23, 42) ], '22P03', qr/array from server "liar".*Expected 12 bytes, got 16/);
lie_in_batch('more elements than there are', ['int4[]'], 1,
	[ chunk(form => 2, width => 4, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 5)) . child(0, 4, pack('V', 1)), plain_nbytes => 1000) ], $corrupt, qr/"elements of arrays": expected 16, got 4/);
lie_in_batch('more arrays as sent than there are', ['int4[]'], 1,
	[ chunk(form => 2, width => 4, nvalues => 1, encoded => pack('V2', 1, 0) . child(1, 4, pack('V', 2)) . child(0, 4, pack('V', 1)), plain_nbytes => 1000) ], $corrupt, qr/"arrays as sent": expected 1, got 0/);
lie_in_batch('a bool of 2 in an array', ['bool[]'], 1,
	[ chunk(form => 2, width => 1, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 3)) . child(0, 1, "\x01\x02"), plain_nbytes => 1000) ], '22P03', qr/invalid boolean value/);
lie_in_batch('a date out of range in an array', ['date[]'], 1,
	[ chunk(form => 2, width => 4, nvalues => 1, encoded => pack('V2', 0, 0) . child(1, 4, pack('V', 2)) . child(0, 4, pack('l<', 2147483000)), plain_nbytes => 1000) ], '22008', qr/date out of range/);
lie_in_batch('jsonb whose structure is broken', ['jsonb'], 1, [ strings(['{"a": [1, 2}']) ], '22P02', qr/invalid input syntax for type json/);
lie_in_batch('jsonb in binary', ['jsonb'], 1, [ strings(["\x01\x00\x00\x20\x80"]) ], '22021', qr/invalid byte sequence/);

# --- The remote's side -----------------------------------------------------

my $sql = '';
my $local_sql = '';
for my $i (0 .. $#lies)
{
	my $lie = $lies[$i];
	my $seq = 0;
	for my $frame (@{ $lie->{frames} })
	{
		my $value = !defined $frame || ref $frame ? 'NULL' : q{'\x} . unpack('H*', $frame) . q{'};
		my $error = ref $frame ? "'$$frame'" : 'NULL';
		$sql .= "INSERT INTO forged VALUES ($i, " . $seq++ . ", $value, $error);\n";
	}
	my @columns = map { "c$_" } 0 .. $#{ $lie->{types} };
	$sql .= "CREATE VIEW lie_$i AS SELECT " . join(', ', map { "NULL::text AS $_" } @columns) . ";\n";
	$local_sql .= "CREATE FOREIGN TABLE lie_$i (" . join(', ', map { "$columns[$_] $lie->{types}[$_]" } 0 .. $#columns) . ") SERVER liar;\n";
}
$liar->safe_psql('postgres', $sql);
$coordinator->safe_psql('postgres', $local_sql);

# --- Listening to them -----------------------------------------------------

my $session = open_session($coordinator);

# Rows, SQLSTATE and the message with its detail.
sub listen_to
{
	my ($query) = @_;
	$session->{stderr} = '';
	my $out = $session->query($query);
	my $err = $session->{stderr};
	$session->{stderr} = '';
	$err =~ s/\n/ /g;
	return ($out, $err =~ /ERROR:  (\w{5}):/ ? $1 : undef, $err);
}

# Memory that the backend has had at most since the last call, in bytes.
my $pid = $session->query('SELECT pg_backend_pid()');
sub peak_memory
{
	my $status = slurp_file("/proc/$pid/status");
	append_to_file("/proc/$pid/clear_refs", '5');
	return $status =~ /^VmHWM:\s+(\d+) kB/m ? $1 * 1024 : 0;
}

$session->query('\set VERBOSITY verbose');
$session->query("SELECT * FROM lie_0") for 1 .. 2;
peak_memory();
my $usual = peak_memory();

for my $i (0 .. $#lies)
{
	my $lie = $lies[$i];
	my $name = $lie->{name};
	my ($setting) = ($lie->{settings} // '') =~ /^(\S+)/;
	$session->query("SET $lie->{settings}") if $setting;
	my ($out, $sqlstate, $err) = listen_to('SELECT ' . ($lie->{select} // '*') . " FROM lie_$i " . ($lie->{from} // ''));
	$session->query("RESET $setting") if $setting;

	if (defined $lie->{sqlstate})
	{
		like($sqlstate // 'no error', qr/^(?:$lie->{sqlstate})$/, "$name: the SQLSTATE is right") or diag($err);
		like($err, $lie->{message}, "$name: the message says what is wrong");
	}
	else
	{
		is($out, $lie->{message}, "$name: all rows come") or diag($err);
	}
	my $grown = peak_memory() - $usual;
	cmp_ok($grown, '<', 64 * 1024 * 1024, "$name: memory stays bounded") if $sqlstate || $lie->{bounded};
	last unless is($session->query('SELECT pg_backend_pid()'), $pid, "$name: the backend lives");
}

# Remote plans, in each format: what is well-formed PostgreSQL can read.
$session->query(q{SET pg_exchange.explain_remote = on;
	CREATE FUNCTION explained(query text, format text) RETURNS text LANGUAGE plpgsql AS
		$$DECLARE line text; plan text := ''; BEGIN
			FOR line IN EXECUTE format('EXPLAIN (ANALYZE, COSTS OFF, FORMAT %s) %s', format, query) LOOP plan := plan || line || E'\n'; END LOOP;
			RETURN plan; END$$});
{
	my %plans = map { $lies[$_]{name} => "SELECT * FROM lie_$_" } grep { $lies[$_]{name} =~ /^a plan (?:of|that is)/ } 0 .. $#lies;
	my $weird = $plans{'a plan of what EXPLAIN never has'};
	my ($out, $sqlstate, $err) = listen_to("SELECT explained('$weird', 'json')::json #>> '{0,Plan,Remote Plan,x}'");
	is($out, '1e999', 'a plan of what EXPLAIN never has is shown as JSON') or diag($err);
	($out, $sqlstate, $err) = listen_to("SELECT explained('$weird', 'text')");
	like($out, qr/Remote Plan:\n\s+Seq Scan\?\[2J on t\n\s+Filter: \(a = 'ä'\)\n/, 'a plan of what EXPLAIN never has is shown as text') or diag($err);
	($out, $sqlstate, $err) = listen_to("SELECT explained('$weird', 'yaml')");
	unlike($out, qr/[\x01\x02\e]|xy: \{|^\s*<|inf/m, 'a plan of what EXPLAIN never has does not break YAML') or diag($err);
	SKIP:
	{
		skip 'no XML', 1 unless $coordinator->safe_psql('postgres', q{SELECT count(*) FROM pg_config WHERE setting ~ 'with-libxml'});
		($out, $sqlstate, $err) = listen_to("SELECT xmlparse(DOCUMENT explained('$weird', 'xml')) IS DOCUMENT");
		is($out, 't', 'a plan of what EXPLAIN never has is shown as XML') or diag($err);
	}
	for my $wrong ([ 'a plan that is no text', '22021' ], [ 'a plan that is no JSON', '22P02' ], [ 'a plan of 2000 levels', 'XX001' ])
	{
		($out, $sqlstate, $err) = listen_to("EXPLAIN (ANALYZE, FORMAT JSON) $plans{$wrong->[0]}");
		is($sqlstate, $wrong->[1], "$wrong->[0]: it is refused") or diag($err);
	}
}
$session->query('RESET pg_exchange.explain_remote');

is($session->query('SELECT * FROM lie_0'), "1\n2\n3", 'the truth is believed after all the lies');
cmp_ok($session->query(q{SELECT sum(total_bytes) FROM pg_backend_memory_contexts}), '<', 16 * 1024 * 1024, 'memory contexts are small again');
is($session->query(q{SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'pg_exchange batch'}), 0, 'no memory context is left of a query');
ok($liar->poll_query_until('postgres', q{SELECT count(*) <= 1 FROM pg_stat_activity WHERE application_name = 'pg_exchange' AND state <> 'idle'}),
	'nothing is left running on the liar');
$session->quit;
note(scalar(@lies) . ' lies and truths by name');

# --- Lies about the admission ------------------------------------------------

# postgres_fdw's own session is asked for it, so each in a new one.
sub listen_anew
{
	my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSELECT * FROM lie_0");
	return ($out, $err =~ s/\n/ /gr);
}
my $no_answer = qr/08P01.*Expected the answer of exchange.admit/;
for my $lie ([ 'no admission', 'NULL', $no_answer ],
	[ 'an empty admission', q{''}, qr/08P01/ ],
	[ 'an admission of 1 MB', q{repeat('x', 1000000)}, qr/08P01/ ],
	[ 'an admission in tags', q{'<admit>' || a || '</admit>'}, qr/08P01/ ],
	[ 'no hello', q{regexp_replace(a, '^.* pid', 'pid')}, qr/08P01/ ],
	map({ [ "$_->[0] cost", "replace(a, ' pid=', ' cost=$_->[1] pid=')", qr/08P01.*"cost"/ ] }
		[ 'no', '' ], [ 'a cost of 0 as', 0 ], [ 'a negative', -1 ], [ 'a large', '99999999999999999999' ], [ 'a lettered', '12a' ], [ 'a fractional', '1.5' ], [ 'a second', '1 cost=1' ]),
	[ 'a cost after the process', q{replace(a, ' session=', ' cost=1 session=')}, qr/08P01.*"session"/ ],
	map({ [ "$_->[0] process", "regexp_replace(a, 'pid=[^ ]*', 'pid=$_->[1]')", qr/08P01.*"(pid|session)"/ ] }
		[ 'no', '' ], [ 'a negative', -1 ], [ 'a large', '99999999999999999999' ], [ 'a lettered', '12a' ]),
	map({ [ "$_->[0] session", "regexp_replace(a, 'session=[^ ]*', 'session=$_->[1]')", qr/08P01.*"session"/ ] }
		[ 'no', '' ], [ 'a short', '0123456789abcde' ], [ 'a long', '0123456789abcdef0' ], [ 'a lettered', '0123456789abcdeg' ]),
	[ 'an empty snapshot', q{regexp_replace(a, 'snapshot=[^ ]*', 'snapshot=')}, qr/08P01.*"snapshot"/ ],
	[ 'a snapshot of 1 MB', q{regexp_replace(a, 'snapshot=[^ ]*', 'snapshot=' || repeat('1', 1000000))}, qr/08P01.*"snapshot"/ ],
	[ 'a snapshot with a quote', q{regexp_replace(a, 'snapshot=[^ ]*', 'snapshot=1''2')}, qr/08P01.*"(snapshot|idle)"/ ],
	[ 'a large time', q{regexp_replace(a, 'idle=[^ ]*', 'idle=99999999999999999999')}, qr/08P01.*"idle"/ ],
	[ 'a reason with control characters', q{a || chr(7)}, qr/08P01/ ],
	[ 'half an escape', q{a || '%4'}, qr/08P01.*"against"/ ],
	[ 'more than there should be', q{a || ' snapshot=1'}, qr/08P01/ ])
{
	my ($name, $value, $message) = @$lie;
	my $original = $liar->safe_psql('postgres', "SELECT pg_get_functiondef('exchange.admit(text, text, boolean)'::regprocedure)");
	my $new = $original =~ s/AS \$function\$(.*)\$function\$/AS \$function\$SELECT $value FROM ($1) x (a)\$function\$/sr;
	$liar->safe_psql('postgres', $new);
	my ($out, $err) = listen_anew();
	$liar->safe_psql('postgres', $original);
	is($out, '', "$name: no row comes");
	like($err, $message, "$name: the message says what is wrong");
}
is((listen_anew())[0], "1\n2\n3", 'the truth about the admission is believed');
unlike(slurp_file($coordinator->logfile), qr/PANIC|was terminated by signal|TRAP:/, 'no backend has crashed');

# --- Pieces of text that are no frames -----------------------------------------

# By postgres_fdw's session, where frames are text in an armour.
for my $lie ([ 'null', 'NULL' ], [ 'nothing', q{''} ], [ 'a letter', q{'x'} ], [ 'text', q{repeat('x', 100)} ],
	[ 'text that is not ASCII', q{repeat('ü', 100)} ], [ '1 MB of zeros', q{repeat('~', 1000000)} ],
	map { [ "$_ letters", "repeat('~', $_)" ] } 2, 8, 9, 120, 121, 122, 123)
{
	my ($name, $value) = @$lie;
	for my $rows (0, 1, 3)
	{
		$liar->safe_psql('postgres', qq{
			CREATE OR REPLACE FUNCTION exchange.send_text(request text, "row" anyelement) RETURNS SETOF text LANGUAGE sql VOLATILE
				AS \$\$SELECT $value FROM generate_series(1, $rows)\$\$});
		my ($ret, $out, $err) = $coordinator->psql('postgres', "\\set VERBOSITY verbose\nSET pg_exchange.transport = session; SELECT * FROM lie_0");
		is($out, '', "$rows pieces, $name: no row comes");
		like($err, qr/ERROR:  (08P01|XX001): .*server "liar"/, "$rows pieces, $name: there is an error");
	}
}
is((listen_anew())[0], "1\n2\n3", 'a stream that tells the truth is believed');

# --- Lies by chance ------------------------------------------------------------

# Frames of a real sender, of which a few bytes are changed and the checksum made
# right: whatever comes of it, an error or other values, the backend lives.
my $honest = new_shard('honest', conf => "session_preload_libraries = 'pg_exchange'\nmax_parallel_workers_per_gather = 0\n");
my %columns = (
	b => [ 'bool', '16:-1', 'i % 3 = 0' ], i2 => [ 'int2', '21:-1', 'i' ], i4 => [ 'int4', '23:-1', 'i * 7919 % 1000' ], i8 => [ 'int8', '20:-1', 'i * 1000000000000' ],
	f8 => [ 'float8', '701:-1', 'i / 100.0' ], d => [ 'date', '1082:-1', q{date '2026-01-01' + i % 30} ], ts => [ 'timestamptz', '1184:-1', q{timestamptz '2026-01-01Z' + i * interval '1 s'} ],
	tz => [ 'timetz', '1266:-1', q{timetz '12:00+05:30'} ], u => [ 'uuid', '2950:-1', 'md5(i::text)::uuid' ], n => [ 'numeric', '1700:-1', q{CASE WHEN i % 50 = 7 THEN 'NaN' ELSE i / 100.0 END} ],
	tx => [ 'text', '25:-1', q{CASE WHEN i % 9 > 0 THEN repeat('lorem ' || i % 7, i % 5) END} ], k => [ 'text', '25:-1', q{'Customer#' || lpad(i::text, 9, '0')} ],
	w => [ 'text', '25:-1', q{(ARRAY['AIR', 'REG AIR', 'größer'])[i % 3 + 1]} ], nm => [ 'name', '19:-1', q{'name ' || i} ], js => [ 'json', '114:-1', q{format('{"a": %s}', i)} ],
	jb => [ 'jsonb', '0:-1', q{format('{"a": [%s, null]}', i)} ], ia => [ 'int4[]', '1007:-1', 'CASE WHEN i % 7 = 0 THEN ARRAY[i, NULL] ELSE ARRAY[i, i + 1] END' ],
	ba => [ 'bool[]', '1000:-1', 'ARRAY[i % 2 = 0, true]' ]);
my @names = sort keys %columns;
my @originals;
for my $mode ('1 none', '16383 none', '16383 lz4', '16383 zstd')
{
	my ($encodings, $codec) = split(/ /, $mode);
	my $request = "version=1 encodings=$encodings codec=$codec level=0 batch_rows=4096 batch_bytes=1048576 server_version=$version_num columns="
	  . join(',', map { $columns{$_}[1] } @names);
	my $frames = $honest->safe_psql('postgres', "SELECT exchange.send('$request', t) FROM (SELECT "
		  . join(', ', map { "($columns{$_}[2])::$columns{$_}[0] AS $_" } @names) . ' FROM generate_series(1, 60) i) t');
	push @originals, [ map { pack('H*', substr($_, 2)) } split(/\n/, $frames) ];
}

my $mutants = 1500;
srand(15);
$sql = "CREATE VIEW mutants AS SELECT generate_series(0, $mutants) AS lie, " . join(', ', map { "NULL::text AS $_" } @names) . ";\n";
$sql .= "TRUNCATE forged;\nCOPY forged FROM STDIN;\n";
for my $i (0 .. $mutants)
{
	my @frames = @{ $originals[ $i % @originals ] };
	my $seq = 0;
	if ($i > 0)
	{
		my $changed = rand() < 0.9 ? 1 : 0;    # the batch, or the schema
		my $first = 40;
		for (1 .. 1 + rand(3))
		{
			my $at = rand() < 0.3 ? 40 + int(rand(24 * @names)) : $first + int(rand(length($frames[$changed]) - $first));
			substr($frames[$changed], $at % length($frames[$changed]), 1) = chr(rand() < 0.3 ? (0, 1, 255, 127, 128)[ rand(5) ] : rand(256));
		}
		$frames[$changed] = recrc($frames[$changed]);
	}
	$sql .= "$i\t" . $seq++ . "\t\\\\x" . unpack('H*', $_) . "\t\\N\n" for @frames;
}
$liar->safe_psql('postgres', $sql . "\\.\n");
$coordinator->safe_psql('postgres', 'CREATE FOREIGN TABLE mutants (lie int, ' . join(', ', map { "$_ $columns{$_}[0]" } @names) . ') SERVER liar');

# All in one transaction, whose first query is outside of subtransactions.
$session = open_session($coordinator);
$pid = $session->query('SELECT pg_backend_pid()');
$session->query('CREATE TEMP TABLE outcomes (lie int, sqlstate text, n bigint)');
my $outcome = "count(md5(m::text)) FROM (SELECT @{[ join(', ', @names) ]} FROM mutants WHERE lie =";
is($session->query("BEGIN; SELECT $outcome 0 OFFSET 0) m"), 60, 'what the honest one has sent');
$session->query(qq{
	DO \$\$
	DECLARE
		rows bigint;
	BEGIN
		FOR i IN 1..$mutants LOOP
			BEGIN
				EXECUTE format('SELECT $outcome %s OFFSET 0) m', i) INTO rows;
				INSERT INTO outcomes VALUES (i, 'none', rows);
			EXCEPTION WHEN OTHERS THEN
				INSERT INTO outcomes VALUES (i, SQLSTATE, NULL);
			END;
		END LOOP;
	END\$\$});
is($session->{stderr}, '', 'no error was missed');
is($session->query('SELECT pg_backend_pid()'), $pid, "$mutants frames changed by chance: the backend lives");
is($session->query('COMMIT; SELECT count(*) FROM outcomes'), $mutants, 'each frame had its turn');
is($session->query(q{SELECT count(*) FROM outcomes WHERE n <> 60}), 0, 'all rows come, or none');
cmp_ok($session->query(q{SELECT count(*) FROM outcomes WHERE n IS NULL}), '>', $mutants / 3, 'many of the changes were noticed');
is($session->query(q{SELECT string_agg(DISTINCT sqlstate, ' ') FROM outcomes
		WHERE sqlstate !~ '^(none|08P01|XX001|22...|54000|42804)$'}), '', 'the changes were noticed by the right errors');
note($session->query(q{SELECT string_agg(sqlstate || ': ' || n, ', ') FROM (SELECT sqlstate, count(*) AS n FROM outcomes GROUP BY 1 ORDER BY 1) x}));
is($session->query("SELECT $outcome 0 OFFSET 0) m"), 60, 'the honest one is still believed');
$session->quit;

done_testing();
