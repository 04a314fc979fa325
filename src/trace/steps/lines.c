/* Logs made of lines: MLPerf's (":::MLLOG {…}") and DLIO's ("[INFO] EVENT NS"). */
#include "core/statistics.h"
#include "core/text.h"
#include "core/vector.h"
#include "names.h"
#include "trace/import/json.h"
#include "trace/import/scan.h"
#include "trace/steps/internal.h"
#include "trace/steps/steps.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The order is that of enum steps_event; other spellings follow. */
static const struct {
    const char *name;
    enum steps_event event;
} known[] = {ROWS_step_event};

const char *const steps_source_words[] = {"nothing", "MLLOG", "DLIO log", "DLIO output",
                                          "TensorFlow profiler"};

/* Returns the known event of this name (or alias), -1 for others; "eval_" is not removed. */
static int steps_known_event(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0)
            return (int)known[i].event;
    return -1;
}

int steps_event_of(struct steps *steps, const char *name, size_t length)
{
    int at = steps_known_event(name, length);
    if (at >= 0)
        return at;
    if (steps->event_count < STEPS_KNOWN)
        steps->event_count = STEPS_KNOWN;
    if (length == 0 || length >= STEPS_NAME)
        return STEPS_MAX_EVENTS;
    for (at = STEPS_KNOWN; at < steps->event_count; at++)
        if (strncmp(steps->events[at], name, length) == 0 && steps->events[at][length] == '\0')
            return at;
    if (at == STEPS_MAX_EVENTS)
        return STEPS_MAX_EVENTS;
    for (size_t i = 0; i < length; i++)
        steps->events[at][i] = (unsigned char)name[i] < ' ' || name[i] == '\x7f' ? '?' : name[i];
    steps->events[at][length] = '\0';
    steps->event_count++;
    return at;
}

int steps_event_find(const struct steps *steps, const char *name)
{
    int at = steps_known_event(name, strlen(name));
    for (int i = STEPS_KNOWN; at < 0 && i < steps->event_count; i++)
        if (strcmp(steps->events[i], name) == 0)
            at = i;
    return at;
}

bool steps_malformed(struct steps_file *file, const char *what)
{
    file->steps->malformed++;
    import_places_add(&file->steps->places, file->path, file->line, what);
    return true;
}

/* ---- from a file into the pools ---- */

static bool add_entry(struct steps_file *file, int event, double seconds, struct error *err)
{
    if (file->count >= STEPS_MAX_VALUES)
        return error_set(err, ERROR_INPUT, "'%s': more than %zu durations in one file", file->path,
                         STEPS_MAX_VALUES);
    return VECTOR_ADD(file->entries, file->count, file->capacity,
                      (struct steps_entry){(int16_t)event, seconds}) ||
           error_memory(err);
}

bool steps_add(struct steps_file *file, enum steps_source source, int event, double seconds,
               struct error *err)
{
    if (event < 0 || event >= STEPS_MAX_EVENTS)
        return steps_malformed(file, "too many events of different names, or a name that is too long");
    if (file->source == STEPS_NOTHING)
        file->source = source;
    if (file->source != source)
        return steps_malformed(file, "lines of another log format than those before");
    file->durations++;
    if (file->skipping) {
        file->steps->skipped++;
        return true;
    }
    return add_entry(file, event, seconds, err);
}

/* The study means to skip UNET3D's first epoch in DLIO's logs, too, but compares capitals with small
 * letters. */
bool steps_begin_epoch(struct steps_file *file, enum steps_source source, int64_t number, struct error *err)
{
    file->epochs++;
    file->skipping = (number > 0 ? number : file->epochs) <= file->skip_epochs &&
                     !(file->options->as_study && source != STEPS_MLLOG);
    return add_entry(file, STEPS_EPOCH_BEGINS, 0, err);
}

bool steps_begin_block(struct steps_file *file, struct error *err)
{
    return add_entry(file, STEPS_BLOCK_BEGINS, 0, err);
}

