-- The registry, version 6: facts of a submission that are needed often are
-- decoded once, when the job is admitted.

ALTER TABLE submission ADD COLUMN retries INTEGER NOT NULL DEFAULT 0;
-- Bits of enum job_flag.
ALTER TABLE submission ADD COLUMN flags INTEGER NOT NULL DEFAULT 0;
-- The number of sets in the set's group; 0: not given.
ALTER TABLE submission ADD COLUMN group_size INTEGER NOT NULL DEFAULT 0;
-- The tip of the target's branch at the set's admission.
ALTER TABLE submission ADD COLUMN seen TEXT NOT NULL DEFAULT '';

UPDATE submission SET
        retries = coalesce(CAST(json_extract(spec, '$.retries') AS INTEGER), 0),
        flags = CASE WHEN json_extract(spec, '$.at_most_once') = 1
                THEN 1 ELSE 0 END +
            CASE WHEN json_array_length(spec, '$.array') > 0
                THEN 2 ELSE 0 END,
        group_size =
            coalesce(CAST(json_extract(spec, '$.group_size') AS INTEGER), 0),
        seen = coalesce(CAST(json_extract(spec, '$.seen') AS TEXT), '')
    WHERE (spec LIKE '%"retries"%' OR spec LIKE '%"at_most_once"%' OR
            spec LIKE '%"array"%' OR spec LIKE '%"group_size"%' OR
            spec LIKE '%"seen"%') AND json_valid(spec);
