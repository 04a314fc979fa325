#include "figure/sweep.h"

#include "figure/gnuplot.h"
#include "figure/style.h"

#include <math.h>

#define WIDTH  760
#define HEIGHT 480

static void add_label(struct text *script, const char *what, const char *label)
{
    text_format(script, "set %s ", what);
    gnuplot_add_string(script, label);
    text_add(script, "\n");
}

static void add_axes(const struct figure_sweep *sweep, struct text *script)
{
    add_label(script, "title", sweep->title);
    add_label(script, "xlabel", sweep->x_title);
    add_label(script, "ylabel", sweep->y_title);
    text_add(script, "set border 3\nset tics nomirror out\nset grid lc rgb '#dddddd'\nset key outside above "
                     "horizontal maxcols 2 left Left reverse\n"
                     "set datafile missing '?'\nset yrange [0:]\n");
    if (sweep->scaling)
        text_add(script, "set xrange [0:]\n");
    else
        text_add(script, "set logscale x 2\n");
}

static void add_data(const struct figure_sweep *sweep, struct text *script)
{
    text_add(script, "$lines << EOD\n");
    for (int i = 0; i < sweep->point_count; i++) {
        text_format(script, "%.9g", sweep->x[i]);
        for (int j = 0; j < sweep->line_count; j++)
            if (isfinite(sweep->lines[j].values[i]))
                text_format(script, " %.9g", sweep->lines[j].values[i]);
            else
                text_add(script, " ?");
        text_add(script, "\n");
    }
    text_add(script, "EOD\n");
}

static void add_plot(const struct figure_sweep *sweep, struct text *script)
{
    text_add(script, "plot ");
    if (sweep->scaling)
        text_add(script, "$lines using 1:1 with lines dt 2 lc rgb '#aaaaaa' title 'perfect scaling', ");
    for (int j = 0; j < sweep->line_count; j++) {
        text_format(script, "%s$lines using 1:%d with linespoints pt 7 ps 0.5 lw %d lc rgb '%s' title ",
                    j > 0 ? ", " : "", j + 2, j == 0 ? 2 : 1, figure_colour(j));
        gnuplot_add_string(script, sweep->lines[j].title);
    }
    text_add(script, "\n");
}

static bool has_values(const struct figure_sweep *sweep)
{
    for (int j = 0; j < sweep->line_count; j++)
        for (int i = 0; i < sweep->point_count; i++)
            if (isfinite(sweep->lines[j].values[i]))
                return true;
    return false;
}

bool figure_sweep(const char *path, const struct figure_sweep *sweep, struct error *err)
{
    struct text script = {0};
    if (!has_values(sweep))
        return error_set(err, ERROR_INFEASIBLE, "'%s': nothing to draw: no point has a value of '%s'", path,
                         sweep->y_title);
    bool drawn = gnuplot_set_terminal(path, WIDTH, HEIGHT, figure_screen.points, &script, err);
    if (drawn) {
        add_axes(sweep, &script);
        add_data(sweep, &script);
        add_plot(sweep, &script);
        drawn = gnuplot_run(path, &script, err);
    }
    text_release(&script);
    return drawn;
}
