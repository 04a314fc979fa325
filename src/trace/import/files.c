#include "trace/import/import.h"

#include "core/file.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FOLDER_FILES 1024 /* more than that is not what one run leaves */

void import_note(struct import *import, const char *what)
{
    struct trace_import_report *report = import->report;
    if (report->place_count == TRACE_IMPORT_PLACES)
        return;
    struct trace_import_place *place = &report->places[report->place_count++];
    snprintf(place->file, sizeof place->file, "%s", import->name);
    snprintf(place->what, sizeof place->what, "%s", what);
    place->line = import->lines->line;
    for (char *c = place->what; *c; c++)
        if ((unsigned char)*c < ' ' || *c == 0x7f)
            *c = '?';
}

bool import_malformed(struct import *import, const char *line)
{
    import->report->malformed++;
    import_note(import, line);
    return true;
}

int64_t import_process(struct import *import, int64_t pid, int64_t tid, const char *name, size_t length)
{
    bool fits = trace_pid_fits(pid) && trace_pid_fits(tid);
    import->no_process |= !fits;
    return trace_process(import->writer, fits ? pid : TRACE_NONE, fits ? tid : TRACE_NONE, name, length);
}

/* Of a row: its numbers are some that can be, and so were those of its processes. */
static bool fits(struct import *import, bool numbers)
{
    bool process = !import->no_process;
    import->no_process = false;
    if (!numbers || !process)
        import_malformed(import, numbers ? "the number of a process is none that can be"
                                         : "a time, a length or a size is none that can be");
    return numbers && process;
}

bool import_event(struct import *import, const struct trace_event *event, struct error *err)
{
    return !fits(import, trace_event_fits(event)) || trace_add_event(import->writer, event, err);
}

bool import_block(struct import *import, const struct trace_block *block, struct error *err)
{
    return !fits(import, trace_block_fits(block)) || trace_add_block(import->writer, block, err);
}

bool import_sample(struct import *import, const struct trace_sample *sample, struct error *err)
{
    return !fits(import, trace_sample_fits(sample)) || trace_add_sample(import->writer, sample, err);
}

bool import_phase(struct import *import, const struct trace_phase *phase, struct error *err)
{
    return !fits(import, trace_phase_fits(phase)) || trace_add_phase(import->writer, phase, err);
}

void import_watch(struct import *import, int64_t time_ns)
{
    if (import->last_ns != TRACE_NONE && time_ns < import->last_ns - SECOND_NS) {
        import->report->jumps++;
        import_note(import, "the clock goes back by more than a second");
    }
    import->last_ns = time_ns;
}

bool import_each_line(struct import *import, import_line *take, struct error *err)
{
    for (;;) {
        const char *line, *end;
        switch (import_lines_next(import->lines, &line, &end, err)) {
        case IMPORT_LINE:
            if (!take(import, line, end, err))
                return false;
            break;
        case IMPORT_LINE_TOO_LONG:
            import->report->too_long++;
            import_malformed(import, "a line too long to be one");
            break;
        case IMPORT_LINE_END:
            return true;
        case IMPORT_LINE_ERROR:
            return false;
        }
    }
}

/* "+05:00" in seconds. */
static bool fixed_zone(const char *zone, int64_t *seconds)
{
    int h, m;
    const char *p = zone + 1;
    *seconds = 0;
    if (strcmp(zone, "UTC") == 0)
        return true;
    if ((*zone != '+' && *zone != '-') || !scan_fixed(&p, 2, &h) || !scan_char(&p, ':') ||
        !scan_fixed(&p, 2, &m) || *p || h > 14 || m > 59)
        return false;
    *seconds = (*zone == '-' ? INT64_C(-1) : 1) * (h * 3600 + m * 60);
    return true;
}

bool import_zone_check(const char *zone, struct error *err)
{
    int64_t seconds;
    return !zone || fixed_zone(zone, &seconds) ||
           error_set(err, ERROR_USAGE, "time zone: expected UTC, +HH:MM or -HH:MM, found '%s'", zone);
}

