#include "trace/store/schema.h"

#define SCHEMA_KIND                                                                                          \
    "CREATE TABLE kind(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"                                         \
    "INSERT INTO kind VALUES (0,'file'),(1,'pipe'),(2,'socket'),(3,'device'),(4,'other');"

const char trace_schema_tables[] =
    "CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "CREATE TABLE clock(monotonic_ns INTEGER NOT NULL, realtime_ns INTEGER NOT NULL);"
    "CREATE TABLE class(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "INSERT INTO class VALUES "
    "(0,'read'),(1,'write'),(2,'open'),(3,'close'),(4,'sync'),(5,'mmap'),(6,'fault'),"
    "(7,'stat'),(8,'unlink'),(9,'rename'),(10,'mkdir'),(11,'rmdir'),(12,'seek'),(13,'truncate'),(14,'create')"
    ","
    "(15,'other'),(16,'offcpu'),(17,'region');"
    "CREATE TABLE operation(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "INSERT INTO operation VALUES (0,'read'),(1,'write'),(2,'discard'),(3,'flush');" SCHEMA_KIND
    "CREATE TABLE process(id INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, parent_pid INTEGER, start_ns "
    "INTEGER,"
    " end_ns INTEGER, name TEXT NOT NULL, command TEXT);"
    "CREATE TABLE file(id INTEGER PRIMARY KEY, device INTEGER, inode INTEGER, path TEXT NOT NULL, kind "
    "INTEGER);"
    "CREATE TABLE call(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE disk(id INTEGER PRIMARY KEY, name TEXT NOT NULL);"
    "CREATE TABLE series(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, source TEXT NOT NULL);"
    "CREATE TABLE event(id INTEGER PRIMARY KEY, class INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
    " latency_ns INTEGER, process INTEGER, file INTEGER, call INTEGER, fd INTEGER, \"offset\" INTEGER,"
    " size INTEGER, result INTEGER, cached INTEGER);"
    "CREATE TABLE block(id INTEGER PRIMARY KEY, operation INTEGER NOT NULL, start_ns INTEGER NOT NULL,"
    " queue_ns INTEGER, service_ns INTEGER, disk INTEGER, sector INTEGER, bytes INTEGER, process INTEGER,"
    " file INTEGER, cause INTEGER);"
    "CREATE TABLE sample(series INTEGER NOT NULL, time_ns INTEGER NOT NULL, value REAL);"
    "CREATE TABLE phase(name TEXT NOT NULL, start_ns INTEGER NOT NULL, end_ns INTEGER NOT NULL,"
    " source TEXT NOT NULL);"
    "CREATE TABLE lost(class TEXT PRIMARY KEY, count INTEGER NOT NULL, from_ns INTEGER, to_ns INTEGER)"
    " WITHOUT ROWID;";

#define OF_FILES " LEFT JOIN file f ON f.id = e.file WHERE ifnull(f.kind, 0) = 0"

