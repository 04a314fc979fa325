/* Answers of a sweep that has not ended: a first line that identifies the sweep, then a line for each answered point.
 *
 *     rehearse sweep, answers 1 VERSION fnv1a:0123456789abcdef
 *     17 found 0x1.8p+3 - "tp 2 pp 4"
 *     18 none "no split fits into memory"
 *
 * Numbers are hexadecimal, so that they come back to the bit. A line without its end was being written when the program was
 * killed: it is dropped, with all that follow. */
#include "api/sweep/inner.h"
#include "core/caller.h"
#include "plan/plan_digest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define LOG_FORMAT "rehearse sweep, answers 1"

static void head_line(const struct sweep *sweep, char *line, size_t size)
{
    char buffer[24];
    uint64_t digest = plan_digest_text(PLAN_DIGEST_BEGIN, sweep->inputs);
    for (int i = 0; i < sweep->axis_count; i++) {
        digest = plan_digest_text(digest, sweep->axes[i].key);
        for (int j = 0; j < sweep->axes[i].count; j++)
            digest = plan_digest_text(digest, sweep_value(&sweep->axes[i], j, buffer));
    }
    for (int i = 0; i < sweep->column_count; i++)
        digest = plan_digest_text(digest, sweep->columns[i].key);
    snprintf(line, size, "%s %s fnv1a:%016llx\n", LOG_FORMAT, REHEARSE_VERSION, (unsigned long long)digest);
}

static void write_text(FILE *out, const char *text)
{
    fputs(" \"", out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        fputc(*text == '\n' ? ' ' : *text, out);
    }
    fputc('"', out);
}

/* Reads a text in quotes. Returns the place after it; NULL: there is none. */
static const char *read_text(const char *at, struct text *text)
{
    if (strncmp(at, " \"", 2) != 0)
        return NULL;
    for (at += 2; *at != '"'; at++) {
        at += *at == '\\';
        if (*at == '\0')
            return NULL;
        text_add_bytes(text, at, 1);
    }
    return text->failed ? NULL : at + 1;
}

static const char *read_cell(const struct sweep_column *column, const char *at, struct sweep_cell *cell)
{
    if (column->kind == SWEEP_TEXT)
        return read_text(at, &cell->more);
    char *end = NULL;
    cell->number = strtod(at, &end);
    return *at == ' ' && end > at + 1 ? end : NULL;
}

static bool read_cells(const struct sweep *sweep, const char *at, struct sweep_cell *cells)
{
    for (int i = 0; at && i < sweep->column_count; i++)
        at = read_cell(&sweep->columns[i], at, &cells[i]);
    return at && strcmp(at, "\n") == 0;
}

static bool take_found(struct sweep_answers *answers, int64_t point, const char *at)
{
    struct sweep_cell cells[SWEEP_MAX_COLUMNS] = {{.number = NAN}};
    int count = answers->sweep->column_count;
    if (read_cells(answers->sweep, at, cells)) {
        memcpy(sweep_cells(answers, point), cells, (size_t)count * sizeof *cells);
        answers->states[point] = SWEEP_FOUND;
        return true;
    }
    for (int i = 0; i < count; i++)
        text_release(&cells[i].more);
    return false;
}

static bool take_none(struct sweep_answers *answers, int64_t point, const char *at)
{
    struct text reason = {0};
    const char *end = read_text(at, &reason);
    bool whole = end && strcmp(end, "\n") == 0;
    if (whole) {
        answers->reasons[point] = arena_copy(&answers->arena, reason.data ? reason.data : "", reason.length);
        answers->states[point] = SWEEP_NONE;
    }
    text_release(&reason);
    return whole;
}

/* Takes one line over. False: it is not whole. */
static bool take(struct sweep_answers *answers, const char *line)
{
    char *at = NULL;
    long long point = strtoll(line, &at, 10);
    bool fits = at > line && point >= 0 && point < answers->count && answers->states[point] == SWEEP_OPEN;
    bool taken = fits && (text_starts_with(at, " found")
                              ? take_found(answers, point, at + 6)
                              : text_starts_with(at, " none") && take_none(answers, point, at + 5));
    answers->kept += taken;
    return taken;
}

/* Returns the number of bytes that hold good. */
static long take_all(struct sweep_answers *answers, const char *head)
{
    char *line = NULL;
    size_t room = 0;
    long good = 0;
    if (getline(&line, &room, answers->log) > 0 && strcmp(line, head) == 0)
        do
            good = ftell(answers->log);
        while (getline(&line, &room, answers->log) > 0 && take(answers, line));
    free(line);
    return good;
}

static bool cannot(const struct sweep_answers *answers, const char *what, struct error *err)
{
    return error_set(err, ERROR_FAILED, "%s: %s: %s", answers->log_path, what, strerror(errno));
}

/* The kernel takes a moment to release the lock of a program that was killed. */
static bool lock(FILE *log)
{
    const struct timespec moment = {.tv_nsec = 20000000};
    for (int i = 0; i < 50; i++) {
        if (flock(fileno(log), LOCK_EX | LOCK_NB) == 0)
            return true;
        nanosleep(&moment, NULL);
    }
    return false;
}

bool sweep_log_open(struct sweep_answers *answers, const char *path, struct error *err)
{
    char head[256];
    size_t size = strlen(path) + sizeof ".sweep";
    answers->log_path = malloc(size);
    if (!answers->log_path)
        return error_memory(err);
    snprintf(answers->log_path, size, "%s.sweep", path);
    answers->log = fopen(answers->log_path, "a+e");
    if (!answers->log)
        return cannot(answers, "cannot write", err);
    if (!lock(answers->log)) {
        fclose(answers->log);
        answers->log = NULL;
        return error_set(err, ERROR_FAILED, "%s: another sweep is writing this file", answers->log_path);
    }
    rewind(answers->log);
    head_line(answers->sweep, head, sizeof head);
    long good = take_all(answers, head);
    if (good == 0 && fseek(answers->log, 0, SEEK_END) == 0 && ftell(answers->log) > 0)
        caller_warn("%s: results of another sweep are discarded", answers->log_path);
    if (ftruncate(fileno(answers->log), good) != 0)
        return cannot(answers, "cannot write", err);
    clearerr(answers->log);
    fseek(answers->log, 0, SEEK_END);
    if (good == 0)
        fputs(head, answers->log);
    return true;
}

void sweep_log_add(struct sweep_answers *answers, int64_t point)
{
    const struct sweep *sweep = answers->sweep;
    if (!answers->log || answers->states[point] == SWEEP_OPEN)
        return;
    if (answers->states[point] == SWEEP_NONE) {
        fprintf(answers->log, "%lld none", (long long)point);
        write_text(answers->log, answers->reasons[point] ? answers->reasons[point] : "");
    } else {
        const struct sweep_cell *cells = sweep_cells(answers, point);
        fprintf(answers->log, "%lld found", (long long)point);
        for (int i = 0; i < sweep->column_count; i++)
            if (sweep->columns[i].kind == SWEEP_TEXT)
                write_text(answers->log, sweep_text(&cells[i]));
            else
                fprintf(answers->log, " %a", cells[i].number);
    }
    fputc('\n', answers->log);
    fflush(answers->log);
}

void sweep_log_close(struct sweep_answers *answers, bool done)
{
    if (answers->log) {
        if (done || answers->failed >= 0)
            unlink(answers->log_path);
        fclose(answers->log);
    }
    free(answers->log_path);
}
