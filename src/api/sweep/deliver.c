#include "api/sweep/sweep.h"

#include "api/handle.h"
#include "api/sweep/inner.h"
#include "core/file.h"
#include "core/file_output.h"
#include "core/parallel.h"
#include "core/stop.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

int64_t sweep_points(const struct sweep *sweep)
{
    int64_t count = 1;
    for (int i = 0; i < sweep->axis_count && count <= SWEEP_MAX_POINTS; i++)
        count *= sweep->axes[i].count;
    return count <= SWEEP_MAX_POINTS ? count : SWEEP_MAX_POINTS + 1;
}

void sweep_locate(const struct sweep *sweep, int64_t point, int *at)
{
    for (int i = sweep->axis_count - 1; i >= 0; i--) {
        at[i] = (int)(point % sweep->axes[i].count);
        point /= sweep->axes[i].count;
    }
}

struct sweep_cell *sweep_cells(const struct sweep_answers *answers, int64_t point)
{
    return &answers->cells[point * answers->sweep->column_count];
}

const char *sweep_text(const struct sweep_cell *cell)
{
    return cell->more.data ? cell->more.data : cell->text;
}

const char *sweep_value(const struct sweep_axis *axis, int at, char buffer[static 24])
{
    if (axis->words)
        return axis->words[at];
    snprintf(buffer, 24, "%lld", (long long)axis->values[at]);
    return buffer;
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

static bool allocate(struct sweep_answers *answers, struct error *err)
{
    size_t count = (size_t)answers->count, cells = count * (size_t)answers->sweep->column_count;
    answers->cells = ARENA_ARRAY(&answers->arena, cells, struct sweep_cell);
    answers->states = ARENA_ARRAY(&answers->arena, count, unsigned char);
    answers->reasons = ARENA_ARRAY(&answers->arena, count, const char *);
    if (!answers->cells || !answers->states || !answers->reasons)
        return error_memory(err);
    for (size_t i = 0; i < cells; i++)
        answers->cells[i].number = NAN;
    return true;
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
    if (answers.count > SWEEP_MAX_POINTS) {
        error_set(err, ERROR_USAGE, "a sweep over more than %d points", SWEEP_MAX_POINTS);
        return NULL;
    }
    pthread_mutex_init(&answers.lock, NULL);
    bool done = allocate(&answers, err) && keep(&answers, output->file, err) &&
                answer_all(&answers, output->threads, err) && deliver(&answers, output, err);
    rh_handle *made = done ? sweep_handle(&answers, err) : NULL;
    sweep_log_close(&answers, done);
    for (int64_t i = 0; answers.cells && i < answers.count * sweep->column_count; i++)
        text_release(&answers.cells[i].more);
    pthread_mutex_destroy(&answers.lock);
    arena_release(&answers.arena);
    return made;
}
