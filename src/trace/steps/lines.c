/* Logs made of lines: MLPerf's (":::MLLOG {…}") and DLIO's ("[INFO] EVENT NS"). */
#include "core/text.h"
#include "trace/import/json.h"
#include "trace/import/scan.h"
#include "trace/steps/internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

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
    bool parsed = import_object_parse(&object, text);
    const struct import_member *key = parsed ? import_object_find(&object, NULL, "key") : NULL;
    *taken = key && key->string;
    if (!*taken)
        return true;
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
