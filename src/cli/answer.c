#include "cli/answer.h"

#include "cli/output.h"
#include "cli/stop.h"

bool answer_error(const struct rh_error *error, struct error *err)
{
    enum error_kind kind = error->code == RH_STOPPED ? ERROR_FAILED : (enum error_kind)error->code;
    return error_set(err, kind, "%s", error->text);
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

bool answer_say(const rh_handle *answer, const char *form, struct error *err)
{
    struct rh_text written;
    struct rh_error error;
    if (!rh_write(answer, form, &written, &error))
        return answer_error(&error, err);
    output_say(&(struct text){.data = written.data, .length = written.length});
    rh_text_free(&written);
    return true;
}

bool answer_save(const rh_handle *answer, const char *form, const char *path, struct error *err)
{
    struct rh_error error;
    return rh_save(answer, form, path, &error) || answer_error(&error, err);
}

bool answer_deliver(rh_handle *answer, const char *form, const char *path, const struct rh_error *error,
                    struct error *err)
{
    if (!answer)
        return answer_error(error, err);
    bool done = answer_write(answer, form, path, err);
    rh_free(answer);
    return done;
}

bool answer_end(rh_handle *answer, const struct rh_error *error, struct error *err)
{
    if (!answer)
        return answer_error(error, err);
    rh_free(answer);
    return true;
}

bool answer_print(rh_handle *answer, const char *form, const struct rh_error *error, struct error *err)
{
    return answer_deliver(answer, form, NULL, error, err);
}

struct rh_call answer_call(const struct rh_call *given, int64_t threads)
{
    struct rh_call call = *given;
    call.size = sizeof call;
    call.threads = (int)threads;
    call.progress = output_shows_progress();
    call.warning = output_warning;
    return call;
}

bool answer_stoppable(struct rh_call *call, int64_t threads, struct error *err)
{
    *call = answer_call(&(struct rh_call){.stop = stop_on_signals(err)}, threads);
    return call->stop != NULL;
}
