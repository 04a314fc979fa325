#include "core/error.h"
#include "trace/store/schema.h"
#include "trace/store/writer.h"

#include <stdio.h>

/* Tables whose rows have times, by which an index finds them; phases are few. */
static const struct {
    const char *name, *same; /* of an old row o and a new one n */
    int looked_at;           /* new rows at most */
} tables[TRACE_TIMED] = {
    {"event",
     "o.start_ns = n.start_ns AND o.class = n.class AND"
     " (o.latency_ns, o.process, o.file, o.call, o.fd, o.\"offset\", o.size, o.result) IS"
     " (n.latency_ns, n.process, n.file, n.call, n.fd, n.\"offset\", n.size, n.result)",
     10000},
    {"block",
     "o.start_ns = n.start_ns AND (o.operation, o.service_ns, o.disk, o.sector, o.bytes, o.process) IS"
     " (n.operation, n.service_ns, n.disk, n.sector, n.bytes, n.process)",
     10000},
    {"sample", "o.series = n.series AND o.time_ns = n.time_ns AND o.value IS n.value", 10000},
    {"phase", "(o.name, o.start_ns, o.end_ns, o.source) = (n.name, n.start_ns, n.end_ns, n.source)", 100},
};

/* Gets the first two numbers of a query's only row. */
static bool two_numbers(struct trace_writer *writer, const char *sql, int64_t numbers[2], struct error *err)
{
    sqlite3_stmt *statement = NULL;
    bool done = sqlite3_prepare_v2(writer->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    for (int i = 0; i < 2 && done; i++)
        numbers[i] = sqlite3_column_int64(statement, i);
    sqlite3_finalize(statement);
    return done || trace_writer_fail(writer, err);
}

bool trace_writer_note_rows(struct trace_writer *writer, struct error *err)
{
    char sql[64];
    int64_t numbers[2];
    for (int i = 0; i < TRACE_TIMED; i++) {
        snprintf(sql, sizeof sql, "SELECT ifnull(max(rowid), 0), 0 FROM %s", tables[i].name);
        if (!two_numbers(writer, sql, numbers, err))
            return false;
        writer->before[i] = numbers[0];
    }
    return true;
}

bool trace_writer_refuse_repeated(struct trace_writer *writer, struct error *err)
{
    char sql[640];
    int64_t numbers[2], looked_at = 0, repeated = 0;
    if (!trace_writer_commit(writer, err))
        return false;
    if (sqlite3_exec(writer->db, trace_schema_indexes, NULL, NULL, NULL) != SQLITE_OK)
        return trace_writer_fail(writer, err);
    for (int i = 0; i < TRACE_TIMED; i++) {
        const char *name = tables[i].name;
        long long before = writer->before[i];
        snprintf(sql, sizeof sql,
                 "SELECT count(*), total(EXISTS(SELECT 1 FROM %s o WHERE o.rowid <= %lld AND %s)) FROM"
                 " (SELECT * FROM %s WHERE rowid > %lld ORDER BY rowid LIMIT %d) n",
                 name, before, tables[i].same, name, before, tables[i].looked_at);
        if (before > 0 && !two_numbers(writer, sql, numbers, err))
            return false;
        looked_at += before > 0 ? numbers[0] : 0;
        repeated += before > 0 ? numbers[1] : 0;
    }
    return repeated == 0 || 2 * repeated < looked_at ||
           error_set(err, ERROR_INPUT,
                     "'%s' has %lld of the first %lld rows already, and nothing was added: leave out what "
                     "was added before, or import all anew with --force",
                     writer->path, (long long)repeated, (long long)looked_at);
}
