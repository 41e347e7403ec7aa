-- The registry, version 2: rollback.

-- The rollback that rolled a done change back; NULL: it is in effect.
ALTER TABLE submission ADD COLUMN rolled_back_by TEXT;

-- What each rollback rolls back, and its progress (core/rollback.h).
CREATE TABLE rollback (
    num INTEGER PRIMARY KEY REFERENCES job (num),
    phase TEXT NOT NULL,
    begun INTEGER NOT NULL,
    members TEXT NOT NULL -- one per line
) STRICT;
