# A gather begins its partitions together, where postgres_fdw reads one after
# the other.  That must not show: not in the order of effects, nor in locks
# and who waits for whom, nor in the remotes' time-outs, nor in which
# partitions are touched at all.  Each case runs by postgres_fdw first.
use strict;
use warnings;

use Exchange;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @shards = map { new_shard("shard$_") } 1 .. 2;
my $coordinator = new_coordinator('coordinator', conf => "pg_exchange.local_scope = none\n");
for my $n (1 .. 2)
{
	$shards[ $n - 1 ]->safe_psql('postgres', 'CREATE ROLE reader LOGIN');
	add_server($coordinator, "s$n", $shards[ $n - 1 ], user_mapping => 0);
	$coordinator->safe_psql('postgres', "CREATE USER MAPPING FOR CURRENT_USER SERVER s$n OPTIONS (user 'reader', password_required 'false')");
}

# Partitions 1 and 3 are on the first shard, 2 and 4 on the second.
$coordinator->safe_psql('postgres', 'CREATE TABLE t (p int, k int, v text) PARTITION BY LIST (p)');
for my $p (1 .. 4)
{
	my $n = 1 + ($p + 1) % 2;
	$shards[ $n - 1 ]->safe_psql('postgres', qq{
		CREATE TABLE t$p AS SELECT $p AS p, k, repeat('x', 50) AS v FROM generate_series(1, 5000) k;
		GRANT SELECT ON t$p TO reader; ANALYZE t$p});
	$coordinator->safe_psql('postgres', "CREATE FOREIGN TABLE t_$p PARTITION OF t FOR VALUES IN ($p) SERVER s$n OPTIONS (table_name 't$p')");
}
$shards[0]->safe_psql('postgres', 'CREATE TABLE written (i int); GRANT ALL ON written TO reader; CREATE TABLE later AS SELECT 5 AS p, 7 AS k; GRANT SELECT ON later TO reader');
$shards[1]->safe_psql('postgres', q{
	CREATE TABLE small AS SELECT 0 AS p, 1 AS k, 'small' AS v; GRANT SELECT ON small TO reader; ANALYZE small});
$coordinator->safe_psql('postgres', q{
	CREATE TABLE same (p int, k int) PARTITION BY LIST (p);
	CREATE FOREIGN TABLE same_1 PARTITION OF same FOR VALUES IN (1) SERVER s1 OPTIONS (table_name 't1');
	CREATE FOREIGN TABLE same_2 PARTITION OF same FOR VALUES IN (2) SERVER s2 OPTIONS (table_name 't2');
	CREATE FOREIGN TABLE same_3 PARTITION OF same FOR VALUES IN (3) SERVER s1 OPTIONS (table_name 't3');
	CREATE FOREIGN TABLE same_4 PARTITION OF same FOR VALUES IN (4) SERVER s2 OPTIONS (table_name 't4');
	CREATE TABLE u (p int, k int, v text) PARTITION BY LIST (p);
	CREATE FOREIGN TABLE u_0 PARTITION OF u FOR VALUES IN (0) SERVER s2 OPTIONS (table_name 'small');
	CREATE FOREIGN TABLE u_1 PARTITION OF u FOR VALUES IN (1) SERVER s1 OPTIONS (table_name 't1');
	CREATE FOREIGN TABLE u_3 PARTITION OF u FOR VALUES IN (3) SERVER s1 OPTIONS (table_name 't3');
	CREATE FOREIGN TABLE written (i int) SERVER s1;
	CREATE TABLE v (p int, k int) PARTITION BY LIST (p);
	CREATE FOREIGN TABLE v_5 PARTITION OF v FOR VALUES IN (5) SERVER s1 OPTIONS (table_name 'later');
	CREATE FOREIGN TABLE v_0 PARTITION OF v FOR VALUES IN (0) SERVER s2 OPTIONS (table_name 'small');
	ANALYZE t, same, u, v});

# A session by postgres_fdw, or by exchanges.
sub reader
{
	my ($way) = @_;
	my $session = open_session($coordinator);
	$session->query_safe('SET pg_exchange.enabled = ' . ($way eq 'postgres_fdw' ? 'off' : 'on') . "; SET statement_timeout = '60s'");
	return $session;
}

