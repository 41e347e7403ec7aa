-- The registry, version 10: nodes.

-- One row per place: a node below one parent. `place` is the order in which
-- places appeared; `parent` is empty below the root.
CREATE TABLE node (
    name TEXT NOT NULL,
    parent TEXT NOT NULL,
    level TEXT NOT NULL,
    source TEXT NOT NULL,
    place INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    tags TEXT NOT NULL, -- separated by blanks
    PRIMARY KEY (name, parent)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX node_place ON node (place);

-- One row per source that was ever refreshed: when its nodes were found last,
-- and how many; when that last failed, and why. Times are nanoseconds since
-- 1970, 0: never.
CREATE TABLE node_source (
    name TEXT PRIMARY KEY,
    refreshed INTEGER NOT NULL,
    nodes INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    error TEXT NOT NULL
) STRICT;
