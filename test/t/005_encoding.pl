# Databases of different encodings: text arrives in the coordinator's encoding,
# whatever its type and whoever sends it, or with the error of postgres_fdw.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# All that psql reads and prints here is UTF-8.
$ENV{PGCLIENTENCODING} = 'UTF8';

# A parallel plan is made, whatever the size, where a table is not told otherwise.
my $shard = new_shard('shard', extensions => [], conf => <<EOC);
parallel_setup_cost = 0
parallel_tuple_cost = 0
min_parallel_table_scan_size = 0
EOC
my $coordinator = new_coordinator('coordinator',
	extensions => ['postgres_fdw'],
	conf => "pg_exchange.local_scope = none\n");

sub create_database
{
	my ($node, $name, $encoding) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name ENCODING '$encoding' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0");
	$node->safe_psql($name, 'CREATE EXTENSION pg_exchange');
}

# Have a database of the coordinator read one of the shard, as a schema.
sub connect_databases
{
	my ($local, $remote) = @_;
	$coordinator->safe_psql($local, "CREATE EXTENSION IF NOT EXISTS postgres_fdw; CREATE SCHEMA $remote");
	add_server($coordinator, $remote, $shard, database => $local, dbname => $remote);
}

# A row of every type that holds text, all made of one string (an SQL literal
# of at least 4 characters), with columns and a table named by it, too.
sub columns
{
	my ($s) = @_;
	return (
		t => [ 'text', $s ],
		v => [ 'varchar(40)', $s ],
		c => [ 'char(40)', $s ],
		fits => [ 'char(2)', "left($s, 2)" ],
		n => [ 'name', $s ],
		j => [ 'json', "json_build_object($s, i)" ],
		jb => [ 'jsonb', "jsonb_build_object($s, i)" ],
		x => [ 'xml', "xmlelement(name x, $s)" ],
		a => [ 'text[]', "ARRAY[$s, NULL, $s || i]" ],
		e => [ 'letter', "$s\::letter" ],
		p => [ 'pair', "ROW($s, i)::pair" ],
		pa => [ 'pair[]', "ARRAY[ROW($s, i)::pair]" ],
		r => [ 'textrange', "textrange($s, NULL)" ],
		d => [ 'words', $s ],
		tsv => [ 'tsvector', "array_to_tsvector(ARRAY[$s])" ],
		b => [ 'bytea', "convert_to($s, 'UTF8')" ],
		long => [ 'text', "repeat($s, 20000) || i" ]);
}

# The types that both ends need; an enum has other OIDs on either.
sub types
{
	my ($s) = @_;
	return qq{
		DO \$\$ BEGIN EXECUTE format('CREATE TYPE letter AS ENUM (%L, %L)', 'a', $s); END \$\$;
		CREATE TYPE pair AS (word text, number int);
		CREATE TYPE textrange AS RANGE (subtype = text);
		CREATE DOMAIN words AS text CHECK (length(VALUE) < 100);};
}

# Scans with and without exchanges: rows, what differs each way, and the way.
sub compare
{
	my ($database, $settings, $table, $where) = @_;
	return $coordinator->safe_psql($database, qq{
		$settings;
		SET pg_exchange.enabled = off;
		CREATE TEMP TABLE expected AS SELECT t::text AS row FROM $table t $where;
		SET pg_exchange.enabled = on;
		CREATE TEMP TABLE got AS SELECT t::text AS row FROM $table t $where;
		SELECT count(*) FROM got;
		SELECT count(*) FROM (TABLE got EXCEPT ALL TABLE expected) x;
		SELECT count(*) FROM (TABLE expected EXCEPT ALL TABLE got) x;
		EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM $table}) =~
		/^(\d+)\n(\d+)\n(\d+)\n.*Transport: ([^\n]*)/s ? "$1|$2|$3|$4" : 'no EXPLAIN';
}

# What a scan says, with and without exchanges.
sub errors
{
	my ($database, $query) = @_;
	return map {
		my (undef, undef, $err) = $coordinator->psql($database,
			"\\set VERBOSITY verbose\nSET pg_exchange.enabled = $_; $query", on_error_stop => 0);
		$err =~ s/^LOCATION:.*\n?//mgr
	} qw(off on);
}

# UTF8 here, something else there.
my %strings = (
	LATIN1 => q{U&'caf\00e9 \00fc\00df \00d8'},
	EUC_JP => q{U&'\65e5\672c\8a9e \30ab\30bf'});
