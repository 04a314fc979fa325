/* The frame of every page. What is seen comes first: data of pictures, and then the script, stand behind it. */
#ifndef REHEARSE_REPORT_PAGE_H
#define REHEARSE_REPORT_PAGE_H

#include "core/text.h"

/* Begins a page; its contents and <main> follow. */
void report_page_begin(struct text *page, const char *title);

/* Ends <main>; blocks of data may follow. */
void report_page_close(struct text *page, const char *remark);

/* Adds the planner that runs in the page, 1.5 MB, for pages that have a figure of it: nothing where this program was built without
 * (docs/page.md), which the figure then says. */
void report_page_planner(struct text *page);

void report_page_end(struct text *page);

#endif
