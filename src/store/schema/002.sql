-- The registry, version 2: rollback.

-- Who took a done change back; NULL: it is in effect.
ALTER TABLE submission ADD COLUMN rolled_back_by TEXT;

-- What each rollback takes back, and how far it has come (core/rollback.h).
CREATE TABLE rollback (
    num INTEGER PRIMARY KEY REFERENCES job (num),
    phase TEXT NOT NULL,
    begun INTEGER NOT NULL,
    members TEXT NOT NULL -- a line each
) STRICT;
