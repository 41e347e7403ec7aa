-- The registry, version 11: standing jobs.

-- One row per version of a standing job; the newest is in effect. `num` is that
-- of its row in `job`. `definition` is JSON. `at` is nanoseconds since 1970.
-- `seq` is the event that the version was made with.
CREATE TABLE standing (
    num INTEGER NOT NULL,
    version INTEGER NOT NULL, -- from 1
    newest INTEGER NOT NULL,
    name TEXT NOT NULL,
    definition TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    deleted INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    PRIMARY KEY (num, version)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX standing_name ON standing (name)
    WHERE newest = 1 AND deleted = 0;
CREATE INDEX standing_seq ON standing (seq) WHERE newest = 1;

-- One row per request to forgive tasks that is not carried out yet. `node` is
-- empty for all tasks of the job.
CREATE TABLE standing_forgive (
    seq INTEGER PRIMARY KEY, -- its event
    num INTEGER NOT NULL,
    node TEXT NOT NULL
) STRICT;
