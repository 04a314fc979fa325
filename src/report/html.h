/* HTML output. All external text goes through html_text and the like, which escape it for text and quoted
 * attributes; text_add is for markup only. */
#ifndef REHEARSE_REPORT_HTML_H
#define REHEARSE_REPORT_HTML_H

#include "core/text.h"
#include "core/unit.h"

#include <stddef.h>

/* Adds text. Control characters and bytes that are not UTF-8 become \x1b, as core/text.h has it. */
void html_text(struct text *out, const char *string);
void html_format(struct text *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds a path as a relative address, %-encoded, so that nothing in it acts as a scheme or a query. */
void html_address(struct text *out, const char *path);

/* <h3>, <p>, …: an element that holds one text. `class` may be NULL. */
void html_element(struct text *out, const char *name, const char *class, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* A picture within the page: nothing in an SVG that is shown as an image runs or loads. */
void html_image(struct text *out, const char *type, const char *data, size_t length, const char *alternative);

/* A block of JSON for the page's script, which is never run: no '<' is in it, so that nothing in it ends the block. */
void html_data(struct text *out, const char *id, const struct text *json);

void html_base64(struct text *out, const unsigned char *data, size_t length);

#define HTML_IDLE 8

/* One part of a stacked bar. */
struct html_part {
    const char *name;
    double value;
    int colour; /* of the style sheet; HTML_IDLE: of time in which nothing is done */
};

/* How the value of a cell is shown. */
enum html_kind {
    HTML_END, /* of a row: there is no cell */
    HTML_TEXT,
    HTML_HEAD,    /* a text that names the row */
    HTML_BARS,    /* a stacked bar */
    HTML_COUNT,   /* "1,203,114" */
    HTML_GENERAL, /* as short as %g has it */
    HTML_SHARE,   /* of 1, in percent */
    HTML_BYTES,   /* from here on in the order of enum unit_kind */
    HTML_RATE,
    HTML_TIME,
    HTML_EXACT = HTML_BYTES + UNIT_SHARE, /* of 1, in percent with four digits */
    HTML_MONEY,
};

/* A cell. A text that is NULL and a number that is not finite are shown as a dash. */
struct html_cell {
    enum html_kind kind;
    const char *text;
    double number;                 /* of a bar: the value of its full width */
    const struct html_part *parts; /* of a bar */
    int part_count;
};

/* Tables. Titles begin with '<' (text) or '>' (numbers, aligned right), and end with NULL. What stands in one behind a
 * tab is its tip, as in the names of facts. */
void html_table(struct text *out, const char *caption, const char *const *titles);
void html_table_end(struct text *out);
void html_cell(struct text *out, struct html_cell cell);
void html_row(struct text *out, const struct html_cell *cells);

/* Adds a row of the cells that follow. */
#define HTML_ROW(out, ...) html_row(out, (const struct html_cell[]){__VA_ARGS__, {.kind = HTML_END}})

static inline struct html_cell cell_text(const char *text)
{
    return (struct html_cell){.kind = HTML_TEXT, .text = text};
}

static inline struct html_cell cell_head(const char *text)
{
    return (struct html_cell){.kind = HTML_HEAD, .text = text};
}

static inline struct html_cell cell_number(enum html_kind kind, double number)
{
    return (struct html_cell){.kind = kind, .number = number};
}

static inline struct html_cell cell_bars(const struct html_part *parts, int count, double whole)
{
    return (struct html_cell){.kind = HTML_BARS, .number = whole, .parts = parts, .part_count = count};
}

/* Key numbers side by side: a list of labels and values. Values that are not finite are omitted. */
void html_facts(struct text *out);
void html_facts_end(struct text *out);
void html_fact(struct text *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void html_fact_quantity(struct text *out, const char *name, double value, enum unit_kind kind);
void html_fact_share(struct text *out, const char *name, double value);

/* Adds a number as every part of a page has it. */
void html_number(struct text *out, enum html_kind kind, double value);

/* "1,203,114": a whole number in groups, into `buffer`, which is returned. */
char *html_grouped(char buffer[48], double value);

/* A stacked bar; parts ≤ 0 are omitted. */
void html_bar(struct text *out, const struct html_part *parts, int count, double whole);
void html_bar_and_legend(struct text *out, const struct html_part *parts, int count, double whole);
/* The legend of colours; with a whole above 0 it shows the shares and omits entries without one. */
void html_legend(struct text *out, const struct html_part *parts, int count, double whole);

#endif