# Begin a query that something may hold up; its result comes after "begun".
sub begin
{
	my ($session, $sql) = @_;
	$session->query_until(qr/begun/, "\\echo begun\n$sql;\n\\echo ended\n");
	return;
}

sub waits_on
{
	my ($n, $table) = @_;
	return $shards[ $n - 1 ]->poll_query_until('postgres', "SELECT count(*) > 0 FROM pg_locks WHERE relation = '$table'::regclass AND NOT granted");
}

my $way;

# While a reader waits for a table that a session has locked, another session can lock tables that are read later, and
# then the reader has its rows.  Of the table that is held: its session, shard and name; of the others: a session and names.
sub lets_lock
{
	my ($reader, $sql, $rows, $held, $later, %names) = @_;
	my ($holder, $other) = ($held->[0], $later->[0]);
	$holder->query_safe("BEGIN; LOCK TABLE $held->[2] IN ACCESS EXCLUSIVE MODE");
	begin($reader, $sql);
	ok(waits_on($held->[1], $held->[2]), "$way: $names{waits}");
	$other->query("SET statement_timeout = '60s'; BEGIN; LOCK TABLE $later->[1] IN ACCESS EXCLUSIVE MODE; COMMIT");
	is($other->{stderr}, '', "$way: $names{lets}");
	$names{meanwhile}->() if $names{meanwhile};
	$holder->query_safe('COMMIT');
	like($reader->query_until(qr/ended/, ''), qr/^$rows/m, "$way: then it reads all");
	return;
}

