#include "figure/scatter.h"

#include "figure/gnuplot.h"
#include "figure/style.h"

#include <string.h>

#define WIDTH  760
#define HEIGHT 640

#define MAX_GENERATIONS 16

static bool is_drawn(const struct run *run)
{
    return !run->reason && run->scored;
}

/* The generations there are, in the order of the runs. */
static int list_generations(const struct validation *validation, const char **names)
{
    int count = 0;
    for (int i = 0; i < validation->count; i++) {
        if (!is_drawn(&validation->runs[i]))
            continue;
        const char *name = validation->runs[i].job.device->generation;
        int at = 0;
        while (at < count && strcmp(names[at], name) != 0)
            at++;
        if (at == count && count < MAX_GENERATIONS)
            names[count++] = name;
    }
    return count;
}

static void add_points(const struct validation *validation, const char *generation, struct text *script)
{
    for (int i = 0; i < validation->count; i++) {
        const struct run *run = &validation->runs[i];
        if (is_drawn(run) && strcmp(run->job.device->generation, generation) == 0)
            text_format(script, "%.6g %.6g\n", run->seconds, run->expected);
    }
    text_add(script, "e\n");
}

bool figure_scatter(const struct validation *validation, const char *path, struct error *err)
{
    const char *names[MAX_GENERATIONS];
    int count = list_generations(validation, names);
    struct text script = {0};
    if (count == 0)
        return error_set(err, ERROR_INFEASIBLE, "nothing to draw: no run could be modelled");
    if (!gnuplot_set_terminal(path, WIDTH, HEIGHT, figure_screen.points, &script, err)) {
        text_release(&script);
        return false;
    }
    text_add(&script, "set logscale xy\nset grid lc rgb '#dddddd'\nset key left top\nset size square\n"
                      "set xlabel 'measured, seconds per iteration'\nset ylabel 'predicted'\n"
                      "plot x with lines lc rgb '#555555' title 'no error', "
                      "1.15*x with lines dt 2 lc rgb '#aaaaaa' title '15 % off', "
                      "x/1.15 with lines dt 2 lc rgb '#aaaaaa' notitle");
    for (int i = 0; i < count; i++) {
        text_format(&script, ", '-' with points pt 7 ps 0.6 lc rgb '%s' title ", figure_colour(i));
        gnuplot_add_string(&script, names[i]);
    }
    text_add(&script, "\n");
    for (int i = 0; i < count; i++)
        add_points(validation, names[i], &script);
    bool drawn = gnuplot_run(path, &script, err);
    text_release(&script);
    return drawn;
}
