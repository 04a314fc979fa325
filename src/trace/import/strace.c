/* strace -f or -ff, -T with -ttt, -tt, -t or -r: "[pid 12] 1690000000.123456 read(3</data/a>, "…", 8192) = 8192
 * <0.000012>". With -y a descriptor has its path; without, the path comes from the openat of the same
 * thread, until close. */
#include "core/hash.h"
#include "core/vector.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PENDING 1024      /* calls of other threads in progress */
#define MAX_PID (1 << 22) /* of Linux: a larger number in a name is a date, or counts copies */

struct pending {
    int64_t pid, start_ns;
    bool used;
    char text[512]; /* from the call's name on */
};

struct strace {
    int64_t day, clock; /* of -tt: days passed at midnight */
    bool any;
    int64_t pid;        /* of -ff, which has a file for each process: the end of its name; TRACE_NONE: none */
    bool since_before;  /* a time counted from the previous line (-r) */
    bool whole;         /* a clock had whole seconds only (-t) */
    int64_t begin_ns;   /* of such a clock, at the first line */
    int64_t elapsed_ns; /* sum of the times since the previous lines */
    struct pending pending[PENDING];
    struct hash_names descriptors; /* of {pid, fd} */
    int64_t *files;                /* by their ids; 0: closed */
    size_t capacity;
};

/* "12:34:56.789" */
static bool take_clock(struct import *import, const char **at, int64_t *time_ns)
{
    struct strace *strace = import->state;
    int64_t seconds;
    const char *p = *at;
    if (!scan_clock(&p, &seconds) || import->date == TRACE_NONE)
        return false;
    if (strace->any && seconds < strace->clock - DAY_S / 2)
        strace->day++;
    strace->any = true;
    strace->clock = seconds;
    *time_ns = import_utc(import, (import->date + strace->day) * DAY_S + seconds) * SECOND_NS;
    strace->whole |= *p != '.';
    *time_ns += scan_fraction(&p);
    *at = p;
    return scan_is_end(p);
}

/* "1690000000.123456": of -ttt, else (before 1973) the time since the line before, of -r. */
#define MIN_EPOCH INT64_C(100000000)

static bool take_seconds(const char **at, int64_t *time_ns, bool *relative)
{
    int64_t seconds;
    const char *p = *at;
    if (!scan_digits(&p, &seconds) || *p != '.' || seconds < 0 || seconds >= TRACE_MAX_TIME / SECOND_NS)
        return false;
    *relative = seconds < MIN_EPOCH;
    *time_ns = seconds * SECOND_NS + scan_fraction(&p);
    *at = p;
    return scan_is_end(p) || *p == ')';
}

/* Adds the time since the previous line; false: more than a trace can hold. */
static bool pass(struct strace *strace, int64_t since_ns)
{
    strace->elapsed_ns += since_ns;
    return strace->elapsed_ns < TRACE_MAX_TIME / 2;
}

/* "(+     0.000234)", of -r with -t, -tt or -ttt: only beside a clock of whole seconds it tells more. */
static bool take_since(struct strace *strace, const char **at, int64_t *time_ns, bool whole)
{
    int64_t since_ns;
    bool relative;
    const char *p = scan_blanks(*at);
    if (strncmp(p, "(+", 2) != 0)
        return true;
    p = scan_blanks(p + 2);
    if (!take_seconds(&p, &since_ns, &relative) || !relative || *p != ')' || !scan_is_end(p + 1))
        return false;
    *at = p + 1;
    if (!whole)
        return true;
    if (strace->begin_ns == TRACE_NONE) {
        strace->begin_ns = *time_ns;
        since_ns = 0;
    }
    *time_ns = strace->begin_ns;
    if (!pass(strace, since_ns))
        return false;
    *time_ns += strace->elapsed_ns;
    return true;
}

/* Takes the time before a call, in any form of strace: -t, -tt, -ttt, -r, and -r with one of these. */
static bool take_time(struct import *import, const char **at, int64_t *time_ns)
{
    struct strace *strace = import->state;
    const char *p = scan_blanks(*at);
    bool relative = false;
    if (take_clock(import, &p, time_ns)) {
        bool whole = p - scan_blanks(*at) == 8; /* hh:mm:ss */
        if (!take_since(strace, &p, time_ns, whole))
            return false;
    } else if (take_seconds(&p, time_ns, &relative) && *p != ')') {
        if (!relative && !take_since(strace, &p, time_ns, false))
            return false;
        if (relative) {
            strace->since_before = true;
            if (!pass(strace, *time_ns))
                return false;
            *time_ns = strace->elapsed_ns;
        }
    } else {
        return false;
    }
    *at = p;
    return true;
}

