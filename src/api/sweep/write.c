#include "api/sweep/inner.h"
#include "core/fields.h"

#include <math.h>

static void add_quoted(struct text *out, const char *text)
{
    text_add(out, "\"");
    for (; *text; text++)
        text_format(out, *text == '"' ? "\"%c" : "%c", *text);
    text_add(out, "\"");
}

static void write_csv_row(const struct sweep_answers *answers, int64_t point, struct text *out)
{
    const struct sweep *sweep = answers->sweep;
    char buffer[24];
    int at[SWEEP_MAX_AXES] = {0};
    sweep_locate(sweep, point, at);
    for (int i = 0; i < sweep->axis_count; i++)
        text_format(out, "%s%s", i > 0 ? "," : "", sweep_value(&sweep->axes[i], at[i], buffer));
    for (int j = 0; j < sweep->column_count; j++) {
        const struct sweep_cell *cell = &sweep_cells(answers, point)[j];
        text_add(out, ",");
        if (answers->states[point] != SWEEP_FOUND)
            continue;
        if (sweep->columns[j].kind == SWEEP_TEXT)
            add_quoted(out, sweep_text(cell));
        else if (isfinite(cell->number))
            text_format(out, "%.17g", cell->number);
    }
    text_add(out, ",");
    if (answers->states[point] != SWEEP_FOUND)
        add_quoted(out, answers->reasons[point]);
    text_add(out, "\n");
}

/* RFC 4180, but for line ends as everything here has them. */
void sweep_write_csv(const struct sweep_answers *answers, struct text *out)
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
        json_string(json, column->key, *sweep_text(cell) ? sweep_text(cell) : NULL);
    else if (column->kind == SWEEP_FLAG)
        json_bool(json, column->key, cell->number != 0);
    else if (column->kind == SWEEP_INTEGER && isfinite(cell->number))
        json_integer(json, column->key, (int64_t)cell->number);
    else
        json_number(json, column->key, cell->number);
}

static void write_point(const struct sweep_answers *answers, int64_t point, struct json *json)
{
    const struct sweep *sweep = answers->sweep;
    int at[SWEEP_MAX_AXES] = {0};
    sweep_locate(sweep, point, at);
    json_open_flat(json, NULL, '{');
    for (int i = 0; i < sweep->axis_count; i++)
        if (sweep->axes[i].numbers)
            json_number(json, sweep->axes[i].key, sweep->axes[i].numbers[at[i]]);
        else if (sweep->axes[i].words)
            json_string(json, sweep->axes[i].key, sweep->axes[i].words[at[i]]);
        else
            json_integer(json, sweep->axes[i].key, sweep->axes[i].values[at[i]]);
    for (int j = 0; j < sweep->column_count && answers->states[point] == SWEEP_FOUND; j++)
        write_cell(&sweep->columns[j], &sweep_cells(answers, point)[j], json);
    if (answers->states[point] != SWEEP_FOUND)
        json_string(json, "reason", answers->reasons[point]);
    json_close(json);
}

/* Of points without an answer. */
static const struct field reason = {.key = "reason", .type = FIELD_TEXT};

static void write_points(const struct sweep_answers *answers, const char *key, struct json *json)
{
    json_open(json, key, '[');
    fields_tell(&reason, 1, json);
    for (int64_t i = 0; i < answers->count; i++)
        write_point(answers, i, json);
    json_close(json);
}

void sweep_write_json(const struct sweep_answers *answers, struct json *json)
{
    json_open_document(json, answers->sweep->format);
    if (answers->sweep->head)
        answers->sweep->head(answers->sweep->context, json);
    write_points(answers, "points", json);
    if (answers->sums) {
        json_string(json, "best", answers->sums->sweep->title);
        json_bool(json, "best_beyond_noise", answers->sums->beyond);
        write_points(answers->sums, "combinations", json);
    }
    json_close(json);
}
