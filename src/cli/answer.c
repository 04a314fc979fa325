#include "cli/answer.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "core/file_output.h"

#include <string.h>
#include <sys/stat.h>

bool answer_error(const struct rh_error *error, struct error *err)
{
    enum error_kind kind = error->code == RH_STOPPED ? ERROR_FAILED : (enum error_kind)error->code;
    return error_set(err, kind, "%s", error->text);
}

bool answer_write_form(const rh_handle *answer, const char *form, const char *path, struct error *err)
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

/* Writes a message for a person, beside the results, to standard error. */
static void output_say(const struct text *text)
{
    struct text room = {0};
    const struct text *shown = text_shown(text, &room);
    if (!shown->failed && shown->length > 0)
        fwrite(shown->data, 1, shown->length, stderr);
    text_release(&room);
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

bool answer_write(const rh_handle *answer, const struct command_line *line, struct error *err)
{
    const char *form = line->json ? "json" : line->csv ? "csv" : "text";
    return answer_write_form(answer, form, line->output, err);
}

bool answer_stoppable(struct command_line *line, struct error *err)
{
    line->call.stop = stop_on_signals(err);
    return line->call.stop != NULL;
}

rh_handle *answer_ask_for(struct command_line *line, struct rh_error *error)
{
    const struct api_command *asks = line->command->asks;
    line->call.size = sizeof line->call;
    line->call.threads = (int)line->threads;
    line->call.progress = output_shows_progress();
    line->call.warning = output_warning;
    memcpy(line->request, &asks->size, sizeof asks->size);
    return api_run(asks, line->request, &line->call, error);
}

rh_handle *answer_ask(struct command_line *line, struct error *err)
{
    struct rh_error error;
    if (line->command->asks->ends_in_order && !answer_stoppable(line, err))
        return NULL;
    rh_handle *answer = answer_ask_for(line, &error);
    if (!answer)
        answer_error(&error, err);
    return answer;
}

bool answer_run(struct command_line *line, struct error *err)
{
    rh_handle *answer = answer_ask(line, err);
    bool done = answer && (line->command->silent || answer_write(answer, line, err));
    rh_free(answer);
    return done;
}
