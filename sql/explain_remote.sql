--
-- pg_exchange.explain_remote: the remote's plan in ours.
--
CREATE TABLE remote.planned AS SELECT i AS id, i % 10 AS ten, 'row ' || i AS name FROM generate_series(1, 1000) i;
ANALYZE remote.planned;
CREATE FOREIGN TABLE planned (id int, ten int, name text) SERVER loopback OPTIONS (schema_name 'remote');
ALTER SERVER loopback OPTIONS (ADD fdw_startup_cost '1000000');	-- always the same joins

-- off by default: EXPLAIN does not connect
\c
SET pg_exchange.compression = fast;
SHOW pg_exchange.explain_remote;
EXPLAIN (COSTS OFF) SELECT * FROM planned WHERE id < 100;
SELECT count(*) FROM exchange.connections;
SELECT explain_stable('SELECT * FROM planned WHERE id < 100', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');

SET pg_exchange.explain_remote = on;
-- plain EXPLAIN asks the remote
SELECT explain_stable('SELECT * FROM planned WHERE id < 100');
SELECT srvname, state, streams FROM exchange.connections;
SELECT regexp_replace(explain_stable, '\d+\.\.|\d+', 'N', 'g') FROM explain_stable('SELECT * FROM planned WHERE id < 100', 'COSTS ON');
SELECT * FROM explain_stable('SELECT count(*) FROM planned WHERE id < 100', 'COSTS OFF, VERBOSE') line WHERE line !~ 'exchange.send';
-- ANALYZE: what the remote has measured
SELECT explain_stable('SELECT * FROM planned WHERE id < 100', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT regexp_replace(explain_stable, '(actual time=)\S+', '\1N', 'g')
FROM explain_stable('SELECT * FROM planned WHERE id < 100', 'ANALYZE, COSTS OFF, SUMMARY OFF');
-- a subplan is measured, too
CREATE VIEW remote.subplanned AS
	SELECT id, (SELECT max(name) FROM remote.planned p WHERE p.ten = o.ten) AS best FROM remote.planned o WHERE id <= 3;
CREATE FOREIGN TABLE subplanned (id int, best text) SERVER loopback OPTIONS (schema_name 'remote');
SELECT explain_stable('SELECT * FROM subplanned', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
-- parameters: the plan of the last run; without a run, PostgreSQL 16 and later can tell
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT explain_stable('SELECT * FROM generate_series(1, 3) i, LATERAL (SELECT * FROM planned WHERE id = i OFFSET 0) p',
	'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
SELECT line ~ 'No Remote Plan: the query has parameters' OR line ~ 'Filter: \(id = \$1\)' AS ok
FROM explain_stable('SELECT * FROM generate_series(1, 3) i, LATERAL (SELECT * FROM planned WHERE id = i OFFSET 0) p') line
WHERE line ~ 'No Remote Plan|Filter';
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
-- a plan that is too long is left out: 4 MB, where an empty line ends
CREATE FUNCTION explain_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE 'EXPLAIN (COSTS OFF) ' || query;
END
$$;
SELECT sum(length(line)) > 1000000 AS long, max(trim(line)) FILTER (WHERE line ~ 'No Remote Plan') AS reason
FROM explain_lines(format('SELECT * FROM planned WHERE name <> %L', repeat('x', 4190000) || repeat(E'\n', 10000) || repeat('x', 1000000))) line;
-- a scan that is left early, one that is not an exchange, one that does not run
SELECT explain_stable('SELECT * FROM planned WHERE random() < 2 LIMIT 1', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT explain_stable('SELECT * FROM planned', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');
COMMIT;
SELECT explain_stable('SELECT FROM remote.planned a, LATERAL (SELECT id FROM planned WHERE random() < 2 OFFSET 0) p WHERE a.id < 0',
	'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF');

-- the other formats: part of their structure
CREATE FUNCTION explain_format(options text, query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	EXECUTE format('EXPLAIN (%s) %s', options, query) INTO plan;
	RETURN plan;
END
$$;
CREATE VIEW remote_plans AS
	SELECT o.options, p.plan->'Node Type' AS node, p.plan->'Custom Plan Provider' AS provider,
		jsonb_path_query_first(p.plan, '$.Plans[0]."Relation Name"') AS relation,
		jsonb_path_query_first(p.plan, '$.Plans[0].Filter') AS filter,
		jsonb_path_query_first(p.plan, '$.Plans[0]."Actual Rows"')::numeric::int AS rows,
		jsonb_path_exists(p.plan, '$.Plans[0]."Actual Total Time"') AS timing,
		jsonb_path_exists(p.plan, '$.Plans[0]."Shared Hit Blocks"') AS buffers,
		jsonb_path_exists(p.plan, '$.Plans[0]."Total Cost"') AS costs,
		jsonb_path_query_first(p.plan, '$.Plans[0].Output') AS output
	FROM (VALUES ('ANALYZE, BUFFERS OFF'), ('ANALYZE, BUFFERS OFF, TIMING OFF, COSTS OFF'), ('ANALYZE, BUFFERS'), ('VERBOSE'), ('COSTS OFF')) o (options),
		LATERAL (SELECT jsonb_path_query_first(explain_format(o.options || ', FORMAT JSON', 'SELECT * FROM planned WHERE id < 100')::jsonb,
				'$.**."Remote Plan"')) p (plan);
SELECT * FROM remote_plans;
-- two spaces for a level
SELECT line FROM regexp_split_to_table(explain_format('COSTS OFF, FORMAT YAML', 'SELECT * FROM planned WHERE id < 100'), '\n') WITH ORDINALITY x (line, n)
WHERE n >= (SELECT min(n) FROM regexp_split_to_table(explain_format('COSTS OFF, FORMAT YAML', 'SELECT * FROM planned WHERE id < 100'), '\n') WITH ORDINALITY y (line, n)
	WHERE line ~ 'Remote Plan') AND line !~ 'Disabled';
SELECT line FROM regexp_split_to_table(explain_format('COSTS OFF, VERBOSE, FORMAT XML', 'SELECT id FROM planned WHERE id < 100'), '\n') WITH ORDINALITY x (line, n)
WHERE n >= (SELECT min(n) FROM regexp_split_to_table(explain_format('COSTS OFF, VERBOSE, FORMAT XML', 'SELECT id FROM planned WHERE id < 100'), '\n') WITH ORDINALITY y (line, n)
	WHERE line ~ '<Remote-Plan') AND line !~ 'Disabled|exchange.send';
-- lists, and lists of lists
SELECT jsonb_path_query_first(explain_format('COSTS OFF, FORMAT JSON',
	'SELECT ten, id, count(*) FROM planned GROUP BY ten, id ORDER BY ten, id')::jsonb, '$.**."Remote Plan".**."Sort Key"');
CREATE VIEW remote.grouped AS SELECT ten, id, count(*) FROM remote.planned GROUP BY GROUPING SETS ((ten, id), (ten), ());
CREATE FOREIGN TABLE grouped (ten int, id int, count bigint) SERVER loopback OPTIONS (schema_name 'remote');
SELECT jsonb_typeof(jsonb_path_query_first(explain_format('COSTS OFF, FORMAT JSON', 'SELECT * FROM grouped')::jsonb,
	'$.**."Remote Plan".**."Hash Keys"[0]'));

-- slices: the plan of the first
SET pg_exchange.slices = 2;
SELECT count(*) FROM explain_stable('SELECT * FROM planned', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') line WHERE line ~ 'Remote Plan';
RESET pg_exchange.slices;
-- a remote that cannot tell
ALTER TABLE remote.planned RENAME TO hidden;
SELECT explain_stable('SELECT * FROM planned WHERE id < 100');
ALTER TABLE remote.hidden RENAME TO planned;

-- the request as the sender sees it
PREPARE marked AS SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 explain=1 columns=23:-1', t.*)
	FROM (SELECT id FROM remote.planned WHERE id < 3) t;
EXPLAIN (COSTS OFF) EXECUTE marked;
CREATE TEMP TABLE frames AS EXECUTE marked;
SELECT get_byte(send, 6) AS kind, get_byte(send, 8) AS sender, get_byte(send, 12) AS sequence FROM frames;
SELECT convert_from(substring(send FROM 49 FOR get_byte(send, 40) + 256 * get_byte(send, 41)), 'UTF8') ~ 'Seq Scan on planned' AS text
FROM frames WHERE get_byte(send, 6) = 5;
DEALLOCATE marked;
SELECT exchange.send('version=1 encodings=1 codec=none level=0 batch_rows=1000 batch_bytes=1048576 server_version=150000 explain=16 columns=23:-1', t.*)
	FROM (SELECT id FROM remote.planned WHERE id < 3) t;

ALTER SERVER loopback OPTIONS (DROP fdw_startup_cost);
DROP VIEW remote_plans, remote.subplanned, remote.grouped;
DROP FUNCTION explain_format;
DROP FOREIGN TABLE planned, subplanned, grouped;
DROP TABLE remote.planned;