static bool push(struct steps *steps, struct steps_values *values, double seconds, struct error *err)
{
    if (steps->value_count == STEPS_MAX_VALUES)
        return error_set(err, ERROR_INPUT, "more than %zu durations in all: give fewer folders",
                         STEPS_MAX_VALUES);
    if (!VECTOR_ADD(values->items, values->count, values->capacity, seconds))
        return error_memory(err);
    steps->value_count++;
    return true;
}

static bool is_eval(const struct steps *steps, int event)
{
    return event >= STEPS_KNOWN && strncmp(steps->events[event], "eval_", 5) == 0;
}

/* The events of a first step: its end if the log has ends, else every event of the log once. The study
 * waits for fixed events, in DLIO's logs for any three. */
struct first_step {
    uint32_t wanted; /* known events that are waited for */
    int distinct;    /* so many different ones are enough; 0: all */
    bool blocks;     /* blocks have one too, not only epochs */
};

static struct first_step first_step_of(const struct steps_file *file)
{
    struct first_step first = {.blocks = true};
    for (size_t i = 0; i < file->count; i++)
        if (file->entries[i].event >= 0 && file->entries[i].event < STEPS_KNOWN)
            first.wanted |= 1u << file->entries[i].event;
    if (file->source == STEPS_PROFILER)
        first.wanted = 0;
    else if (file->options->as_study && file->source == STEPS_DLIO)
        first = (struct first_step){first.wanted, 3, false};
    else if (file->options->as_study && file->source == STEPS_MLLOG)
        first.wanted =
            1u << STEPS_STEP | 1u << STEPS_LOAD | 1u << STEPS_COMPUTE |
            (strcasecmp(file->workload, "DLRM") == 0 ? 1u << STEPS_BATCH_LOAD | 1u << STEPS_BATCH_PREPARE
                                                     : 1u << STEPS_SAMPLE_LOAD | 1u << STEPS_SAMPLE_PREPARE);
    else if (first.wanted & 1u << STEPS_STEP)
        first.wanted = 1u << STEPS_STEP;
    return first;
}

/* The scripts of the study round MLLOG's durations to microseconds. */
static double as_kept(const struct steps_file *file, double seconds)
{
    char text[64], *end;
    if (!file->options->as_study || file->source != STEPS_MLLOG)
        return seconds;
    snprintf(text, sizeof text, "%.6f", seconds);
    return text_number(text, &end);
}

static bool keep(struct steps_file *file, struct steps_group *group, struct error *err)
{
    struct steps *steps = file->steps;
    struct first_step first = first_step_of(file);
    uint32_t seen = 0;
    for (size_t i = 0; i < file->count; i++) {
        const struct steps_entry *entry = &file->entries[i];
        bool complete = (seen & first.wanted) == first.wanted ||
                        (first.distinct > 0 && __builtin_popcount(seen) >= first.distinct);
        if (entry->event < 0) {
            seen = entry->event == STEPS_EPOCH_BEGINS || first.blocks ? 0 : seen;
        } else if (!complete && !is_eval(steps, entry->event)) {
            steps->first_steps++;
            seen |= entry->event < STEPS_KNOWN ? 1u << entry->event : 0;
        } else {
            double seconds = as_kept(file, entry->seconds);
            if (seconds == 0 && file->source != STEPS_DLIO_OUTPUT) /* there it is a step that did not wait */
                steps->zeros++;
            else if (!push(steps, &group->events[entry->event], seconds, err))
                return false;
        }
    }
    return true;
}

static struct steps_group *group_of(struct steps *steps, int64_t gpus, int64_t batch, struct error *err)
{
    for (size_t i = 0; i < steps->group_count; i++)
        if (steps->groups[i].gpus == gpus && steps->groups[i].batch == batch)
            return &steps->groups[i];
    if (steps->group_count == STEPS_MAX_GROUPS)
        return error_null(err, ERROR_INPUT, "more than %d configurations", STEPS_MAX_GROUPS);
    struct steps_group group = {.gpus = gpus, .batch = batch};
    if (!VECTOR_ADD(steps->groups, steps->group_count, steps->group_capacity, group))
        return error_memory_null(err);
    return &steps->groups[steps->group_count - 1];
}

