-- Each runs by postgres_fdw and by exchange in every mode, in one session of the coordinator
-- (scripts/check_matrix.py). "-- title", then one query, after whatever it needs.

-- every type
SELECT * FROM types ORDER BY id;

-- columns out of order
SELECT c_numeric, id, c_text, c_interval, c_bool FROM types WHERE id % 3 = 0 ORDER BY id;

-- one column
SELECT sum(c_numeric_15_2), count(*) FROM (SELECT c_numeric_15_2 FROM types WHERE id < 6000 OFFSET 0) x;

-- whole rows
SELECT count(t), max((t).c_int8), min((t).c_mood) FROM (SELECT t FROM types t OFFSET 0) x;

-- pushed-down join
SELECT o.id, o.price, c.name FROM orders o JOIN customers c ON c.id = o.customer WHERE o.id % 7 = 0 ORDER BY o.id;

-- local join
SELECT o.id, o.day, l.name FROM orders o JOIN local l ON l.id = o.customer ORDER BY o.id;

-- outer join of two scans
SELECT t.id, t.c_text, o.price FROM types t LEFT JOIN (SELECT * FROM orders OFFSET 0) o ON o.id = t.id + 4000 ORDER BY t.id;

-- pushed-down aggregate
SELECT customer, count(*), sum(price), avg(price), max(day) FROM orders GROUP BY customer ORDER BY customer;

-- local aggregate
SELECT customer, string_agg(DISTINCT day::text, ',' ORDER BY day::text) FROM (SELECT * FROM orders OFFSET 0) o GROUP BY customer ORDER BY customer;

-- sort and limit
SELECT * FROM orders ORDER BY price DESC, id LIMIT 5000;

-- parameters, custom plan
DEALLOCATE ALL; SET plan_cache_mode = force_custom_plan; PREPARE q (int, date) AS SELECT id, day FROM orders WHERE id > $1 AND day > $2 ORDER BY id;
EXECUTE q (5000, '2026-06-01');

-- parameters, generic plan
DEALLOCATE ALL; SET plan_cache_mode = force_generic_plan; PREPARE q (numeric, text) AS SELECT id, price FROM orders WHERE price > $1 AND day::text <> $2 ORDER BY id;
EXECUTE q (100.5, '2026-06-01');

-- nested loop with parameters
SET enable_hashjoin = off; SET enable_mergejoin = off; SET enable_material = off; SET enable_memoize = off;
SELECT l.id, o.n FROM local l, LATERAL (SELECT count(price) AS n FROM (SELECT price FROM orders WHERE customer = l.id OFFSET 0) x) o WHERE l.id < 20 ORDER BY l.id;

-- union of scans
SELECT id, c_text FROM types WHERE id < 1000 UNION ALL SELECT id, day::text FROM orders WHERE id < 1000 ORDER BY 1, 2;

-- semi-join
SELECT id, price FROM orders o WHERE EXISTS (SELECT 1 FROM (SELECT id FROM types WHERE c_bool OFFSET 0) t WHERE t.id = o.id) ORDER BY id;

-- no columns
SELECT count(*) FROM (SELECT 1 FROM orders OFFSET 0) x;

-- error of the remote
SELECT 1 / (id - 777) FROM orders;

-- intervals that one of the two may not know: rows or the same error
SELECT id, span FROM endless ORDER BY id;

-- slices
SET pg_exchange.slices = 3;
SELECT * FROM (SELECT * FROM types OFFSET 0) t ORDER BY t.id;

-- slices of a union
SELECT * FROM (SELECT id, c_text FROM types UNION ALL SELECT id, day::text FROM orders OFFSET 0) u ORDER BY 1, 2;
