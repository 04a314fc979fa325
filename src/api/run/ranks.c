/* Ranks that are started for a call: each is `rehearse run` with the words of the request. */
#include "api/run/run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add_value(struct text *text, const struct option_spec *spec, const void *field)
{
    switch (spec->kind) {
    case OPTION_FLAG:
        return;
    case OPTION_INTEGER:
        text_format(text, "=%" PRId64, *(const int64_t *)field);
        return;
    case OPTION_NUMBER:
    case OPTION_QUANTITY:
        text_format(text, "=%.17g", *(const double *)field);
        return;
    default:
        text_format(text, "=%s", *(const char *const *)field);
    }
}

/* Adds a word of a command line, which ends with its NUL: "--name=value", or the value alone. */
static int add_words(struct text *text, const struct option_spec *spec, const void *request)
{
    const void *field = (const char *)request + spec->at;
    const struct rh_list *list = field;
    size_t count = spec->repeats ? list->count : 1;
    for (size_t i = 0; i < count; i++) {
        if (spec->is_operand) {
            text_add(text, list->items[i]);
        } else {
            text_format(text, "--%s", spec->name);
            if (spec->repeats)
                text_format(text, "=%s", list->items[i]);
            else
                add_value(text, spec, field);
        }
        text_add_bytes(text, "", 1);
    }
    return (int)count;
}

static int write_words(struct text *text, const struct rh_play_request *given, const struct api_call *call)
{
    int count = 2;
    text_add_bytes(text, "run", 4);
    for (int i = 0; api_play.options[i].name; i++)
        if (call->given[i] && !api_play.options[i].of_callers && !api_play.options[i].is_operand)
            count += add_words(text, &api_play.options[i], given);
    text_add_bytes(text, "--", 3);
    for (int i = 0; api_play.options[i].name; i++)
        if (api_play.options[i].is_operand)
            count += add_words(text, &api_play.options[i], given);
    return count;
}

bool play_launch_open(struct play_launch *open, const struct rh_play_request *given,
                      const struct api_call *call, struct error *err)
{
    *open = (struct play_launch){.launch = {.timeout = given->timeout}};
    struct launch *launch = &open->launch;
    int count = write_words(&open->text, given, call);
    open->words = calloc((size_t)count + 1, sizeof *open->words);
    if (open->text.failed || !open->words)
        return error_memory(err);
    char *at = open->text.data;
    for (; launch->word_count < count; at += strlen(at) + 1)
        open->words[launch->word_count++] = at;
    launch->words = open->words;
    return true;
}

void play_launch_close(struct play_launch *open)
{
    text_release(&open->text);
    free(open->words);
}
