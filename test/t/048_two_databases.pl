# Partitions in two databases that differ: in the object identifiers that names
# stand for, and in the compression of what is sent to them.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $shard = new_shard('shard');
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
$coordinator->safe_psql('postgres', q{
	CREATE TABLE things (a int);
	CREATE TYPE kind AS ENUM ('x');
	CREATE TABLE log (id int, tab regclass, tabs regclass[], type regtype, pad text, part int) PARTITION BY LIST (part);
	CREATE TABLE rows (k int, v text, part int) PARTITION BY LIST (part);
	CREATE TABLE oids AS SELECT oid, relname FROM pg_class WHERE relname IN ('things', 'pg_class')});
for my $n (0, 1)
{
	$shard->safe_psql('postgres', "CREATE DATABASE db$n");
	# As many objects come before it, so that oids are others.
	$shard->safe_psql("db$n", join ';', map { "CREATE TABLE filler$_ (a int)" } 0 .. 3 * $n);
	$shard->safe_psql("db$n", qq{
		CREATE EXTENSION IF NOT EXISTS pg_exchange;
		CREATE TABLE things (a int);
		CREATE TYPE kind AS ENUM ('x');
		CREATE TABLE log AS SELECT i AS id, (ARRAY['things', 'pg_class'])[1 + i % 2]::regclass AS tab,
			ARRAY['things', NULL]::regclass[] AS tabs, (ARRAY['kind', 'int4'])[1 + i % 2]::regtype AS type,
			repeat('x', 50) AS pad, $n AS part FROM generate_series(1, 5000) i;
		CREATE TABLE rows (k int, v text, part int);
		ANALYZE});
	add_server($coordinator, "s$n", $shard, dbname => "db$n");
	$coordinator->safe_psql('postgres', qq{
		CREATE FOREIGN TABLE log_$n PARTITION OF log FOR VALUES IN ($n) SERVER s$n OPTIONS (table_name 'log');
		CREATE FOREIGN TABLE rows_$n PARTITION OF rows FOR VALUES IN ($n) SERVER s$n OPTIONS (table_name 'rows')});
}
$coordinator->safe_psql('postgres', 'ANALYZE log, oids');

# ---- names of objects ----

my $off = 'SET pg_exchange.enabled = off';
foreach my $query (
	q{SELECT count(*) FILTER (WHERE tab = 'things'::regclass), bool_or(tab = 'things'::regclass) FROM log},
	q{SELECT max(type)::regtype, min(tab)::regclass, count(DISTINCT type) FROM log},
	q{SELECT part, max(type)::oid::regtype FROM log GROUP BY part ORDER BY part},
	q{SELECT type::oid, count(*) FROM log GROUP BY 1 ORDER BY 1},
	q{SELECT DISTINCT type::oid FROM log ORDER BY 1},
	q{SELECT DISTINCT tabs::oid[] FROM log ORDER BY 1},
	q{SELECT sum(type::oid::int8) FROM log},
	q{SELECT relname, count(*) FROM log JOIN oids ON oid = tab GROUP BY relname ORDER BY relname},
	q{SELECT count(*) FROM log_0 JOIN oids ON oid = tab WHERE relname = 'things'},
	q{SELECT count(*) FROM log WHERE tab IN (SELECT oid FROM oids WHERE relname = 'things')},
	q{SELECT count(*) FROM log l WHERE NOT EXISTS (SELECT FROM oids WHERE oid = l.tab AND relname = 'things')},
	q{SELECT id, type::oid FROM log ORDER BY type, id DESC, part LIMIT 3},
	q{SELECT count(*) FROM log a JOIN log b USING (part, id) WHERE a.tab::oid::int8 + b.tab::oid::int8 > 2 * (SELECT oid FROM oids WHERE relname = 'pg_class')::int8},
	q{SELECT relname, (SELECT count(*) FROM log WHERE tab = o.oid) FROM oids o ORDER BY 1})
{
	my $expected = $coordinator->safe_psql('postgres', "$off; $query");
	for my $way ('off', 'broadcast', 'hash_partition', 'auto')
	{
		is($coordinator->safe_psql('postgres', "SET pg_exchange.join_exchange = $way; $query"), $expected, "joins $way: $query");
	}
}

# ---- compression ----

for my $modes ('s0=none', 's1=none', 's0=none, s1=high_compression', 's0=fast, s1=none', 's0=high_compression, s1=fast')
{
	is($coordinator->safe_psql('postgres', qq{
		SET pg_exchange.server_compression = '$modes';
		BEGIN;
		INSERT INTO rows SELECT i, 'x' || i, i % 2 FROM generate_series(1, 900) i;
		UPDATE rows SET v = v || length(v) WHERE random() < 2 AND k % 3 = 0;
		DELETE FROM rows WHERE random() < 2 AND k < 400;
		SELECT count(*), sum(k), sum(length(v)) FROM rows;
		ROLLBACK}),
		join('|', 501, (400 + 900) * 501 / 2, 501 * 4 + 167),
		"writes are right with $modes");
}

done_testing();
