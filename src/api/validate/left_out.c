#include "api/validate/report.h"
#include "core/fields.h"

#include <math.h>

/* Half of the interval, as a share: 0.1 for 0.9 to 1.1 times the prediction. */
static double half_width(const struct left_out *out)
{
    return sqrt(out->width) - 1.0;
}

static void print_part(const struct left_out *out, struct text *text)
{
    const struct error_score *errors = &out->errors;
    double of = 100.0 / errors->rows;
    text_format(text,
                "%-30.30s %4d %5.1f %% %5.1f %% %+5.1f %% %5.1f %% %5.0f %% %4.0f %% %4.0f %% %4.0f %% %4.0f "
                "%% %4d\n",
                out->name ? out->name : "all", errors->rows, 100 * errors->median, 100 * errors->p90,
                100 * errors->bias, 100 * out->formula.median, of * out->inside, 100 * out->groups,
                100 * half_width(out), of * out->like, of * out->unlike, out->extrapolated);
}

void validate_print_left_out(const struct validate_report *report, struct text *out)
{
    const char *part = run_part_names[report->part];
    text_format(out, "\nleft out: %-20s %4s %7s %7s %7s %7s %7s %6s %6s %6s %6s %4s\n", part, "runs",
                "median", "p90", "bias", "formula", "inside", "groups", "+/-", "like", "unlike", "new");
    for (int i = 0; i < report->left_out_count; i++)
        print_part(&report->left_out[i], out);
    text_format(out,
                "each %s is predicted without its own runs; formula: median by the formula alone;\ninside: "
                "within the 80 %% intervals, groups: each %s counting once, +/-: half of their width, at the "
                "median;\n"
                "like, unlike: within those as like known runs, and as unlike them; new: without a similar "
                "known run\n",
                report->part == RUN_PARTS ? "group" : part, report->part == RUN_PARTS ? "group" : part);
}

void validate_write_left_out(const struct validate_report *report, struct json *json)
{
    json_open(json, "left_out", '[');
    for (int i = 0; i < report->left_out_count; i++) {
        const struct left_out *out = &report->left_out[i];
        json_open_flat(json, NULL, '{');
        json_string(json, run_part_names[report->part], out->name ? out->name : "all");
        fields_write(&out->errors, error_score_fields, ERRORS_FIELDS, json);
        json_number(json, "covered", (double)out->inside / out->errors.rows);
        json_number(json, "covered_groups", out->groups);
        json_number(json, "width", out->width);
        json_number(json, "covered_as_like", (double)out->like / out->errors.rows);
        json_number(json, "covered_as_unlike", (double)out->unlike / out->errors.rows);
        json_number(json, "formula_median", out->formula.median);
        json_integer(json, "extrapolated", out->extrapolated);
        json_close(json);
    }
    json_close(json);
}
