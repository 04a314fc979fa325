/* fio's iolog, what `fio --write_iolog` writes and `--read_iolog` takes. Its first line tells the version:
 *
 *   2   FILE add|open|close        FILE read|write|sync|datasync|trim OFFSET BYTES        FILE wait MS 0
 *   3   the same behind the time in microseconds; no wait
 *
 * Each call that was handed in is a line, without its duration and its result: the result is taken to be all bytes. Version 2
 * has no times but those of `wait`, in milliseconds from the beginning (fio's manual says microseconds; its code sleeps until
 * that many milliseconds). Calls between two waits have the time of the first. */
#include "core/hash.h"
#include "core/text.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <inttypes.h>
#include <string.h>

struct iolog {
    int64_t version, process, time_ns;
    struct hash_map files; /* that were added, by the hash of their names */
};

static const struct {
    const char *word;
    enum trace_class class;
    bool of_bytes; /* an offset and a length follow */
} actions[] = {
    {"open", TRACE_OPEN, false},  {"close", TRACE_CLOSE, false}, {"read", TRACE_READ, true},
    {"write", TRACE_WRITE, true}, {"sync", TRACE_SYNC, true},    {"datasync", TRACE_SYNC, true},
    {"trim", TRACE_OTHER, true},
};

static bool take_action(struct import *import, struct iolog *iolog, const char *line, const char *file,
                        size_t length, const char *word, const char *at, struct error *err)
{
    size_t size = (size_t)(scan_word(word) - word), which = 0;
    uint64_t key = hash_bytes(0, file, length) | 1;
    while (which < sizeof actions / sizeof *actions &&
           (strlen(actions[which].word) != size || strncmp(actions[which].word, word, size) != 0))
        which++;
    struct trace_event event = {.cached = -1,
                                .start_ns = iolog->time_ns,
                                .latency_ns = TRACE_NONE,
                                .process = iolog->process,
                                .fd = TRACE_NONE,
                                .offset = TRACE_NONE,
                                .size = TRACE_NONE};
    if (size == 4 && strncmp(word, "wait", 4) == 0) {
        int64_t milliseconds, nothing;
        if (iolog->version == 3 || !scan_number(&at, &milliseconds) || !scan_number(&at, &nothing) ||
            milliseconds < 0 || milliseconds > 1000 * DAY_S * 1000)
            return import_malformed(import, line);
        iolog->time_ns = milliseconds * 1000000;
        return true;
    }
    if (size == 3 && strncmp(word, "add", 3) == 0 && !*scan_blanks(at))
        return hash_map_set(&iolog->files, key, 1) || error_memory(err);
    if (which == sizeof actions / sizeof *actions)
        return import_malformed(import, line);
    if (actions[which].of_bytes && (!scan_number(&at, &event.offset) || !scan_number(&at, &event.size) ||
                                    event.offset < 0 || event.size < 0))
        return import_malformed(import, line);
    if (!hash_map_find(&iolog->files, key))
        return import_malformed(import, "a file that no line 'add' names");
    if (*scan_blanks(at))
        return import_malformed(import, line);
    event.class = actions[which].class;
    event.result = actions[which].class == TRACE_READ || actions[which].class == TRACE_WRITE ? event.size : 0;
    event.file = trace_file(import->writer, TRACE_NONE, TRACE_NONE, file, length);
    event.call = trace_call(import->writer,
                            actions[which].class == TRACE_SYNC ? (size == 4 ? "fsync" : "fdatasync")
                                                               : actions[which].word,
                            actions[which].class == TRACE_SYNC ? (size == 4 ? 5 : 9) : size);
    return import_event(import, &event, err);
}

static bool take_line(struct import *import, const char *line, struct error *err)
{
    struct iolog *iolog = import->state;
    const char *at = line;
    int64_t microseconds;
    if (!*scan_blanks(line) || text_starts_with(line, "fio version "))
        return true;
    if (iolog->version == 3) {
        if (!scan_number(&at, &microseconds) || microseconds < 0 || microseconds > 1000 * DAY_S * 1000000)
            return import_malformed(import, line);
        iolog->time_ns = microseconds * 1000;
        import_watch(import, iolog->time_ns);
    }
    const char *file = scan_blanks(at), *stop = scan_word(file), *word = scan_blanks(stop);
    if (file == stop || !*word)
        return import_malformed(import, line);
    return take_action(import, iolog, line, file, (size_t)(stop - file), word, scan_word(word), err);
}

static bool read_iolog(struct import *import, struct error *err)
{
    struct iolog iolog = {0};
    const char *start, *at;
    size_t length;
    if (!import_lines_peek(import->lines, &start, &length, err))
        return false;
    at = start + strlen("fio version ");
    if (!scan_digits(&at, &iolog.version) || iolog.version < 2 || iolog.version > 3)
        return error_set(err, ERROR_INPUT,
                         "%s: iolog of version %" PRId64 " of fio: versions 2 and 3 are read", import->name,
                         iolog.version);
    iolog.process = import_process(import, TRACE_NONE, TRACE_NONE, import->name, strlen(import->name));
    import->state = &iolog;
    import_note(import, iolog.version == 3 ? "times count from the start of the job; calls have no durations"
                                           : "calls have no times but those of 'wait', and no durations");
    bool done = import_each_line(import, take_line, err);
    hash_map_release(&iolog.files);
    return done;
}

const struct import_format import_iolog = {.words = "iolog of fio", .read = read_iolog};
