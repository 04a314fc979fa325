#include "cli/plan/sweep.h"

#include "cli/output.h"
#include "core/arena.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "core/unit.h"
#include "figure/sweep.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT    "rehearse-sweep/1"
#define MAX_LINES 12

struct answers {
    const struct sweep *sweep;
    struct arena arena;
    int64_t count;
    struct sweep_cell *cells; /* [point][column] */
    bool *found;
    struct error *errors; /* of points that were not */
    struct progress progress;
    atomic_llong done;
};

int64_t sweep_points(const struct sweep *sweep)
{
    int64_t count = 1;
    for (int i = 0; i < sweep->axis_count && count <= SWEEP_MAX_POINTS; i++)
        count *= sweep->axes[i].range.count;
    return count;
}

/* The values of all axes at a point. */
static void locate(const struct sweep *sweep, int64_t point, int64_t *at)
{
    for (int i = sweep->axis_count - 1; i >= 0; i--) {
        const struct range *range = &sweep->axes[i].range;
        at[i] = range->values[point % range->count];
        point /= range->count;
    }
}

static struct sweep_cell *cells_of(const struct answers *answers, int64_t point)
{
    return &answers->cells[point * answers->sweep->column_count];
}

/* ---- answering ---- */

static void answer_points(void *context, size_t first, size_t last, int thread)
{
    struct answers *answers = context;
    const struct sweep *sweep = answers->sweep;
    for (size_t i = first; i < last; i++) {
        int64_t at[SWEEP_MAX_AXES] = {0};
        struct sweep_cell *cells = cells_of(answers, (int64_t)i);
        locate(sweep, (int64_t)i, at);
        answers->found[i] = sweep->answer(sweep->context, at, cells, &answers->errors[i]);
        long long done = atomic_fetch_add(&answers->done, 1) + 1;
        if (thread == 0) /* the others leave the terminal alone */
            progress_show(&answers->progress, "%lld of %lld", done, (long long)answers->count);
    }
}

static bool allocate(struct answers *answers, struct error *err)
{
    size_t count = (size_t)answers->count;
    answers->cells =
        ARENA_ARRAY(&answers->arena, count * (size_t)answers->sweep->column_count, struct sweep_cell);
    answers->found = ARENA_ARRAY(&answers->arena, count, bool);
    answers->errors = ARENA_ARRAY(&answers->arena, count, struct error);
    if (!answers->cells || !answers->found || !answers->errors)
        return error_memory(err);
    for (size_t i = 0; i < count * (size_t)answers->sweep->column_count; i++)
        answers->cells[i].number = NAN;
    return true;
}

/* What a sweep may not go on with, and a sweep that found nothing. */
static bool check_answers(const struct answers *answers, struct error *err)
{
    int64_t found = 0;
    for (int64_t i = 0; i < answers->count; i++) {
        found += answers->found[i];
        if (!answers->found[i] && answers->errors[i].kind != ERROR_INFEASIBLE) {
            *err = answers->errors[i];
            return false;
        }
    }
    if (found == 0)
        *err = answers->errors[0];
    return found > 0;
}

static bool answer_all(struct answers *answers, int threads, struct error *err)
{
    struct parallel *pool = parallel_new(threads, err);
    if (!pool)
        return false;
    progress_start(&answers->progress, "planning");
    parallel_for(pool, (size_t)answers->count, 1, answer_points, answers);
    progress_end(&answers->progress);
    parallel_free(pool);
    return check_answers(answers, err);
}

/* ---- for people ---- */

/* Returns `buffer`; "-" where there is nothing. */
static const char *cell_text(const struct sweep_column *column, const struct sweep_cell *cell, char *buffer,
                             size_t size)
{
    if (column->kind == SWEEP_TEXT)
        return *cell->text ? cell->text : "-";
    if (isnan(cell->number))
        return "-";
    switch (column->kind) {
    case SWEEP_TIME:
        return unit_format(buffer, size, cell->number, UNIT_TIME, 4);
    case SWEEP_BYTES:
        return unit_format(buffer, size, cell->number, UNIT_BYTES, 3);
    case SWEEP_SHARE:
        snprintf(buffer, size, "%.3g %%", 100 * cell->number);
        return buffer;
    case SWEEP_FLAG:
        return cell->number != 0 ? "yes" : "no";
    case SWEEP_INTEGER:
        snprintf(buffer, size, "%.0f", cell->number);
        return buffer;
    default:
        snprintf(buffer, size, "%.4g", cell->number);
        return buffer;
    }
}

/* Characters; every one is as wide as the other. */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += !text_continues(*text);
    return width;
}

static void add_right(struct text *out, int width, const char *text)
{
    text_format(out, "%*s%s", width - width_of(text), "", text);
}

