-- The registry, version 7: results of checks.

-- The newest pass and failure of each combination of tree and circumstances
-- that the checks of a target ran on, in nanoseconds since 1970 (0: none).
-- `key` is the SHA-256 of all that a check is assumed to depend on.
CREATE TABLE check_result (
    key TEXT PRIMARY KEY,
    target TEXT NOT NULL,
    tree TEXT NOT NULL,
    passed INTEGER NOT NULL,
    failed INTEGER NOT NULL
) STRICT;
CREATE INDEX check_result_target ON check_result (target);