/* Options go before names, and names before the log: DLIO runs DLRM with one rank for many GPUs. */
static bool configure(struct steps_file *file, int64_t *gpus, int64_t *batch, struct error *err)
{
    char workload[STEPS_NAME];
    const struct steps_options *options = file->options;
    steps_path_configuration(file->path, gpus, batch, workload);
    *gpus = options->gpus ? options->gpus : *gpus ? *gpus : file->gpus;
    *batch = options->batch ? options->batch : *batch ? *batch : file->batch;
    if (*batch == 0 && *gpus > 0 && file->global_batch % *gpus == 0)
        *batch = file->global_batch / *gpus;
    return (*gpus != 0 && *batch != 0) ||
           error_set(err, ERROR_INPUT, "'%s': its name lacks the %s (UNET3D_8g_4b): give --gpus and --batch",
                     file->path, *gpus == 0 ? "number of GPUs" : "batch");
}

/* Checks that files have one workload and one kind of log: real and emulated steps must not be mixed
 * unnoticed. */
static bool agree(struct steps_file *file, struct error *err)
{
    struct steps *steps = file->steps;
    if (steps->files == 0) {
        steps->source = file->source;
        snprintf(steps->workload, sizeof steps->workload, "%s", file->workload);
    }
    if (steps->source != file->source)
        return error_set(
            err, ERROR_INPUT,
            "'%s' is of format %s, but the files before it are of format %s: give one format at a time",
            file->path, steps_source_words[file->source], steps_source_words[steps->source]);
    return strcmp(steps->workload, file->workload) == 0 ||
           error_set(err, ERROR_INPUT,
                     "'%s' is of %s, but the files before it are of %s: give one workload at a time",
                     file->path, *file->workload ? file->workload : "an unnamed workload",
                     *steps->workload ? steps->workload : "an unnamed one");
}

void steps_file_begin(struct steps_file *file)
{
    int64_t gpus, batch;
    steps_path_configuration(file->path, &gpus, &batch, file->workload);
    file->steps->as_study = file->options->as_study;
    if (file->options->workload)
        snprintf(file->workload, sizeof file->workload, "%s", file->options->workload);
    file->skip_epochs = file->options->skip_epochs >= 0             ? file->options->skip_epochs
                        : strcasecmp(file->workload, "UNET3D") == 0 ? 1
                                                                    : 0;
    if (file->steps->event_count < STEPS_KNOWN)
        file->steps->event_count = STEPS_KNOWN;
    for (int i = 0; i < STEPS_KNOWN; i++)
        snprintf(file->steps->events[i], STEPS_NAME, "%s", known[i].name);
}

bool steps_file_end(struct steps_file *file, struct error *err)
{
    int64_t gpus, batch;
    if (file->durations == 0)
        return true; /* a log of something else */
    if (!agree(file, err) || !configure(file, &gpus, &batch, err))
        return false;
    struct steps_group *group = group_of(file->steps, gpus, batch, err);
    if (!group || !keep(file, group, err))
        return false;
    group->files++;
    file->steps->files++;
    return true;
}

/* ---- the end ---- */

static int compare_groups(const void *a, const void *b)
{
    const struct steps_group *x = a, *y = b;
    if (x->gpus != y->gpus)
        return (x->gpus > y->gpus) - (x->gpus < y->gpus);
    return (x->batch > y->batch) - (x->batch < y->batch);
}

bool steps_finish(struct steps *steps, struct error *err)
{
    if (steps->files == 0)
        return error_set(err, ERROR_INPUT, "no times of steps were found");
    if (steps->value_count == 0)
        return error_set(err, ERROR_INPUT,
                         "no durations are left: %lld are of first steps, %lld of skipped epochs "
                         "(--skip-epochs), %lld are 0",
                         (long long)steps->first_steps, (long long)steps->skipped, (long long)steps->zeros);
    for (size_t i = 0; i < steps->group_count; i++)
        for (int j = 0; j < steps->event_count; j++)
            if (steps->groups[i].events[j].count > 1)
                qsort(steps->groups[i].events[j].items, steps->groups[i].events[j].count, sizeof(double),
                      order_doubles);
    qsort(steps->groups, steps->group_count, sizeof *steps->groups, compare_groups);
    return true;
}

