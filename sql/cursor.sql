--
-- Cursors: two at once, scrolling, one that outlives its transaction.
--
-- cursors, two at once, one that outlives its transaction
BEGIN;
DECLARE one CURSOR FOR SELECT id FROM numbers;
DECLARE two SCROLL CURSOR FOR SELECT id FROM numbers ORDER BY id;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM numbers ORDER BY id;
FETCH 2 FROM two;
FETCH 2 FROM one;
FETCH 2 FROM two;
FETCH BACKWARD 2 FROM two;
FETCH ABSOLUTE 9999 FROM two;
CLOSE one;
COMMIT;
FETCH 2 FROM held;
CLOSE held;
