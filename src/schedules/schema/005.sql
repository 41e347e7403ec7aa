-- The registry, version 5: the live jobs of a schedule.

-- The jobs of a schedule, except those that have ended and were removed here.
-- Each new job checks the oldest ones.
CREATE TABLE schedule_job (
    name TEXT NOT NULL REFERENCES schedule (name),
    num INTEGER NOT NULL REFERENCES job (num),
    PRIMARY KEY (name, num)
) STRICT, WITHOUT ROWID;
INSERT INTO schedule_job (name, num)
    SELECT DISTINCT s.name, CAST(r.value AS INTEGER) FROM schedule s,
        json_each('[' || replace(s.recent, ' ', ',') || ']') r;
