/* The frame of every page. What is seen comes first: data of pictures, and then the script, stand behind it. */
#ifndef REHEARSE_REPORT_PAGE_H
#define REHEARSE_REPORT_PAGE_H

#include "core/text.h"

/* Begins a page; its contents and <main> follow. */
void report_page_begin(struct text *page, const char *title);

/* Ends <main>; blocks of data may follow. */
void report_page_close(struct text *page, const char *remark);

void report_page_end(struct text *page);

#endif
