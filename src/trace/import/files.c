#include "trace/import/import.h"

#include "core/file.h"
#include "trace/import/internal.h"
#include "trace/import/paths.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define MAX_FOLDER_FILES 1024 /* no run leaves more */

static bool run_format(struct import *import, struct error *err)
{
    const struct import_format *format = import->format;
    if (format->read)
        return format->read(import, err);
    if (format->monotonic && !import->aligned)
        import_note(import, "no trace_time_align.out beside it: times count from boot, not UTC");
    import->state = calloc(1, format->state_bytes + 1);
    bool done = import->state ? import_each_line(import, format->take, err) : error_memory(err);
    free(import->state);
    return done;
}

static bool read_format(struct import *import, struct error *err)
{
    struct trace_import_report *report = import->report;
    import->last_ns = TRACE_NONE;
    if (!run_format(import, err))
        return false;
    report->files++;
    report->lines += import->lines->line;
    report->bytes += import->lines->bytes;
    if (import->lines->truncated) {
        report->truncated++;
        import_note(import, "the gzip file is truncated; its readable part is imported");
    }
    text_format(&report->formats, "%s%s: %s", report->formats.length ? "; " : "", import->name,
                import->format->words);
    return true;
}

/* Sets import->format to that of a file (or text in memory), NULL if it is unknown, and reads the file if
 * asked to. */
static bool import_one(struct import *import, const char *path, const char *text, size_t length, bool reads,
                       struct error *err)
{
    struct import_lines lines;
    const char *start;
    size_t size;
    import->name = basename(path);
    import->lines = &lines;
    bool done =
        import_lines_open(&lines, path, text, length, err) && import_lines_peek(&lines, &start, &size, err);
    import->format = done ? import_detect(import->name, start, size) : NULL;
    if (done && !import->format && !text && import_detect_run)
        import->format = import_detect_run(import->name, start);
    if (import->format && reads)
        done = read_format(import, err);
    import_lines_close(&lines);
    import->lines = NULL;
    return done;
}

/* Returns the day on which the file was last written, for times without any other date. */
static int64_t day_of_file(const char *path)
{
    struct stat state;
    struct tm tm;
    if (stat(path, &state) < 0 || !localtime_r(&state.st_mtime, &tm))
        return TRACE_NONE;
    return scan_days(tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday);
}

static bool begin(struct import *import, struct trace_writer *writer,
                  const struct trace_import_options *options, struct trace_import_report *report,
                  struct error *err)
{
    *import = (struct import){.writer = writer, .options = options, .report = report, .date = TRACE_NONE};
    if (options->date) {
        const char *p = options->date;
        if (!scan_date(&p, &import->date) || *p)
            return error_set(err, ERROR_USAGE, "date: expected YYYY-MM-DD, found '%s'", options->date);
    }
    return import_zone_check(options->zone, err);
}

/* Formats that others need are read first: they give the day, then the offset of the clocks. */
static const struct import_format *const first_of_all[] = {&import_pmon, &import_iostat, &import_mpstat,
                                                           &import_align};
#define FIRSTS (sizeof first_of_all / sizeof *first_of_all)

/* Returns whether a file repeats an earlier one: a folder may hold series and phases twice (a log and a
 * copy of the screen; iostat's file and an edited copy), and only the first file of these formats is read. */
static bool is_repeated(const struct import_format *const *formats, size_t at)
{
    static const struct import_format *const once[] = {&import_pmon,  &import_iostat, &import_mpstat,
                                                       &import_align, &import_mllog,  &import_dlio};
    bool seen = false, single = false;
    for (size_t i = 0; i < sizeof once / sizeof *once; i++)
        single |= formats[at] == once[i];
    for (size_t i = 0; i < at; i++)
        seen |= formats[i] == formats[at];
    return single && seen;
}

/* Reads the files of a format; NULL: of all that do not come first. */
static bool import_files(struct import *import, const struct import_paths *paths,
                         const struct import_format *const *formats, const struct import_format *wanted,
                         struct error *err)
{
    for (size_t i = 0; i < paths->count; i++) {
        bool chosen = formats[i] && !is_repeated(formats, i);
        for (size_t k = 0; k < FIRSTS; k++)
            chosen = chosen && (wanted ? formats[i] == wanted : formats[i] != first_of_all[k]);
        if (chosen && formats[i] == &import_align && import->date == TRACE_NONE)
            import->date = day_of_file(paths->items[i]);
        if (chosen && !import_one(import, paths->items[i], NULL, 0, true, err))
            return false;
    }
    return true;
}

static bool import_listed(struct import *import, const char *folder, const struct import_paths *paths,
                          const struct import_format **formats, struct error *err)
{
    bool any = false;
    for (size_t i = 0; i < paths->count; i++) {
        if (!import_one(import, paths->items[i], NULL, 0, false, err))
            return false;
        formats[i] = import->format;
        any |= formats[i] != NULL;
    }
    if (!any)
        return error_set(err, ERROR_INPUT, "'%s' contains no trace of a known format", folder);
    for (size_t k = 0; k < FIRSTS; k++)
        if (!import_files(import, paths, formats, first_of_all[k], err))
            return false;
    return import_files(import, paths, formats, NULL, err);
}