int64_t import_utc(struct import *import, int64_t wall_s)
{
    int64_t offset;
    time_t as_utc = (time_t)wall_s;
    struct tm tm;
    if (import->options->zone)
        return fixed_zone(import->options->zone, &offset) ? wall_s - offset : wall_s;
    import->report->zone_assumed = true;
    if (!gmtime_r(&as_utc, &tm))
        return wall_s;
    tm.tm_isdst = -1;
    time_t utc = mktime(&tm);
    return utc == (time_t)-1 ? wall_s : (int64_t)utc;
}

static bool run_format(struct import *import, struct import_lines *lines, import_format *format,
                       const char *words, struct error *err)
{
    struct trace_import_report *report = import->report;
    import->lines = lines;
    import->last_ns = TRACE_NONE;
    if (!format(import, err))
        return false;
    report->files++;
    report->lines += lines->line;
    report->bytes += lines->bytes;
    if (lines->truncated) {
        report->truncated++;
        import_note(import, "the packed file ends in the middle; what it held was read");
    }
    text_format(&report->formats, "%s%s: %s", report->formats.length ? "; " : "", import->name, words);
    return true;
}

/* Opens, asks what it is, and reads if `wanted` (NULL: any) is what it is. */
static bool import_one(struct import *import, const char *path, const char *text, size_t length,
                       import_format *wanted, bool *known, struct error *err)
{
    struct import_lines lines;
    const char *start, *words = "";
    size_t size;
    const char *slash = strrchr(path, '/');
    import->name = slash ? slash + 1 : path;
    *known = false;
    if (!import_lines_open(&lines, path, text, length, err) ||
        !import_lines_peek(&lines, &start, &size, err)) {
        import_lines_close(&lines);
        return false;
    }
    import_format *format = import_detect(import->name, start, size, &words);
    *known = format != NULL;
    bool done = !format || (wanted && format != wanted) || run_format(import, &lines, format, words, err);
    import_lines_close(&lines);
    return done;
}

/* The day on which the file was last written: for times without a date, when nothing else says one. */
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

