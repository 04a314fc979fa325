#include "api/sweep/inner.h"
#include "figure/sweep.h"

#include <math.h>

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

bool sweep_draw(const struct sweep_answers *answers, const char *path, struct error *err)
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
