#include "ask.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void question_set(struct question *question, const char *name, const char *format, ...)
{
    int at = 0;
    while (at < question->count && strcmp(question->options[at].name, name) != 0)
        at++;
    if (!format) {
        if (at < question->count)
            question->options[at] = question->options[--question->count];
        return;
    }
    if (at == QUESTION_MAX_OPTIONS)
        abort();
    va_list values;
    va_start(values, format);
    question->options[at].name = name;
    if (vsnprintf(question->options[at].value, QUESTION_MAX_VALUE, format, values) >= QUESTION_MAX_VALUE)
        abort();
    va_end(values);
    question->count += at == question->count;
}

const char *question_value(const struct question *question, const char *name)
{
    for (int i = 0; i < question->count; i++)
        if (strcmp(question->options[i].name, name) == 0)
            return question->options[i].value;
    return NULL;
}

static bool find_option(const char *command, const char *name, struct rh_option *option)
{
    *option = (struct rh_option){.size = sizeof *option};
    for (int i = 0; rh_option(command, i, option); i++)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

/* Fills a list of one text, which stays in `item`. */
static bool set_option(const struct question *question, int at, void *request, const char **item,
                       struct rh_error *error)
{
    const char *name = question->options[at].name, *value = question->options[at].value;
    struct rh_option option;
    if (!find_option(question->command, name, &option)) {
        snprintf(error->text, sizeof error->text, "%s has no option %s", question->command, name);
        error->code = RH_USAGE;
        return false;
    }
    if (option.type != 'l')
        return rh_set(question->command, request, name, value, error);
    *item = value;
    struct rh_list list = {item, 1};
    memcpy((char *)request + option.offset, &list, sizeof list);
    return true;
}

struct answer ask(const struct question *question, int threads)
{
    const char *items[QUESTION_MAX_OPTIONS];
    struct answer answer = {.time = NAN};
    struct rh_error error = {0};
    struct rh_call call = RH_INIT(call);
    size_t size = rh_request_size(question->command);
    void *request = calloc(1, size);
    if (!request)
        abort();
    memcpy(request, &size, sizeof size);
    call.threads = threads > 0 ? threads : 1;
    bool set = true;
    for (int i = 0; set && i < question->count; i++)
        set = set_option(question, i, request, &items[i], &error);
    if (set)
        answer.handle = rh_run(question->command, request, &call, &error);
    free(request);
    if (!answer.handle) {
        answer.code = error.code;
        memcpy(answer.error, error.text, sizeof answer.error);
        return answer;
    }
    answer.time = rh_number(answer.handle, "iteration_time");
    if (isnan(answer.time)) /* a schedule without a plan */
        answer.time = rh_number(answer.handle, "makespan");
    double bound = rh_number(answer.handle, "lower_bound");
    answer.bound = isfinite(bound) ? bound : 0.0;
    answer.proven = rh_number(answer.handle, "proven") == 1.0;
    return answer;
}

void answer_free(struct answer *answer)
{
    rh_free(answer->handle);
    answer->handle = NULL;
}

void question_print(const struct question *question, FILE *out)
{
    struct rh_option option;
    fprintf(out, "rehearse %s", question->command);
    for (int i = 0; i < question->count; i++) {
        const char *name = question->options[i].name, *value = question->options[i].value;
        bool is_operand = strcmp(name, "file") == 0 ||
                          (strcmp(name, "plan") == 0 && strcmp(question->command, "plan") != 0);
        find_option(question->command, name, &option);
        if (!is_operand)
            fprintf(out, " --%s", name);
        if (option.type != '?')
            fprintf(out, strpbrk(value, " *") ? " '%s'" : " %s", value);
    }
}