void steps_release(struct steps *steps)
{
    for (size_t i = 0; i < steps->group_count; i++)
        for (int j = 0; j < STEPS_MAX_EVENTS; j++)
            free(steps->groups[i].events[j].items);
    free(steps->groups);
    *steps = (struct steps){0};
}

#define MAX_NS 1e18 /* 31 years */

/* "[3] ", "3: ", "[1,3]<stdout>: ", "rank 3: ": the rank that a line is of, -1 where it does not say. */
static int64_t rank_of(const char *line, const char *end)
{
    int64_t rank = -1;
    const char *at = line;
    while (at < end && (*at == ' ' || *at == '[' || *at == '('))
        at++;
    if (strncasecmp(at, "rank", 4) == 0)
        at += 4 + (at[4] == ' ' || at[4] == '=' || at[4] == '_');
    if (!scan_digits(&at, &rank) || at > end)
        return -1;
    if (*at == ',') {
        at++;
        if (!scan_digits(&at, &rank) || at > end)
            return -1;
    }
    bool ends = *at == ']' || *at == ')' || (*at == ':' && !isdigit((unsigned char)at[1]));
    return ends ? rank : -1;
}

static bool take_whole(const struct import_member *member, int64_t *value)
{
    const char *at = member && !member->string ? member->value : "";
    return isdigit((unsigned char)*at) && scan_digits(&at, value) && *value >= 0;
}

/* Begins an epoch if a log without epoch_start gives its number in every line. */
static bool follow_epoch(struct steps_file *file, int64_t number, struct error *err)
{
    if (file->number < 0 || number == 0 || number == file->number)
        return true;
    file->number = number;
    return steps_begin_epoch(file, STEPS_MLLOG, number, err);
}

/* {"time_ms": …, "key": "step_end", "value": {"start": T, "duration": NS}, "metadata": {…}} */
bool steps_take_mllog(struct steps_file *file, char *text, bool *taken, struct error *err)
{
    struct import_object object;
    char shown[STEPS_SHOWN];
    snprintf(shown, sizeof shown, "%s", text);
    bool parsed = import_object_parse(&object, text, err);
    const struct import_member *key = parsed ? import_object_find(&object, NULL, "key") : NULL;
    *taken = key && key->string;
    if (!*taken)
        return parsed || !error_is_memory(err);
    const struct import_member *duration = import_object_find(&object, "value", "duration");
    int64_t number = 0;
    take_whole(import_object_find(&object, "metadata", "epoch_num"), &number);
    if (duration) {
        char *end;
        double ns = text_number(duration->value, &end);
        if (duration->string || end == duration->value || !(ns >= 0 && ns <= MAX_NS))
            return steps_malformed(file, shown);
        int event = steps_event_of(file->steps, key->value, strlen(key->value));
        return follow_epoch(file, number, err) && steps_add(file, STEPS_MLLOG, event, ns / 1e9, err);
    }
    if (strcmp(key->value, "epoch_start") == 0) {
        file->number = -1;
        return steps_begin_epoch(file, STEPS_MLLOG, number, err);
    }
    if (strcmp(key->value, "training_start") == 0 || strcmp(key->value, "block_start") == 0)
        return steps_begin_block(file, err);
    if (strcmp(key->value, "global_batch_size") == 0 &&
        take_whole(import_object_find(&object, NULL, "value"), &number))
        file->global_batch = number;
    return true;
}

