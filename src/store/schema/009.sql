-- The registry, version 9: dependencies on a share of the tasks of a job.

-- In percent; 0 for relations of other kinds.
ALTER TABLE edge ADD COLUMN share INTEGER NOT NULL DEFAULT 0;