my $all = 'SELECT count(*), sum(k) FROM (SELECT * FROM t OFFSET 0) x';
my $merged = 'SELECT count(*), sum(k) FROM (SELECT k FROM t ORDER BY k OFFSET 0) x';
my $grouped = 'SELECT sum(n), sum(s) FROM (SELECT v, count(*) AS n, sum(k) AS s FROM t GROUP BY v OFFSET 0) x';
# It returns nine times as many rows as are expected: so all partitions are begun.
my $semi_join = 'SELECT FROM t WHERE k % 2 < 5 AND k % 3 < 5 AND EXISTS (SELECT FROM same WHERE same.p = t.p AND same.k = t.k)';
my $right = '20000|' . 4 * 5000 * 5001 / 2;
my $right_rows = qr/\Q$right\E$/m;
for $way ('postgres_fdw', 'exchange')
{
	my ($first, $second) = map { open_session($_) } @shards;
	my $session = reader($way);

	# Whoever locks the partitions in their order must not wait for a reader that waits for him.
	lets_lock($session, $all, $right_rows, [ $first, 1, 't1' ], [ $second, 't2' ],
		waits => 'a reader waits for the first partition', lets => 'meanwhile the second one can be locked, on another server');

	# Nor whoever has one in the middle, and goes on to the next one on that server.
	$second->query_safe('BEGIN; LOCK TABLE t2 IN ACCESS EXCLUSIVE MODE');
	begin($session, $all);
	ok(waits_on(2, 't2'), "$way: a reader waits for a partition in the middle");
	$second->query("SET statement_timeout = '60s'; LOCK TABLE t4 IN ACCESS EXCLUSIVE MODE; COMMIT");
	is($second->{stderr}, '', "$way: meanwhile the next one of the same server can be locked");
	like($session->query_until(qr/ended/, ''), qr/^\Q$right\E$/m, "$way: then it reads all of that, too");

	# Nor whoever goes on to the next one on another server; those before it are locked, as they were read.
	for my $sql ($all, $merged, $grouped)
	{
		lets_lock($session, $sql, $right_rows, [ $second, 2, 't2' ], [ $first, 't3' ],
			waits => 'a reader waits for the second of four', lets => 'meanwhile the third one can be locked, on another server');
		lets_lock($session, $sql, $right_rows, [ $first, 1, 't3' ], [ $second, 't4' ],
			waits => 'a reader waits for the third of four', lets => 'meanwhile the last one can be locked, on another server',
			meanwhile => sub {
				$second->query('BEGIN; LOCK TABLE t2 IN ACCESS EXCLUSIVE MODE NOWAIT; ROLLBACK');
				like($second->{stderr}, qr/could not obtain lock/, "$way: but not the second one");
				$second->{stderr} = '';
			});
	}

	# Nor if the session reads the first partition, unasked.
	$session->query_safe("SET pg_exchange.min_bytes = '64kB'");
	for my $order ('', 'ORDER BY k')
	{
		lets_lock($session, "SELECT count(*), count(v) FROM (SELECT k, v FROM u $order OFFSET 0) x", qr/10001\|/, [ $second, 2, 'small' ], [ $first, 't1, t3' ],
			waits => 'a reader waits for a small first partition', lets => 'meanwhile the others can be locked');
	}
	$session->query_safe('RESET pg_exchange.min_bytes');

	# Nor if a subquery comes before that.
	lets_lock($session, 'SELECT count(*), sum(k) FROM (SELECT * FROM t WHERE k > (SELECT min(k) - 1 FROM u_0) OFFSET 0) x', $right_rows,
		[ $second, 2, 'small' ], [ $first, 't1' ],
		waits => 'a reader waits for what a subquery reads', lets => 'meanwhile the first partition can be locked');

	# Nor if the transaction has written at the server of the first one.
	for my $sql ($all, $merged)
	{
		$session->query_safe('BEGIN; INSERT INTO written VALUES (1)');
		lets_lock($session, $sql, $right_rows, [ $first, 1, 't1' ], [ $second, 't2' ],
			waits => 'a reader that has written waits for the first partition', lets => 'meanwhile the second one can be locked, on another server');
		$session->query_safe('ROLLBACK');
	}

	# Nor what another part of the query reads later.
	lets_lock($session, 'SELECT count(*), sum(k) FROM (SELECT k FROM t WHERE k > 0 UNION ALL SELECT k FROM v WHERE k > 0) x', qr/20002\|/,
		[ $first, 1, 't3' ], [ $second, 'small' ],
		waits => 'a reader waits for a partition in the first part of a UNION ALL', lets => 'meanwhile one of the second part can be locked');

	# What is not read is not waited for.
	$second->query_safe('BEGIN; LOCK TABLE t4 IN ACCESS EXCLUSIVE MODE');
	is($session->query_safe('SELECT count(*) FROM (SELECT * FROM t LIMIT 2000) x'), 2000, "$way: a LIMIT does not wait for the last partition");
	is($session->query_safe('SELECT EXISTS (SELECT FROM t WHERE k = 5)'), 't', "$way: nor does EXISTS");
	is($session->query_safe("SET enable_partitionwise_join = on; SELECT count(*) FROM ($semi_join LIMIT 3000) x"), 3000,
		"$way: nor a LIMIT for which the servers are asked about their types");
	is($session->query_safe('SELECT count(*) FROM t WHERE p = (SELECT 1)'), 5000, "$way: nor a query that prunes it");
	is($session->query_safe('SELECT count(*) FROM t WHERE (SELECT false)'), 0, "$way: nor one that has no rows");
	begin($session, $all);
	ok(waits_on(2, 't4'), "$way: a query of all rows does");
	$second->query_safe('COMMIT');
	like($session->query_until(qr/ended/, ''), qr/^\Q$right\E$/m, "$way: and gets them");
	$session->quit;

	# Each wait has its own time-out there.
	$shards[0]->safe_psql('postgres', "ALTER ROLE reader SET statement_timeout = '3s'");
	$session = reader($way);
	$first->query_safe('BEGIN; LOCK TABLE t1 IN ACCESS EXCLUSIVE MODE');
	my $third = open_session($shards[0]);
	$third->query_safe('BEGIN; LOCK TABLE t3 IN ACCESS EXCLUSIVE MODE');
	begin($session, $all);
	$first->query_safe('SELECT pg_sleep(2); COMMIT');
	$third->query_safe('SELECT pg_sleep(2); COMMIT');
	like($session->query_until(qr/ended/, ''), qr/^\Q$right\E$/m, "$way: two waits are longer than a time-out, each of them is not");
	$session->quit;
	$shards[0]->safe_psql('postgres', 'ALTER ROLE reader RESET statement_timeout');
	$_->quit for $first, $second, $third;
}

# ---- time-outs of sessions that are idle -------------------------------------