/* Lists the files of a folder, and of "timeline" in it, which the processed layout has. */
static bool list_folder(struct import_paths *paths, const char *folder, struct error *err)
{
    static const struct import_paths_rules rules = {.max_count = MAX_FOLDER_FILES};
    char *timeline;
    enum file_kind kind;
    if (asprintf(&timeline, "%s/timeline", folder) < 0)
        return error_memory(err);
    bool done = import_paths_list(paths, folder, &rules, err) && file_look(timeline, &kind, err) &&
                (kind != FILE_FOLDER || import_paths_list(paths, timeline, &rules, err));
    free(timeline);
    return done;
}

static bool import_folder(struct import *import, const char *folder, struct error *err)
{
    struct import_paths paths = {0};
    const struct import_format **formats = NULL;
    bool done = list_folder(&paths, folder, err);
    if (done) {
        formats = calloc(paths.count + 1, sizeof *formats);
        done = formats ? import_listed(import, folder, &paths, formats, err) : error_memory(err);
    }
    free(formats);
    import_paths_release(&paths);
    return done;
}

static bool import_file(struct import *import, const char *path, const char *text, size_t length,
                        struct error *err)
{
    if (import->date == TRACE_NONE && !text)
        import->date = day_of_file(path);
    if (!import_one(import, path, text, length, true, err))
        return false;
    return import->format || error_set(err, ERROR_INPUT, "'%s' is not a trace of a known format", path);
}

/* Ends an import: a trace without a row is useless, and a sign of a mistake. */
static bool finish(struct import *import, const char *path, const struct trace_import_report *before,
                   int64_t added, struct error *err)
{
    struct trace_import_report *report = import->report;
    report->rows += added;
    if (report->formats.failed)
        return error_memory(err);
    if (report->rows > before->rows)
        return true;
    int64_t malformed = report->malformed - before->malformed;
    int first = before->places.count;
    while (first < report->places.count && report->places.list[first].line == 0)
        first++; /* said of the whole file */
    if (malformed == 0 || first == report->places.count)
        return error_set(err, ERROR_INPUT, "'%s' contains no event, sample or phase", path);
    const struct import_place *place = &report->places.list[first];
    return error_set(err, ERROR_INPUT, "'%s' has no valid line: %lld malformed, such as %s:%lld: %s", path,
                     (long long)malformed, place->file, (long long)place->line, place->what);
}

bool trace_import(const char *path, struct trace_writer *writer, const struct trace_import_options *options,
                  struct trace_import_report *report, struct error *err)
{
    struct import import;
    const struct trace_import_report before = *report;
    int64_t added = trace_writer_added(writer);
    enum file_kind kind;
    if (!file_look(path, &kind, err) || !begin(&import, writer, options, report, err))
        return false;
    bool done =
        kind == FILE_FOLDER ? import_folder(&import, path, err) : import_file(&import, path, NULL, 0, err);
    return done && finish(&import, path, &before, trace_writer_added(writer) - added, err);
}

bool trace_import_text(const char *name, const char *text, size_t length, struct trace_writer *writer,
                       const struct trace_import_options *options, struct trace_import_report *report,
                       struct error *err)
{
    struct import import;
    const struct trace_import_report before = *report;
    int64_t added = trace_writer_added(writer);
    return begin(&import, writer, options, report, err) && import_file(&import, name, text, length, err) &&
           finish(&import, name, &before, trace_writer_added(writer) - added, err);
}

void trace_import_report_release(struct trace_import_report *report)
{
    text_release(&report->formats);
}

static void print_count(struct text *out, const char *separator, int64_t count, const char *one,
                        const char *more)
{
    if (count > 0)
        text_format(out, "%s%lld %s", separator, (long long)count, count == 1 ? one : more);
}

void trace_import_report_print(const struct trace_import_report *report, struct text *out)
{
    print_count(out, "", report->rows, "row", "rows");
    print_count(out, ", ", report->files, "file", "files");
    print_count(out, ", ", report->lines, "line", "lines");
    print_count(out, ", ", report->malformed, "malformed line skipped", "malformed lines skipped");
    print_count(out, ", ", report->too_long, "of them overlong", "of them overlong");
    print_count(out, ", ", report->jumps, "jump of the clock", "jumps of the clock");
    print_count(out, ", ", report->truncated, "truncated file", "truncated files");
    text_add(out, "\n");
    for (const char *file = report->formats.data ? report->formats.data : ""; *file;) {
        size_t length = strcspn(file, ";");
        text_format(out, "  %.*s\n", (int)length, file);
        file += length + strspn(file + length, "; ");
    }
    if (report->zone_assumed)
        text_add(out, "local times are read in this machine's time zone; --zone sets another\n");
    import_places_print(&report->places, "", out);
}
