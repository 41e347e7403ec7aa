-- The registry, version 4: approvals that may come late.

-- When a missing approval is overdue; 0: none is owed.
ALTER TABLE submission ADD COLUMN owed INTEGER NOT NULL DEFAULT 0;
CREATE INDEX submission_owed ON submission (num) WHERE owed > 0;
