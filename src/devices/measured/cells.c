#include "devices/measured/cells.h"

#include "devices/measured/lines.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIDDLE 79 /* the character of the middle ratio */
#define SPREAD 15 /* characters from it after which steps grow */
#define BLANK  ' '

#define NEAREST                                                                                              \
    4 /* shapes that a ratio between them is the mean of, weighted by 1 / (distance + SAME)^3 ... */
#define SAME 0.05 /* ... in doublings of sizes */

/* ---- places ---- */

static int per_shape(const struct measured *table)
{
    return table->shape_axes < table->axis_count ? table->axes[table->axis_count - 1].count : 1;
}

static const float *shape_at(const struct measured *table, int shape)
{
    return table->shapes + (size_t)shape * (size_t)table->shape_axes;
}

/* A cell's indices on the grid; its shape is the rest, 0 where there are none. */
static int place_of(const struct measured *table, int cell, int *at)
{
    for (int a = table->axis_count - 1; a >= 0; a--) {
        at[a] = cell % table->axes[a].count;
        cell /= table->axes[a].count;
    }
    return cell;
}

static int cell_at(const struct measured *table, const int *at)
{
    int cell = 0;
    for (int a = 0; a < table->axis_count; a++)
        cell = cell * table->axes[a].count + at[a];
    return cell;
}

/* Shapes without a grid are all learned: folds of them judge. */
static bool may_be_learned(const struct measured *table, int cell)
{
    int at[MEASURED_MAX_AXES], sum = place_of(table, cell, at);
    for (int a = 0; a < table->axis_count; a++)
        sum += at[a];
    return sum % 2 == 0 || table->shape_axes == table->axis_count;
}

void measured_sizes(const struct measured *table, int cell, double *sizes)
{
    int at[MEASURED_MAX_AXES], shape = place_of(table, cell, at);
    for (int a = 0; a < table->axis_count; a++)
        sizes[a] = exp2(a < table->shape_axes ? (double)shape_at(table, shape)[a]
                                              : (double)table->axes[a].at[at[a]]);
}

/* ---- reading ---- */

/* A line for each value of the first axis, or for each shape, which it begins with; a character for each second cell. */
static void read_cells(const struct measured *table, const char *line, double middle, double step,
                       float *shapes, float *cells, bool *learned)
{
    int per_line = table->shape_axes ? per_shape(table) : table->cell_count / table->axes[0].count;
    for (int first = 0; first * per_line < table->cell_count && *line == LINE_OF_ROW; first++) {
        const char *text = line + 1, *end = line_end(line);
        for (int a = 0; a < table->shape_axes; a++) {
            int64_t size = 1;
            line_numbers(text, &size, 1);
            shapes[first * table->shape_axes + a] = (float)log2((double)size);
            text += strcspn(text, " \n");
            text += *text == ' ';
        }
        for (int cell = first * per_line; cell < (first + 1) * per_line && text < end; cell++) {
            if (!may_be_learned(table, cell))
                continue;
            learned[cell] = *text != BLANK;
            double ratio = middle + step * SPREAD * sinh((*text - MIDDLE) / (double)SPREAD);
            cells[cell] = learned[cell] ? (float)ratio : 0;
            text++;
        }
        line = line_next(line);
    }
}

/* The mean of the neighbours along the axes that have a value. */
static bool mean_around(const struct measured *table, int cell, const float *cells, const bool *has,
                        float *mean)
{
    int at[MEASURED_MAX_AXES], count = 0, stride = 1;
    float sum = 0;
    place_of(table, cell, at);
    for (int a = table->axis_count - 1; a >= 0; a--) {
        for (int step = -1; step <= 1; step += 2) {
            int index = at[a] + step;
            if (index < 0 || index >= table->axes[a].count || !has[cell + step * stride])
                continue;
            sum += cells[cell + step * stride];
            count++;
        }
        stride *= table->axes[a].count;
    }
    *mean = count > 0 ? sum / (float)count : 0;
    return count > 0;
}

/* Fills holes from their neighbours, and those without any in the next round. */
static void fill(const struct measured *table, float *cells, bool *has, bool *next)
{
    for (bool changed = true; changed;) {
        changed = false;
        memcpy(next, has, (size_t)table->cell_count * sizeof *next);
        for (int cell = 0; cell < table->cell_count; cell++)
            if (!has[cell] && mean_around(table, cell, cells, has, &cells[cell]))
                changed = next[cell] = true;
        memcpy(has, next, (size_t)table->cell_count * sizeof *has);
    }
}