/* "… = 1 * 32 / 4 / 2 (samples per file * num files / batch size / comm size)" */
static void take_configuration(struct steps_file *file, const char *text)
{
    const char *where = strstr(text, " (samples per file * num files / batch size / comm size)");
    const char *at = where ? memchr(text, '/', (size_t)(where - text)) : NULL;
    int64_t batch, gpus;
    if (!at || at[1] != ' ')
        return;
    at += 2;
    if (!scan_digits(&at, &batch) || strncmp(at, " / ", 3) != 0)
        return;
    at += 3;
    if (scan_digits(&at, &gpus) && at == where && batch > 0 && gpus > 0) {
        file->batch = batch;
        file->gpus = gpus;
    }
}

/* Skips a date and a time, "2026-11-21T02:42:36.389319" or with a blank between, or a log's "," before
 * milliseconds. */
static const char *skip_time(const char *text)
{
    const char *at = text;
    int64_t days, clock;
    if (!scan_date(&at, &days) || (*at != 'T' && *at != ' '))
        return text;
    at++;
    if (!scan_clock(&at, &clock))
        return text;
    if (*at == '.' || *at == ',')
        at += 1 + strspn(at + 1, "0123456789");
    return scan_blanks(at);
}

/* "step_end 301234567" */
static bool take_event(struct steps_file *file, const char *line, const char *text, struct error *err)
{
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789");
    bool eval = strncmp(text, "eval_", 5) == 0;
    if (length == 0 || steps_known_event(text + (eval ? 5 : 0), length - (eval ? 5 : 0)) < 0)
        return true;
    const char *at = text + length + (text[length] == ':');
    int64_t ns;
    if (*at != ' ' && *at != '\t')
        return true; /* a word that happens to be an event's name */
    at = scan_blanks(at);
    if (!scan_digits(&at, &ns) || !scan_is_end(at) || ns < 0 || (double)ns > MAX_NS)
        return steps_malformed(file, line);
    return steps_add(file, STEPS_DLIO, steps_event_of(file->steps, text, length), (double)ns / 1e9, err);
}

static bool take_dlio(struct steps_file *file, const char *line, const char *text, struct error *err)
{
    int64_t number = 0;
    if (strncmp(text, "Starting epoch ", 15) == 0) {
        const char *at = text + 15;
        return steps_begin_epoch(file, STEPS_DLIO, scan_digits(&at, &number) && number > 0 ? number : 0, err);
    }
    if (strncmp(text, "Starting block ", 15) == 0)
        return steps_begin_block(file, err);
    if (strstr(text, "teps per epoch"))
        take_configuration(file, text);
    return take_event(file, line, text, err);
}

static bool take_line(struct steps_file *file, const char *line, struct error *err)
{
    static const char *const levels[] = {"[INFO] ", "[OUTPUT] ", "[DEBUG] "};
    const char *mark = strstr(line, ":::MLLOG"), *text = NULL;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && !mark; i++) {
        mark = strstr(line, levels[i]);
        text = mark ? skip_time(scan_blanks(mark + strlen(levels[i]))) : NULL;
    }
    if (!mark)
        return true; /* text of other programs */
    if (mark > line && rank_of(line, mark) > 0) {
        file->steps->other_ranks++;
        return true;
    }
    if (text)
        return take_dlio(file, line, text, err);
    char shown[STEPS_SHOWN], *object = strchr(mark, '{');
    bool taken = false;
    snprintf(shown, sizeof shown, "%s", line);
    if (object && !steps_take_mllog(file, object, &taken, err))
        return false;
    return taken || steps_malformed(file, shown);
}

bool steps_read_lines(struct steps_file *file, struct import_lines *lines, struct error *err)
{
    for (;;) {
        const char *line, *end;
        enum import_line_kind kind = import_lines_next(lines, &line, &end, err);
        file->line = lines->line;
        if (kind == IMPORT_LINE_ERROR)
            return false;
        if (kind == IMPORT_LINE_END)
            return true;
        if (kind == IMPORT_LINE_TOO_LONG && file->durations > 0)
            steps_malformed(file, "a line that is too long");
        else if (kind == IMPORT_LINE && !take_line(file, line, err))
            return false;
    }
}
