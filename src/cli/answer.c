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

bool answer_print(rh_handle *answer, const char *form, const struct rh_error *error, struct error *err)
{
    if (!answer)
        return answer_error(error, err);
    bool done = answer_write(answer, form, NULL, err);
    rh_free(answer);
    return done;
}

struct rh_call answer_call(const struct rh_call *given, int64_t threads)
{
    struct rh_call call = *given;
    call.size = sizeof call;
    call.threads = (int)threads;
    return call;
}
