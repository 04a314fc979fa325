#include "figure/trace/phases.h"

#include "figure/gnuplot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BARS 4000

bool figure_bars_list(struct figure_bars *bars, const struct trace_reader *reader,
                      const struct trace_window *window, struct error *err)
{
    int count;
    const struct trace_phase *phases = trace_phases(reader, &count);
    *bars = (struct figure_bars){.items = calloc(MAX_BARS, sizeof *bars->items)};
    if (!bars->items)
        return error_memory(err);
    double first = trace_window_seconds(window, window->from_ns),
           last = trace_window_seconds(window, window->to_ns);
    for (int i = 0; i < count && bars->count < MAX_BARS; i++)
        if (phases[i].end_ns >= window->from_ns && phases[i].start_ns <= window->to_ns)
            bars->items[bars->count++] = (struct figure_bar){
                phases[i].name, fmax(first, trace_window_seconds(window, phases[i].start_ns)),
                fmin(last, trace_window_seconds(window, phases[i].end_ns))};
    return true;
}

void figure_bars_release(struct figure_bars *bars)
{
    free(bars->items);
    *bars = (struct figure_bars){0};
}

static struct figure_tone tone_of(const struct figure_bar *bar)
{
    return figure_tint(figure_colour_of(bar->name), 0.55);
}

static bool is_first_of_name(const struct figure_bars *bars, int which)
{
    for (int i = 0; i < which; i++)
        if (strcmp(bars->items[i].name, bars->items[which].name) == 0)
            return false;
    return true;
}

static void name_bars(struct figure_page *page, const struct figure_box *box, const struct figure_bars *bars,
                      double from, double to)
{
    for (int i = 0; i < bars->count; i++) {
        const struct figure_bar *bar = &bars->items[i];
        double width = (bar->to - bar->from) / (to - from) * box->width;
        double middle = ((bar->from + bar->to) / 2 - from) / (to - from) * box->width;
        if (width > 0.88 * page->style->points * (double)strlen(bar->name) + 4)
            figure_label(page, box->left + middle, box->top + box->height / 2, 'c', bar->name);
    }
}

void figure_bars_draw(struct figure_page *page, const struct figure_box *box, const struct figure_bars *bars,
                      double from, double to)
{
    struct text *script = &page->script;
    name_bars(page, box, bars, from, to);
    text_add(script, "set yrange [0:1]\nunset ytics\nset border 1\n$phases << EOD\n");
    for (int i = 0; i < bars->count; i++)
        text_format(script, "%.12g %.12g 0x%s\n", bars->items[i].from, bars->items[i].to,
                    tone_of(&bars->items[i]).text + 1);
    text_add(script, "EOD\nplot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder "
                     "linecolor rgb variable notitle, ");
    for (int i = 0; i < bars->count; i++)
        if (is_first_of_name(bars, i)) {
            text_format(script, "NaN with boxes fillstyle solid noborder linecolor rgb '%s' title ",
                        tone_of(&bars->items[i]).text);
            gnuplot_add_string(script, bars->items[i].name);
            text_add(script, ", ");
        }
    text_add(script,
             "$phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle\n");
}

void figure_bars_shade(struct figure_page *page, const struct figure_bars *bars)
{
    for (int i = 0; i < bars->count; i++)
        text_format(&page->script,
                    "set object rectangle from %.12g, graph 0 to %.12g, graph 1 behind fillcolor rgb '%s' "
                    "fillstyle solid noborder\n",
                    bars->items[i].from, bars->items[i].to,
                    figure_tint(figure_colour_of(bars->items[i].name), 0.15).text);
}
