/* rh_report_make: all files of a folder on one HTML page. */
#include "report/report.h"
#include "api/command.h"
#include "core/caller.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
    rh_handle base;
    struct report report;
    char *output;
    bool made;
};

static const struct field file_fields[] = {
    FIELD_OUT(struct report_entry, "path", path, FIELD_TEXT),
    FIELD_OUT(struct report_entry, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct report_entry, "problem", problem, FIELD_TEXT),
};

static void write_json(const rh_handle *handle, struct json *json)
{
    const struct page *page = (const struct page *)handle;
    json_open_document(json, "rehearse-report/1");
    json_string(json, "report", page->output);
    FIELDS_LIST(page->report.entries, page->report.count, file_fields, json, "files");
    json_close(json);
}

static bool write_html(const rh_handle *handle, struct text *out, struct error *err)
{
    const struct text *html = &((const struct page *)handle)->report.page;
    (void)err;
    text_add_bytes(out, html->data, html->length);
    return true;
}

/* The files by kind, for people. */
static bool write_text(const rh_handle *handle, struct text *out, struct error *err)
{
    const struct page *page = (const struct page *)handle;
    (void)err;
    text_format(out, "%s\n", page->output);
    for (size_t i = 0; i < page->report.count; i++)
        text_format(out, "%s: %s\n", page->report.entries[i].path,
                    page->report.entries[i].kind ? page->report.entries[i].kind : "unknown");
    return true;
}

static void release(rh_handle *handle)
{
    struct page *page = (struct page *)handle;
    if (page->made)
        report_release(&page->report);
    free(page->output);
}

static const struct api_form forms[] = {
    {.name = "text", .write = write_text},
    {.name = "json"},
    {.name = "html", .write = write_html},
    {.name = NULL},
};
static const struct api_kind kind = {"report", forms, release, write_json};

static bool make_page(struct page *page, const struct rh_report_request *asked, const struct api_call *call,
                      struct error *err)
{
    enum file_kind found;
    struct report *report = &page->report;
    if (!file_look(asked->folder, &found, err))
        return false;
    if (found != FILE_FOLDER)
        return error_set(err, ERROR_INPUT, "%s: %s", asked->folder,
                         found != FILE_NONE ? "expected a folder, found a file" : "there is no such folder");
    if ((asked->output ? asprintf(&page->output, "%s", asked->output)
                       : asprintf(&page->output, "%s/report.html", asked->folder)) < 0) {
        page->output = NULL;
        return error_memory(err);
    }
    const struct report_options options = {asked->folder, page->output, asked->title};
    page->made = report_make(report, &options, err);
    if (!page->made || api_stopped(call, err))
        return false;
    if (strcmp(page->output, "-") != 0 && !file_write_text(page->output, &report->page, err))
        return false;
    for (size_t i = 0; i < report->count; i++)
        if (report->entries[i].problem)
            caller_warn("not in the report: %s: %s", report->entries[i].path, report->entries[i].problem);
    return true;
}

static rh_handle *make_report(const void *request, const struct api_call *call, struct error *err)
{
    struct page *page = api_new(&kind, sizeof *page, err);
    return page ? api_made(&page->base, make_page(page, request, call, err), err) : NULL;
}

API_WHOLE_COMMAND(report_page, "report", rh_report_request, .make = make_report);