struct listing {
    char *paths[FOLDER_FILES];
    int count;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool list_one(struct listing *listing, const char *folder, const char *name, struct error *err)
{
    char *path;
    enum file_kind kind;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return error_memory(err);
    bool done = file_look(path, &kind, err);
    if (done && kind == FILE_REGULAR && listing->count == FOLDER_FILES)
        done = error_set(err, ERROR_INPUT, "'%s': more than %d files", folder, FOLDER_FILES);
    if (done && kind == FILE_REGULAR)
        listing->paths[listing->count++] = path;
    else
        free(path);
    return done;
}

static bool list_folder(struct listing *listing, const char *folder, struct error *err)
{
    DIR *directory = opendir(folder);
    if (!directory)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", folder, strerror(errno));
    bool done = true;
    const struct dirent *entry;
    while (done && (errno = 0, entry = readdir(directory)))
        done = entry->d_name[0] == '.' || list_one(listing, folder, entry->d_name, err);
    if (done && errno)
        done = error_set(err, ERROR_FAILED, "cannot read '%s': %s", folder, strerror(errno));
    closedir(directory);
    return done;
}

/* What other files need comes first: the day, then the offset of the clocks. */
static import_format *const first_of_all[] = {import_pmon, import_iostat, import_mpstat, import_align};

static bool comes_first(import_format *format)
{
    for (size_t i = 0; i < sizeof first_of_all / sizeof *first_of_all; i++)
        if (format == first_of_all[i])
            return true;
    return false;
}

static bool format_of(struct import *import, const char *path, import_format **format, struct error *err)
{
    struct import_lines lines;
    const char *start, *words;
    size_t size;
    const char *slash = strrchr(path, '/');
    import->name = slash ? slash + 1 : path;
    bool done =
        import_lines_open(&lines, path, NULL, 0, err) && import_lines_peek(&lines, &start, &size, err);
    *format = done ? import_detect(import->name, start, size, &words) : NULL;
    import_lines_close(&lines);
    return done;
}

/* Of series and phases a folder may hold the same again (the log and what was on the screen; iostat's file and an
 * edited copy): only the first file of each kind is read. */
static void drop_repeats(const struct listing *listing, import_format **formats)
{
    static import_format *const once[] = {import_pmon,  import_iostat, import_mpstat,
                                          import_align, import_mllog,  import_dlio};
    for (size_t k = 0; k < sizeof once / sizeof *once; k++) {
        bool seen = false;
        for (int i = 0; i < listing->count; i++)
            if (formats[i] == once[k]) {
                formats[i] = seen ? NULL : formats[i];
                seen = true;
            }
    }
}

static bool import_listing(struct import *import, const struct listing *listing, import_format **formats,
                           bool *any, struct error *err)
{
    bool known;
    for (int i = 0; i < listing->count; i++) {
        if (!format_of(import, listing->paths[i], &formats[i], err))
            return false;
        *any = *any || formats[i];
    }
    drop_repeats(listing, formats);
    for (size_t k = 0; k < sizeof first_of_all / sizeof *first_of_all; k++)
        for (int i = 0; i < listing->count; i++) {
            if (formats[i] == import_align && import->date == TRACE_NONE)
                import->date = day_of_file(listing->paths[i]);
            if (formats[i] == first_of_all[k] &&
                !import_one(import, listing->paths[i], NULL, 0, formats[i], &known, err))
                return false;
        }
    for (int i = 0; i < listing->count; i++)
        if (formats[i] && !comes_first(formats[i]) &&
            !import_one(import, listing->paths[i], NULL, 0, formats[i], &known, err))
            return false;
    return true;
}

static bool import_folder(struct import *import, const char *folder, struct error *err)
{
    struct listing listing = {.count = 0};
    import_format *formats[FOLDER_FILES];
    char *timeline = NULL; /* a folder of the processed layout */
    bool any = false;
    bool done = list_folder(&listing, folder, err);
    if (done && asprintf(&timeline, "%s/timeline", folder) < 0) {
        timeline = NULL;
        done = error_memory(err);
    }
    enum file_kind kind = FILE_NONE;
    done = done && file_look(timeline, &kind, err);
    if (done && kind == FILE_FOLDER)
        done = list_folder(&listing, timeline, err);
    qsort(listing.paths, (size_t)listing.count, sizeof *listing.paths, by_name);
    done = done && import_listing(import, &listing, formats, &any, err);
    if (done && !any)
        done = error_set(err, ERROR_INPUT, "'%s' holds no trace of a known kind", folder);
    for (int i = 0; i < listing.count; i++)
        free(listing.paths[i]);
    free(timeline);
    return done;
}

static bool import_file(struct import *import, const char *path, const char *text, size_t length,
                        struct error *err)
{
    bool known;
    if (import->date == TRACE_NONE && !text)
        import->date = day_of_file(path);
    if (!import_one(import, path, text, length, NULL, &known, err))
        return false;
    return known || error_set(err, ERROR_INPUT, "'%s' is no trace of a known kind", path);
}

/* A trace without a row is of no use, and a sign of a mistake. */
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
    int first = before->place_count;
    while (first < report->place_count && report->places[first].line == 0)
        first++; /* said of the whole file */
    if (malformed == 0 || first == report->place_count)
        return error_set(err, ERROR_INPUT, "'%s' holds no event, sample or phase", path);
    const struct trace_import_place *place = &report->places[first];
    return error_set(err, ERROR_INPUT,
                     "'%s' holds nothing that can be read: %lld malformed lines, such as %s:%lld: %s", path,
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
    print_count(out, ", ", report->malformed, "malformed line passed over", "malformed lines passed over");
    print_count(out, ", ", report->too_long, "of them too long", "of them too long");
    print_count(out, ", ", report->jumps, "jump of the clock", "jumps of the clock");
    print_count(out, ", ", report->truncated, "file cut off", "files cut off");
    text_add(out, "\n");
    for (const char *file = report->formats.data ? report->formats.data : ""; *file;) {
        size_t length = strcspn(file, ";");
        text_format(out, "  %.*s\n", (int)length, file);
        file += length + strspn(file + length, "; ");
    }
    if (report->zone_assumed)
        text_add(out, "clocks on the wall are taken for this machine's zone; --zone says another\n");
    for (int i = 0; i < report->place_count; i++)
        text_format(out, "%s:%lld: %s\n", report->places[i].file, (long long)report->places[i].line,
                    report->places[i].what);
}