for my $encoding (sort keys %strings)
{
	my $remote = lc $encoding;
	my $s = $strings{$encoding};
	my %columns = columns($s);
	create_database($shard, $remote, $encoding);
	connect_databases('postgres', $remote);

	my $definitions = join(', ', map { "$_ $columns{$_}[0]" } sort keys %columns);
	my $values = join(', ', map { $columns{$_}[1] } sort keys %columns);
	$shard->safe_psql($remote, types($s) . qq{
		CREATE TABLE words_of (i int, $definitions);
		INSERT INTO words_of SELECT i, $values FROM generate_series(1, 50) i;
		INSERT INTO words_of (i) VALUES (0);
		DO \$\$ BEGIN EXECUTE format('CREATE TABLE %I AS SELECT t AS %I FROM words_of', $s, $s || '2'); END \$\$;
		CREATE TABLE many AS SELECT i, $s || i AS t, ARRAY[$s || i] AS a FROM generate_series(1, 20000) i;
		ANALYZE});
	# The types are made in the schema, too: they differ.
	$coordinator->safe_psql('postgres', "SET search_path = $remote, public;" . types($s) . qq{
		CREATE FOREIGN TABLE words_of (i int, $definitions) SERVER $remote OPTIONS (schema_name 'public');
		CREATE FOREIGN TABLE many (i int, t text, a text[]) SERVER $remote OPTIONS (schema_name 'public');
		DO \$\$ BEGIN EXECUTE format('CREATE FOREIGN TABLE named (%I text) SERVER $remote
			OPTIONS (schema_name ''public'', table_name %L)', $s || '2', $s); END \$\$});

	for my $mode (qw(none fast high_compression))
	{
		is(compare('postgres', "SET pg_exchange.compression = $mode", "$remote.words_of", ''), '51|0|0|exchange v1, stream',
			"$encoding to UTF8, $mode: every type is converted");
	}
	is($coordinator->safe_psql('postgres', qq{
		SELECT count(*) FROM $remote.words_of
		WHERE random() < 2 AND t = $s AND v = $s AND n = $s AND rtrim(c) = $s AND fits = left($s, 2) AND
			a = ARRAY[$s, NULL, $s || i] AND (p).word = $s AND j->>$s = i::text AND jb->>$s = i::text AND
			e::text = $s AND b = convert_to(t, 'UTF8') AND long = repeat($s, 20000) || i}),
		'50', "$encoding to UTF8: it is the text that was meant");
	is(compare('postgres', '', "$remote.named", ''), '51|0|0|exchange v1, stream', "$encoding to UTF8: names of table and column are converted");
	is(compare('postgres', '', "$remote.words_of", "WHERE t = $s AND t >= $s || ''"), '50|0|0|exchange v1, stream',
		"$encoding to UTF8: constants in the remote query are converted");
	is($coordinator->safe_psql('postgres', qq{
		SET plan_cache_mode = force_generic_plan;
		PREPARE p (text) AS SELECT count(*) FROM (SELECT * FROM $remote.words_of WHERE t = \$1 OFFSET 0) x;
		EXECUTE p ($s); EXECUTE p (''); EXECUTE p ($s)}),
		"50\n0\n50", "$encoding to UTF8: parameters of the remote query are converted");

	like($shard->safe_psql($remote, 'EXPLAIN SELECT * FROM many'), qr/Gather/, "$encoding: the shard has a parallel plan");
	is(compare('postgres', '', "$remote.many", ''), '20000|0|0|exchange v1, stream', "$encoding to UTF8: parallel senders send every row once");

	# An error of the remote has its text converted, too.
	$shard->safe_psql($remote, "CREATE VIEW failing AS SELECT $s\::text::int AS i FROM words_of");
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE $remote.failing (i int) SERVER $remote OPTIONS (schema_name 'public')");
	my ($without, $with) = errors('postgres', "SELECT count(i) FROM (SELECT i FROM $remote.failing OFFSET 0) x");
	my $text = $coordinator->safe_psql('postgres', "SELECT $s");
	like($without, qr/ERROR:  22P02: invalid input syntax for type integer: "\Q$text\E"/, "$encoding to UTF8: the error of the remote is converted");
	is($with, $without, "$encoding to UTF8: an exchange says the same");
}

# A name of 63 bytes there has more of them here.
$shard->safe_psql('latin1', q{CREATE TABLE long_names AS SELECT repeat(U&'\00e9', i)::name AS n FROM generate_series(1, 63) i});
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE latin1.long_names (n name) SERVER latin1 OPTIONS (schema_name 'public')});
is(compare('postgres', '', 'latin1.long_names', ''), '63|0|0|exchange v1, stream', 'names that become too long are cut');

# Lengths count characters.
$shard->safe_psql('latin1', q{CREATE TABLE lengths AS SELECT repeat(U&'\00e9', i) AS t FROM generate_series(1, 6) i});
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE latin1.lengths (t varchar(6)) SERVER latin1 OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE latin1.padded (t char(6)) SERVER latin1 OPTIONS (schema_name 'public', table_name 'lengths');
	CREATE FOREIGN TABLE latin1.too_short (t varchar(5)) SERVER latin1 OPTIONS (schema_name 'public', table_name 'lengths')});
