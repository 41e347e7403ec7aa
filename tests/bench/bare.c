#include "bench/bare.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>

#include "bench/figure.h"

const char bare_spec[] =
    "{\"command\":[\"/bin/true\",\"one\",\"two\"],"
    "\"dir\":\"/home/somebody/project\","
    "\"env\":{\"PATH\":\"/usr/local/bin:/usr/bin:/bin\",\"HOME\":"
    "\"/home/somebody\",\"LANG\":\"C.UTF-8\"},\"umask\":\"022\",\"hold\":true}";

static void sql(sqlite3 *db, const char *text) {
    if (sqlite3_exec(db, text, NULL, NULL, NULL) != SQLITE_OK)
        bench_die("%s", sqlite3_errmsg(db));
}

static sqlite3 *open_db(void) {
    static int made;
    sqlite3 *db;
    const char *path = bench_text("%s/bare%d.db", bench_dir(), made++);
    if (sqlite3_open_v2(path, &db,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
                            SQLITE_OPEN_NOMUTEX,
                        NULL) != SQLITE_OK)
        bench_die("cannot open '%s'", path);
    sql(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;"
            "PRAGMA wal_autocheckpoint = 4000;"
            "CREATE TABLE job (num INTEGER PRIMARY KEY, id TEXT NOT NULL, "
            "rank TEXT NOT NULL, state TEXT NOT NULL, spec TEXT NOT NULL) "
            "STRICT;"
            "CREATE UNIQUE INDEX job_id ON job (id);"
            "CREATE INDEX job_ready ON job (rank, num) WHERE state = 'P'");
    return db;
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *text) {
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v3(db, text, -1, SQLITE_PREPARE_PERSISTENT, &stmt,
                           NULL) != SQLITE_OK)
        bench_die("%s", sqlite3_errmsg(db));
    return stmt;
}

static void once(sqlite3_stmt *stmt) {
    if (sqlite3_step(stmt) != SQLITE_DONE)
        bench_die("a statement of the bare loop failed");
    sqlite3_reset(stmt);
}

static void insert_one(sqlite3_stmt *insert, unsigned num) {
    char id[32], rank[48];
    snprintf(id, sizeof(id), "j%016" PRIx64,
             num * UINT64_C(0x9e3779b97f4a7c15));
    snprintf(rank, sizeof(rank), "4@40000000%016x", num);
    sqlite3_bind_int64(insert, 1, num);
    sqlite3_bind_text(insert, 2, id, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 3, rank, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 4, bare_spec, -1, SQLITE_STATIC);
    once(insert);
}

double bare_inserts_per_s(unsigned count, unsigned batch) {
    sqlite3 *db = open_db();
    sqlite3_stmt *begin = prepare(db, "BEGIN IMMEDIATE");
    sqlite3_stmt *commit = prepare(db, "COMMIT");
    sqlite3_stmt *insert =
        prepare(db, "INSERT INTO job VALUES (?1, ?2, ?3, 'P', ?4)");
    double begun_us = bench_wall_us();
    for (unsigned i = 0; i < count; i += batch) {
        once(begin);
        for (unsigned k = 0; k < batch; k++)
            insert_one(insert, i + k + 1);
        once(commit);
    }
    double us = bench_wall_us() - begun_us;
    sqlite3_finalize(begin);
    sqlite3_finalize(commit);
    sqlite3_finalize(insert);
    sqlite3_close(db);
    return count / us * 1e6;
}
