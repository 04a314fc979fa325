#include "api/page.h"

#include "api/handle.h"
#include "report/page.h"

static bool write_form(const rh_handle *handle, const char *form, struct rh_text *text, struct error *err)
{
    struct rh_error why;
    return rh_write(handle, form, text, &why) || error_set(err, (enum error_kind)why.code, "%s", why.text);
}

bool api_write_page(const rh_handle *handle, struct text *out, struct error *err)
{
    struct rh_text text = {0}, json = {0};
    bool done = write_form(handle, "text", &text, err) && write_form(handle, "json", &json, err);
    if (done) {
        const struct report_answer answer = {
            .line = handle->line,
            .options = handle->options,
            .file = handle->file,
            .text = text.data,
            .json = json.data,
            .json_length = json.length,
            .drawing = api_is_report(handle) ? &((const struct api_report *)handle)->drawing : NULL,
        };
        done = report_answer(&answer, out, err);
    }
    rh_text_free(&text);
    rh_text_free(&json);
    return done;
}
