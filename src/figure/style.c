#include "figure/style.h"

#include "core/unit.h"
#include "figure/gnuplot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct figure_style figure_screen = {.width = 1000, .points = 10, .line = 1.4, .legends = true};
const struct figure_style figure_paper = {.width = 672, .points = 8, .line = 1, .legends = false};

const char *const figure_style_names[] = {"screen", "paper", NULL};

const struct figure_style *figure_style_at(int choice)
{
    return choice == 1 ? &figure_paper : &figure_screen;
}

static const char *const colours[][2] = {
    {"#0072b2", "#7fb8d8"}, {"#e69f00", "#f2cf7f"}, {"#009e73", "#7fceb9"}, {"#cc79a7", "#e5bcd3"},
    {"#56b4e9", "#aad9f4"}, {"#d55e00", "#eaae7f"}, {"#999999", "#cccccc"}, {"#b8a900", "#dcd47f"},
};
#define COLOURS ((int)(sizeof colours / sizeof *colours))

const char *figure_colour(int i)
{
    return colours[i % COLOURS][0];
}

const char *figure_colour_light(int i)
{
    return colours[i % COLOURS][1];
}

/* Of traces and phases the study's (dodgerblue, red, gold, darkorchid, mediumvioletred), but requests to disks darker,
 * so that readers of any sight tell them from calls: tests/figure/style_test.c has the distances. */
static const struct named {
    const char *name, *colour;
} named_colours[] = {
    {"read", "#1e90ff"},       {"write", "#ff0000"},    {"block.read", "#0000a0"}, {"block.write", "#660033"},
    {"INIT", "#0000ff"},       {"TRAINING", "#ffd700"}, {"EVAL", "#9932cc"},       {"CHECKPOINT", "#c71585"},
    {"cpu.usr", "#0072b2"},    {"cpu.sys", "#e69f00"},  {"cpu.iowait", "#d55e00"}, {"cpu.idle", "#b0b0b0"},
    {"gpu.sm", "#d62728"},     {"gpu.mem", "#e69f00"},  {"gpu.fb", "#0072b2"},     {"disk.rMB/s", "#0000ff"},
    {"disk.wMB/s", "#ff0000"},
};

const char *figure_colour_of(const char *name)
{
    for (size_t i = 0; i < sizeof named_colours / sizeof *named_colours; i++)
        if (strcmp(named_colours[i].name, name) == 0)
            return named_colours[i].colour;
    return "#808080";
}

struct figure_tone figure_tint(const char *colour, double share)
{
    struct figure_tone tone;
    char *end;
    unsigned long rgb = strtoul(colour + 1, &end, 16), mixed = 0;
    rgb = *end ? 0 : rgb; /* all are "#rrggbb" */
    for (int shift = 16; shift >= 0; shift -= 8)
        mixed = mixed << 8 | (unsigned long)lround(255 - share * (double)(255 - (rgb >> shift & 255)));
    snprintf(tone.text, sizeof tone.text, "#%06lx", mixed & 0xffffff);
    return tone;
}

double figure_line_height(const struct figure_style *style)
{
    return ceil(style->points * 96 / 72 * 1.3);
}

#define SIDE_LABEL 46 /* pixels from a panel to the title of its y axis */

/* ---- pages and panels ---- */

bool figure_page_begin(struct figure_page *page, const char *path, const struct figure_style *style,
                       int height, struct error *err)
{
    *page = (struct figure_page){.style = style, .width = style->width, .height = height};
    page->panel = page->width;
    if (gnuplot_set_terminal(path, page->width, height, style->points, &page->script, err)) {
        text_add(&page->script, "set multiplot\n");
        return true;
    }
    text_release(&page->script);
    return false;
}

bool figure_page_end(struct figure_page *page, const char *path, struct error *err)
{
    text_add(&page->script, "unset multiplot\n");
    bool drawn = gnuplot_run(path, &page->script, err);
    text_release(&page->script);
    return drawn;
}

