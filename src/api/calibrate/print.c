/* The report of rh_calibrate. */
#include "api/calibrate/calibrate.h"
#include "core/fields.h"
#include "core/json.h"

#define KNOWN_NAME 37
#define NAME       15

static void print_head(const char *what, bool known, struct text *out)
{
    int width = known ? KNOWN_NAME : NAME;
    text_format(out, "%-17s %-*s %6s   %-27s   %s\n", "", width, "", "",
                known ? "formula error" : "error before",
                known ? "error of rows left out" : "after, of rows left out");
    text_format(out, "%-17s %-*s %6s   %8s %8s %8s    %8s %8s %8s\n", what, width, "", "rows", "median",
                "mean", "p90", "median", "mean", "p90");
}

static void print_lines(const struct calibrate_report *report, int first, int last, struct text *out)
{
    for (int i = first; i < last; i++) {
        const struct calibrate_line *line = &report->lines[i];
        text_format(out, "%-17s %-*s %6d   %6.1f %% %6.1f %% %6.1f %%    %6.1f %% %6.1f %% %6.1f %%\n",
                    line->what, report->given->known ? KNOWN_NAME : NAME, line->name, line->after.rows,
                    100 * line->before.median, 100 * line->before.mean, 100 * line->before.p90,
                    100 * line->after.median, 100 * line->after.mean, 100 * line->after.p90);
    }
}

/* Products first, then collectives. */
static void print_known(const struct calibrate_report *report, struct text *out)
{
    int products = report->product_lines, all = report->line_count;
    if (products > 0)
        print_head("products", true, out);
    print_lines(report, 0, products, out);
    if (products > 0 && all > products)
        text_add(out, "\n");
    if (all > products)
        print_head("collectives", true, out);
    print_lines(report, products, all, out);
}

void calibrate_print(const struct calibrate_report *report, struct text *out)
{
    if (report->run)
        calibrate_run_print(report, out);
    if (report->line_count == 0)
        return;
    if (report->device)
        text_format(out, "%s, %s\n\n", report->device->name, report->device->title);
    if (report->given->known) {
        print_known(report, out);
        return;
    }
    print_head("fitted", false, out);
    print_lines(report, 0, report->line_count, out);
    if (report->fitted.name && report->fitted.pace > 0.0)
        text_format(out,
                    "\npace: %.3f (factor on the matrix products, clocks and power limit of its GPU type, "
                    "which are kept)\n",
                    report->fitted.pace);
}

static const struct field line_fields[] = {
    FIELD_OUT(struct calibrate_line, "what", what, FIELD_TEXT),
    FIELD_OUT(struct calibrate_line, "name", name, FIELD_TEXT),
    FIELD_OUT(struct calibrate_line, "rows", after.rows, FIELD_INT),
    FIELD_OPEN("before", FIELD_FLAT_MAP),
    FIELD_OUT(struct calibrate_line, "mean_error", before.mean, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "median_error", before.median, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "p90_error", before.p90, FIELD_DOUBLE),
    FIELD_CLOSE,
    FIELD_OPEN("after", FIELD_FLAT_MAP),
    FIELD_OUT(struct calibrate_line, "mean_error", after.mean, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "median_error", after.median, FIELD_DOUBLE),
    FIELD_OUT(struct calibrate_line, "p90_error", after.p90, FIELD_DOUBLE),
    FIELD_CLOSE,
};

void calibrate_write(const struct calibrate_report *report, struct json *json)
{
    json_open_document(json, "rehearse-calibration-fit/1");
    json_string(json, "device", report->device ? report->device->name : "all");
    if (report->fitted.name && report->fitted.pace > 0.0)
        json_number(json, "pace", report->fitted.pace);
    json_open(json, "fitted", '[');
    FIELDS_TELL(line_fields, json);
    for (int i = 0; i < report->line_count; i++) {
        json_open(json, NULL, '{');
        FIELDS_WRITE(&report->lines[i], line_fields, json);
        json_close(json);
    }
    json_close(json);
    if (report->run)
        calibrate_run_write(report, json);
    json_close(json);
}
