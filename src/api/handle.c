#include "api/handle.h"

#include "core/file_output.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *rh_version(void)
{
    return REHEARSE_VERSION;
}

void api_report(const struct error *err, struct rh_error *error)
{
    if (!error)
        return;
    error->code = (int)err->kind;
    snprintf(error->text, sizeof error->text, "%s", err->text);
}

/* ---- reports ---- */

static bool copy(const struct text *from, struct text *out, struct error *err)
{
    text_add_bytes(out, from->data ? from->data : "", from->length);
    return !from->failed || error_memory(err);
}

static bool write_report_text(const rh_handle *handle, struct text *out, struct error *err)
{
    return copy(&((const struct api_report *)handle)->text, out, err);
}

static bool write_report_json(const rh_handle *handle, struct text *out, struct error *err)
{
    return copy(&((const struct api_report *)handle)->json_text, out, err);
}

static bool write_report_csv(const rh_handle *handle, struct text *out, struct error *err)
{
    return copy(&((const struct api_report *)handle)->csv, out, err);
}

static void release_report(rh_handle *handle)
{
    struct api_report *report = (struct api_report *)handle;
    text_release(&report->text);
    text_release(&report->json_text);
    text_release(&report->csv);
    report_drawing_release(&report->drawing);
    arena_release(&report->heard.arena);
    if (report->drop)
        report->drop(report->kept);
    free(report->kept);
}

static const struct api_form report_forms[] = {
    {.name = "text", .write = write_report_text},
    {.name = "json", .write = write_report_json},
    API_PAGE_FORM{.name = NULL},
};

static const struct api_kind report_kind = {
    .name = "report", .forms = report_forms, .release = release_report};

static const struct api_form sweep_forms[] = {
    {.name = "text", .write = write_report_text},
    {.name = "json", .write = write_report_json},
    {.name = "csv", .write = write_report_csv},
    API_PAGE_FORM{.name = NULL},
};

const struct api_kind api_sweep_kind = {.name = "sweep", .forms = sweep_forms, .release = release_report};

static bool is_report(const rh_handle *handle)
{
    return handle->kind->release == release_report;
}

/* ---- pages ---- */

#if REHEARSE_WING_PLAN
static bool write_for_page(const rh_handle *handle, const char *form, struct rh_text *text, struct error *err)
{
    struct rh_error why;
    return rh_write(handle, form, text, &why) || error_set(err, (enum error_kind)why.code, "%s", why.text);
}

bool api_write_page(const rh_handle *handle, struct text *out, struct error *err)
{
    struct rh_text text = {0}, json = {0};
    bool done = write_for_page(handle, "text", &text, err) && write_for_page(handle, "json", &json, err);
    if (done) {
        const struct report_answer answer = {
            .line = handle->line,
            .file = handle->file,
            .text = text.data,
            .json = json.data,
            .json_length = json.length,
            .drawing = is_report(handle) ? &((const struct api_report *)handle)->drawing : NULL,
        };
        done = report_answer(&answer, out, err);
    }
    rh_text_free(&text);
    rh_text_free(&json);
    return done;
}
#endif

/* ---- making ---- */

void *api_new(const struct api_kind *kind, size_t size, struct error *err)
{
    rh_handle *handle = calloc(1, size);
    if (handle)
        handle->kind = kind;
    else
        error_memory(err);
    return handle;
}

static void hear_document(rh_handle *handle)
{
    struct heard heard = {.handle = handle};
    const struct json_listener listener = {heard_item, &heard};
    struct text text = {0};
    handle->kind->write(handle, &(struct json){.out = &text, .listener = &listener});
    handle->failed = handle->failed || text.failed;
    text_release(&text);
    heard_end(&heard);
}

rh_handle *api_made(rh_handle *handle, bool made, struct error *err)
{
    if (made && is_report(handle))
        heard_end(&((struct api_report *)handle)->heard);
    else if (made && handle->kind->write)
        hear_document(handle);
    if (made && !handle->failed)
        return handle;
    if (made)
        error_memory(err);
    rh_free(handle);
    return NULL;
}

const char *const *api_keep_list(rh_handle *handle, const struct rh_list *list, struct error *err)
{
    const char **copy = ARENA_ARRAY(&handle->arena, list->count + 1, const char *);
    bool kept = copy;
    for (size_t i = 0; kept && i < list->count; i++)
        kept = (copy[i] = arena_string(&handle->arena, list->items[i])) != NULL;
    if (!kept)
        error_memory(err);
    return kept ? copy : NULL;
}

bool api_is(const rh_handle *handle, const struct api_kind *kind, const char *field, struct error *err)
{
    return handle->kind == kind || error_set(err, ERROR_USAGE, "%s: expected a %s, found a %s", field,
                                             kind->name, handle->kind->name);
}

/* ---- reading ---- */

void rh_free(rh_handle *handle)
{
    if (!handle)
        return;
    if (handle->kind->release)
        handle->kind->release(handle);
    arena_release(&handle->arena);
    free(handle);
}