/* ---- between shapes ---- */

struct near {
    int shape;
    float squared;
};

/* A shape that does not count, and all that share its first or second size. */
struct omission {
    int shape;
    bool sizes;
};

static bool is_omitted(const struct measured *table, const struct omission *omission, int shape)
{
    const float *a = shape_at(table, shape);
    const float *b = shape_at(table, omission->shape);
    return shape == omission->shape || (omission->sizes && (a[0] == b[0] || a[1] == b[1]));
}

/* Keeps the nearest, in order. */
static int insert(struct near *nearest, int count, struct near new)
{
    int at = count < NEAREST ? count++ : count - 1;
    for (; at > 0 && nearest[at - 1].squared > new.squared; at--)
        nearest[at] = nearest[at - 1];
    nearest[at] = new;
    return count;
}

static int first_from(const struct measured *table, float size)
{
    int low = 0, high = table->shape_count;
    while (low < high) {
        int middle = (low + high) / 2;
        if (shape_at(table, middle)[0] < size)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Shapes are ordered by their first size: from its place in both directions, until that alone is too far. */
static int find_nearest(const struct measured *table, const float *at, const struct omission *omission,
                        struct near *nearest)
{
    int start = first_from(table, at[0]), count = 0, axes = table->shape_axes;
    for (int step = 1; step >= -1; step -= 2)
        for (int i = step > 0 ? start : start - 1; i >= 0 && i < table->shape_count; i += step) {
            const float *of = shape_at(table, i);
            float limit = count == NEAREST ? nearest[count - 1].squared : HUGE_VALF;
            float squared = (of[0] - at[0]) * (of[0] - at[0]);
            if (squared >= limit)
                break;
            for (int a = 1; a < axes && squared < limit; a++)
                squared += (of[a] - at[a]) * (of[a] - at[a]);
            if (squared < limit && !(omission && is_omitted(table, omission, i)))
                count = insert(nearest, count, (struct near){i, squared});
        }
    return count;
}

/* The lower of the two grid lines around a size, and the share of the way to the upper one; outside the nearest two. */
static int bracket(const struct measured_axis *axis, float at, float *share)
{
    int low = 0, high = axis->count - 1;
    *share = 0;
    if (high == 0)
        return 0;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (axis->at[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    *share = fminf(fmaxf((at - axis->at[low]) / (axis->at[high] - axis->at[low]), 0), 1);
    return low;
}

/* How far along its curve a size is, by which those of shapes are compared: log2. */
static float aligned_of(const struct measured *table, const float *at)
{
    float sum = at[table->axis_count - 1];
    for (int a = 0; a < table->shape_axes; a++)
        sum += (float)table->aligned[a] * at[a];
    return sum;
}

/* The ratio of a shape where its curve has come as far. */
static float ratio_along(const struct measured *table, int shape, float aligned)
{
    const float *cells = table->cells + (size_t)shape * (size_t)per_shape(table);
    if (table->shape_axes == table->axis_count)
        return cells[0];
    float at[MEASURED_MAX_AXES] = {0}, share;
    memcpy(at, shape_at(table, shape), (size_t)table->shape_axes * sizeof *at);
    const struct measured_axis *axis = &table->axes[table->axis_count - 1];
    int low = bracket(axis, aligned - aligned_of(table, at), &share);
    return share > 0 ? cells[low] * (1 - share) + cells[low + 1] * share : cells[low];
}

static bool ratio_of_shapes(const struct measured *table, const float *at, const struct omission *omission,
                            double *log_ratio)
{
    struct near nearest[NEAREST] = {{0}};
    int count = find_nearest(table, at, omission, nearest);
    double sum = 0, weights = 0;
    float aligned = aligned_of(table, at);
    for (int i = 0; i < count; i++) {
        double far = sqrt((double)nearest[i].squared) + SAME, weight = 1 / (far * far * far);
        sum += weight * (double)ratio_along(table, nearest[i].shape, aligned);
        weights += weight;
    }
    *log_ratio = count > 0 ? sum / weights : 0;
    return count > 0;
}

double measured_log_ratio(const struct measured *table, const double *sizes)
{
    float at[MEASURED_MAX_AXES] = {0}, share[MEASURED_MAX_AXES], sum = 0;
    int low[MEASURED_MAX_AXES];
    double log_ratio;
    for (int a = 0; a < table->axis_count; a++)
        at[a] = log2f((float)sizes[a]);
    if (table->shape_axes) {
        ratio_of_shapes(table, at, NULL, &log_ratio);
        return log_ratio;
    }
    for (int a = 0; a < table->axis_count; a++)
        low[a] = bracket(&table->axes[a], at[a], &share[a]);
    for (int corner = 0; corner < 1 << table->axis_count; corner++) {
        int cell[MEASURED_MAX_AXES];
        float weight = 1;
        for (int a = 0; a < table->axis_count; a++) {
            bool upper = corner >> a & 1;
            weight *= upper ? share[a] : 1 - share[a];
            cell[a] = low[a] + upper;
        }
        if (weight > 0)
            sum += weight * table->cells[cell_at(table, cell)];
    }
    return (double)sum;
}

/* ---- left out ---- */

static bool shape_left_out(const struct measured *table, int cell, bool sizes, double *log_ratio)
{
    double of[MEASURED_MAX_AXES];
    float at[MEASURED_MAX_AXES] = {0};
    measured_sizes(table, cell, of);
    for (int a = 0; a < table->axis_count; a++)
        at[a] = log2f((float)of[a]);
    return ratio_of_shapes(table, at, &(struct omission){cell / per_shape(table), sizes}, log_ratio);
}

bool measured_left_out(const struct measured *table, int cell, bool sizes, double *log_ratio)
{
    int at[MEASURED_MAX_AXES], to[MEASURED_MAX_AXES], count = 0, axes = table->axis_count;
    double sum = 0;
    if (table->shape_axes)
        return shape_left_out(table, cell, sizes, log_ratio);
    place_of(table, cell, at);
    for (int a = 0; a < axes; a++)
        for (int b = a + 1; b < axes; b++) /* cells across a corner: those along an axis are not learned */
            for (int sign = 0; sign < 4 && (!sizes || a > 0 || axes == 2); sign++) {
                memcpy(to, at, sizeof to);
                to[a] += sign & 1 ? 1 : -1;
                to[b] += sign & 2 ? 1 : -1;
                if (to[a] < 0 || to[b] < 0 || to[a] >= table->axes[a].count ||
                    to[b] >= table->axes[b].count || !table->learned[cell_at(table, to)])
                    continue;
                sum += (double)table->cells[cell_at(table, to)];
                count++;
            }
    *log_ratio = count > 0 ? sum / count : 0;
    return count > 0;
}

/* Counts errors by their size; room for a list of them would be more than the cells. Of shapes some stand for all. */
static double spread_of(const struct measured *table)
{
    int counts[100] = {0}, all = 0, below = 0, step = 0;
    for (int cell = 0; cell < table->cell_count; cell += table->shape_axes ? 11 : 1) {
        double log_ratio;
        if (!table->learned[cell] || !measured_left_out(table, cell, false, &log_ratio))
            continue;
        counts[(int)fmin(100 * fabs(expm1(log_ratio - (double)table->cells[cell])), 99)]++;
        all++;
    }
    while (step < 99 && below + counts[step] < 0.85 * all)
        below += counts[step++];
    return (step + 1) / 100.0;
}

bool measured_load(struct measured *table, const char *lines, double middle, double step, struct arena *arena)
{
    if (table->shape_axes) {
        for (const char *line = lines; *line == LINE_OF_ROW; line = line_next(line))
            table->shape_count++;
        table->cell_count = table->shape_count * per_shape(table);
    }
    size_t count = (size_t)table->cell_count;
    float *cells = ARENA_ARRAY(arena, count, float);
    float *shapes = ARENA_ARRAY(arena, (size_t)(table->shape_count * table->shape_axes) + 1, float);
    bool *learned = ARENA_ARRAY(arena, count, bool);
    bool *has = calloc(2 * count, sizeof *has);
    if (!cells || !shapes || !learned || !has) {
        free(has);
        arena_release(arena);
        return false;
    }
    read_cells(table, lines, middle, step, shapes, cells, learned);
    memcpy(has, learned, count * sizeof *has);
    fill(table, cells, has, has + count);
    free(has);
    table->cells = cells;
    table->shapes = shapes;
    table->learned = learned;
    table->spread = spread_of(table);
    return true;
}