void figure_page_drop(struct figure_page *page)
{
    text_release(&page->script);
}

void figure_panel(struct figure_page *page, const struct figure_box *box)
{
    double width = page->width, height = page->height;
    page->panel = box->width;
    text_format(
        &page->script,
        "reset\nset lmargin at screen %.6f\nset rmargin at screen %.6f\n"
        "set tmargin at screen %.6f\nset bmargin at screen %.6f\n"
        "set border 3 linecolor rgb '#444444'\nset tics nomirror out scale 0.5 textcolor rgb 'black'\n"
        "set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1\nset datafile missing "
        "'?'\nunset key\n",
        box->left / width, (box->left + box->width) / width, 1 - box->top / height,
        1 - (box->top + box->height) / height);
}

/* A label of a plot that draws nothing else. */
void figure_page_title(struct figure_page *page, double left, const char *title)
{
    text_add(&page->script,
             "reset\nset lmargin at screen 0\nset rmargin at screen 1\nset tmargin at screen 1\n"
             "set bmargin at screen 0\nunset border\nunset tics\nunset key\nset xrange [0:1]\n"
             "set yrange [0:1]\n");
    figure_label(page, left, 0.8 * figure_line_height(page->style), 'l', title);
    text_add(&page->script, "plot NaN\n");
}

/* `place` is a justification, and a rotation if any. */
static void add_label(struct figure_page *page, double left, double top, const char *place, const char *text)
{
    text_add(&page->script, "set label ");
    gnuplot_add_string(&page->script, text);
    text_format(&page->script, " at screen %.6f, screen %.6f %s front\n", left / page->width,
                1 - top / page->height, place);
}

void figure_label(struct figure_page *page, double left, double top, char align, const char *text)
{
    add_label(page, left, top, align == 'l' ? "left" : align == 'r' ? "right" : "center", text);
}

void figure_side_label(struct figure_page *page, const struct figure_box *box, const char *text)
{
    add_label(page, box->left - SIDE_LABEL, box->top + box->height / 2, "center rotate", text);
}

void figure_key(struct figure_page *page, double left, double top)
{
    text_format(&page->script, "set key at screen %.6f, screen %.6f left top Left reverse samplen 1\n",
                left / page->width, 1 - top / page->height);
}

void figure_key_line(struct figure_page *page, double right, double top)
{
    text_format(&page->script,
                "set key at screen %.6f, screen %.6f right top horizontal Left reverse samplen 1\n",
                right / page->width, 1 - top / page->height);
}

/* ---- axes ---- */

double figure_step(double range, int max)
{
    double power = pow(10, floor(log10(range / max)));
    static const double steps[] = {1, 2, 5};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power * max >= range * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

static double time_step(double range, int max)
{
    static const double steps[] = {15,   30,   60,   120,   300,   600,   900,
                                   1800, 3600, 7200, 10800, 21600, 43200, 86400};
    if (range / max <= 10)
        return figure_step(range, max);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * max >= range)
            return steps[i];
    return 86400 * figure_step(range / 86400, max);
}

/* "12 s", "1:30", "2:00:00": one form for the whole axis, chosen by its end. */
static void format_time(char *label, size_t size, double seconds, double furthest)
{
    long long whole = llround(seconds);
    if (furthest <= 120)
        snprintf(label, size, "%.9g s", seconds);
    else if (furthest < 7200 && whole >= 0)
        snprintf(label, size, "%lld:%02lld", whole / 60, whole % 60);
    else
        snprintf(label, size, "%s%lld:%02lld:%02lld", whole < 0 ? "-" : "", llabs(whole) / 3600,
                 llabs(whole) / 60 % 60, llabs(whole) % 60);
}