is(compare('postgres', '', 'latin1.lengths', ''), '6|0|0|exchange v1, stream', 'varchar(6) holds 6 characters');
is(compare('postgres', '', 'latin1.padded', ''), '6|0|0|exchange v1, stream', 'char(6) is padded to 6 characters');
{
	my ($without, $with) = errors('postgres', 'SELECT t FROM latin1.too_short');
	is($with, $without, 'varchar(5) does not, and an exchange says the same');
}

# LATIN1 here, UTF8 there, with a character that LATIN1 lacks. (Not parallel:
# a worker adds its own context to an error.)
create_database($shard, 'utf8', 'UTF8');
create_database($coordinator, 'latin1', 'LATIN1');
connect_databases('latin1', 'utf8');
$shard->safe_psql('utf8', q{
	CREATE TABLE good AS SELECT i, U&'caf\00e9 ' || i AS t, ARRAY[U&'\00fc'] AS a FROM generate_series(1, 1000) i;
	CREATE TABLE bad AS SELECT i, CASE WHEN i = 900 THEN U&'10 \20ac' ELSE U&'caf\00e9' END AS t,
		ARRAY[CASE WHEN i = 900 THEN U&'10 \20ac' END] AS a FROM generate_series(1, 1000) i;
	ALTER TABLE bad SET (parallel_workers = 0)});
$coordinator->safe_psql('latin1', q{
	CREATE FOREIGN TABLE utf8.good (i int, t text, a text[]) SERVER utf8 OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE utf8.bad (i int, t text, a text[]) SERVER utf8 OPTIONS (schema_name 'public')});
is(compare('latin1', '', 'utf8.good', ''), '1000|0|0|exchange v1, stream', 'UTF8 to LATIN1: text is converted');
is($coordinator->safe_psql('latin1', q{SELECT count(*) FROM utf8.good WHERE random() < 2 AND octet_length(t) = 5 + length(i::text)}),
	'1000', 'UTF8 to LATIN1: a character takes one byte');
for my $column (qw(t a))
{
	my ($without, $with) = errors('latin1', "SELECT count($column) FROM (SELECT $column FROM utf8.bad OFFSET 0) x");
	like($without, qr/ERROR:  22P05: character with byte sequence 0xe2 0x82 0xac in encoding "UTF8" has no equivalent in encoding "LATIN1"/,
		"column $column has what LATIN1 lacks: the error is that of postgres_fdw");
	is($with, $without, "column $column has what LATIN1 lacks: an exchange says the same");
}
is($coordinator->safe_psql('latin1', 'SELECT count(*), sum(i) FROM (SELECT i FROM utf8.bad OFFSET 0) x'), '1000|500500',
	'columns without such characters are read');

# A correlated subquery is no join with groups of strings that nobody asked for.
is($coordinator->safe_psql('latin1', q{
	CREATE TABLE words AS SELECT 'word ' || i AS t FROM generate_series(1, 300) i;
	INSERT INTO words SELECT t FROM utf8.good WHERE i = 5;
	ANALYZE words, utf8.good;
	UPDATE pg_class SET reltuples = 1000, relpages = 7 WHERE oid = 'utf8.bad'::regclass;
	SELECT sum(n), count(t) FROM (
		SELECT (SELECT count(*) FROM utf8.bad b WHERE b.t = w.t) AS n, (SELECT max(t) FROM utf8.good g WHERE g.t = w.t) AS t
		FROM words w OFFSET 0) x}),
	'0|1', 'a subquery finds strings of another encoding');

