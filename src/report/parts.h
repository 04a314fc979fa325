/* The sections of a report, for their writers. */
#ifndef REHEARSE_REPORT_PARTS_H
#define REHEARSE_REPORT_PARTS_H

#include "core/doc.h"
#include "core/error.h"
#include "core/text.h"
#include "report/html.h"

#include <stdbool.h>
#include <stddef.h>

#define REPORT_MAX_PICTURE ((size_t)16 << 20) /* bytes of a picture */

/* The parts of the page in order: the way of the data, plans first. */
enum report_group {
    REPORT_PLANS,
    REPORT_SWEEPS,
    REPORT_COSTS,
    REPORT_CHECKS,
    REPORT_DATA,
    REPORT_FEEDS,
    REPORT_TRACES,
    REPORT_COMPARISONS,
    REPORT_STEPS,
    REPORT_FIGURES,
    REPORT_GIVEN,
    REPORT_GROUPS,
    REPORT_LINKED /* only a link */
};

/* One file at work. */
struct report_part {
    const char *path;      /* as the page names it */
    const char *full;      /* to open it */
    const struct doc *doc; /* JSON and YAML; NULL for others */
    struct text out;       /* its section */
    /* What was asked, the answer and how sure it is, as plain text in one line; and what to run next, as HTML. */
    struct text asked, says, sure, next;
    struct text data; /* blocks that its pictures are drawn from: they stand at the end of the page */
    size_t index;     /* of the section in the page, and how many pictures it has: their names */
    int pictures;
    const char *line,
        *file;        /* the line that asks the answer, and the file that it lies in; NULL: not known */
    bool has_planner; /* the page has one already */
};

void report_part_release(struct report_part *part);
bool report_part_failed(struct report_part *part); /* out of memory */

/* Sets what is said of the part's document, unless its writer has; and what to run next. */
bool report_tell(struct report_part *part, struct error *err);

/* Adds what stands first in a section: question, answer, how sure it is, and what to run next. */
void report_verdict(const struct report_part *part, struct text *out);

/* Begins a picture that the script draws from JSON, which this keeps as a block of data: draw.curve of
 * page/curve.js is "curve". What stands in it up to report_figure_end is what readers without scripts see.
 * `caption` may be NULL. */
void report_figure(struct report_part *part, const char *draw, const struct text *json, const char *caption);
void report_figure_end(struct report_part *part);

/* A picture that is drawn from data of its own, beside those of the document: report_figure. */
struct report_drawing {
    const char *draw, *caption; /* draw NULL: there is none */
    struct text json, table;    /* table: what stands in it for readers without scripts */
};

static inline void report_drawing_release(struct report_drawing *drawing)
{
    text_release(&drawing->json);
    text_release(&drawing->table);
}

void report_add_drawing(struct report_part *part, const struct report_drawing *drawing);

/* Makes a drawing of lines; `caption` is the lines' title. */
struct figure_sweep;
void report_draw_lines(struct report_drawing *drawing, const struct figure_sweep *lines);

/* Writes a section. Its output is discarded if it fails. */
typedef bool report_writer(struct report_part *part, struct error *err);

struct report_kind {
    const char *format; /* the `format` of JSON and YAML; NULL: files of other software */
    const char
        *keys; /* that files without `format` have: old ones of ours, and other software's; NULL: none */
    const char *ending; /* of other files */
    const char *name;
    enum report_group group;
    report_writer *write; /* NULL: a link is enough */
};

extern const struct report_kind report_kinds[]; /* ended by one without a name */

/* Return the kind of a document, and of a file by its ending; NULL: unknown. */
const struct report_kind *report_kind_of_doc(const struct doc *doc);
const struct report_kind *report_kind_of_ending(const char *path);

/* Return the value at a key of a document's map or, if it is missing, NULL, NAN, NULL, false. "all/bias" is the key
 * "bias" of the map at "all". `map` may be NULL or no map. */
const struct doc_node *report_find(const struct doc_node *map, const char *keys);
double report_number(const struct doc_node *map, const char *key);
const char *report_string(const struct doc_node *map, const char *key);
bool report_flag(const struct doc_node *map, const char *key);
const struct doc_node *report_list(const struct doc_node *map, const char *key); /* not an empty one */

report_writer report_plan, report_templates, report_check;
struct plan;
void report_pipelines(const struct plan *plan, struct text *out); /* their tables of stages */
report_writer report_feed;
report_writer report_trace;
report_writer report_svg, report_png;
report_writer report_document; /* any JSON or YAML: lists its content */

#define REPORT_MAX_ROWS    200 /* of a table */
#define REPORT_MAX_COLUMNS 14

/* A column of a table of maps. */
struct report_column {
    const char *title;   /* as html_table has it */
    enum html_kind kind; /* HTML_END: the caller adds the cell, <td> included */
    const char *key;     /* of the value in each map; NULL: none */
};
typedef void report_cell(struct text *out, const struct report_column *column, const struct doc_node *map);

/* Adds a table with a row for each map of a list, and nothing without a list. `columns` end with one without a title,
 * `noun` names the rows that are left out. */
void report_table(struct text *out, const char *caption, const struct report_column *columns,
                  const struct doc_node *list, const char *noun, report_cell *add);
void report_table_begin(struct text *out, const char *caption, const struct report_column *columns);
void report_row(struct text *out, const struct report_column *columns, const struct doc_node *map,
                report_cell *add);

/* "And 3 more runs in the file.", if there are more than `shown`. */
void report_more(struct text *out, int64_t count, int64_t shown, const char *noun);

/* Adds a table of maps with a column for each of their keys, as report_document makes them. Nothing without a list. */
void report_rows(struct text *out, const char *caption, const struct doc_node *list);

/* Adds the values of a map that are no maps. `map` may be NULL. */
void report_facts(const struct doc_node *map, struct text *out);

#endif
