# One stream at a time (max_connections_per_server = 1), and plans that want
# many: right results, no error, and never a second stream on the remote.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# The remote itself counts: its role may have two connections at a time, the
# one of postgres_fdw and that of one stream.  One too many stands in its log.
my $shard = new_shard('shard');
$shard->safe_psql('postgres', q{
	CREATE ROLE reader LOGIN CONNECTION LIMIT 2;
	CREATE TABLE events AS SELECT i AS id, 'event ' || i AS name, i % 97 AS grp FROM generate_series(1, 20000) i;
	CREATE TABLE items AS SELECT i AS id, 'item ' || i AS name FROM generate_series(1, 60) i;
	CREATE INDEX ON events (id);
	CREATE VIEW big AS SELECT i AS id, repeat(md5(i::text), 32) AS filler FROM generate_series(1, 200000) i;
	DO $$ BEGIN
		FOR n IN 0 .. 7 LOOP
			EXECUTE format('CREATE TABLE part_%s AS SELECT * FROM events WHERE id %% 8 = %s', n, n);
		END LOOP; END $$;
	GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader;
	ANALYZE});
my $coordinator = new_coordinator('coordinator');
add_server($coordinator, 'shard', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER shard OPTIONS (user 'reader', password_required 'false');
	CREATE FOREIGN TABLE events (id int, name text, grp int) SERVER shard;
	CREATE FOREIGN TABLE items (id int, name text) SERVER shard;
	CREATE FOREIGN TABLE big (id int, filler text) SERVER shard;
	CREATE TABLE parts (id int, name text, grp int) PARTITION BY LIST ((id % 8));
	DO $$ BEGIN
		FOR n IN 0 .. 7 LOOP
			EXECUTE format('CREATE FOREIGN TABLE part_%s PARTITION OF parts FOR VALUES IN (%s) SERVER shard', n, n);
		END LOOP; END $$;
	SET pg_exchange.enabled = off;
	ANALYZE events, items, parts});

# OFFSET 0 keeps a join from being pushed down: each of these is a stream.
my $e = '(SELECT * FROM events OFFSET 0)';
my $s = '(SELECT * FROM events ORDER BY id OFFSET 0)';
my $i = '(SELECT * FROM items OFFSET 0)';
my $nestloop = 'SET enable_hashjoin = off; SET enable_mergejoin = off;';
my $inner = "$nestloop SET enable_material = off; SET enable_memoize = off;";
my $merge = 'SET enable_hashjoin = off; SET enable_nestloop = off;';

