#include "figure/trace/names.h"

#include "figure/gnuplot.h"

#include <string.h>

const char *figure_trace_name(const char *const *paths, int count, int which)
{
    for (int i = 0; i < count; i++)
        if (i != which && strcmp(basename(paths[i]), basename(paths[which])) == 0)
            return paths[which];
    return basename(paths[which]);
}

void figure_name_add(struct text *out, const char *name, struct trace_shortfall shortfall)
{
    text_add(out, name);
    if (shortfall.lost == 0 && shortfall.cut_ns == TRACE_NONE)
        return;
    text_add(out, " (");
    trace_shortfall_add(out, shortfall);
    text_add(out, ")");
}

bool figure_names_fit(size_t count, struct error *err)
{
    return count <= FIGURE_MAX_TRACES ||
           error_set(err, ERROR_USAGE, "%zu traces: at most %d can be drawn", count, FIGURE_MAX_TRACES);
}

void figure_names_draw(struct figure_page *page, double left, const char *const *paths,
                       const struct trace_shortfall *shortfalls, int count, const char *title)
{
    double line = figure_line_height(page->style);
    struct text name = {0};
    if (count == 1) {
        figure_name_add(&name, title ? title : figure_trace_name(paths, 1, 0), shortfalls[0]);
        if (page->style->legends)
            figure_page_title(page, left, text_within(&name, &page->script));
        text_release(&name);
        return;
    }
    figure_panel(page, &(struct figure_box){left, 0, page->width - left - 20, 1.4 * line});
    text_add(&page->script, "unset border\nunset tics\nset xrange [0:1]\nset yrange [0:1]\n");
    if (title && page->style->legends)
        figure_label(page, left, 0.8 * line, 'l', title);
    figure_key_line(page, page->width - 20, 0.3 * line);
    text_add(&page->script, "plot ");
    for (int i = 0; i < count; i++) {
        figure_name_add(&name, figure_trace_name(paths, count, i), shortfalls[i]);
        text_format(&page->script, "%sNaN with lines linewidth 4 linecolor rgb '%s' title ",
                    i > 0 ? ", " : "", figure_colour(i));
        gnuplot_add_string(&page->script, text_within(&name, &page->script));
        text_release(&name);
    }
    text_add(&page->script, "\n");
}