const char trace_schema_views[] =
    /* one row per call, names instead of ids */
    "CREATE VIEW io AS SELECT e.id, c.name AS class, k.name AS call, e.start_ns, e.latency_ns, p.pid, p.tid,"
    " p.name AS process, f.path, e.fd, e.\"offset\", e.size, e.result, e.cached, t.name AS kind"
    " FROM event e JOIN class c ON c.id = e.class LEFT JOIN call k ON k.id = e.call"
    " LEFT JOIN process p ON p.id = e.process LEFT JOIN file f ON f.id = e.file"
    " LEFT JOIN kind t ON t.id = f.kind;"
    "CREATE VIEW block_io AS SELECT b.id, o.name AS operation, b.start_ns, b.queue_ns, b.service_ns,"
    " d.name AS disk, b.sector, b.bytes, p.pid, p.name AS process, f.path, q.pid AS cause_pid,"
    " q.name AS cause FROM block b JOIN operation o ON o.id = b.operation LEFT JOIN disk d ON d.id = b.disk"
    " LEFT JOIN process p ON p.id = b.process LEFT JOIN file f ON f.id = b.file"
    " LEFT JOIN process q ON q.id = b.cause;"
    "CREATE VIEW samples AS SELECT s.time_ns, r.kind, r.source, s.value FROM sample s"
    " JOIN series r ON r.id = s.series;"
    "CREATE VIEW bytes_per_file AS SELECT f.path, sum(e.class = 0) AS reads,"
    " sum(CASE WHEN e.class = 0 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_read,"
    " sum(e.class = 1) AS writes,"
    " sum(CASE WHEN e.class = 1 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_written,"
    " t.name AS kind FROM event e JOIN file f ON f.id = e.file LEFT JOIN kind t ON t.id = f.kind"
    " GROUP BY e.file;"
    /* of files: a wait at a pipe or a socket is no reading of data */
    "CREATE VIEW bytes_per_process AS SELECT p.pid, max(p.name) AS process, count(*) AS calls,"
    " sum(CASE WHEN e.class = 0 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_read,"
    " sum(CASE WHEN e.class = 1 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_written,"
    " sum(e.latency_ns) AS time_ns FROM event e JOIN process p ON p.id = e.process" OF_FILES
    " GROUP BY p.pid;"
    /* by the second in which a call begins */
    "CREATE VIEW throughput AS SELECT e.start_ns / 1000000000 AS second, count(*) AS calls,"
    " sum(CASE WHEN e.class = 0 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_read,"
    " sum(CASE WHEN e.class = 1 AND e.result > 0 THEN e.result ELSE 0 END) AS bytes_written"
    " FROM event e" OF_FILES " GROUP BY second;"
    "CREATE VIEW disk_throughput AS SELECT (b.start_ns + ifnull(b.queue_ns, 0) + ifnull(b.service_ns, 0))"
    " / 1000000000 AS second, d.name AS disk, count(*) AS requests,"
    " sum(CASE WHEN b.operation = 0 THEN b.bytes ELSE 0 END) AS bytes_read,"
    " sum(CASE WHEN b.operation = 1 THEN b.bytes ELSE 0 END) AS bytes_written"
    " FROM block b LEFT JOIN disk d ON d.id = b.disk GROUP BY second, b.disk;"
    /* of the reads whose answer is known */
    "CREATE VIEW hit_rate AS SELECT f.path, sum(e.cached = 1) AS hits, sum(e.cached = 0) AS misses,"
    " avg(e.cached) AS rate FROM event e LEFT JOIN file f ON f.id = e.file"
    " WHERE e.class = 0 AND e.cached IS NOT NULL GROUP BY e.file;"
    "CREATE VIEW slowest AS SELECT * FROM io ORDER BY latency_ns DESC LIMIT 100;"
    "CREATE VIEW latency AS SELECT c.name AS class, ifnull(t.name, 'file') AS kind, count(*) AS calls, "
    "min(latency_ns) AS least_ns,"
    " avg(latency_ns) AS mean_ns, max(latency_ns) AS most_ns, sum(latency_ns) AS total_ns"
    " FROM event e JOIN class c ON c.id = e.class LEFT JOIN file f ON f.id = e.file"
    " LEFT JOIN kind t ON t.id = f.kind GROUP BY e.class, ifnull(f.kind, 0);";

const char trace_schema_from_1[] = SCHEMA_KIND
    "ALTER TABLE file ADD COLUMN kind INTEGER;"
    "UPDATE file SET kind = kind_of_path(path);"
    "ALTER TABLE lost ADD COLUMN from_ns INTEGER;"
    "ALTER TABLE lost ADD COLUMN to_ns INTEGER;"
    "DROP VIEW io; DROP VIEW block_io; DROP VIEW samples; DROP VIEW bytes_per_file;"
    "DROP VIEW bytes_per_process; DROP VIEW throughput; DROP VIEW disk_throughput; DROP VIEW hit_rate;"
    "DROP VIEW slowest; DROP VIEW latency;";

const char trace_schema_indexes[] = "CREATE INDEX IF NOT EXISTS event_start ON event(start_ns, class);"
                                    "CREATE INDEX IF NOT EXISTS block_start ON block(start_ns);"
                                    "CREATE INDEX IF NOT EXISTS sample_time ON sample(series, time_ns);";
