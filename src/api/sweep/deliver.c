#include "api/handle.h"
#include "api/sweep/inner.h"
#include "api/sweep/sweep.h"
#include "core/caller.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/parallel.h"
#include "core/stop.h"
#include "figure/sweep.h"
#include "plan/plan_digest.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define MAX_LINES 12

/* The first axis of several numbers, else of one; -1: all are words. */
static int axis_drawn(const struct sweep *sweep)
{
    int drawn = -1;
    for (int i = sweep->axis_count - 1; i >= 0; i--)
        if (!sweep->axes[i].words && (drawn < 0 || sweep->axes[i].count > 1 || sweep->axes[drawn].count == 1))
            drawn = i;
    return drawn;
}

struct drawing {
    struct arena arena; /* values and titles */
    struct figure_sweep figure;
    struct figure_line lines[MAX_LINES];
};

/* The column's values along an axis, beginning at `point`. */
static bool add_line(const struct sweep_answers *answers, int axis, int64_t point, int column,
                     struct drawing *drawing)
{
    const struct sweep *sweep = answers->sweep;
    int64_t step = 1;
    for (int i = axis + 1; i < sweep->axis_count; i++)
        step *= sweep->axes[i].count;
    int count = sweep->axes[axis].count;
    double *values = ARENA_ARRAY(&drawing->arena, (size_t)count, double);
    if (!values)
        return false;
    for (int i = 0; i < count; i++)
        values[i] = answers->states[point + i * step] == SWEEP_FOUND
                        ? sweep_cells(answers, point + i * step)[column].number
                        : NAN;
    drawing->lines[drawing->figure.line_count++].values = values;
    return true;
}

/* "plan, devices 16" */
static const char *line_title(const struct sweep *sweep, int axis, int64_t point, const char *name,
                              struct arena *arena)
{
    char buffer[24];
    int at[SWEEP_MAX_AXES] = {0};
    struct text text = {0};
    sweep_locate(sweep, point, at);
    text_add(&text, name);
    for (int i = 0; i < sweep->axis_count; i++)
        if (i != axis && sweep->axes[i].count > 1)
            text_format(&text, ", %s %s", sweep->axes[i].title, sweep_value(&sweep->axes[i], at[i], buffer));
    const char *title = text.failed ? NULL : arena_copy(arena, text.data, text.length);
    text_release(&text);
    return title;
}

static bool add_lines(const struct sweep_answers *answers, int axis, struct drawing *drawing)
{
    const struct sweep *sweep = answers->sweep;
    bool several = answers->count > sweep->axes[axis].count, first = true;
    for (int j = 0; j < sweep->column_count; j++) {
        if (!sweep->columns[j].line || (several && !first))
            continue;
        first = false;
        for (int64_t i = 0; i < answers->count && drawing->figure.line_count < MAX_LINES; i++) {
            int at[SWEEP_MAX_AXES] = {0};
            sweep_locate(sweep, i, at);
            if (at[axis] != 0)
                continue;
            int line = drawing->figure.line_count;
            drawing->lines[line].title = line_title(sweep, axis, i, sweep->columns[j].line, &drawing->arena);
            if (!drawing->lines[line].title || !add_line(answers, axis, i, j, drawing))
                return false;
        }
    }
    return true;
}

static bool sweep_draw(const struct sweep_answers *answers, const char *path, struct error *err)
{
    int axis = axis_drawn(answers->sweep);
    if (axis < 0)
        return error_set(err, ERROR_USAGE,
                         "--figure: the sweep varies no number that it could be drawn against");
    const struct sweep_axis *along = &answers->sweep->axes[axis];
    struct drawing drawing = {.figure = {.title = answers->sweep->title,
                                         .x_title = along->title,
                                         .y_title = answers->sweep->drawn,
                                         .point_count = along->count,
                                         .scaling = along->scaling}};
    double *x = ARENA_ARRAY(&drawing.arena, (size_t)along->count, double);
    for (int i = 0; x && i < along->count; i++)
        x[i] = (double)along->values[i];
    drawing.figure.x = x;
    drawing.figure.lines = drawing.lines;
    bool done = x && add_lines(answers, axis, &drawing) ? figure_sweep(path, &drawing.figure, err)
                                                        : error_memory(err);
    arena_release(&drawing.arena);
    return done;
}

/* Answers of a sweep that has not ended: a first line that identifies the sweep, then a line for each answered point.
 *
 *     rehearse sweep, answers 1 VERSION fnv1a:0123456789abcdef
 *     17 found 0x1.8p+3 - "tp 2 pp 4"
 *     18 none "no split fits into memory"
 *
 * Numbers are hexadecimal, so that they come back to the bit. A line without its end was being written when the program
 * was killed: it is dropped, with all that follow. */

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

/* Opens PATH.sweep, takes the answers of an earlier run of the same sweep from it, and makes it ready for more. Another
 * sweep's file is emptied. ERROR_FAILED: it cannot be written, or another program sweeps into PATH. */
static bool sweep_log_open(struct sweep_answers *answers, const char *path, struct error *err)
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

/* Notes the answer of a point; the lock is held. */
static void sweep_log_add(struct sweep_answers *answers, int64_t point)
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

/* Closes the file, and removes it when all is `done`. */
static void sweep_log_close(struct sweep_answers *answers, bool done)
{
    if (answers->log) {
        if (done || answers->failed >= 0)
            unlink(answers->log_path);
        fclose(answers->log);
    }
    free(answers->log_path);
}

int64_t sweep_points(const struct sweep *sweep)
{
    int64_t count = 1;
    for (int i = 0; i < sweep->axis_count && count <= SWEEP_MAX_POINTS; i++)
        count *= sweep->axes[i].count;
    return count <= SWEEP_MAX_POINTS ? count : SWEEP_MAX_POINTS + 1;
}

