/* The form "page" of an answer: one self-contained HTML file, see report/page.h. It is there where the wing `plan` is. */
#ifndef REHEARSE_API_PAGE_H
#define REHEARSE_API_PAGE_H

#include "api/value.h"
#include "api/wings.h"

/* A row of a table of forms. */
#define API_PAGE_FORM IN_PLAN({.name = "page", .write = api_write_page}, )

bool api_write_page(const rh_handle *handle, struct text *out, struct error *err);

/* A row of a request's table of options, of its member `page`. */
#define API_PAGE_OPTION(type, its_topic)                                                                     \
    OPTION(                                                                                                  \
        type, page, OPTION_FILE, "page", .topic = (its_topic), .argument = "FILE",                           \
        .help =                                                                                              \
            "also write the answer as a page: one HTML file that needs nothing else, with pictures to zoom")

#endif
