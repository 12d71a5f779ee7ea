--
-- Scans that are left before their end.
--
-- left early: the connection serves the next scan
SELECT id FROM numbers LIMIT 1;
SELECT EXISTS (SELECT 1 FROM numbers WHERE random() < 2);
SELECT count(*) FROM numbers;
