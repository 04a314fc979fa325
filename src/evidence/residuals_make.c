/* Prints residuals_known (neighbours.h) as a file in C: what today's formulas get wrong on the published runs. A
 * program of its own that runs while rehearse is built, so that the numbers are always those of the formulas beside
 * them. */
#include "core/text.h"
#include "evidence/judge.h"

#include <stdio.h>
#include <stdlib.h>

/* The table that this program makes is empty in itself. */
const struct residuals residuals_known;

static int take(const struct validation *validation, struct residual *rows)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++)
        if (!validation->runs[i].reason && validation->runs[i].scored) {
            rows[count] = residual_of(&validation->runs[i]);
            likeness_price_others(&rows[count++].likeness, &validation->runs[i].job);
        }
    return count;
}

static void add_string(struct text *out, const char *string)
{
    text_add(out, "\"");
    for (; *string; string++)
        text_format(out, *string == '"' || *string == '\\' ? "\\%c" : "%c", *string);
    text_add(out, "\", ");
}

static void add_row(struct text *out, const struct residual *row)
{
    const struct likeness *likeness = &row->likeness;
    const char *strings[] = {likeness->generation, likeness->device, likeness->software, likeness->framework};
    const char *names[] = {row->id, row->source, row->model};
    text_add(out, "    {{");
    for (int i = 0; i < 4; i++)
        add_string(out, strings[i]);
    text_format(out, "%.4f, %d, %d, %d, %d, %d, %d, {", likeness->released, likeness->bits, likeness->frozen,
                likeness->packed, (int)likeness->recompute, likeness->sharding, (int)likeness->recipe);
    for (int i = 0; i < LIKENESS_SIZES; i++)
        text_format(out, "%.4f, ", likeness->sizes[i]);
    text_format(out, "}, %d, %d, %d, %.4f, %.4f, {", (int)likeness->kind, likeness->sheet, likeness->devices,
                likeness->active, likeness->step);
    for (int i = 0; i < LIKENESS_OTHERS; i++)
        text_format(out, "%.4f, ", likeness->others[i]);
    text_add(out, "}, 0}, ");
    for (int i = 0; i < 3; i++)
        add_string(out, names[i]);
    text_format(out, "%.9g, %.6g, %.5f, %.5f, %.5f, %.5f, %.6f, %.6f, %.6f, %.5f, %.5f},\n", row->seconds,
                row->rate, row->log_ratio, row->left, row->apart, row->unlike, row->of_source, row->of_family,
                row->of_kind, row->level_apart, row->level_unlike);
}

static void add_numbers(struct text *out, const double *numbers, int count)
{
    for (int i = 0; i < count; i++)
        text_format(out, "%.4f, ", numbers[i]);
}

static void add_table(struct text *out, const struct residuals *residuals)
{
    text_add(out, "/* Made from data/runs.csv by src/evidence/residuals_make.c. */\n"
                  "#include \"evidence/neighbours.h\"\n\nstatic const struct residual rows[] = {\n");
    for (int i = 0; i < residuals->count; i++)
        add_row(out, &residuals->rows[i]);
    text_format(out, "};\n\nconst struct residuals residuals_known = {\n    %d,\n    rows,\n    {",
                residuals->count);
    for (int i = 0; i < 2; i++) {
        text_add(out, i == 0 ? "{" : "}, {");
        add_numbers(out, residuals->unseen[i], UNSEEN_COUNT);
    }
    text_add(out, "}");
    text_add(out, "},\n    {");
    add_numbers(out, residuals->sheets, UNSEEN_COUNT);
    text_add(out, "},\n    {");
    add_numbers(out, residuals->unlike, UNLIKE_COUNT);
    text_format(out, "},\n    %.4f,\n};\n", residuals->share);
}

static bool write_residuals(struct text *out, struct error *err)
{
    static const struct validation_defaults defaults = {.precision = "bf16"};
    struct validation validation;
    if (!validation_load_known(&validation, &defaults, err))
        return false;
    validation_predict(&validation, NULL);
    struct residual *rows = calloc((size_t)validation.count + 1, sizeof *rows);
    struct residuals residuals = {.count = rows ? take(&validation, rows) : 0};
    bool made = rows ? residuals_leave_out(&residuals, rows, err) : error_memory(err);
    if (made)
        add_table(out, &residuals);
    free(rows);
    validation_release(&validation);
    return made && (!out->failed || error_memory(err));
}

int main(void)
{
    struct text out = {0};
    struct error err;
    bool made = write_residuals(&out, &err);
    if (made)
        made = fwrite(out.data, 1, out.length, stdout) == out.length && fflush(stdout) == 0;
    else
        fprintf(stderr, "residuals_make: %s\n", err.text);
    text_release(&out);
    return made ? EXIT_SUCCESS : EXIT_FAILURE;
}
