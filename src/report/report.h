/* One HTML page about all that a folder holds: docs/report.md.
 *
 * The page stands alone: no scripts, and nothing from elsewhere. The same folder gives the same bytes, but for what the
 * title and the links owe to where folder and page lie. */
#ifndef REHEARSE_REPORT_REPORT_H
#define REHEARSE_REPORT_REPORT_H

#include "core/arena.h"
#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REPORT_MAX_SECTIONS 1000                /* files that get more than a line */
#define REPORT_MAX_PAGE     ((size_t)128 << 20) /* bytes of the page; JSON and YAML: DOC_MAX_BYTES */

struct report_options {
    const char *folder;
    const char *
        output; /* the page: links are relative to it, and it is no part of the report. NULL: nothing of both */
    const char *title; /* NULL: the folder's name */
};

struct report_entry {
    const char *path;    /* below the folder */
    const char *kind;    /* "plan"; NULL: none that is known */
    const char *problem; /* why it is not shown, or not whole; NULL: it is */
    const char *undrawn; /* why a picture of it could not be drawn; NULL: all were */
};

struct report {
    struct arena arena;
    size_t count;
    struct report_entry *entries; /* in the order of the page; folders that are not looked into as well */
    struct text page;
};

/* What cannot be read is told in the page and in its entry. ERROR_INPUT when there is no such folder, or nothing in it
 * that is understood. On success the caller ends it with report_release. */
bool report_make(struct report *report, const struct report_options *options, struct error *err);
void report_release(struct report *report);

#endif
