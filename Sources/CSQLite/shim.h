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

// A macro with operators, which Swift's importer does not see.
static const int trax_sqlite3_short_read = SQLITE_IOERR_SHORT_READ;

// Through SQLite's own descriptor: closing another one of the file would let go of all locks that
// the process holds on it (fcntl(2); https://www.sqlite.org/howtocorrupt.html, section 2.2).
static inline int trax_sqlite3_read_start(
    sqlite3 *database, void *bytes, int count, sqlite3_int64 *size) {
    sqlite3_file *file = 0;
    int code = sqlite3_file_control(database, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    if (code != SQLITE_OK) return code;
    if (file == 0 || file->pMethods == 0) return SQLITE_CANTOPEN;
    code = file->pMethods->xFileSize(file, size);
    if (code != SQLITE_OK) return code;
    return file->pMethods->xRead(file, bytes, count, 0);
}

static inline int trax_sqlite3_bind_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    // A null pointer would bind NULL instead of an empty blob.
    if (count == 0) return sqlite3_bind_zeroblob(statement, index, 0);
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}
