-- The registry, version 12: what counts for the next attempt of a task of a
-- standing job.

ALTER TABLE task ADD COLUMN temps INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN fails INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN crashes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN incompletes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE task ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;
-- Its first start, in seconds since 1970; 0: not known.
ALTER TABLE task ADD COLUMN begun INTEGER NOT NULL DEFAULT 0;