/* "[pid  12]" or "12" before the time; without either there is one process, 0. */
static void take_pid(const char **at, int64_t *pid)
{
    const char *p = *at;
    bool bracket = strncmp(p, "[pid", 4) == 0;
    *pid = TRACE_NONE;
    p = scan_blanks(bracket ? p + 4 : p);
    if (scan_digits(&p, pid) && (bracket ? *p == ']' : *p == ' ' || *p == '\t'))
        *at = p + bracket;
    else
        *pid = TRACE_NONE;
}

/* Returns the end of an argument: a comma or the closing bracket, outside of quotes and inner brackets. */
static const char *end_of_argument(const char *at)
{
    int depth = 0;
    for (; *at; at++) {
        if (*at == '"') {
            for (at++; *at && *at != '"'; at++)
                if (*at == '\\' && at[1])
                    at++;
            if (!*at)
                return at;
            continue;
        }
        bool closes = *at == ')' || *at == ']' || *at == '}';
        if (depth == 0 && (closes || *at == ','))
            return at;
        depth += (*at == '(' || *at == '[' || *at == '{') - closes;
    }
    return at;
}

#define ARGUMENTS 6

struct argument {
    const char *text;
    size_t length;
};

/* Returns the number of arguments; *at is left behind the closing bracket. */
static int take_arguments(const char **at, struct argument arguments[ARGUMENTS])
{
    int count = 0;
    for (;;) {
        const char *text = scan_blanks(*at), *end = end_of_argument(text);
        if (count < ARGUMENTS)
            arguments[count++] = (struct argument){text, (size_t)(end - text)};
        *at = *end ? end + 1 : end;
        if (*end != ',')
            return count;
    }
}

/* Returns the place of a descriptor in the table; NULL: out of memory. */
static int64_t *descriptor(struct strace *strace, int64_t pid, int64_t fd)
{
    bool added;
    int64_t key[2] = {pid, fd};
    uint32_t id = hash_names_id(&strace->descriptors, key, sizeof key, &added);
    if (id == 0)
        return NULL;
    if (!VECTOR_ROOM_ZEROED(strace->files, strace->capacity, (size_t)id + 1))
        return NULL;
    return &strace->files[id];
}

static int64_t number_of(const struct argument *argument)
{
    const char *at = argument->text;
    int64_t value;
    bool negative = *at == '-';
    at += negative;
    return scan_digits(&at, &value) && (at == argument->text + argument->length || strchr("< \t", *at))
               ? (negative ? (int64_t)(0 - (uint64_t)value) : value)
               : TRACE_NONE;
}

/* "/dev/null<char 1:3>" and "/dev/vda<block 254:0>", as -yy writes: the path alone, and that it is a device. */
static int64_t device_of(struct import *import, const char *path, size_t length)
{
    static const char *const types[] = {"<char ", "<block "};
    for (int i = 0; i < 2; i++) {
        const char *type = memmem(path, length, types[i], strlen(types[i]));
        size_t bytes = type ? (size_t)(type - path) : 0;
        if (!type || path[length - 1] != '>')
            continue;
        bool terminal = trace_kind_of_path(path, bytes) == TRACE_KIND_OTHER;
        return trace_file_of_kind(import->writer, TRACE_NONE, TRACE_NONE,
                                  terminal ? TRACE_KIND_OTHER : TRACE_KIND_DEVICE, path, bytes);
    }
    return trace_file(import->writer, TRACE_NONE, TRACE_NONE, path, length);
}

/* "3</data/a>" or "/data/a" in quotes, as a file. */
static int64_t file_of(struct import *import, const struct argument *argument)
{
    const char *open = memchr(argument->text, *argument->text == '"' ? '"' : '<', argument->length);
    const char *end = argument->text + argument->length;
    if (!open)
        return 0;
    while (end > open + 1 && end[-1] != '"' && end[-1] != '>')
        end--;
    if (end <= open + 2)
        return 0;
    size_t length = (size_t)(end - open) - 2;
    return *open == '<' ? device_of(import, open + 1, length)
                        : trace_file(import->writer, TRACE_NONE, TRACE_NONE, open + 1, length);
}

