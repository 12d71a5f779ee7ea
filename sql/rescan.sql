--
-- Rescans: the same scan again, without parameters, and after it was left
-- early; a function of the query that writes between two of them.
--
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT * FROM exchange_differences('SELECT l.id, d.digit FROM local_ids l LEFT JOIN digits d ON d.digit % 7 = l.id % 7 AND random() < 2');
-- values that point into frames, which are gone then
SELECT * FROM exchange_differences('SELECT l.id, d.label, e.label FROM local_ids l LEFT JOIN digits d ON d.digit = 3 AND random() < 2 LEFT JOIN digits e ON e.digit = 4 AND random() < 2');
SELECT * FROM exchange_differences('SELECT l.id, (SELECT min(n.id) FROM numbers n WHERE n.digit = l.id % 10 AND n.name || '''' > ''number 5'') FROM local_ids l');
SELECT * FROM exchange_differences('SELECT l.id FROM local_ids l WHERE EXISTS (SELECT 1 FROM numbers n WHERE n.id = l.id * 600 AND random() < 2)');

-- the second scan must see what the function has written: postgres_fdw's session
CREATE TABLE remote.counted AS SELECT 0 AS n;
CREATE FOREIGN TABLE counted (n int) SERVER loopback OPTIONS (schema_name 'remote');
CREATE FUNCTION count_up(int) RETURNS int LANGUAGE plpgsql AS
	$$BEGIN UPDATE counted SET n = n + 1; RETURN $1; END$$;
BEGIN;
SELECT count(*) FROM (SELECT n FROM counted OFFSET 0) x;
SELECT i, (SELECT n FROM counted c WHERE n >= i - i OFFSET 0) AS seen
	FROM (SELECT count_up(i) AS i FROM generate_series(1, 3) i OFFSET 0) o;
ROLLBACK;
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
