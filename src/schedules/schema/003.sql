-- The registry, version 3: schedules.

-- One row per schedule. `high` is the last instant that was handled, in seconds
-- since 1970; `zone_offset` is the offset of the zone from UTC at that time;
-- `round` counts how often the schedule was restarted because the clock was set
-- far back. `recent` lists the numbers of its newest jobs, oldest first,
-- separated by blanks.
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
