-- The registry, version 8: how many tasks of an array run at once.

-- 0: as many as there are slots.
ALTER TABLE submission ADD COLUMN max_running INTEGER NOT NULL DEFAULT 0;
