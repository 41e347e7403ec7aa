-- The registry, version 1. Values that have a word are stored as the word, not
-- as a number. Times are nanoseconds since 1970 (0 = none). A missing text is
-- empty.

-- The schema steps that were applied, and when.
CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT;

-- One row: the last numbers in use and the number of jobs in each state. It is
-- written once per transaction, so that jobs never have to be counted.
CREATE TABLE head (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    seq INTEGER NOT NULL,
    hash BLOB NOT NULL,
    num INTEGER NOT NULL,
    q INTEGER NOT NULL, s INTEGER NOT NULL,
    p INTEGER NOT NULL, x INTEGER NOT NULL,
    d INTEGER NOT NULL, f INTEGER NOT NULL,
    t INTEGER NOT NULL, a INTEGER NOT NULL,
    held INTEGER NOT NULL
) STRICT;
INSERT INTO head (one, seq, hash, num, q, s, p, x, d, f, t, a, held)
    VALUES (1, 0,
        x'0000000000000000000000000000000000000000000000000000000000000000',
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0);

-- What changes about a job, and the columns by which it is found. Rows that are
-- written repeatedly are small.
CREATE TABLE job (
    num INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    kind TEXT NOT NULL,
    class TEXT NOT NULL,
    state TEXT NOT NULL,
    rank TEXT NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    holds INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    temps INTEGER NOT NULL,
    crashes INTEGER NOT NULL,
    fails INTEGER NOT NULL,
    tasks INTEGER NOT NULL,
    tasks_done INTEGER NOT NULL,
    since INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    state_seq INTEGER NOT NULL,
    record_seq INTEGER NOT NULL,
    event_seq INTEGER NOT NULL, -- its newest event; event.prev: older ones
    has_relations INTEGER NOT NULL,
    cancel_asked INTEGER NOT NULL,
    stale INTEGER NOT NULL,
    -- The running attempt of a job with one task; 0 = none. It becomes a row of
    -- `attempt` when it ends.
    run_attempt INTEGER NOT NULL,
    run_assigned INTEGER NOT NULL,
    run_worker TEXT NOT NULL,
    attempt_kept INTEGER NOT NULL -- its newest row of `attempt`
) STRICT;
CREATE UNIQUE INDEX job_id ON job (id);
-- Most jobs are pending or done, and are not in this index: pending jobs are
-- found through the next three indexes, done jobs by num.
CREATE INDEX job_state ON job (state, num) WHERE state NOT IN ('P', 'D');
-- Jobs that may start at once, in their order; jobs that may start later, by
-- time; held jobs. Reading the first few costs the same however many wait.
CREATE INDEX job_ready ON job (rank, num)
    WHERE state = 'P' AND holds = 0 AND not_before = 0;
CREATE INDEX job_later ON job (not_before, num) WHERE not_before > 0;
CREATE INDEX job_held ON job (num) WHERE holds > 0;
CREATE INDEX job_relations ON job (num)
    WHERE has_relations = 1 AND state <> 'D';
CREATE INDEX job_stale ON job (num) WHERE stale = 1;
-- Most jobs are commands; jobs of other kinds are found without reading them.
CREATE INDEX job_kind ON job (num) WHERE kind <> 'command';

-- What was submitted. The own key of a job is stored only when it differs from
-- its rank.
CREATE TABLE submission (
    num INTEGER PRIMARY KEY REFERENCES job (num),
    own_key TEXT, -- NULL: job.rank
    target TEXT NOT NULL,
    name TEXT NOT NULL,
    actor TEXT NOT NULL,
    cause TEXT NOT NULL,
    sum TEXT NOT NULL,
    size_bytes INTEGER NOT NULL,
    uid INTEGER NOT NULL,
    admitted INTEGER NOT NULL,
    admitted_seq INTEGER NOT NULL,
    spec TEXT NOT NULL
) STRICT;

CREATE TABLE edge (
    num INTEGER NOT NULL REFERENCES job (num),
    kind TEXT NOT NULL,
    to_id TEXT NOT NULL, -- the job may not exist yet
    PRIMARY KEY (num, kind, to_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX edge_to ON edge (to_id);

CREATE TABLE touch (
    num INTEGER NOT NULL REFERENCES job (num),
    path BLOB NOT NULL,
    deleted INTEGER NOT NULL,
    PRIMARY KEY (num, path)
) STRICT, WITHOUT ROWID;
CREATE INDEX touch_path ON touch (path, num);

-- The tasks of arrays; a job with one task has no rows here.
CREATE TABLE task (
    num INTEGER NOT NULL REFERENCES job (num),
    node TEXT NOT NULL,
    place INTEGER NOT NULL,
    status TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    not_before INTEGER NOT NULL,
    PRIMARY KEY (num, node)
) STRICT, WITHOUT ROWID;

-- Attempts that have ended, and attempts of array tasks from their start.
CREATE TABLE attempt (
    num INTEGER NOT NULL REFERENCES job (num),
    node TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    status TEXT NOT NULL,
    assigned INTEGER NOT NULL,
    started INTEGER NOT NULL,
    ended INTEGER NOT NULL,
    exit_code INTEGER NOT NULL,
    signal INTEGER NOT NULL,
    reason TEXT NOT NULL,
    detail TEXT NOT NULL,
    worker TEXT NOT NULL,
    output TEXT NOT NULL,
    output_bytes INTEGER NOT NULL,
    cpu_us INTEGER NOT NULL,
    peak_kib INTEGER NOT NULL,
    trace TEXT NOT NULL,
    PRIMARY KEY (num, node, attempt)
) STRICT, WITHOUT ROWID;

-- The log. A row holds consecutive events of one transaction as lines
-- (event_pack.h). `hash` is the hash of the last of them: SHA-256 over the
-- previous hash and all fields of the event (chain.h).
CREATE TABLE event (
    seq INTEGER PRIMARY KEY, -- of its last event
    lines BLOB NOT NULL,
    hash BLOB NOT NULL
) STRICT;

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;

-- The only active holder of each role. The epoch locks out earlier holders.
CREATE TABLE lease (
    name TEXT PRIMARY KEY,
    holder TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    until INTEGER NOT NULL
) STRICT;
