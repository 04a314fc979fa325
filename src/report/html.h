/* HTML output. All external text goes through html_text and the like, which escape it for text and quoted
 * attributes; text_add is for markup only. */
#ifndef REHEARSE_REPORT_HTML_H
#define REHEARSE_REPORT_HTML_H

#include "core/text.h"
#include "core/unit.h"

#include <stdbool.h>
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

/* Tables. Titles begin with '<' (text) or '>' (numbers, aligned right), and end with NULL. A cell of NULL, or of a number
 * that is not finite, says that there is none. */
void html_table(struct text *out, const char *caption, const char *const *titles);
void html_table_end(struct text *out);
void html_row(struct text *out);
void html_row_end(struct text *out);
void html_row_head(struct text *out, const char *string);
void html_cell(struct text *out, const char *string);
void html_number(struct text *out, double value, int decimals);
void html_general(struct text *out, double value, int digits); /* as short as %g has it */
void html_share(struct text *out, double value);               /* of 1, in percent */
void html_quantity(struct text *out, double value, enum unit_kind kind, int digits);

/* Key numbers side by side: a list of labels and values. Values that are not finite are omitted. */
void html_facts(struct text *out);
void html_facts_end(struct text *out);
void html_fact(struct text *out, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void html_fact_quantity(struct text *out, const char *name, double value, enum unit_kind kind, int digits);
void html_fact_share(struct text *out, const char *name, double value);

/* "1,203,114": a whole number in groups, into `buffer`, which is returned. */
char *html_grouped(char buffer[48], double value);

/* A stacked bar of parts, in a cell or a paragraph; parts ≤ 0 are omitted. */
struct html_part {
    const char *name;
    double value;
    const char *colour; /* "#0072b2" */
};
void html_bar(struct text *out, const struct html_part *parts, int count, double whole);
/* The legend of colours; with a whole above 0 it shows the shares and omits entries without one. */
void html_legend(struct text *out, const struct html_part *parts, int count, double whole);

#endif