/* Takes file, descriptor, size and offset from the arguments, by the class of the call. */
static void take_meaning(struct import *import, int64_t pid, const char *name, size_t length,
                         const struct argument *arguments, int count, struct trace_event *event)
{
    struct strace *strace = import->state;
    bool path_first = count > 0 && *arguments[0].text == '"',
         path_second = count > 1 && *arguments[1].text == '"';
    bool transfer = event->class == TRACE_READ || event->class == TRACE_WRITE;
    if (path_first || (path_second && !transfer))
        event->file = file_of(import, &arguments[path_first ? 0 : 1]);
    if (event->class == TRACE_TRUNCATE && count > 1)
        event->size = number_of(&arguments[1]);
    if (path_first || count == 0)
        return;
    event->fd = event->class == TRACE_OPEN ? TRACE_NONE : number_of(&arguments[0]);
    int64_t *known = event->fd == TRACE_NONE ? NULL : descriptor(strace, pid, event->fd);
    if (!event->file)
        event->file = file_of(import, &arguments[0]);
    if (!event->file && known)
        event->file = *known;
    if (known && event->class == TRACE_CLOSE)
        *known = 0;
    if (transfer && count > 2 && !memchr(name, 'v', length)) /* of readv a number of pieces */
        event->size = number_of(&arguments[2]);
    if (transfer && count > 3 && *name == 'p')
        event->offset = number_of(&arguments[3]);
}

/* "= 8192 <0.000012>", "= -1 ENOENT (No such …) <0.1>", "= 3</data/a> <0.1>", "= ?" */
static bool take_result(struct trace_event *event, const char *at)
{
    at = scan_blanks(at);
    if (!scan_char(&at, '='))
        return false;
    at = scan_blanks(at);
    size_t hex = strncmp(at, "0x", 2) == 0 ? 2 + strspn(at + 2, "0123456789abcdef") : 0;
    if (*at != '?' && !hex)
        event->result = number_of(&(struct argument){at, strlen(at)});
    if (hex ? !scan_is_end(at + hex) : *at != '?' && event->result == TRACE_NONE)
        return false;
    const char *latency = strrchr(at, '<');
    int64_t seconds;
    if (!latency)
        return true; /* without -T, or a call that never returned */
    latency++;
    if (!scan_digits(&latency, &seconds) || (*latency != '.' && *latency != '>') || seconds < 0 ||
        seconds > 1000 * DAY_S)
        return true;
    event->latency_ns = seconds * SECOND_NS + scan_fraction(&latency);
    return *latency == '>';
}

/* A copy of a descriptor has its file: dup, dup2, dup3 and fcntl with F_DUPFD. */
static bool copy_descriptor(struct strace *strace, int64_t pid, const char *name,
                            const struct argument *arguments, int count, const struct trace_event *event,
                            struct error *err)
{
    bool copies =
        strncmp(name, "dup", 3) == 0 || (count > 1 && strncmp(arguments[1].text, "F_DUPFD", 7) == 0);
    if (!copies || event->result < 0 || event->fd < 0)
        return true;
    const int64_t *from = descriptor(strace, pid, event->fd);
    int64_t file = from ? *from : 0, *to = from ? descriptor(strace, pid, event->result) : NULL;
    if (!to)
        return error_memory(err);
    *to = file;
    return true;
}

/* The new name of a rename, its second name: a row of its own, as `rehearse trace` writes it. */
static bool add_new_name(struct import *import, const struct argument *arguments, int count,
                         struct trace_event event, struct error *err)
{
    int names = 0, at = 0;
    for (int i = 0; i < count; i++)
        if (*arguments[i].text == '"' && ++names == 2)
            at = i;
    if (at == 0)
        return true;
    event.class = TRACE_OTHER;
    event.latency_ns = event.result = 0;
    event.call = trace_call(import->writer, "new_name", 8);
    event.file = file_of(import, &arguments[at]);
    return import_event(import, &event, err);
}

