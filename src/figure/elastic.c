#include "figure/elastic.h"

#include "figure/style.h"

#include <stdio.h>

#define LEFT   70
#define RIGHT  40
#define TOP    46
#define PANEL  86
#define GAP    16
#define BOTTOM 48
#define BINS   480

#define MAX_HOURS 72 /* of an axis with hours and minutes */

/* The share of nodes that are there: the mean of each bin. */
static void present_bins(const struct failure_trace *trace, double *bins)
{
    double width = trace->horizon / BINS, from = 0;
    int present = trace->present;
    for (int i = 0; i < BINS; i++)
        bins[i] = 0;
    for (int i = 0; i <= trace->count; i++) {
        double to = i < trace->count ? trace->events[i].time : trace->horizon;
        for (int bin = (int)(from / width); bin < BINS && bin * width < to; bin++) {
            double first = from > bin * width ? from : bin * width, last = (bin + 1) * width;
            bins[bin] += ((last < to ? last : to) - first) / width * present / trace->nodes;
        }
        from = to;
        if (i < trace->count)
            present += trace->events[i].returned ? 1 : -1;
    }
}

static void add_bins(struct text *script, const char *name, const double *bins, double horizon)
{
    text_format(script, "$%s << EOD\n", name);
    for (int i = 0; i < BINS; i++)
        text_format(script, "%.6g %.4g\n%.6g %.4g\n", i * horizon / BINS, bins[i], (i + 1) * horizon / BINS,
                    bins[i]);
    text_add(script, "EOD\n");
}

/* Days, where seconds would be long numbers. */
static void add_time_axis(struct figure_page *page, double horizon, bool last)
{
    if (horizon <= MAX_HOURS * 3600.0) {
        figure_time_axis(page, 0, horizon, last);
        return;
    }
    double days = horizon / SECONDS_PER_DAY, step = figure_step(days, 12);
    text_format(&page->script, "set xrange [0:%.9g]\nset xtics (", horizon);
    for (int i = 0; i * step <= days; i++)
        if (last)
            text_format(&page->script, "%s'%g d' %.9g", i > 0 ? ", " : "", i * step,
                        i * step * SECONDS_PER_DAY);
        else
            text_format(&page->script, "%s'' %.9g", i > 0 ? ", " : "", i * step * SECONDS_PER_DAY);
    text_add(&page->script, ")\n");
}

static void add_panel(struct figure_page *page, const struct elastic_series *series, int place, bool last,
                      double horizon)
{
    struct figure_box box = {LEFT, TOP + place * (PANEL + GAP), page->width - LEFT - RIGHT, PANEL};
    double bins[BINS], all = 0;
    elastic_series_bins(series, horizon, bins, BINS);
    for (int i = 0; i < ELASTIC_CAUSE_COUNT; i++)
        all += series->result.seconds[i];
    figure_panel(page, &box);
    add_bins(&page->script, "speed", bins, horizon);
    add_time_axis(page, horizon, last);
    text_add(&page->script,
             "set yrange [0:1.05]\nset ytics 0.5\nset border 3\nset tics nomirror out\nunset key\n");
    char label[96];
    snprintf(label, sizeof label, "%s: %.1f %%", series->name,
             100 * series->result.seconds[ELASTIC_TRAINED] / all);
    figure_label(page, box.left + 6, box.top - 4, 'l', label);
    text_format(&page->script,
                "plot $nodes using 1:2 with filledcurves y1=0 lc rgb '#e4e4e4', "
                "$speed using 1:2 with filledcurves y1=0 lc rgb '%s', "
                "$speed using 1:2 with lines lw %g lc rgb '%s'\n",
                figure_colour_light(0), page->style->line, figure_colour(0));
}

bool figure_elastic(const char *path, const struct elastic_series *series, int count,
                    const struct failure_trace *trace, struct error *err)
{
    struct figure_page page;
    double bins[BINS];
    int height = TOP + count * (PANEL + GAP) - GAP + BOTTOM;
    if (count < 1 || count > ELASTIC_MAX_PANELS)
        return error_set(err, ERROR_USAGE, "a picture has room for 1 to %d policies, not %d",
                         ELASTIC_MAX_PANELS, count);
    if (!figure_page_begin(&page, path, &figure_screen, height, err))
        return false;
    present_bins(trace, bins);
    add_bins(&page.script, "nodes", bins, trace->horizon);
    figure_page_title(
        &page, LEFT, "Share of full speed (blue) and of nodes that are there (grey); goodput of each policy");
    for (int i = 0; i < count; i++)
        add_panel(&page, &series[i], i, i == count - 1, trace->horizon);
    return figure_page_end(&page, path, err);
}
