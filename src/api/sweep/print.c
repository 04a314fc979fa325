#include "api/sweep/inner.h"
#include "core/unit.h"

#include <math.h>
#include <stdio.h>

#define MAX_WIDTH 32 /* characters of a text of any length */

/* A long text is cut for people: CSV and JSON have all of it. */
static const char *text_of(const struct sweep_cell *cell, char *buffer, size_t size)
{
    if (cell->more.length <= MAX_WIDTH)
        return *sweep_text(cell) ? sweep_text(cell) : "-";
    size_t length = MAX_WIDTH - 1;
    while (text_continues(cell->more.data[length]))
        length--;
    snprintf(buffer, size, "%.*s…", (int)length, cell->more.data);
    return buffer;
}

/* Returns `buffer`; "-" where there is nothing. */
static const char *cell_text(const struct sweep_column *column, const struct sweep_cell *cell, char *buffer,
                             size_t size)
{
    if (column->kind == SWEEP_TEXT)
        return text_of(cell, buffer, size);
    if (isnan(cell->number))
        return "-";
    switch (column->kind) {
    case SWEEP_TIME:
        return unit_format(buffer, size, cell->number, UNIT_TIME, 4);
    case SWEEP_BYTES:
        return unit_format(buffer, size, cell->number, UNIT_BYTES, 3);
    case SWEEP_RATE:
        return unit_format(buffer, size, cell->number, UNIT_RATE, 3);
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

static void find_widths(const struct sweep_answers *answers, int *widths)
{
    const struct sweep *sweep = answers->sweep;
    char buffer[64];
    for (int i = 0; i < sweep->axis_count; i++) {
        widths[i] = width_of(sweep->axes[i].title);
        for (int j = 0; j < sweep->axes[i].count; j++) {
            int width = width_of(sweep_value(&sweep->axes[i], j, buffer));
            widths[i] = width > widths[i] ? width : widths[i];
        }
    }
    widths += sweep->axis_count;
    for (int j = 0; j < sweep->column_count; j++) {
        if (!sweep->columns[j].title)
            continue;
        widths[j] = width_of(sweep->columns[j].title);
        for (int64_t i = 0; i < answers->count; i++) {
            int width =
                width_of(cell_text(&sweep->columns[j], &sweep_cells(answers, i)[j], buffer, sizeof buffer));
            widths[j] = answers->states[i] == SWEEP_FOUND && width > widths[j] ? width : widths[j];
        }
    }
}

static void print_row(const struct sweep_answers *answers, int64_t point, const int *widths, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    char buffer[64];
    int at[SWEEP_MAX_AXES] = {0};
    bool found = answers->states[point] == SWEEP_FOUND;
    sweep_locate(sweep, point, at);
    for (int i = 0; i < sweep->axis_count; i++) {
        text_add(out, i > 0 ? "  " : "");
        add_right(out, widths[i], sweep_value(&sweep->axes[i], at[i], buffer));
    }
    widths += sweep->axis_count;
    for (int j = 0; j < sweep->column_count && found; j++) {
        if (!sweep->columns[j].title)
            continue;
        text_add(out, "  ");
        add_right(out, widths[j],
                  cell_text(&sweep->columns[j], &sweep_cells(answers, point)[j], buffer, sizeof buffer));
    }
    if (!found)
        text_format(out, "  %s", answers->reasons[point]);
    text_add(out, "\n");
}

void sweep_print(const struct sweep_answers *answers, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    int widths[SWEEP_MAX_AXES + SWEEP_MAX_COLUMNS] = {0};
    find_widths(answers, widths);
    text_format(out, "%s\n\n", sweep->title);
    for (int i = 0; i < sweep->axis_count; i++) {
        text_add(out, i > 0 ? "  " : "");
        add_right(out, widths[i], sweep->axes[i].title);
    }
    for (int j = 0; j < sweep->column_count; j++) {
        if (!sweep->columns[j].title)
            continue;
        text_add(out, "  ");
        add_right(out, widths[sweep->axis_count + j], sweep->columns[j].title);
    }
    text_add(out, "\n");
    for (int64_t i = 0; i < answers->count; i++)
        print_row(answers, i, widths, out);
    if (answers->sums)
        text_add(out, "\nbest: ");
    if (answers->sums && answers->sums->count < answers->count)
        sweep_print(answers->sums, out);
    else if (answers->sums)
        text_format(out, "%s\n", answers->sums->sweep->title);
}