# What is asked of one session, by name.
my @scripts = (
	[ 'a single scan', "SELECT count(*), sum(id), count(DISTINCT name) FROM $e a" ],
	[ 'hash self-join', "SELECT count(*), sum(a.id), max(b.name) FROM $e a JOIN $e b USING (id)" ],
	[ 'merge self-join', "$merge SELECT count(*), sum(a.id), max(b.name) FROM $s a JOIN $s b USING (id)" ],
	[ 'merge self-join with groups gone through again',
		"$merge SELECT count(*), sum(a.id + b.id) FROM (SELECT * FROM events WHERE id <= 2000 ORDER BY grp OFFSET 0) a
		JOIN (SELECT * FROM events WHERE id <= 2000 ORDER BY grp OFFSET 0) b USING (grp)" ],
	[ 'full merge join', "$merge SELECT count(*), count(a.id), count(b.id) FROM (SELECT * FROM events WHERE id % 2 = 0 ORDER BY id OFFSET 0) a
		FULL JOIN (SELECT * FROM events WHERE id % 3 = 0 ORDER BY id OFFSET 0) b USING (id)" ],
	[ 'nested loop', "$nestloop SELECT count(*), sum(a.id * b.id) FROM $i a JOIN $i b ON a.id < b.id" ],
	[ 'nested loop, the inner side run anew for each row',
		"$inner SELECT count(*), sum(a.id * b.id) FROM $i a JOIN $i b ON a.id < b.id" ],
	[ 'nested loop over more rows', "$inner SELECT count(*), sum(a.id) FROM $e a JOIN $i b ON a.id <> b.id WHERE b.id < 4" ],
	[ 'nested loop, left', "$inner SELECT count(*), count(b.id) FROM $i a LEFT JOIN $i b ON a.id < b.id AND b.id < 10" ],
	[ 'nested loop with a parameter', "$nestloop SELECT count(*), string_agg(b.name, ' ' ORDER BY b.id) FROM $i a
		CROSS JOIN LATERAL (SELECT * FROM events x WHERE x.id = a.id * 3 OFFSET 0) b" ],
	[ 'three nested streams', "$inner SELECT count(*), sum(a.id * b.id * c.id) FROM $i a JOIN $i b ON a.id < b.id JOIN $i c ON b.id < c.id
		WHERE a.id < 6 AND b.id < 8 AND c.id < 10" ],
	[ 'a subquery for each row', "SELECT sum(a.id), sum((SELECT count(*) FROM (SELECT * FROM items OFFSET 0) b WHERE b.id > a.id)) FROM $i a" ],
	[ 'NOT IN', "SELECT count(*), sum(id) FROM $e a WHERE id NOT IN (SELECT id FROM (SELECT id FROM items OFFSET 0) b)" ],
	[ 'union', "SELECT count(*), sum(id) FROM (SELECT id FROM events UNION ALL SELECT id FROM items UNION ALL SELECT id FROM parts) x" ],
	[ 'union, two rows at a time', 'SELECT * FROM (SELECT id FROM events UNION ALL SELECT id FROM items OFFSET 19999) x ORDER BY 1 LIMIT 2' ],
	[ 'append', 'SELECT count(*), sum(id), count(DISTINCT name) FROM parts' ],
	[ 'append joined with itself', 'SELECT count(*), sum(a.id), max(b.name) FROM (SELECT * FROM parts OFFSET 0) a JOIN (SELECT * FROM parts OFFSET 0) b USING (id)' ],
	[ 'append, the inner side run anew for each row',
		"$inner SELECT count(*), sum(b.id) FROM (SELECT id FROM items WHERE id < 5 OFFSET 0) a CROSS JOIN (SELECT * FROM parts OFFSET 0) b" ],
	[ 'merge append', 'SELECT string_agg(id::text, $$ $$) FROM (SELECT id FROM parts ORDER BY id OFFSET 0) x' ],
	[ 'merge append with LIMIT', 'SELECT id, name FROM parts ORDER BY id LIMIT 20' ],
	[ 'merge appends joined', "$merge SELECT count(*), sum(a.id) FROM (SELECT * FROM parts ORDER BY id OFFSET 0) a JOIN (SELECT * FROM parts ORDER BY id OFFSET 0) b USING (id)" ],
	[ 'window, CTE read twice', "WITH x AS MATERIALIZED (SELECT * FROM events) SELECT count(*), sum(r) FROM
		(SELECT row_number() OVER (ORDER BY a.id) AS r FROM x a JOIN x b USING (id) JOIN $i c USING (id)) y" ],
	[ 'recursive', "WITH RECURSIVE r (id) AS (SELECT 1 UNION SELECT x.id FROM r JOIN (SELECT * FROM items OFFSET 0) x ON x.id = r.id + 1)
		SELECT count(*), max(id) FROM r" ],
	[ 'cursors in turn', "BEGIN;
		DECLARE a CURSOR FOR SELECT id FROM events ORDER BY id;
		DECLARE b CURSOR FOR SELECT id, name FROM events ORDER BY id DESC;
		DECLARE c CURSOR FOR SELECT id FROM parts ORDER BY id;
		FETCH 3 FROM a; FETCH 3 FROM b; FETCH 3 FROM c; FETCH 2 FROM a; FETCH 2 FROM b; FETCH 2 FROM c;
		SELECT count(*), sum(id) FROM $e x;
		MOVE 10000 FROM a; FETCH 2 FROM a; MOVE 19000 FROM b; FETCH 2 FROM b; MOVE 5000 FROM c; FETCH 2 FROM c;
		CLOSE a; FETCH 2 FROM b; MOVE ALL FROM b; MOVE ALL FROM c; COMMIT" ],
	[ 'an idle cursor', "BEGIN; DECLARE a CURSOR FOR SELECT id FROM events ORDER BY id; FETCH 1 FROM a;
		SELECT count(*) FROM $e x JOIN $e y USING (id); SELECT count(*) FROM parts; COMMIT; SELECT count(*) FROM $e x" ],
	[ 'a cursor WITH HOLD', "BEGIN; DECLARE a CURSOR WITH HOLD FOR SELECT id, name FROM events ORDER BY id; FETCH 2 FROM a;
		SELECT count(*) FROM $e x; FETCH 2 FROM a; COMMIT; FETCH 2 FROM a; SELECT count(*), sum(id) FROM $e x;
		DECLARE b CURSOR WITH HOLD FOR SELECT id FROM parts ORDER BY id; FETCH 2 FROM b; FETCH 2 FROM a;
		MOVE ALL FROM a; MOVE ALL FROM b; CLOSE a; CLOSE b" ],
	[ 'a scrolling cursor', "BEGIN; DECLARE a SCROLL CURSOR FOR SELECT id FROM events ORDER BY id; FETCH 3 FROM a;
		SELECT count(*) FROM $i x; FETCH BACKWARD 2 FROM a; FETCH LAST FROM a; FETCH FIRST FROM a; COMMIT" ],
	[ 'cursors and savepoints', "BEGIN; SELECT count(*) FROM $i x;
		DECLARE a CURSOR FOR SELECT id FROM events ORDER BY id; FETCH 2 FROM a;
		SAVEPOINT s; DECLARE b CURSOR FOR SELECT id FROM parts ORDER BY id; FETCH 2 FROM b; FETCH 2 FROM a;
		SELECT count(*) FROM $e x; ROLLBACK TO s; FETCH 2 FROM a; SELECT count(*) FROM $e x; MOVE ALL FROM a; COMMIT" ],
	[ 'loops in PL/pgSQL', q{DO $$ DECLARE a record; b record; n bigint := 0; BEGIN
		FOR a IN SELECT id FROM items LOOP FOR b IN SELECT id FROM items LOOP n := n + a.id * b.id; END LOOP; END LOOP;
		RAISE INFO '%', n; END $$; } ],
	[ 'the snapshot of a cursor', "BEGIN; DECLARE a CURSOR FOR SELECT * FROM items; FETCH 1 FROM a; SELECT count(*) FROM $i x;
		INSERT INTO items VALUES (0, 'mine'); SELECT count(*) FROM $i x; MOVE ALL FROM a; ROLLBACK; SELECT count(*) FROM $i x" ],
	[ 'two large scans, one after the other', 'BEGIN; DECLARE a CURSOR FOR SELECT id, length(filler) FROM big; FETCH 2 FROM a;
		SELECT count(*), sum(length(filler)) FROM (SELECT filler FROM big OFFSET 0) x; MOVE 100000 FROM a; FETCH 2 FROM a; MOVE ALL FROM a; COMMIT' ]);
$shard->safe_psql('postgres', 'GRANT INSERT ON items TO reader');

# Run a script after some settings: what psql prints, errors included.  The
# connections of the script before must have gone, as they count, too.
sub answer
{
	my ($settings, $script) = @_;
	$shard->poll_query_until('postgres', q{SELECT count(*) = 0 FROM pg_stat_activity WHERE usename = 'reader'})
		or die 'connections stay';
	my ($status, $out, $err) = $coordinator->psql('postgres', "SET statement_timeout = '180s'; $settings; $script;",
		on_error_stop => 0, timeout => $PostgreSQL::Test::Utils::timeout_default);
	$err =~ s/^psql:<stdin>:\d+: //mg;
	return "$out\n$err";
}

# psql prints nothing of a MOVE: look at the rows, except where they are many.
$_->[1] =~ s/MOVE ALL FROM (\w)/FETCH ALL FROM $1/g for grep { $_->[0] !~ /large/ } @scripts;

# As is(), but of many lines only those are shown that differ first.
sub is_same
{
	my ($got, $expected, $name) = @_;
	return if ok($got eq $expected, $name);
	my @got = split(/\n/, $got);
	my @expected = split(/\n/, $expected);
	my ($at) = grep { ($got[$_] // '') ne ($expected[$_] // '') } 0 .. ($#got > $#expected ? $#got : $#expected);
	diag(sprintf("line %d\n     got: %s\nexpected: %s", $at + 1, $got[$at] // 'nothing', $expected[$at] // 'nothing'));
	return;
}

my %expected;
for (@scripts)
{
	my ($name, $script) = @$_;
	$expected{$name} = answer('SET pg_exchange.enabled = off', $script);
	unlike($expected{$name}, qr/ERROR/, "$name: postgres_fdw has an answer");
}
# Each script has a session of its own, whose connections it may keep.
my $offset = -s $shard->logfile;
for (@scripts)
{
	my ($name, $script) = @$_;
	is_same(answer('SET pg_exchange.max_connections_per_server = 1', $script), $expected{$name},
		"$name: the answer is the same with one stream at a time");
}
unlike(slurp_file($shard->logfile, $offset), qr/too many connections for role/, 'there is never a second stream on the remote');
like(slurp_file($shard->logfile, $offset), qr/exchange\.send/, 'there were streams');

# A stream that is idle now has the last connection, and postgres_fdw wants one for another server, which is the same.
add_server($coordinator, 'same', $shard, user_mapping => 0);
$coordinator->safe_psql('postgres', q{
	CREATE USER MAPPING FOR CURRENT_USER SERVER same OPTIONS (user 'reader', password_required 'false');
	CREATE FOREIGN TABLE same_events (id int, name text, grp int) SERVER same OPTIONS (table_name 'events');
	ALTER ROLE CURRENT_USER SET client_min_messages = warning});
my $both = "SELECT count(*), sum(id), max(name) FROM $e a; SELECT count(*), sum(id), max(name) FROM (SELECT * FROM same_events OFFSET 0) b";
$offset = -s $shard->logfile;
is_same(answer('SET pg_exchange.local_scope = none', $both), answer('SET pg_exchange.enabled = off', $both), 'an idle stream gives way to postgres_fdw');
like(slurp_file($shard->logfile, $offset), qr/too many connections for role.*exchange\.send/s, 'as it had to');

done_testing();
