/* One HTML page about the contents of a folder: docs/report.md.
 *
 * The page is self-contained: no scripts, no external resources. The same folder gives the same bytes, except
 * for title and links, which depend on the paths of folder and page. */
#ifndef REHEARSE_REPORT_REPORT_H
#define REHEARSE_REPORT_REPORT_H

#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>

#define REPORT_MAX_SECTIONS 1000                /* files with more than a line */
#define REPORT_MAX_PAGE     ((size_t)128 << 20) /* bytes of the page; JSON and YAML: DOC_MAX_BYTES */

struct report_options {
    const char *folder;
    const char *output; /* the page: links are relative to it, and the report leaves it out; NULL: no page */
    const char *title;  /* NULL: the folder's name */
};

struct report_entry {
    const char *path;    /* below the folder */
    const char *kind;    /* "plan"; NULL: unknown */
    const char *problem; /* why it is missing or incomplete; NULL: it is complete */
};

struct report {
    struct arena arena;
    size_t count;
    struct report_entry *entries; /* in the order of the page, unread folders included */
    struct text page;
};

/* Unreadable files are reported in the page and their entry. ERROR_INPUT if the folder is missing or has
 * nothing known. On success the caller ends it with report_release. */
bool report_make(struct report *report, const struct report_options *options, struct error *err);
void report_release(struct report *report);

#endif
