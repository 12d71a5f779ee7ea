--
-- Prepared statements, with custom and generic plans.
--
-- prepared, custom and generic
PREPARE by_digit(int) AS SELECT count(name) FROM (SELECT name FROM numbers WHERE digit = $1 OFFSET 0) x;
EXECUTE by_digit(3);
SET plan_cache_mode = force_generic_plan;
EXECUTE by_digit(3);
EXECUTE by_digit(NULL);
EXPLAIN (VERBOSE, COSTS OFF) EXECUTE by_digit(3);
RESET plan_cache_mode;
SET pg_exchange.enabled = off;
EXECUTE by_digit(4);
RESET pg_exchange.enabled;
DEALLOCATE by_digit;
