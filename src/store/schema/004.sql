-- The registry, version 4: approvals that may come late.

-- Until when an approval is owed; 0: none is.
ALTER TABLE submission ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submission_owed ON submission (num) WHERE owed > 0;
