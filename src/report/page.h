/* The frame of every page. What is seen comes first: data of pictures, and then the script, stand behind it. */
#ifndef REHEARSE_REPORT_PAGE_H
#define REHEARSE_REPORT_PAGE_H

#include "core/error.h"
#include "core/text.h"

#include <stddef.h>

/* Begins a page; its contents, if `class` is "frame", and <main> follow. */
void report_page_begin(struct text *page, const char *title, const char *class);

/* Ends <main>; blocks of data may follow. */
void report_page_close(struct text *page, const char *remark);

/* Adds the planner that runs in the page, 1.5 MB, for pages that have a figure of it: nothing where this program was built without
 * (docs/page.md), which the figure then says. */
void report_page_planner(struct text *page);

void report_page_end(struct text *page);

struct report_drawing;

/* The answer of a command, for a page of its own. */
struct report_answer {
    const char *line;        /* that asks it; NULL: not known */
    const char *file;        /* that it was written to; NULL: none */
    const char *text, *json; /* two forms of it */
    size_t json_length;
    const struct report_drawing *drawing; /* NULL: none */
};

/* Appends the page. ERROR_INPUT: no kind of document that a report knows. */
bool report_answer(const struct report_answer *answer, struct text *page, struct error *err);

#endif
