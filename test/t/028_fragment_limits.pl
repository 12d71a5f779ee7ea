# A join on the shards does not fail where postgres_fdw answers: a fragment or
# aggregate that exceeds what its server allows one statement, functions that are taken away
# within a transaction, arrays that a server reads in another way, and a big
# table that nobody needs to look at.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map { new_shard("shard$_") } 1, 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");

# Rows of a view fail as configured, but only in a fragment or in a source.
my $number;
foreach my $shard (@shards)
{
	$number++;
	$shard->safe_psql('postgres', qq{
		CREATE TABLE fault (state text, query text, wait float, words text DEFAULT 'no more than that');
		CREATE FUNCTION may_read(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS \$\$
		DECLARE f public.fault;
		BEGIN
			SELECT * INTO f FROM public.fault;
			IF current_query() ~ f.query THEN
				PERFORM pg_sleep(f.wait);
				RAISE '%', f.words USING ERRCODE = f.state;
			END IF;
			RETURN true;
		END \$\$;
		CREATE FUNCTION slow(id int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(1); RETURN true; END';
		CREATE TABLE stored AS SELECT i AS id, i % 7 AS priority, i % 900 AS code, repeat(md5(i::text), 2) AS name
			FROM generate_series($number * 5000 - 4999, $number * 5000) i;
		CREATE TABLE stored_items AS SELECT i AS nr, i * 7 % 10000 + 1 AS ord, i % 9 AS qty, i % 900 AS code
			FROM generate_series($number * 3000 - 2999, $number * 3000) i;
		ANALYZE;
		CREATE VIEW orders AS SELECT * FROM stored WHERE CASE WHEN id % 2500 = 0 THEN may_read(id) ELSE true END;
		CREATE VIEW items AS SELECT * FROM stored_items WHERE CASE WHEN nr % 1500 = 0 THEN may_read(nr) ELSE true END;
		CREATE VIEW slow_orders AS SELECT * FROM stored WHERE CASE WHEN id % 1000 = 0 THEN slow(id) ELSE true END;
		CREATE ROLE guest LOGIN;
		GRANT SELECT ON ALL TABLES IN SCHEMA public TO guest});
	add_server($coordinator, "shard$number", $shard, options => "fetch_size '1000', fdw_tuple_cost '0.01'", user_mapping => 0);
	$coordinator->safe_psql('postgres', "CREATE USER MAPPING FOR CURRENT_USER SERVER shard$number OPTIONS (user 'guest')");
}
my %columns = (orders => 'id int, priority int, code int, name text', items => 'nr int, ord int, qty int, code int');
foreach my $table ('orders', 'slow_orders', 'stored', 'missing', 'items')
{
	my $columns = $columns{$table} // $columns{orders};
	my ($key) = $columns =~ /^(\w+)/;
	my $bound = $table eq 'items' ? 3001 : 5001;
	$coordinator->safe_psql('postgres', qq{
		CREATE TABLE $table ($columns) PARTITION BY RANGE ($key);
		CREATE FOREIGN TABLE ${table}_1 PARTITION OF $table FOR VALUES FROM (MINVALUE) TO ($bound) SERVER shard1 OPTIONS (table_name '$table');
		CREATE FOREIGN TABLE ${table}_2 PARTITION OF $table FOR VALUES FROM ($bound) TO (MAXVALUE) SERVER shard2 OPTIONS (table_name '$table')});
	$coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; ANALYZE ${table}_1, ${table}_2") if $table ne 'missing';
}
$coordinator->safe_psql('postgres', q{
	CREATE TABLE small AS SELECT i AS id, i % 900 AS code, md5(i::text) AS t FROM generate_series(1, 50) i;
	CREATE TABLE none AS SELECT * FROM small;
	ANALYZE small, none;
	DELETE FROM none});

my $session;
sub begin_session
{
	$session->quit if $session;
	$session = open_session($coordinator);
	$session->query('\set VERBOSITY verbose');
	return;
}
sub ask
{
	my ($sql) = @_;
	$session->{stderr} = '';
	return $session->query($sql);
}
sub way
{
	my ($query) = @_;
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF) $query");
	return $plan =~ /Exchange Type: (?:Broadcast|HashPartition)/ ? $plan =~ /Not Sent: (.*)/ ? $1 : 'sent' : $plan;
}
sub on_shards
{
	my ($sql, @which) = @_;
	$_->safe_psql('postgres', $sql) for @which ? @which : @shards;
	return;
}
sub answers
{
	my ($query, $rows, $name) = @_;
	is(ask($query), $rows, "$name: the rows come");
	is($session->{stderr}, '', "$name: there is no error");
	return;
}

my %queries = (
	broadcast => 'SELECT o.priority, count(*), sum(s.id) FROM orders o JOIN small s USING (code) GROUP BY 1 ORDER BY 1',
	rows => 'SELECT o.priority, count(*), min(s.t) FROM orders o JOIN small s USING (code) GROUP BY 1 ORDER BY 1',
	both_sides => 'SELECT o.priority, count(*), sum(i.qty) FROM orders o JOIN items i USING (code) GROUP BY 1 ORDER BY 1',
	hash_partition => 'SELECT o.priority, count(*), sum(i.qty) FROM orders o JOIN items i ON i.ord = o.id GROUP BY 1 ORDER BY 1');
my %settings = (broadcast => 'broadcast', rows => 'broadcast', both_sides => 'hash_partition', hash_partition => 'hash_partition');
my %rows = map { $_ => $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $queries{$_}") } keys %queries;
my $fragment = 'exchange\.(unpack|inbox)';

# ---- errors of a fragment that another plan may not have ---------------------------

begin_session();
foreach my $kind (sort keys %queries)
{
	my $query = $queries{$kind};
	ask("SET pg_exchange.join_exchange = $settings{$kind}");
	is(way($query), 'sent', "$kind: rows are sent");
	next if $kind eq 'both_sides';   # its fragments read no table
	foreach my $state ('57014', '53200', '53400', '54000', '08P01')
	{
		on_shards("INSERT INTO fault VALUES ('$state', '$fragment', 0)");
		answers($query, $rows{$kind}, "$kind, $state");
		is(way($query), 'limit of the server: no more than that', "$kind, $state: EXPLAIN says so");
		on_shards('DELETE FROM fault');
	}

	# One fragment has returned its groups long before another one fails.
	on_shards("INSERT INTO fault VALUES ('57014', '$fragment', 1)", $shards[1]);
	answers($query, $rows{$kind}, "$kind, one fragment fails late");
	ask('BEGIN');
	answers($query, $rows{$kind}, "$kind, in a transaction");
	is(ask('SELECT count(*) FROM orders, (SELECT 1) x'), '10000', "$kind, in a transaction: the next query has its rows");
	ask('COMMIT');
	on_shards('DELETE FROM fault');

	on_shards("INSERT INTO fault VALUES ('22012', '$fragment', 0)");
	ask($query);
	like($session->{stderr}, qr/ERROR:  22012: no more than that/, "$kind: any other error of a fragment is the query's");
	on_shards('DELETE FROM fault');
	is(way($query), 'sent', "$kind: rows are sent again");
}
ask('SET pg_exchange.join_exchange = hash_partition');
on_shards(q{INSERT INTO fault VALUES ('53400', 'exchange\.partition_number', 0)});
answers($queries{both_sides}, $rows{both_sides}, 'a source fails');
is(way($queries{both_sides}), 'limit of the server: no more than that', 'a source fails: EXPLAIN says so');
on_shards('DELETE FROM fault');

# ---- errors of other queries that a server computes as a whole ------------------------

my %computed = (
	'partial aggregate' => 'SELECT priority, count(*), sum(code) FROM orders GROUP BY 1 ORDER BY 1',
	'distinct values' => 'SELECT DISTINCT code FROM orders ORDER BY 1 OFFSET 897',
	'semi-join' => 'SELECT count(*), sum(qty) FROM items_1 i WHERE EXISTS (SELECT FROM orders_1 o WHERE o.id = i.ord AND o.priority < 6)',
	'anti-join' => 'SELECT qty, nr FROM items_1 i WHERE NOT EXISTS (SELECT FROM orders_1 o WHERE o.id = i.ord AND o.priority < 6) ORDER BY nr LIMIT 3');
# From 17 on, postgres_fdw sends this semi-join itself.
delete $computed{'semi-join'} if $coordinator->pg_version >= 17;
my $computed = 'GROUP BY|EXISTS';
begin_session();
ask(q{SET pg_exchange.join_exchange = off; SET pg_exchange.transport = stream});
foreach my $kind (sort keys %computed)
{
	my $query = $computed{$kind};
	my $expected = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $query");
	answers($query, $expected, $kind);
	unlike(ask("EXPLAIN (ANALYZE, COSTS OFF) $query"), qr/Transport: postgres_fdw/, "$kind: a server computes it");
	foreach my $state ('57014', '53200', '53400', '54000')
	{
		on_shards("INSERT INTO fault VALUES ('$state', '$computed', 0)");
		answers($query, $expected, "$kind, $state");
		like(ask("EXPLAIN (ANALYZE, COSTS OFF) $query"), qr/Transport: postgres_fdw \(limit of the server: no more than that\)/, "$kind, $state: EXPLAIN says so");
		on_shards('DELETE FROM fault');
	}
	next if $query !~ /FROM orders /;
	on_shards("INSERT INTO fault VALUES ('57014', '$computed', 1)", $shards[1]);
	answers($query, $expected, "$kind, one of two servers fails late");
	my $plan = ask("EXPLAIN (ANALYZE, COSTS OFF) $query");
	is(scalar(() = $plan =~ /Transport: postgres_fdw \(/g), 1, "$kind, one of two servers fails late: the other one computes");
	ask('BEGIN');
	answers($query, $expected, "$kind, in a transaction");
	is(ask('SELECT count(*) FROM orders'), '10000', "$kind, in a transaction: the next query has its rows");
	ask('COMMIT');
	on_shards('DELETE FROM fault');
	foreach my $error ([ '22012', 'no more than that' ], [ '57014', 'canceling statement due to user request' ])
	{
		my ($state, $words) = @$error;
		on_shards("INSERT INTO fault VALUES ('$state', '$computed', 0, '$words')");
		ask($query);
		like($session->{stderr}, qr/ERROR:  $state: $words/, "$kind: any other error is the query's: $words");
		on_shards('DELETE FROM fault');
	}
}

# ---- limits of roles ------------------------------------------------------------------

# A FETCH sleeps for a second, a fragment for five.
(my $slow = $queries{broadcast}) =~ s/orders o/slow_orders o/;
ask('SET pg_exchange.join_exchange = broadcast');
on_shards(q{ALTER ROLE guest SET statement_timeout = '4s'});
begin_session();
ask('SET pg_exchange.join_exchange = broadcast');
answers($slow, $rows{broadcast}, 'statement_timeout');

# Without a time-out, a small result would come by the session.
ask(q{SET pg_exchange.min_bytes = '1GB'});
answers($slow, $rows{broadcast}, 'statement_timeout, small result');
ask('SET pg_exchange.transport = session');
is(way($queries{broadcast}), 'transport is session', 'statement_timeout: no fragment runs in the session of postgres_fdw');
on_shards('ALTER ROLE guest RESET statement_timeout');
begin_session();
ask(q{SET pg_exchange.join_exchange = broadcast; SET pg_exchange.transport = session});
is(way($queries{broadcast}), 'sent', 'no statement_timeout: a fragment may run in the session of postgres_fdw');

my $groups = 'SELECT count(*), sum(n), max(m) FROM (SELECT code, max(name) AS m, count(*) AS n FROM stored GROUP BY 1 OFFSET 0) q';
my $groups_rows = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $groups");
on_shards("ALTER ROLE guest SET $_") for q{work_mem = '64kB'}, 'hash_mem_multiplier = 1';
on_shards(q{ALTER ROLE guest SET temp_file_limit = '64kB'});
begin_session();
foreach my $kind (sort keys %queries)
{
	ask("SET pg_exchange.join_exchange = $settings{$kind}");
	answers($queries{$kind}, $rows{$kind}, "temp_file_limit, $kind");
}

# A FETCH takes 100 kB, groups take 270 kB.
on_shards(q{ALTER ROLE guest SET temp_file_limit = '160kB'});
begin_session();
ask(q{SET pg_exchange.min_bytes = 0});
answers($groups, $groups_rows, 'temp_file_limit, groups');
like(ask("EXPLAIN (ANALYZE, COSTS OFF) $groups"), qr/Transport: postgres_fdw \(limit of the server: temporary file size exceeds/, 'temp_file_limit, groups: EXPLAIN says so');
on_shards(q{ALTER ROLE guest SET temp_file_limit = '64kB'});
begin_session();
$coordinator->safe_psql('postgres', q{CREATE TABLE medium AS SELECT i AS id, i % 900 AS code, repeat(md5(i::text), 3) AS t FROM generate_series(1, 3000) i; ANALYZE medium});
(my $medium = $queries{broadcast}) =~ s/sum\(s.id\)/sum(length(s.t))/;
$medium =~ s/small/medium/;
ask('SET pg_exchange.join_exchange = broadcast');
answers($medium, $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; SET pg_exchange.join_exchange = off; $medium"), 'temp_file_limit, hash table');
on_shards('ALTER ROLE guest RESET ALL');

on_shards('ALTER ROLE guest SET pg_exchange.max_decompression_ratio = 1');
$coordinator->safe_psql('postgres', q{CREATE TABLE wide AS SELECT i AS code, repeat('x', 24000000) AS t FROM generate_series(1, 2) i; ANALYZE wide});
begin_session();
ask('SET pg_exchange.join_exchange = broadcast');
(my $wide = $queries{broadcast}) =~ s/sum\(s.id\)/sum(length(s.t))/;
$wide =~ s/small/wide/;
my $wide_rows = $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $wide");
answers($wide, $wide_rows, 'max_decompression_ratio');
on_shards('ALTER ROLE guest RESET ALL');

on_shards('ALTER ROLE guest SET array_nulls = off');
begin_session();
ask('SET pg_exchange.join_exchange = broadcast');
my $array = 'SELECT count(*) FROM stored o JOIN small s USING (code) WHERE o.priority + s.id = ANY (ARRAY[3, NULL, 8])';
answers($array, $coordinator->safe_psql('postgres', "SET pg_exchange.enabled = off; $array"), 'array_nulls');
on_shards('ALTER ROLE guest RESET ALL');

# ---- functions that are taken away within a transaction ---------------------------------

my %taken = (
	'a schema is forbidden' => [ 'REVOKE USAGE ON SCHEMA exchange FROM PUBLIC', 'GRANT USAGE ON SCHEMA exchange TO PUBLIC', 'remote user may not use pg_exchange' ],
	'functions are forbidden' => [ 'REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA exchange FROM PUBLIC', 'GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA exchange TO PUBLIC', 'remote user may not use pg_exchange' ],
	'the extension is dropped' => [ 'DROP EXTENSION pg_exchange', 'CREATE EXTENSION pg_exchange', q{remote has functions of pg_exchange's names that are not pg_exchange's} ]);
foreach my $name (sort keys %taken)
{
	foreach my $kind (sort keys %queries)
	{
		my ($take, $give, $reason) = @{ $taken{$name} };
		begin_session();
		ask("SET pg_exchange.join_exchange = $settings{$kind}; BEGIN");
		is(way($queries{$kind}), 'sent', "$name, $kind: rows are sent before");
		on_shards($take);
		answers($queries{$kind}, $rows{$kind}, "$name, $kind");
		is(way($queries{$kind}), $reason, "$name, $kind: EXPLAIN says so");
		ask('COMMIT');
		on_shards($give);
	}
}

# ---- a big table that need not be looked at ---------------------------------------------

begin_session();
ask('SET pg_exchange.join_exchange = broadcast');
answers('SELECT o.priority, count(*) FROM missing o JOIN none s USING (code) GROUP BY 1', '', 'no row of a side, groups');
answers('SELECT count(*), max(s.t) FROM missing o JOIN none s USING (code)', '0|', 'no row of a side, one group');
answers('SELECT o.id FROM missing o WHERE code IN (SELECT code FROM none)', '', 'no row of a side, semijoin');
answers('SELECT o.id, s.t FROM missing o JOIN small s USING (code) JOIN none n ON n.id = o.id', '', 'no row of one of two sides');
ask('SELECT o.priority, count(s.id) FROM missing o LEFT JOIN none s USING (code) GROUP BY 1');
like($session->{stderr}, qr/ERROR:  42P01: /, 'no row of a side of an outer join: the big table is read');
is(ask('SELECT count(*), count(s.id) FROM stored o LEFT JOIN none s USING (code)'), '10000|0', 'no row of a side of an outer join: rows come');
is(ask('SELECT count(*) FROM generate_series(1, 3) g, LATERAL (SELECT count(*) FROM stored o JOIN small s USING (code) WHERE s.id > g * 20) q'), '3', 'rescans: rows come');

$session->quit;
$_->stop for $coordinator, @shards;
done_testing();