/* "read(3, …) = 8192 <0.1>" */
static bool take_call(struct import *import, int64_t pid, int64_t start_ns, const char *text,
                      struct error *err)
{
    struct argument arguments[ARGUMENTS];
    struct trace_event event = {.cached = -1,
                                .start_ns = start_ns,
                                .latency_ns = TRACE_NONE,
                                .fd = TRACE_NONE,
                                .offset = TRACE_NONE,
                                .size = TRACE_NONE,
                                .result = TRACE_NONE};
    const char *open = strchr(text, '(');
    if (!open || open == text)
        return import_malformed(import, text);
    size_t length = (size_t)(open - text);
    const char *at = open + 1;
    event.class = trace_class_of_call(text, length);
    int count = take_arguments(&at, arguments);
    if (!take_result(&event, at))
        return import_malformed(import, text);
    take_meaning(import, pid, text, length, arguments, count, &event);
    event.call = trace_call(import->writer, text, length);
    event.process = import_process(import, pid, TRACE_NONE, "", 0);
    if (event.class == TRACE_OPEN && event.result >= 0) {
        int64_t *known = descriptor(import->state, pid, event.result);
        if (!known)
            return error_memory(err);
        *known = event.file;
    }
    return copy_descriptor(import->state, pid, text, arguments, count, &event, err) &&
           import_event(import, &event, err) &&
           (event.class != TRACE_RENAME || add_new_name(import, arguments, count, event, err));
}

static struct pending *find_pending(struct strace *strace, int64_t pid, bool used)
{
    for (int i = 0; i < PENDING; i++)
        if (strace->pending[i].used == used && (!used || strace->pending[i].pid == pid))
            return &strace->pending[i];
    return NULL;
}

/* "read(3,  <unfinished ...>", later "<... read resumed> "…", 8192) = 8192 <0.1>" */
static bool take_unfinished(struct import *import, int64_t pid, int64_t time_ns, const char *text,
                            const char *mark)
{
    struct pending *pending = find_pending(import->state, pid, false);
    if (!pending)
        return import_malformed(import, "too many calls under way at once");
    *pending = (struct pending){.used = true, .pid = pid, .start_ns = time_ns};
    snprintf(pending->text, sizeof pending->text, "%.*s", (int)(mark - text < 500 ? mark - text : 500), text);
    return true;
}

static bool take_resumed(struct import *import, int64_t pid, const char *text, struct error *err)
{
    struct pending *pending = find_pending(import->state, pid, true);
    const char *rest = strstr(text, "resumed>");
    char *whole;
    if (!pending || !rest)
        return import_malformed(import, text);
    pending->used = false;
    if (asprintf(&whole, "%s%s", pending->text, rest + strlen("resumed>")) < 0)
        return error_memory(err);
    bool done = take_call(import, pid, pending->start_ns, whole, err);
    free(whole);
    return done;
}

static bool take_line(struct import *import, const char *line, struct error *err)
{
    int64_t pid, time_ns;
    const char *at = line;
    if (!*scan_blanks(line) || strncmp(line, "strace: ", 8) == 0)
        return true;
    take_pid(&at, &pid);
    pid = pid == TRACE_NONE ? ((const struct strace *)import->state)->pid : pid;
    if (!take_time(import, &at, &time_ns))
        return import_malformed(import, line);
    import_watch(import, time_ns);
    at = scan_blanks(at);
    if (strncmp(at, "+++", 3) == 0 || strncmp(at, "---", 3) == 0)
        return true; /* exits and signals */
    if (strncmp(at, "<...", 4) == 0)
        return take_resumed(import, pid, at, err);
    const char *mark = strstr(at, "<unfinished ...>");
    return mark ? take_unfinished(import, pid, time_ns, at, mark) : take_call(import, pid, time_ns, at, err);
}

/* "out.1234" and "out.1234.gz", as -ff names files. */
static int64_t pid_of_file(const char *name)
{
    int64_t pid;
    size_t length = strlen(name) - (text_ends_with(name, ".gz") ? 3 : 0);
    const char *digits = name + length;
    while (digits > name && (unsigned)(digits[-1] - '0') < 10)
        digits--;
    const char *at = digits;
    bool found = digits > name && digits[-1] == '.' && scan_digits(&at, &pid) && at == name + length;
    return found && pid > 0 && pid <= MAX_PID ? pid : TRACE_NONE;
}

static bool read_strace(struct import *import, struct error *err)
{
    struct strace *strace = calloc(1, sizeof *strace);
    if (!strace)
        return error_memory(err);
    strace->begin_ns = TRACE_NONE;
    strace->pid = pid_of_file(import->name);
    import->state = strace;
    bool done = import_each_line(import, take_line, err);
    if (strace->since_before)
        import_note(import, "relative times (strace -r): they count from the first line");
    else if (strace->whole && strace->begin_ns == TRACE_NONE)
        import_note(import, "times are whole seconds (strace -t): use -tt or -ttt for microseconds");
    hash_names_release(&strace->descriptors);
    free(strace->files);
    free(strace);
    return done;
}

const struct import_format import_strace = {.words = "strace", .read = read_strace};
