#include "cli/answer.h"

#include "cli/output.h"

bool answer_error(const struct rh_error *error, struct error *err)
{
    return error_set(err, (enum error_kind)error->code, "%s", error->text);
}

bool answer_write(const rh_handle *answer, const char *form, const char *path, struct error *err)
{
    struct rh_text written;
    struct rh_error error;
    if (!rh_write(answer, form, &written, &error))
        return answer_error(&error, err);
    const struct text text = {.data = written.data, .length = written.length};
    bool done = output_text(path, &text, err);
    rh_text_free(&written);
    return done;
}

bool answer_save(const rh_handle *answer, const char *form, const char *path, struct error *err)
{
    struct rh_error error;
    return rh_save(answer, form, path, &error) || answer_error(&error, err);
}