const char *rh_kind(const rh_handle *handle)
{
    return handle ? handle->kind->name : NULL;
}

bool rh_get(const rh_handle *handle, const char *name, struct rh_array *array)
{
    const struct api_value *value = api_find(handle, name);
    if (value && array)
        *array = value->array;
    return value != NULL;
}

double rh_number(const rh_handle *handle, const char *name)
{
    const struct api_value *value = api_find(handle, name);
    const void *data = value && value->array.dimensions == 0 ? value->array.data : NULL;
    switch (data ? value->array.type : '\0') {
    case 'd':
        return *(const double *)data;
    case 'q':
        return (double)*(const int64_t *)data;
    case 'i':
        return *(const int *)data;
    case '?':
        return *(const bool *)data;
    default:
        return NAN;
    }
}

const char *rh_string(const rh_handle *handle, const char *name)
{
    const struct api_value *value = api_find(handle, name);
    bool is_text = value && value->array.dimensions == 0 && value->array.type == 's';
    return is_text ? *(const char *const *)value->array.data : NULL;
}

const char *rh_name(const rh_handle *handle, int index)
{
    return handle && index >= 0 && index < handle->count ? handle->values[index].name : NULL;
}

/* ---- forms ---- */

const char *rh_form(const rh_handle *handle, int index)
{
    if (!handle || index < 0)
        return NULL;
    for (const struct api_form *form = handle->kind->forms; form->name; form++)
        if (index-- == 0)
            return form->name;
    return NULL;
}

static const struct api_form *choose_form(const rh_handle *handle, const char *name, struct error *err)
{
    struct text list = {0};
    if (!handle || !name)
        return error_null(err, ERROR_USAGE, handle ? "no format is given" : "there is no handle to write");
    for (const struct api_form *form = handle->kind->forms; form->name; form++)
        if (strcmp(form->name, name) == 0)
            return form;
    for (const struct api_form *form = handle->kind->forms; form->name; form++)
        text_format(&list, "%s%s", list.length > 0 ? ", " : "", form->name);
    error_set(err, ERROR_USAGE, "a %s has no format '%s'; it has %s", handle->kind->name, name,
              list.failed ? "others" : list.data);
    text_release(&list);
    return NULL;
}

static bool write_form(const rh_handle *handle, const char *name, struct text *text, struct error *err)
{
    const struct api_form *form = choose_form(handle, name, err);
    if (!form)
        return false;
    if (!form->write && !form->save && handle->kind->write) {
        handle->kind->write(handle, &(struct json){.out = text});
        return !text->failed || error_memory(err);
    }
    if (!form->write)
        return error_set(err, ERROR_USAGE, "format '%s' of a %s is a folder: it can only be saved", name,
                         handle->kind->name);
    text_add(text, ""); /* an empty form is a text, too */
    return form->write(handle, text, err) && (!text->failed || error_memory(err));
}

bool rh_write(const rh_handle *handle, const char *form, struct rh_text *text, struct rh_error *error)
{
    struct text written = {0};
    struct error err;
    locale_t before = text_use_plain_locale();
    bool done = text ? write_form(handle, form, &written, &err)
                     : error_set(&err, ERROR_USAGE, "there is no place for the text");
    uselocale(before);
    if (done) {
        *text = (struct rh_text){written.data, written.length};
        return true;
    }
    api_report(&err, error);
    text_release(&written);
    if (text)
        *text = (struct rh_text){NULL, 0};
    return false;
}

void rh_text_free(struct rh_text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (struct rh_text){NULL, 0};
}

static bool save(const rh_handle *handle, const char *name, const char *path, struct error *err)
{
    const struct api_form *form = choose_form(handle, name, err);
    struct text written = {0};
    if (!form)
        return false;
    if (!path || !*path)
        return error_set(err, ERROR_USAGE, "there is no path to save to");
    if (form->save)
        return form->save(handle, path, err);
    bool done =
        write_form(handle, name, &written, err) && file_write(path, written.data, written.length, err);
    text_release(&written);
    return done;
}

bool rh_save(const rh_handle *handle, const char *form, const char *path, struct rh_error *error)
{
    struct error err;
    locale_t before = text_use_plain_locale();
    bool done = save(handle, form, path, &err);
    uselocale(before);
    if (!done)
        api_report(&err, error);
    return done;
}

struct api_report *api_report_new(struct error *err)
{
    struct api_report *report = api_new(&report_kind, sizeof *report, err);
    if (!report)
        return NULL;
    report->heard.handle = &report->base;
    report->listener = (struct json_listener){heard_item, &report->heard};
    report->json = (struct json){.out = &report->json_text, .listener = &report->listener};
    return report;
}

void *api_report_keep(struct api_report *report, size_t size, void (*drop)(void *kept), struct error *err)
{
    report->kept = calloc(1, size);
    if (!report->kept)
        error_memory(err);
    report->drop = report->kept ? drop : NULL;
    return report->kept;
}
