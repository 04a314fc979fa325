/* How pictures look: sizes, lines, colours, panels on a page, the axis of time. Everything that draws with gnuplot
 * begins here.
 *
 *     struct figure_page page;
 *     if (!figure_page_begin(&page, path, &figure_screen, 0, 400, &err)) …
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

/* A picture has 96 pixels an inch, whatever it is written as. */
struct figure_style {
    int width;     /* of a page, pixels */
    double points; /* size of the letters */
    double line;   /* width of lines */
    bool legends;  /* titles, and what the colours stand for */
};

extern const struct figure_style figure_screen; /* to look at: wide, with titles and legends */
extern const struct figure_style
    figure_paper; /* the width of a page's text (7 inches); the caption says the rest */

/* For an option of the command line, ended by NULL, and what its choices stand for. */
extern const char *const figure_style_names[];
const struct figure_style *figure_style_at(int choice);

/* Okabe and Ito's colours, told apart by all eyes, "#rrggbb"; after the last the first again. */
const char *figure_colour(int i);
/* The same in a lighter tone. */
const char *figure_colour_light(int i);

/* The colour that a thing has in all pictures, the VLDB study's where it has one: "read", "write", "block.read",
 * "block.write"; "INIT", "TRAINING", "EVAL", "CHECKPOINT"; "cpu.usr", "gpu.sm", "disk.rMB/s", … Others: grey. */
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

/* `width` 0: the style's. The ending of `path` says what is written. On failure nothing is to be released. */
bool figure_page_begin(struct figure_page *page, const char *path, const struct figure_style *style,
                       int width, int height, struct error *err);

/* Draws, puts the picture into the file as a whole or not at all, and releases. */
bool figure_page_end(struct figure_page *page, const char *path, struct error *err);

/* Releases without drawing. */
void figure_page_drop(struct figure_page *page);

/* A title above all panels. */
void figure_page_title(struct figure_page *page, double left, const char *title);

/* Pixels from the page's upper left corner. */
struct figure_box {
    double left, top, width, height;
};

/* The next `plot` fills this box with its axes; tics, labels and titles are outside. Settings of the panel before
 * are gone. */
void figure_panel(struct figure_page *page, const struct figure_box *box);

/* Text at a place, `align` 'l', 'c' or 'r'; for the next plot. */
void figure_label(struct figure_page *page, double left, double top, char align, const char *text);

/* The title of the next plot's y axis, this many pixels left of it: terminals differ in where they put one. */
void figure_side_label(struct figure_page *page, const struct figure_box *box, double away, const char *text);

/* The legend of the next plot, with its upper left corner at this place. */
void figure_key(struct figure_page *page, double left, double top);

/* The legend of the next plot in one line, with its upper right corner at this place. */
void figure_key_line(struct figure_page *page, double right, double top);

/* An x axis of seconds, with marks that people use ("0:30", "1:00"); `numbers`: are the marks named, or only there
 * (of all panels but the last)? */
void figure_time_axis(struct figure_page *page, double from, double to, bool numbers);

/* The least step that people count in (1, 2, 5, 10, …) which makes at most `most` of a range. */
double figure_step(double range, int most);

enum figure_unit { FIGURE_BYTES, FIGURE_RATE, FIGURE_SECONDS, FIGURE_COUNT };

/* A value with three digits, or fewer where the others are 0: "4 KiB", "5.01 us". */
void figure_value(char *text, size_t size, double value, enum figure_unit unit);

/* Marks of an axis of bytes or seconds from `least` to `most`, for the x or the y axis: "4 KiB", "10 us". On a logarithmic axis powers, of 2 or of 10, else even steps. */
void figure_log_axis(struct figure_page *page, char axis, enum figure_unit unit, double least, double most,
                     bool numbers);
/* From 0 to at least `most`. At most so many steps. */
void figure_even_axis(struct figure_page *page, char axis, enum figure_unit unit, double most, int steps,
                      bool numbers);

#endif