void figure_time_axis(struct figure_page *page, double from, double to, bool numbers)
{
    int max = (int)(page->panel / 85);
    double step = time_step(to - from, max > 2 ? max : 2);
    char label[64];
    bool minutes = to > 120 && step >= 1; /* otherwise seconds, also far from the beginning */
    text_format(&page->script, "set xrange [%.12g:%.12g]\nset xtics (", from, to);
    long long first = (long long)ceil(from / step - 1e-9), last = (long long)floor(to / step + 1e-9);
    for (long long i = first; i <= last; i++) {
        double at = (double)i * step;
        format_time(label, sizeof label, at, minutes ? to : 0);
        text_add(&page->script, i > first ? ", " : "");
        gnuplot_add_tic(&page->script, numbers ? label : "", at);
    }
    text_add(&page->script, ")\n");
}

static const enum unit_kind unit_kinds[] = {UNIT_BYTES, UNIT_RATE, UNIT_TIME};

void figure_value(char *text, size_t size, double value, enum figure_unit unit)
{
    unit_format(text, size, value, unit_kinds[unit], 3);
    char *space = strchr(text, ' ');
    if (space && memchr(text, '.', (size_t)(space - text))) {
        char *last = space - 1;
        while (*last == '0')
            last--;
        last -= *last == '.';
        memmove(last + 1, space, strlen(space) + 1);
    }
}

/* Formats the number of a mark with all its digits. */
static void format_value(char *label, size_t size, double value, enum figure_unit unit)
{
    double plain = 0, power = fabs(value) >= 1e6 ? 1e6 : fabs(value) >= 1e4 ? 1e3 : 1;
    if (unit == FIGURE_COUNT)
        snprintf(label, size, "%.12g%s", value / power, power == 1e6 ? " M" : power == 1e3 ? " k" : "");
    for (int digits = 1; unit != FIGURE_COUNT && digits < 7; digits++) {
        unit_format(label, size, value, unit_kinds[unit], digits);
        if (unit_parse(label, unit_kinds[unit], &plain) && fabs(plain - value) <= 1e-9 * fabs(value))
            break;
    }
}

static void add_mark(struct figure_page *page, double value, enum figure_unit unit, bool numbers, bool first)
{
    char label[64];
    format_value(label, sizeof label, value, unit);
    text_add(&page->script, first ? "" : ", ");
    gnuplot_add_tic(&page->script, numbers ? value == 0 ? "0" : label : "", value);
}

/* From power to power by 2^k or 10^k. */
void figure_log_axis(struct figure_page *page, char axis, enum figure_unit unit, double min, double max,
                     bool numbers)
{
    double base = unit == FIGURE_BYTES ? 2 : 10;
    int first = (int)floor(log(min) / log(base) + 1e-9), last = (int)ceil(log(max) / log(base) - 1e-9);
    if (last <= first)
        last = first + 1;
    int marks = axis == 'x' ? (int)(page->panel / (5.5 * page->style->points)) : 8;
    int step = (last - first + marks) / (marks > 1 ? marks : 1);
    text_format(&page->script, "set logscale %c %g\nset %crange [%.12g:%.12g]\nset %ctics (", axis, base,
                axis, pow(base, first), pow(base, last), axis);
    for (int i = first; i <= last; i += step)
        add_mark(page, pow(base, i), unit, numbers, i == first);
    text_add(&page->script, ")\n");
}

void figure_even_axis(struct figure_page *page, enum figure_unit unit, double max, int steps)
{
    double top = max > 0 ? max : 1, step;
    if (unit == FIGURE_BYTES) { /* even numbers of KiB, MiB, … */
        double power = pow(1024, floor(log2(top) / 10));
        step = power * figure_step(top / power, steps);
    } else
        step = figure_step(top, steps);
    int last = (int)ceil(top / step - 1e-9);
    text_format(&page->script, "set yrange [0:%.12g]\nset ytics (", last * step);
    for (int i = 0; i <= last; i++)
        add_mark(page, i * step, unit, true, i == 0);
    text_add(&page->script, ")\n");
}