static void find_widths(const struct answers *answers, int *widths)
{
    const struct sweep *sweep = answers->sweep;
    char buffer[64];
    for (int j = 0; j < sweep->column_count; j++) {
        widths[j] = width_of(sweep->columns[j].title);
        for (int64_t i = 0; i < answers->count; i++) {
            int width =
                width_of(cell_text(&sweep->columns[j], &cells_of(answers, i)[j], buffer, sizeof buffer));
            widths[j] = answers->found[i] && width > widths[j] ? width : widths[j];
        }
    }
}

static void print_row(const struct answers *answers, int64_t point, const int *widths, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    char buffer[64];
    int64_t at[SWEEP_MAX_AXES] = {0};
    locate(sweep, point, at);
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s%*lld", i > 0 ? "  " : "", width_of(sweep->axes[i].title), (long long)at[i]);
    for (int j = 0; j < sweep->column_count && answers->found[point]; j++) {
        text_add(out, "  ");
        add_right(out, widths[j],
                  cell_text(&sweep->columns[j], &cells_of(answers, point)[j], buffer, sizeof buffer));
    }
    if (!answers->found[point])
        text_format(out, "  %s", answers->errors[point].text);
    text_add(out, "\n");
}

static void print(const struct answers *answers, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    int widths[SWEEP_MAX_COLUMNS] = {0};
    find_widths(answers, widths);
    text_format(out, "%s\n\n", sweep->title);
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s%s", i > 0 ? "  " : "", sweep->axes[i].title);
    for (int j = 0; j < sweep->column_count; j++) {
        text_add(out, "  ");
        add_right(out, widths[j], sweep->columns[j].title);
    }
    text_add(out, "\n");
    for (int64_t i = 0; i < answers->count; i++)
        print_row(answers, i, widths, out);
}

/* ---- for programs ---- */

static void add_quoted(struct text *out, const char *text)
{
    text_add(out, "\"");
    for (; *text; text++)
        text_format(out, *text == '"' ? "\"%c" : "%c", *text);
    text_add(out, "\"");
}

static void write_csv_row(const struct answers *answers, int64_t point, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    int64_t at[SWEEP_MAX_AXES] = {0};
    locate(sweep, point, at);
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s%lld", i > 0 ? "," : "", (long long)at[i]);
    for (int j = 0; j < sweep->column_count; j++) {
        const struct sweep_cell *cell = &cells_of(answers, point)[j];
        text_add(out, ",");
        if (!answers->found[point])
            continue;
        if (sweep->columns[j].kind == SWEEP_TEXT)
            add_quoted(out, cell->text);
        else if (isfinite(cell->number))
            text_format(out, "%.17g", cell->number);
    }
    text_add(out, ",");
    if (!answers->found[point])
        add_quoted(out, answers->errors[point].text);
    text_add(out, "\n");
}

/* RFC 4180, but for line ends as everything here has them. */
static void write_csv(const struct answers *answers, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s,", sweep->axes[i].key);
    for (int j = 0; j < sweep->column_count; j++)
        text_format(out, "%s,", sweep->columns[j].key);
    text_add(out, "reason\n");
    for (int64_t i = 0; i < answers->count; i++)
        write_csv_row(answers, i, out);
}

static void write_cell(const struct sweep_column *column, const struct sweep_cell *cell, struct json *json)
{
    if (column->kind == SWEEP_TEXT)
        json_string(json, column->key, *cell->text ? cell->text : NULL);
    else if (column->kind == SWEEP_FLAG)
        json_bool(json, column->key, cell->number != 0);
    else if (column->kind == SWEEP_INTEGER && isfinite(cell->number))
        json_integer(json, column->key, (int64_t)cell->number);
    else
        json_number(json, column->key, cell->number);
}

static void write_point(const struct answers *answers, int64_t point, struct json *json)
{
    const struct sweep *sweep = answers->sweep;
    int64_t at[SWEEP_MAX_AXES] = {0};
    locate(sweep, point, at);
    json_open_flat(json, NULL, '{');
    for (int i = 0; i < sweep->axis_count; i++)
        json_integer(json, sweep->axes[i].key, at[i]);
    for (int j = 0; j < sweep->column_count && answers->found[point]; j++)
        write_cell(&sweep->columns[j], &cells_of(answers, point)[j], json);
    if (!answers->found[point])
        json_string(json, "reason", answers->errors[point].text);
    json_close(json);
}

static void write_json(const struct answers *answers, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, FORMAT);
    if (answers->sweep->head)
        answers->sweep->head(answers->sweep->context, &json);
    json_open(&json, "points", '[');
    for (int64_t i = 0; i < answers->count; i++)
        write_point(answers, i, &json);
    json_close(&json);
    json_close(&json);
}

/* ---- the figure ---- */

