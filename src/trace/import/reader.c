#include "trace/import/reader.h"

#include "core/caller.h"
#include "core/file.h"
#include "trace/import/import.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is this file no database? What cannot be read is left to the reader of stores to say. */
static bool is_other(const char *path)
{
    char start[16];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, start, sizeof start) : 0;
    if (fd >= 0)
        close(fd);
    return got > 0 && (got < (ssize_t)sizeof start || memcmp(start, "SQLite format 3", sizeof start) != 0);
}

static bool import_into(const char *path, const char *store, struct error *err)
{
    const struct trace_import_options options = {0};
    struct trace_import_report report = {0};
    struct trace_writer *writer = trace_writer_new(store, TRACE_STORE_WHOLE, err);
    bool done = writer && trace_import(path, writer, &options, &report, err);
    if (done && report.malformed > 0)
        caller_warn("%s: %lld malformed line%s skipped ('rehearse trace import' lists them)", path,
                    (long long)report.malformed, report.malformed == 1 ? "" : "s");
    if (done)
        done = trace_writer_close(writer, err);
    else
        trace_writer_drop(writer);
    trace_import_report_release(&report);
    return done;
}

static struct trace_reader *import_and_open(const char *path, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char name[4096], store[sizeof name + 16];
    if (!folder || strlen(folder) > sizeof name - 32)
        folder = "/tmp";
    snprintf(name, sizeof name, "%s/rehearse-XXXXXX", folder);
    if (!mkdtemp(name)) {
        error_set(err, ERROR_FAILED, "%s: cannot make a folder: %s", folder, strerror(errno));
        return NULL;
    }
    snprintf(store, sizeof store, "%s/run.db", name);
    struct trace_reader *reader = import_into(path, store, err) ? trace_reader_new(store, err) : NULL;
    unlink(store);
    rmdir(name);
    if (!reader || trace_reader_rename(reader, path, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}

struct trace_reader *trace_open(const char *path, const struct trace_selection *selection, struct error *err)
{
    enum file_kind kind;
    if (!file_look(path, &kind, err))
        return NULL;
    bool other = kind == FILE_FOLDER || (kind == FILE_REGULAR && is_other(path));
    struct trace_reader *reader = other ? import_and_open(path, err) : trace_reader_new(path, err);
    if (!reader || !selection || trace_select(reader, selection, err))
        return reader;
    trace_reader_free(reader);
    return NULL;
}
