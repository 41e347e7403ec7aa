/* From an empty file, or an older registry, to this program's version. */
#include "store/sqlite_db.h"
#include "store/schema.h"

#include <inttypes.h>
#include <stdio.h>

/* 0: an empty database. A database of somebody else's is refused. */
static bool version_of(struct sqlite_db *db, int64_t *ret_version,
                       struct err *err) {
    int64_t ours, tables;
    if (!sqlite_db_number(
            db,
            "SELECT count(*) FROM sqlite_master WHERE type = 'table' "
            "AND name IN ('migration', 'head')",
            &ours, err))
        return false;
    if (ours == 2)
        return sqlite_db_number(
            db, "SELECT coalesce(max(version), 0) FROM migration", ret_version,
            err);
    if (!sqlite_db_number(db, "SELECT count(*) FROM sqlite_master", &tables,
                          err))
        return false;
    *ret_version = 0;
    return tables == 0 ||
           err_set(err, ERR_DATA,
                   "'%s' is a database, but not a registry: name another file",
                   db->path);
}

static bool version_known(const struct sqlite_db *db, int64_t version,
                          struct err *err) {
    return version <= schema_version ||
           err_set(err, ERR_DATA,
                   "registry '%s' has version %" PRId64
                   ", this program knows up to %d: use a newer program",
                   db->path, version, schema_version);
}

static bool take_steps(struct sqlite_db *db, int64_t version, struct err *err) {
    for (int64_t i = version; i < schema_version; i++) {
        char note[128];
        snprintf(note, sizeof(note),
                 "INSERT INTO migration (version, at) VALUES (%" PRId64
                 ", CAST(strftime('%%s', 'now') AS INTEGER) * 1000000000)",
                 i + 1);
        if (!sqlite_db_run(db, schema_steps[i], err) ||
            !sqlite_db_run(db, note, err))
            return err_wrap(err, "cannot take step %" PRId64, i + 1);
    }
    return true;
}

bool sqlite_migrate(struct sqlite_db *db, bool read_only, struct err *err) {
    int64_t version;
    if (!version_of(db, &version, err) || !version_known(db, version, err))
        return false;
    if (version == schema_version)
        return true;
    if (read_only)
        return err_set(err, version == 0 ? ERR_DATA : ERR_TEMPORARY,
                       version == 0
                           ? "'%s' is empty: no registry was ever made there"
                           : "registry '%s' is of an older version: use it "
                             "once with a command that writes",
                       db->path);
    /* Another process may be doing the same: look again under the lock. */
    if (!sqlite_db_run(db, "BEGIN IMMEDIATE", err))
        return false;
    bool well =
        version_of(db, &version, err) && version_known(db, version, err) &&
        take_steps(db, version, err) && sqlite_db_run(db, "COMMIT", err);
    if (!well)
        sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
    return well;
}
