#include "figure/splits.h"

#include "core/unit.h"
#include "figure/gnuplot.h"
#include "figure/style.h"

#include <inttypes.h>
#include <stdio.h>

#define WIDTH        960
#define ROW_HEIGHT   34
#define FRAME_HEIGHT 150
#define PARTS        7

/* Okabe and Ito's colours, told apart by all eyes. */
static const struct part {
    const char *name, *colour;
} parts[PARTS] = {
    {"compute", "#0072b2"}, {"bubble", "#cccccc"},    {"tensor", "#e69f00"}, {"send", "#56b4e9"},
    {"data", "#009e73"},    {"optimizer", "#cc79a7"}, {"other", "#d55e00"},
};

static void parts_of(const struct job_time *time, double values[PARTS])
{
    const double all[PARTS] = {time->compute, time->bubble,    time->tensor, time->send,
                               time->data,    time->optimizer, time->other};
    for (int i = 0; i < PARTS; i++)
        values[i] = all[i];
}

static void add_rows(const struct job_search *search, struct text *script)
{
    text_add(script, "set ytics (");
    for (int i = 0; i < search->plan_count; i++) {
        const struct job *job = &search->plans[i].job;
        char label[128];
        snprintf(label, sizeof label, "tp %d cp %d ep %d pp %d dp %d, mbs %" PRId64 " vp %d", job->tensor,
                 job->context, job->expert, job->pipeline, job->data, job->microbatch, job->chunks);
        text_add(script, i ? ", " : "");
        gnuplot_add_tic(script, label, i);
    }
    text_format(script, ")\nset yrange [%d.7:-0.7]\n", search->plan_count - 1);
}

/* Data for boxxyerror: xlow xhigh row colour. */
static void add_bars(const struct job_search *search, struct text *script)
{
    text_add(script, "$bars << EOD\n");
    for (int i = 0; i < search->plan_count; i++) {
        double values[PARTS], from = 0.0;
        parts_of(&search->plans[i].time, values);
        for (int p = 0; p < PARTS; p++) {
            text_format(script, "%.9g %.9g %d.0 0x%s\n", from, from + values[p], i, parts[p].colour + 1);
            from += values[p];
        }
    }
    text_add(script, "EOD\n");
}

static void add_plot(struct text *script)
{
    text_add(script,
             "set xrange [0:*]\n"
             "plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder "
             "linecolor rgb variable notitle");
    for (int p = 0; p < PARTS; p++)
        text_format(script, ", NaN with boxes fillstyle solid noborder linecolor rgb '%s' title '%s'",
                    parts[p].colour, parts[p].name);
    text_add(script, "\n");
}

bool figure_splits(const char *path, const struct job_search *search, struct error *err)
{
    struct text script = {0};
    const struct job *job = &search->plans[0].job;
    char title[256], time[32];
    bool ok = gnuplot_set_terminal(path, WIDTH, FRAME_HEIGHT + ROW_HEIGHT * search->plan_count,
                                   figure_screen.points, &script, err);
    if (ok) {
        unit_format(time, sizeof time, search->plans[0].time.seconds, UNIT_TIME, 4);
        snprintf(title, sizeof title, "%.80s on %d x %.80s: %s", job->model->name, job->devices,
                 job->device->name, time);
        text_add(&script, "set xlabel 'seconds of an iteration'\nset border 3\nset tics nomirror out\n"
                          "set key above horizontal maxcols 4 samplen 1\nset title ");
        gnuplot_add_string(&script, title);
        text_add(&script, "\n");
        add_rows(search, &script);
        add_bars(search, &script);
        add_plot(&script);
        ok = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return ok;
}
