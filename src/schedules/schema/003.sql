-- The registry, version 3: schedules.

-- One row each; `high` is the last instant (seconds since 1970) that was dealt
-- with, zone_offset what the zone's clock was ahead of UTC then, round how often
-- a clock that was set far back made it begin anew. `recent` are the numbers of
-- its newest jobs, oldest first, parted by blanks.
CREATE TABLE schedule (
    name TEXT PRIMARY KEY,
    spec TEXT NOT NULL,
    origin TEXT NOT NULL,
    uid INTEGER NOT NULL,
    serial INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    high INTEGER NOT NULL,
    zone_offset INTEGER NOT NULL,
    round INTEGER NOT NULL,
    fired INTEGER NOT NULL,
    missed INTEGER NOT NULL,
    recent TEXT NOT NULL
) STRICT;