/* Keeps the reason of a point without an answer, or the error that ends the sweep. */
static void note_error(struct sweep_answers *answers, int64_t point, const struct error *error)
{
    if (error->kind == ERROR_INFEASIBLE) {
        answers->reasons[point] = arena_copy(&answers->arena, error->text, strlen(error->text));
        answers->states[point] = SWEEP_NONE;
    } else if (answers->failed < 0 || point < answers->failed) {
        answers->failed = point;
        answers->error = *error;
    }
}

static void answer_points(void *context, size_t first, size_t last, int thread)
{
    struct sweep_answers *answers = context;
    const struct sweep *sweep = answers->sweep;
    for (size_t i = first; i < last; i++) {
        int at[SWEEP_MAX_AXES] = {0};
        struct error error;
        if (answers->states[i] != SWEEP_OPEN)
            continue;
        sweep_locate(sweep, (int64_t)i, at);
        bool found = sweep->answer(sweep->context, at, sweep_cells(answers, (int64_t)i), &error);
        pthread_mutex_lock(&answers->lock);
        if (found)
            answers->states[i] = SWEEP_FOUND;
        else
            note_error(answers, (int64_t)i, &error);
        sweep_log_add(answers, (int64_t)i);
        pthread_mutex_unlock(&answers->lock);
        long long done = atomic_fetch_add(&answers->done, 1) + 1;
        if (thread == 0) /* the others leave the terminal alone */
            progress_show(&answers->progress, "%lld of %lld", done, (long long)answers->count);
    }
}

/* Fails for an error that ends the sweep, and for a sweep that found nothing. */
static bool check_answers(const struct sweep_answers *answers, struct error *err)
{
    if (answers->failed >= 0) {
        *err = answers->error;
        return false;
    }
    for (int64_t i = 0; i < answers->count; i++)
        if (answers->states[i] == SWEEP_FOUND)
            return true;
    return error_set(err, ERROR_INFEASIBLE, "%s",
                     answers->reasons[0] ? answers->reasons[0] : "no point has a result");
}

static bool go_on(void *context)
{
    struct sweep_answers *answers = context;
    pthread_mutex_lock(&answers->lock);
    bool fine = answers->failed < 0;
    pthread_mutex_unlock(&answers->lock);
    return fine && !stop_wanted();
}

static bool answer_all(struct sweep_answers *answers, int threads, struct error *err)
{
    struct parallel *pool = parallel_new(threads, err);
    if (!pool)
        return false;
    atomic_init(&answers->done, (long long)answers->kept);
    progress_start(&answers->progress, answers->sweep->doing);
    parallel_while(pool, (size_t)answers->count, 1, answer_points, go_on, answers);
    progress_end(&answers->progress);
    parallel_free(pool);
    if (stop_wanted())
        return error_set(err, ERROR_STOPPED, "stopped");
    return check_answers(answers, err);
}

/* ---- delivery ---- */

static bool write_file(const char *path, const struct sweep_answers *answers, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    sweep_write_json(answers, &json);
    bool done = file_write_exact(path, &text, err);
    text_release(&text);
    return done;
}

static bool deliver(const struct sweep_answers *answers, const struct sweep_output *output, struct error *err)
{
    return (!output->file || write_file(output->file, answers, err)) &&
           (!output->figure || sweep_draw(answers, output->figure, err));
}

/* Answers are kept beside a regular file, which may be written. */
static bool keep(struct sweep_answers *answers, const char *path, struct error *err)
{
    enum file_kind kind;
    if (!answers->sweep->inputs || !path || strcmp(path, "-") == 0 || strncmp(path, "/dev/", 5) == 0)
        return true;
    if (!file_look(path, &kind, err))
        return false;
    if (kind == FILE_REGULAR && access(path, W_OK) != 0)
        return error_set(err, ERROR_FAILED, "%s: cannot write: %s", path, strerror(errno));
    return (kind != FILE_REGULAR && kind != FILE_NONE) || sweep_log_open(answers, path, err);
}

/* A value for each axis and column, one element a point. */
static rh_handle *sweep_handle(const struct sweep_answers *answers, struct error *err)
{
    struct api_report *made = api_report_new(err);
    if (!made)
        return NULL;
    made->base.kind = &api_sweep_kind;
    sweep_print(answers, &made->text);
    sweep_write_json(answers, &made->json);
    sweep_write_csv(answers, &made->csv);
    bool whole = !made->text.failed && !made->json_text.failed && !made->csv.failed;
    return api_made(&made->base, whole || error_memory(err), err);
}

rh_handle *sweep_answer(const struct sweep *sweep, const struct sweep_output *output, struct error *err)
{
    struct sweep_answers answers = {.sweep = sweep, .count = sweep_points(sweep), .failed = -1};
    if (answers.count > SWEEP_MAX_POINTS)
        return error_null(err, ERROR_USAGE, "a sweep over more than %d points", SWEEP_MAX_POINTS);
    pthread_mutex_init(&answers.lock, NULL);
    bool done = sweep_allocate(&answers, &answers.arena, err) && keep(&answers, output->file, err) &&
                answer_all(&answers, output->threads, err) &&
                (!sweep->repeats || sweep_best(&answers, err)) && deliver(&answers, output, err);
    rh_handle *made = done ? sweep_handle(&answers, err) : NULL;
    sweep_log_close(&answers, done);
    for (int64_t i = 0; answers.cells && i < answers.count * sweep->column_count; i++)
        text_release(&answers.cells[i].more);
    pthread_mutex_destroy(&answers.lock);
    arena_release(&answers.arena);
    return made;
}
