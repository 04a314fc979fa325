/* What rehearse calibrate prints. */
#include "api/calibrate/calibrate.h"
#include "core/unit.h"

#include <math.h>

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
        text_format(out, "%-17s %-*s %6d   %6.1f %% %6.1f %% %6.1f %%    %6.1f %% %6.1f %% %6.1f %%%s\n",
                    line->what, report->given->known ? KNOWN_NAME : NAME, line->name, line->after.rows,
                    100 * line->before.median, 100 * line->before.mean, 100 * line->before.p90,
                    100 * line->after.median, 100 * line->after.mean, 100 * line->after.p90,
                    line->kept ? "  worse" : "");
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

/* The same as seconds of a kernel, of which a dense block has so many. */
static void print_launches(const struct own_lab *lab, struct text *out)
{
    const struct software *software = software_find(lab->software);
    struct unit_texts texts = {0};
    if (!software || software->launch <= 0.0 || software->block_launches <= 0.0)
        return;
    const char *now = unit_text(&texts, software->launch + lab->block / software->block_launches, UNIT_TIME);
    text_format(out, " (the host takes %s per kernel instead of %s, of a dense block's %.0f)", now,
                unit_text(&texts, software->launch, UNIT_TIME), software->block_launches);
}

/* What was learned, in words; numbers that stay within a measurement's error are not. */
static void print_lab(const struct own_lab *lab, struct text *out)
{
    struct unit_texts texts = {0};
    const char *head = "\nlearned: ";
    if (fabs(log(lab->kernels)) > 0.01) {
        text_format(out, "%skernels take %.2f of the expected time", head, lab->kernels);
        head = ", ";
    }
    if (fabs(log(lab->transfers)) > 0.01) {
        text_format(out, "%sthe network reaches %.2f of the expected speed", head, 1.0 / lab->transfers);
        head = ", ";
    }
    if (lab->block > 1e-6) {
        text_format(out, "%sthe host adds %s to each block and micro-batch", head,
                    unit_text(&texts, lab->block, UNIT_TIME));
        print_launches(lab, out);
        head = ", ";
    }
    text_add(out, *head == ','
                      ? "\n"
                      : "\nlearned: nothing that predicts runs left out better, and none of them worse "
                        "at p90\n");
}

void calibrate_print(const struct calibrate_report *report, struct text *out)
{
    if (report->line_count == 0)
        return;
    if (report->device)
        text_format(out, "%s, %s\n", report->device->name, report->device->title);
    if (*report->recorded.told && !report->recorded.device)
        text_format(out, "recorded on '%s', which is no known device\n", report->recorded.told);
    text_add(out, report->device ? "\n" : "");
    if (report->given->known) {
        print_known(report, out);
        return;
    }
    print_head("fitted", false, out);
    print_lines(report, 0, report->line_count, out);
    bool kept = false;
    for (int i = 0; i < report->line_count; i++)
        kept |= report->lines[i].kept;
    if (kept)
        text_format(out, "\nworse: of rows left out of the fit; what is known is kept%s\n",
                    report->given->output && report->file_count == 0 ? ", nothing is written" : "");
    if (report->lab.runs > 0)
        print_lab(&report->lab, out);
    if (report->fitted.name && report->fitted.pace > 0.0)
        text_format(out,
                    "\npace: %.3f (factor on the matrix products, clocks and power limit of its GPU type, "
                    "which are kept)\n",
                    report->fitted.pace);
}