# SQL_ASCII there: bytes that may be anything. What is not text here is an
# error of the remote, which knows what its client wants.
create_database($shard, 'ascii', 'SQL_ASCII');
connect_databases('postgres', 'ascii');
$shard->safe_psql('ascii', q{
	SET client_encoding = SQL_ASCII;
	CREATE TABLE good AS SELECT i, convert_from('caf\303\251', 'SQL_ASCII') || i AS t FROM generate_series(1, 1000) i;
	CREATE TABLE bad AS SELECT i, convert_from(CASE WHEN i = 900 THEN 'caf\351'::bytea ELSE 'x' END, 'SQL_ASCII') AS t
		FROM generate_series(1, 1000) i;
	CREATE TABLE bad_arrays AS SELECT ARRAY[t] AS t FROM bad;
	CREATE TABLE bad_names AS SELECT t::name AS t FROM bad;
	ALTER TABLE bad SET (parallel_workers = 0);
	ALTER TABLE bad_arrays SET (parallel_workers = 0);
	ALTER TABLE bad_names SET (parallel_workers = 0)});
$coordinator->safe_psql('postgres', q{
	CREATE FOREIGN TABLE ascii.good (i int, t text) SERVER ascii OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE ascii.bad (i int, t text) SERVER ascii OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE ascii.bad_arrays (t text[]) SERVER ascii OPTIONS (schema_name 'public');
	CREATE FOREIGN TABLE ascii.bad_names (t name) SERVER ascii OPTIONS (schema_name 'public')});
is(compare('postgres', '', 'ascii.good', ''), '1000|0|0|exchange v1, stream', 'SQL_ASCII to UTF8: text that is valid is read');
for my $table (qw(bad bad_arrays bad_names))
{
	my ($without, $with) = errors('postgres', "SELECT count(t) FROM (SELECT t FROM ascii.$table OFFSET 0) x");
	like($without, qr/ERROR:  22021: invalid byte sequence for encoding "UTF8": 0xe9/, "SQL_ASCII, $table: the error is that of postgres_fdw");
	is($with, $without, "SQL_ASCII, $table: an exchange says the same");
}

# SQL_ASCII here: any bytes are text.
create_database($coordinator, 'ascii', 'SQL_ASCII');
connect_databases('ascii', 'latin1');
$coordinator->safe_psql('ascii', q{
	CREATE FOREIGN TABLE latin1.lengths (t text) SERVER latin1 OPTIONS (schema_name 'public')});
is(compare('ascii', '', 'latin1.lengths', ''), '6|0|0|exchange v1, stream', 'LATIN1 to SQL_ASCII: bytes stay as they are');

# Keys of a lookup that the server's encoding lacks: no row there has them.
sub lookups
{
	my ($database, $remote, $keys) = @_;
	$coordinator->safe_psql($database, qq{
		CREATE FOREIGN TABLE $remote.keyed (i int, t text) SERVER $remote OPTIONS (schema_name 'public');
		CREATE TABLE keys (t text);
		INSERT INTO keys SELECT $keys;
		ANALYZE $remote.keyed, keys});
	# No stream joins a serializable transaction: then postgres_fdw reads.
	for my $transport ('auto', 'session', 'stream; SET default_transaction_isolation = serializable')
	{
		my $set = "SET pg_exchange.transport = $transport; SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_nestloop = off";
		like($coordinator->safe_psql($database, "$set; EXPLAIN SELECT * FROM keys LEFT JOIN $remote.keyed USING (t)"), qr/ExchangeLookup/,
			"$database to $remote: keys are sent, transport $transport");
		is($coordinator->safe_psql($database, "$set; SELECT count(*), count(i), sum(i) FROM keys LEFT JOIN $remote.keyed USING (t)"), '22|20|19100',
			"$database to $remote: keys that the encoding lacks match nothing, transport $transport");
	}
}
$shard->safe_psql('latin1', q{CREATE TABLE keyed AS SELECT i, U&'caf\00e9 ' || i % 100 AS t FROM generate_series(1, 2000) i});
lookups('postgres', 'latin1', q{unnest(ARRAY[U&'caf\00e9 5', U&'10 \20ac', NULL])});
$shard->safe_psql('utf8', q{CREATE TABLE keyed AS SELECT i, 'cafe ' || i % 100 AS t FROM generate_series(1, 2000) i});
connect_databases('ascii', 'utf8');
lookups('ascii', 'utf8', q{unnest(ARRAY['cafe 5', convert_from('caf\351', 'SQL_ASCII'), NULL])});

done_testing();