# The first server is read at once, the other one takes longer than the first one's sessions may be idle.
$shards[1]->safe_psql('postgres', q{
	CREATE FUNCTION slow(i int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN PERFORM pg_sleep(0.05); RETURN i; END$$;
	CREATE VIEW slow2 AS SELECT p, slow(k) AS k, v FROM t2 WHERE k <= 80;
	CREATE VIEW slow4 AS SELECT p, slow(k) AS k, v FROM t4 WHERE k <= 80;
	GRANT SELECT ON slow2, slow4 TO reader});
$coordinator->safe_psql('postgres', q{
	ALTER FOREIGN TABLE t_2 OPTIONS (SET table_name 'slow2'); ALTER FOREIGN TABLE t_4 OPTIONS (SET table_name 'slow4')});
$shards[0]->safe_psql('postgres', "ALTER ROLE reader SET idle_in_transaction_session_timeout = '5s'");
for $way ('postgres_fdw', 'exchange')
{
	my $session = reader($way);
	is($session->query_safe('SELECT count(*), count(DISTINCT p) FROM (SELECT p, k, v FROM t OFFSET 0) x'), '10160|4',
		"$way: a session there whose partitions are done is not idle for long");
	$session->quit;
}
$shards[0]->safe_psql('postgres', 'ALTER ROLE reader RESET idle_in_transaction_session_timeout');

# ---- effects of what the session reads ---------------------------------------

# A view with an effect is read by the session, as soon and as long as postgres_fdw would.
$shards[0]->safe_psql('postgres', q{
	CREATE TABLE source AS SELECT k FROM generate_series(1, 60000) k;
	CREATE TABLE plain AS SELECT k FROM source;
	CREATE TABLE target AS SELECT k, repeat(md5(k::text), 10) AS v FROM source;
	CREATE FUNCTION writes(i int, at int) RETURNS int LANGUAGE plpgsql AS
		$$BEGIN IF i = at THEN INSERT INTO public.target VALUES (i, 'new'); END IF; RETURN i; END$$;
	CREATE FUNCTION locks(i int, at int) RETURNS int LANGUAGE plpgsql AS
		$$BEGIN IF i = at THEN LOCK TABLE public.target IN ACCESS EXCLUSIVE MODE; END IF; RETURN i; END$$;
	CREATE VIEW writes_early AS SELECT writes(k, 500) AS k FROM source;
	CREATE VIEW writes_late AS SELECT writes(k, 30000) AS k FROM source;
	CREATE VIEW locks_early AS SELECT locks(k, 500) AS k FROM source;
	CREATE VIEW locks_late AS SELECT locks(k, 20000) AS k FROM source;
	GRANT ALL ON ALL TABLES IN SCHEMA public TO reader; ANALYZE});
$coordinator->safe_psql('postgres', q{
	IMPORT FOREIGN SCHEMA public EXCEPT (t1, t3, written, later) FROM SERVER s1 INTO public;
	ANALYZE source, plain, target;
	CREATE TABLE here AS SELECT k FROM generate_series(1, 3000) k});
my $nested = 'SELECT length(v) FROM (SELECT v, random() AS r FROM target ORDER BY r OFFSET 0) z';
my @effects = (
	[ 'written before a scan below a sort', "SELECT k FROM writes_early UNION ALL $nested UNION ALL SELECT k FROM plain OFFSET 0", 180001 ],
	[ 'written while others could begin', 'SELECT k FROM writes_late UNION ALL SELECT k FROM here UNION ALL SELECT length(v) FROM target OFFSET 0', 123001 ],
	[ 'locked before a scan below a sort', "SELECT k FROM locks_early UNION ALL $nested UNION ALL SELECT k FROM plain OFFSET 0", 180000 ],
	[ 'locked while others could begin', 'SELECT k FROM locks_late UNION ALL SELECT k FROM here UNION ALL SELECT length(v) FROM target OFFSET 0', 123000 ],
	[ 'locked below a join', 'SELECT b.k FROM target b, (SELECT k FROM locks_early UNION ALL SELECT k FROM plain) a WHERE a.k = b.k + 0', 120000 ]);
for $way ('postgres_fdw', 'exchange')
{
	my $session = reader($way);
	for my $case (@effects)
	{
		my ($name, $sql, $count) = @$case;
		is($session->query_safe("BEGIN; SELECT count(*) FROM ($sql) x; ROLLBACK"), $count, "$way: $name");
	}
	$session->quit;
}

done_testing();
