-- Toys: the job that winds each one up, and whether it has squeaked.
CREATE TABLE toy (
    name TEXT NOT NULL PRIMARY KEY,
    num INTEGER NOT NULL REFERENCES job (num),
    squeaked INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
