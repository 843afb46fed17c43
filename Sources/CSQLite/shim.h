#pragma once
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast macro, which Swift's importer does not see: SQLite copies the bytes.
static inline int trax_sqlite3_bind_text(
    sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

// sqlite3_db_config is variadic.
static inline int trax_sqlite3_keep_log_on_close(sqlite3 *database) {
    return sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

static inline int trax_sqlite3_bind_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    // A null pointer would bind NULL instead of an empty blob.
    if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
