-- The registry, version 13: changes of nodes, and what operators say of them.

-- `seq` is the event that the row was changed with last. A node that is no
-- longer there keeps its row for a while, so that readers learn of it: `gone`
-- is when it was removed, 0: it is there. Its source removes it at `expires`, if
-- that is not 0. Times are nanoseconds since 1970.
ALTER TABLE node ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN expires INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
CREATE UNIQUE INDEX node_seq ON node (seq, place);
CREATE INDEX node_gone ON node (gone) WHERE gone > 0;

-- What the last refresh changed, and the event that asked for the next one; 0:
-- nobody has.
ALTER TABLE node_source ADD COLUMN added INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node_source ADD COLUMN changed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node_source ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE node_source ADD COLUMN asked INTEGER NOT NULL DEFAULT 0;

-- One row per node that operators have disabled, on all its places, whether it
-- is there or not: since when, until when (0: until somebody enables it), why,
-- and who said so.
CREATE TABLE node_window (
    node TEXT PRIMARY KEY,
    since INTEGER NOT NULL,
    until INTEGER NOT NULL,
    reason TEXT NOT NULL,
    actor TEXT NOT NULL
) STRICT;
CREATE INDEX node_window_until ON node_window (until) WHERE until > 0;
