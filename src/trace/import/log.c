/* Logs of applications, which tell the phases of a run: MLPerf's (MLLOG) and DLIO's; and `docker top`. */
#include "core/text.h"
#include "trace/import/internal.h"
#include "trace/import/scan.h"

#include <math.h>
#include <string.h>

enum { INIT, TRAINING, EVAL, CHECKPOINT, PHASES };
static const char *const phase_names[PHASES] = {"INIT", "TRAINING", "EVAL", "CHECKPOINT"};

struct phases {
    bool open[PHASES];
    int64_t start_ns[PHASES];
    bool any;         /* a line with a time was seen */
    bool ended;       /* a phase has ended, so INIT is known */
    int64_t first_ns; /* of the log */
};

static bool add_phase(struct import *import, int which, int64_t start_ns, int64_t end_ns, struct error *err)
{
    const struct trace_phase phase = {phase_names[which], start_ns, end_ns, import->format->phases};
    if (end_ns < start_ns)
        return import_malformed(import, "a phase ends before it starts");
    return import_phase(import, &phase, err);
}

/* Begins a phase. An open one continues: epochs hold blocks, and both are TRAINING. */
static void phase_starts(struct phases *phases, int which, int64_t time_ns)
{
    if (!phases->open[which])
        phases->start_ns[which] = time_ns;
    phases->open[which] = true;
}

static bool phase_ends(struct import *import, int which, int64_t time_ns, struct error *err)
{
    struct phases *phases = import->state;
    if (!phases->open[which])
        return true; /* the epoch around a block that has ended */
    phases->open[which] = false;
    return add_phase(import, which, phases->start_ns[which], time_ns, err);
}

/* "[OUTPUT] 2026-11-21T02:42:36.904443 Starting epoch 1: …", UTC. The time before the first phase is INIT. */
static bool take_dlio(struct import *import, const char *line, struct error *err)
{
    static const struct {
        const char *words;
        int which;
        bool ends;
    } events[] = {{"Starting epoch", TRAINING, false},
                  {"Starting block", TRAINING, false},
                  {"Ending block", TRAINING, true},
                  {"Ending epoch", TRAINING, true},
                  {"Starting eval", EVAL, false},
                  {"Ending eval", EVAL, true},
                  {"Starting checkpoint", CHECKPOINT, false},
                  {"Starting saving checkpoint", CHECKPOINT, false},
                  {"Ending checkpoint", CHECKPOINT, true},
                  {"Finished saving checkpoint", CHECKPOINT, true}};
    struct phases *phases = import->state;
    int64_t days, clock;
    const char *at = strchr(line, ']');
    if (*line != '[' || !at || at[1] != ' ')
        return true; /* text of other programs */
    at += 2;
    if (!scan_date(&at, &days) || !scan_char(&at, 'T') || !scan_clock(&at, &clock))
        return true;
    int64_t time_ns = (days * DAY_S + clock) * SECOND_NS + scan_fraction(&at);
    if (!scan_is_end(at))
        return true;
    import_watch(import, time_ns);
    if (!phases->any)
        phases->first_ns = time_ns;
    phases->any = true;
    at = scan_blanks(at);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (!text_starts_with(at, events[i].words))
            continue;
        int which = events[i].which;
        if (!events[i].ends) {
            phase_starts(phases, which, time_ns);
            return true;
        }
        if (!phases->ended && phases->open[which] &&
            !add_phase(import, INIT, phases->first_ns, phases->start_ns[which], err))
            return false;
        phases->ended = true;
        return phase_ends(import, which, time_ns, err);
    }
    return true;
}

const struct import_format import_dlio = {
    .words = "log of DLIO", .take = take_dlio, .state_bytes = sizeof(struct phases), .phases = "dlio"};

/* Returns the beginning of the value of "key" in one line of JSON. */
static const char *find_key(const char *line, const char *key)
{
    size_t length = strlen(key);
    for (const char *p = strchr(line, '"'); p; p = strchr(p + 1, '"'))
        if (strncmp(p + 1, key, length) == 0 && p[1 + length] == '"') {
            const char *at = scan_blanks(p + length + 2);
            if (*at == ':')
                return scan_blanks(at + 1);
        }
    return NULL;
}

/* "0: :::MLLOG {"time_ms": 1669000000000, "key": "epoch_start", …}": of rank 0 where ranks are told. */
static bool take_mllog(struct import *import, const char *line, struct error *err)
{
    static const struct {
        const char *name;
        int which;
    } events[] = {{"init", INIT},    {"epoch", TRAINING}, {"training", TRAINING},    {"block", TRAINING},
                  {"run", TRAINING}, {"eval", EVAL},      {"checkpoint", CHECKPOINT}};
    struct phases *phases = import->state;
    const char *json = strstr(line, ":::MLLOG {");
    char *stop;
    if (!json)
        return true;
    int64_t rank;
    const char *at = line + strspn(line, " [");
    if (at < json && scan_digits(&at, &rank) && (*at == ']' || *at == ':') && rank != 0)
        return true;
    const char *time = find_key(json, "time_ms"), *key = find_key(json, "key");
    double ms = time ? text_number(time, &stop) : NAN;
    if (!key || *key != '"' || !(ms >= 0 && ms < 9e12) || stop == time || !strchr(", }", *stop))
        return import_malformed(import, line);
    int64_t time_ns = (int64_t)ms * 1000000 + (int64_t)((ms - floor(ms)) * 1e6);
    import_watch(import, time_ns);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        size_t n = strlen(events[i].name);
        if (strncmp(key + 1, events[i].name, n) != 0)
            continue;
        if (strncmp(key + 1 + n, "_start\"", 7) == 0) {
            phase_starts(phases, events[i].which, time_ns);
            return true;
        }
        if (strncmp(key + 1 + n, "_stop\"", 6) == 0)
            return phase_ends(import, events[i].which, time_ns, err);
    }
    return true;
}

const struct import_format import_mllog = {
    .words = "log of MLPerf", .take = take_mllog, .state_bytes = sizeof(struct phases), .phases = "mllog"};

/* UID PID PPID LWP C NLWP STIME TTY TIME CMD… */
static bool take_pids(struct import *import, const char *line, struct error *err)
{
    int64_t pid, parent, tid;
    const char *at = scan_word(scan_blanks(line));
    if (strncmp(line, "UID ", 4) == 0 || !*scan_blanks(line))
        return true;
    if (!scan_number(&at, &pid) || !scan_number(&at, &parent) || !scan_number(&at, &tid) ||
        !trace_pid_fits(pid) || !trace_pid_fits(parent) || !trace_pid_fits(tid))
        return import_malformed(import, line);
    for (int i = 0; i < 5; i++)
        at = scan_word(scan_blanks(at));
    const char *command = scan_blanks(at), *stop = scan_word(command), *name = stop;
    while (name > command && name[-1] != '/')
        name--;
    int64_t id = import_process(import, pid, tid, name, (size_t)(stop - name));
    import->report->rows++;
    return trace_process_set(import->writer, id, parent, TRACE_NONE, TRACE_NONE, command, err);
}

const struct import_format import_pids = {.words = "processes", .take = take_pids};
