-- The registry, version 5: which jobs of a schedule live.

-- Its jobs, but for those that have ended and were cleared away: the oldest are
-- looked at with each new one.
CREATE TABLE schedule_job (
    name TEXT NOT NULL REFERENCES schedule (name),
    num INTEGER NOT NULL REFERENCES job (num),
    PRIMARY KEY (name, num)
) STRICT, WITHOUT ROWID;
INSERT INTO schedule_job (name, num)
    SELECT DISTINCT s.name, CAST(r.value AS INTEGER) FROM schedule s,
        json_each('[' || replace(s.recent, ' ', ',') || ']') r;
