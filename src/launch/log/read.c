/* Reads a log, line by line. */
#include "launch/log/log.h"

#include "core/file.h"
#include "launch/log/line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What is counted while lines pass: a log that says the time in several ways is read by the best of them. */
struct state {
    struct run_log *log;
    struct log_job job;
    int rank;
};

/* A better way to say the time, or another run in the same file. */
static void begin(struct state *state, const struct log_found *found)
{
    struct run_log *log = state->log;
    log->count = log->repeats = log->skipped = 0;
    log->software = found->software;
    log->measure = found->measure;
    state->rank = found->rank;
}

static bool add(struct state *state, const struct log_line *line, const struct log_found *found,
                struct error *err)
{
    struct run_log *log = state->log;
    if (found->rank < state->rank)
        return true;
    if (found->rank > state->rank)
        begin(state, found);
    if (found->skipped) {
        log->skipped++;
        return true;
    }
    if (!(found->value > 1e-9 && found->value < 1e12))
        return error_set(err, ERROR_INPUT,
                         "%s:%d: the time of an iteration is not a positive number: '%.60s'", log->path,
                         line->number, line->text + strspn(line->text, " "));
    if (log->count > 0 && found->number > 0 && log->steps[log->count - 1].number == found->number) {
        log->repeats++;
        return true;
    }
    if (log->count == RUN_LOG_MAX_STEPS)
        return error_set(err, ERROR_INPUT, "%s:%d: more than %d iterations", log->path, line->number,
                         RUN_LOG_MAX_STEPS);
    if (log->count == log->room) {
        int room = log->room > 0 ? 2 * log->room : 256;
        struct run_step *steps = ARENA_ARRAY(&log->arena, (size_t)room, struct run_step);
        if (!steps)
            return error_memory(err);
        if (log->count > 0)
            memcpy(steps, log->steps, (size_t)log->count * sizeof *steps);
        log->steps = steps;
        log->room = room;
    }
    log->steps[log->count++] = (struct run_step){line->number, found->number, found->batch, found->value};
    return true;
}

/* The mean since the start of the run (SamplesPerSec) is made the rate between two lines. */
static void take_means_apart(struct run_log *log)
{
    double before = 0.0, number = 0.0;
    int kept = 0;
    for (int i = 0; i < log->count; i++) {
        struct run_step step = log->steps[i];
        double steps = (double)step.number, until = steps / step.value, passed = until - before;
        bool grows = steps > number && passed > 0.0;
        double rate = grows ? (steps - number) / passed : 0.0;
        before = until;
        number = steps;
        if (!grows || i == 0) /* the first lines hold the warm-up */
            continue;
        step.value = rate;
        log->steps[kept++] = step;
    }
    if (kept > 0)
        log->count = kept;
}

/* ---- devices ---- */

static void set_devices(struct run_log *log, const struct log_line *line, double devices)
{
    if (log->devices > 0 || !(devices >= 1 && devices <= 1e7) || devices != floor(devices))
        return;
    log->devices = (int64_t)devices;
    log->devices_line = line->number;
}

/* "pp=1, dp_replicate=1, dp_shard=8, cp=1, tp=2, ep=1, etp=1": those of experts are made of the others. */
static double product_of_degrees(const char *text)
{
    static const char *const names[] = {" pp=", " dp_replicate=", " dp_shard=", " cp=", " tp="};
    double product = 1.0, value;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *at = log_behind(text, names[i]);
        if (at && log_number(at, &value))
            product *= value;
    }
    return product;
}

/* "Building 2-D device mesh with ['dp_shard', 'tp'], [4, 2]" */
static double product_of_list(const char *text)
{
    const char *at = strrchr(text, '[');
    double product = 1.0, value;
    while (at && log_number(at + 1, &value)) {
        product *= value;
        at = strchr(at + 1, ',');
    }
    return product;
}

static bool find_machine(struct run_log *log, const struct log_line *line, struct error *err)
{
    const char *at;
    double value;
    if (((at = log_behind(line->text, "using world size:")) && log_number(at, &value)) ||
        ((at = log_behind(line->text, "world_size .")) && log_number(at + strspn(at, "."), &value)))
        set_devices(log, line, value);
    else if ((at = log_behind(line->text, "device mesh with parallelism:")))
        set_devices(log, line, product_of_degrees(at));
    else if ((at = log_behind(line->text, "D device mesh with [")))
        set_devices(log, line, product_of_list(at));
    else if (!log->gpu && (at = log_behind(line->text, "CUDA capacity: "))) {
        const char *end = strstr(at, " with ");
        log->gpu = arena_format(&log->arena, "%.*s", end && end - at < 100 ? (int)(end - at) : 100, at);
        return log->gpu || error_memory(err);
    }
    return true;
}

/* ---- the log ---- */

static bool read_lines(struct state *state, const char *data, size_t length, struct error *err)
{
    struct run_log *log = state->log;
    struct log_line *line = malloc(sizeof *line);
    struct log_found found;
    const char *at = data, *end = data + length;
    bool ok = line != NULL || error_memory(err);
    if (line)
        line->number = 0;
    while (ok && log_line_next(line, &at, end)) {
        if (log_find_step(line->text, &found))
            ok = add(state, line, &found, err);
        else if (!log_job_take(&state->job, line))
            ok = error_memory(err);
        ok = ok && find_machine(log, line, err);
    }
    free(line);
    return ok;
}

bool run_log_parse(struct run_log *log, const char *path, const char *data, size_t length, struct error *err)
{
    *log = (struct run_log){.path = path};
    struct state state = {.log = log, .job = {.log = log}};
    bool ok = length <= RUN_LOG_MAX_BYTES ||
              error_set(err, ERROR_INPUT, "%s: more than %zu bytes", path, RUN_LOG_MAX_BYTES);
    ok = ok && read_lines(&state, data, length, err);
    if (ok && log->count == 0 && log->skipped == 0)
        ok = error_set(err, ERROR_INPUT,
                       "%s: no iteration with its time, as Megatron-LM, torchtitan and DeepSpeed write them",
                       path);
    if (ok && state.rank == 2)
        take_means_apart(log);
    if (ok && state.job.is_whole) {
        log->job = arena_string(&log->arena, state.job.text.data);
        log->job_length = state.job.text.length;
        log->job_syntax = state.job.syntax;
        ok = log->job || error_memory(err);
    }
    text_release(&state.job.text);
    if (!ok)
        run_log_release(log);
    return ok;
}

bool run_log_load(struct run_log *log, const char *path, struct error *err)
{
    char *data;
    size_t length;
    *log = (struct run_log){0};
    if (!file_read(path, RUN_LOG_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = run_log_parse(log, path, data, length, err);
    free(data);
    return ok;
}

void run_log_release(struct run_log *log)
{
    arena_release(&log->arena);
    *log = (struct run_log){0};
}
