/* Handles: what a command has made. One is made whole by its maker and is only read afterwards.
 *
 * A maker embeds struct rh_handle at the start of a struct of its own, and returns it. Callers may ask by name for all
 * that its document has (heard.h), and for what it adds from tables of fields (value.h). */
#ifndef REHEARSE_API_HANDLE_H
#define REHEARSE_API_HANDLE_H

#include "api/heard.h"
#include "api/value.h"
#include "api/wings.h"
#include "report/page.h"
#include "report/parts.h"

/* Returns a handle of `size` bytes, all else zero. NULL: out of memory. */
void *api_new(const struct api_kind *kind, size_t size, struct error *err);

/* Ends a maker: the handle, or NULL and an error where `made` is false or values are missing. */
rh_handle *api_made(rh_handle *handle, bool made, struct error *err);

/* Copies a request's list, which ends with the call, for as long as the handle lives. It ends with NULL. NULL: out of
 * memory. */
const char *const *api_keep_list(rh_handle *handle, const struct rh_list *list, struct error *err);

/* Checks that a handle is of a kind. The message names the field that holds it. */
bool api_is(const rh_handle *handle, const struct api_kind *kind, const char *field, struct error *err);

/* Moves an error to the caller, who may not want it. */
void api_report(const struct error *err, struct rh_error *error);

/* ---- answers that are texts and values alone: what their JSON has is a value, too ---- */

struct api_report {
    rh_handle base;
    struct text text, json_text, csv;
    struct json json; /* writes json_text; what is written are values, too */
    struct json_listener listener;
    struct heard heard;
    /* What its page draws from data of its own. Its text is freed with the handle. */
    struct report_drawing drawing;
    /* What values point into, which is freed with the handle, and what releases it before. NULL: nothing. */
    void *kept;
    void (*drop)(void *kept);
};

/* Returns an empty one, for its maker to write both texts. */
struct api_report *api_report_new(struct error *err);

/* The form "page", where the wing `plan` is: one self-contained HTML file, see report/page.h. A row of a table of
 * forms. */
#define API_PAGE_FORM IN_PLAN({.name = "page", .write = api_write_page}, )
bool api_write_page(const rh_handle *handle, struct text *out, struct error *err);

/* A report that also has comma-separated values. */
extern const struct api_kind api_sweep_kind;

/* Returns `size` zeroed bytes for what its values point into; `drop` (may be NULL) ends it. NULL: out of memory. */
void *api_report_keep(struct api_report *report, size_t size, void (*drop)(void *kept), struct error *err);

#endif