static int axis_drawn(const struct sweep *sweep)
{
    for (int i = 0; i < sweep->axis_count; i++)
        if (sweep->axes[i].range.count > 1)
            return i;
    return 0;
}

struct drawing {
    struct arena arena; /* values and titles */
    struct figure_sweep figure;
    struct figure_line lines[MAX_LINES];
};

/* The column's values along an axis, beginning at `point`. */
static bool add_line(const struct answers *answers, int axis, int64_t point, int column,
                     struct drawing *drawing)
{
    const struct sweep *sweep = answers->sweep;
    int64_t step = 1;
    for (int i = axis + 1; i < sweep->axis_count; i++)
        step *= sweep->axes[i].range.count;
    int count = sweep->axes[axis].range.count;
    double *values = ARENA_ARRAY(&drawing->arena, (size_t)count, double);
    if (!values)
        return false;
    for (int i = 0; i < count; i++)
        values[i] =
            answers->found[point + i * step] ? cells_of(answers, point + i * step)[column].number : NAN;
    drawing->lines[drawing->figure.line_count++].values = values;
    return true;
}

/* "plan, devices 16" */
static const char *line_title(const struct sweep *sweep, int axis, int64_t point, const char *name,
                              struct arena *arena)
{
    int64_t at[SWEEP_MAX_AXES] = {0};
    struct text text = {0};
    locate(sweep, point, at);
    text_add(&text, name);
    for (int i = 0; i < sweep->axis_count; i++)
        if (i != axis && sweep->axes[i].range.count > 1)
            text_format(&text, ", %s %lld", sweep->axes[i].title, (long long)at[i]);
    const char *title = text.failed ? NULL : arena_copy(arena, text.data, text.length);
    text_release(&text);
    return title;
}

static bool add_lines(const struct answers *answers, int axis, struct drawing *drawing)
{
    const struct sweep *sweep = answers->sweep;
    bool several = answers->count > sweep->axes[axis].range.count, first = true;
    for (int j = 0; j < sweep->column_count; j++) {
        if (!sweep->columns[j].line || (several && !first))
            continue;
        first = false;
        for (int64_t i = 0; i < answers->count && drawing->figure.line_count < MAX_LINES; i++) {
            int64_t at[SWEEP_MAX_AXES] = {0};
            locate(sweep, i, at);
            if (at[axis] != sweep->axes[axis].range.values[0])
                continue;
            int line = drawing->figure.line_count;
            drawing->lines[line].title = line_title(sweep, axis, i, sweep->columns[j].line, &drawing->arena);
            if (!drawing->lines[line].title || !add_line(answers, axis, i, j, drawing))
                return false;
        }
    }
    return true;
}

static bool draw(const struct answers *answers, const char *path, struct error *err)
{
    int axis = axis_drawn(answers->sweep);
    const struct sweep_axis *along = &answers->sweep->axes[axis];
    struct drawing drawing = {.figure = {.title = answers->sweep->title,
                                         .x_title = along->title,
                                         .y_title = answers->sweep->drawn,
                                         .point_count = along->range.count,
                                         .scaling = along->scaling}};
    double *x = ARENA_ARRAY(&drawing.arena, (size_t)along->range.count, double);
    for (int i = 0; x && i < along->range.count; i++)
        x[i] = (double)along->range.values[i];
    drawing.figure.x = x;
    drawing.figure.lines = drawing.lines;
    bool done = x && add_lines(answers, axis, &drawing) ? figure_sweep(path, &drawing.figure, err)
                                                        : error_memory(err);
    arena_release(&drawing.arena);
    return done;
}

/* ---- delivery ---- */

typedef void writer(const struct answers *answers, struct text *out);

static bool write_to(const char *path, const struct answers *answers, writer *write, struct error *err)
{
    struct text text = {0};
    write(answers, &text);
    return output_and_release(path, &text, err);
}

/* Files first: what goes to standard output says that all went well. */
static bool deliver(const struct answers *answers, const struct sweep_output *output, struct error *err)
{
    return (!output->file || write_to(output->file, answers, write_json, err)) &&
           (!output->figure || draw(answers, output->figure, err)) &&
           write_to(NULL, answers,
                    output->json  ? write_json
                    : output->csv ? write_csv
                                  : print,
                    err);
}

bool sweep_deliver(const struct sweep *sweep, const struct sweep_output *output, struct error *err)
{
    struct answers answers = {.sweep = sweep, .count = sweep_points(sweep)};
    if (answers.count > SWEEP_MAX_POINTS)
        return error_set(err, ERROR_USAGE, "a sweep over more than %d points", SWEEP_MAX_POINTS);
    bool done = allocate(&answers, err) && answer_all(&answers, output->threads, err) &&
                deliver(&answers, output, err);
    arena_release(&answers.arena);
    return done;
}
