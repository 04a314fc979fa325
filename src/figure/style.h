/* The style of pictures: sizes, lines, colours, panels on a page, the time axis. All gnuplot drawings start
 * here.
 *
 *     struct figure_page page;
 *     if (!figure_page_begin(&page, path, &figure_screen, 400, &err)) …
 *     figure_panel(&page, &(struct figure_box){60, 20, 700, 150});
 *     text_add(&page.script, "plot …\n");
 *     figure_page_end(&page, path, &err);
 */
#ifndef REHEARSE_FIGURE_STYLE_H
#define REHEARSE_FIGURE_STYLE_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>

/* A picture has 96 pixels per inch in every format. */
struct figure_style {
    int width;     /* of a page, pixels */
    double points; /* font size */
    double line;   /* width of lines */
    bool legends;  /* titles and legends are drawn */
};

extern const struct figure_style figure_screen; /* for screens: wide, with titles and legends */
extern const struct figure_style
    figure_paper; /* the width of a page's text (7 inches); the caption says the rest */

/* Names for a command-line option, ending with NULL, and their styles. */
extern const char *const figure_style_names[];
const struct figure_style *figure_style_at(int choice);

/* Returns Okabe and Ito's colours, safe for colour-blind readers, as "#rrggbb", repeating cyclically. */
const char *figure_colour(int i);
/* Returns a lighter tone of the same. */
const char *figure_colour_light(int i);

/* Returns the fixed colour of a name in all pictures, as in the VLDB study if it has one: "read", "write",
 * "block.read", "block.write"; "INIT", "TRAINING", "EVAL", "CHECKPOINT"; "cpu.usr", "gpu.sm", "disk.rMB/s", …
 * Others: grey. */
const char *figure_colour_of(const char *name);

/* `colour` mixed with white: share 1 is the colour itself, 0 is white. */
struct figure_tone {
    char text[8];
};
struct figure_tone figure_tint(const char *colour, double share);

/* Height of a line of text, pixels. */
double figure_line_height(const struct figure_style *style);

/* A page of panels. */
struct figure_page {
    const struct figure_style *style;
    int width, height; /* pixels */
    double panel;      /* width of the panel's axes: so many marks have room */
    struct text script;
};

/* The ending of `path` sets the format. On failure there is nothing to release. */
bool figure_page_begin(struct figure_page *page, const char *path, const struct figure_style *style,
                       int height, struct error *err);

/* Draws, writes the picture atomically, and releases. */
bool figure_page_end(struct figure_page *page, const char *path, struct error *err);

/* Releases without drawing. */
void figure_page_drop(struct figure_page *page);

/* Adds a title above all panels. */
void figure_page_title(struct figure_page *page, double left, const char *title);

/* Pixels from the page's upper left corner. */
struct figure_box {
    double left, top, width, height;
};

/* The next `plot` fills this box with its axes; labels lie outside. Resets the panel's settings. */
void figure_panel(struct figure_page *page, const struct figure_box *box);

/* Adds text at a place to the next plot; `align` is 'l', 'c' or 'r'. */
void figure_label(struct figure_page *page, double left, double top, char align, const char *text);

/* Adds the title of the y axis of the next plot: terminals place their own differently. */
void figure_side_label(struct figure_page *page, const struct figure_box *box, const char *text);

/* Places the legend of the next plot by its upper left corner. */
void figure_key(struct figure_page *page, double left, double top);

/* Places the legend of the next plot in one line by its upper right corner. */
void figure_key_line(struct figure_page *page, double right, double top);

/* Adds an x axis of seconds with natural marks ("0:30", "1:00"); `numbers`: label the marks. */
void figure_time_axis(struct figure_page *page, double from, double to, bool numbers);

/* Returns the smallest natural step (1, 2, 5, 10, …) that divides a range into at most `max` parts. */
double figure_step(double range, int max);

enum figure_unit { FIGURE_BYTES, FIGURE_RATE, FIGURE_SECONDS, FIGURE_COUNT };

/* Formats a value, not a count, with up to three digits and without trailing zeros: "4 KiB", "5.01 us". */
void figure_value(char *text, size_t size, double value, enum figure_unit unit);

/* Marks of an axis of bytes or seconds from `min` to `max`, for the x or the y axis: "4 KiB", "10 us". On a logarithmic
 * axis powers, of 2 or of 10, else even steps. */
void figure_log_axis(struct figure_page *page, char axis, enum figure_unit unit, double min, double max,
                     bool numbers);
/* Marks of a y axis from 0 to `max` or a little more, with a maximum number of steps. */
void figure_even_axis(struct figure_page *page, enum figure_unit unit, double max, int steps);

#endif
