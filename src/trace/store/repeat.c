#include "core/error.h"
#include "trace/store/schema.h"
#include "trace/store/writer.h"

/* The new rows n of a table, up to a limit, and whether an old one o is the same: an index finds those of its time. */
#define LOOK(table, limit, same)                                                                             \
    "SELECT * FROM (SELECT EXISTS(SELECT 1 FROM " #table " o WHERE o.rowid <= old." #table " AND " same      \
    ") AS known FROM " #table " n, old WHERE n.rowid > old." #table " AND old." #table                       \
    " > 0 ORDER BY n.rowid LIMIT " #limit ")"

#define SAME_EVENT                                                                                           \
    "o.start_ns = n.start_ns AND o.class = n.class AND"                                                      \
    " (o.latency_ns, o.process, o.file, o.call, o.fd, o.\"offset\", o.size, o.result) IS"                    \
    " (n.latency_ns, n.process, n.file, n.call, n.fd, n.\"offset\", n.size, n.result)"
#define SAME_BLOCK                                                                                           \
    "o.start_ns = n.start_ns AND (o.operation, o.service_ns, o.disk, o.sector, o.bytes, o.process) IS"       \
    " (n.operation, n.service_ns, n.disk, n.sector, n.bytes, n.process)"
#define SAME_SAMPLE "o.series = n.series AND o.time_ns = n.time_ns AND o.value IS n.value"
#define SAME_PHASE  "(o.name, o.start_ns, o.end_ns, o.source) = (n.name, n.start_ns, n.end_ns, n.source)"
#define EVENTS      LOOK(event, 10000, SAME_EVENT) " UNION ALL " LOOK(block, 10000, SAME_BLOCK)
#define OTHERS      LOOK(sample, 10000, SAME_SAMPLE) " UNION ALL " LOOK(phase, 100, SAME_PHASE)

static const char sql[] = "SELECT count(*), total(known) FROM (" EVENTS " UNION ALL " OTHERS ")";

const char trace_note_rows[] =
    "CREATE TEMP TABLE old AS SELECT (SELECT ifnull(max(rowid), 0) FROM event) AS event,"
    " (SELECT ifnull(max(rowid), 0) FROM block) AS block,"
    " (SELECT ifnull(max(rowid), 0) FROM sample) AS sample,"
    " (SELECT ifnull(max(rowid), 0) FROM phase) AS phase";

bool trace_writer_refuse_repeated(struct trace_writer *writer, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    if (!trace_writer_commit(writer, err))
        return false;
    bool done = sqlite3_exec(writer->db, trace_schema_indexes, NULL, NULL, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(writer->db, sql, -1, &statement, NULL) == SQLITE_OK &&
                sqlite3_step(statement) == SQLITE_ROW;
    long long looked_at = done ? sqlite3_column_int64(statement, 0) : 0,
              repeated = done ? sqlite3_column_int64(statement, 1) : 0;
    sqlite3_finalize(statement);
    if (!done)
        return trace_writer_fail(writer, err);
    return repeated == 0 || 2 * repeated < looked_at ||
           error_set(err, ERROR_INPUT,
                     "'%s' has %lld of the first %lld rows already, and nothing was added: leave out what "
                     "was added before, or import all anew with --force",
                     writer->path, repeated, looked_at);
}
