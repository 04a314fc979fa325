#include "cli/answer.h"
#include "cli/command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns whether execvp would find a program of this name. */
static bool is_program(const char *name)
{
    const char *path = getenv("PATH");
    char full[4096];
    for (path = path ? path : "/bin:/usr/bin"; *path; path += *path == ':') {
        size_t length = strcspn(path, ":");
        int made = snprintf(full, sizeof full, "%.*s/%s", (int)length, length ? path : ".", name);
        if (made > 0 && made < (int)sizeof full && access(full, X_OK) == 0)
            return true;
        path += length;
    }
    return false;
}

/* Returns the command whose last word this is, preferably a 'trace ...'; NULL: there is none. */
static const struct command *command_of_word(const char *const *last, size_t count, const char *word)
{
    const struct command *found = NULL;
    for (size_t i = 0; i < count; i++)
        if (strcmp(last[i], word) == 0 && (!found || text_starts_with(commands[i]->name, "trace ")))
            found = commands[i];
    return found;
}

/* 'rehearse trace steps x' is more often a mistaken 'figure steps' than a program of that name. So a word
 * of one of our commands is a program only after '--', and so is a word near to one if there is no such
 * program. */
static bool check_first_word(const struct command_line *line, struct error *err)
{
    const char *word = line->operands.count > 0 ? line->operands.items[0] : "";
    const char *last[64];
    size_t count = 0;
    if (line->operands.count == 0 || line->after_dashes || strchr(word, '/'))
        return true;
    for (; commands[count] && count < sizeof last / sizeof *last; count++) {
        const char *space = strchr(commands[count]->name, ' ');
        last[count] = space ? space + 1 : commands[count]->name;
    }
    const struct command *meant = command_of_word(last, count, word);
    const char *nearest = !meant && !is_program(word) ? text_nearest(word, last, count) : NULL;
    if (nearest)
        meant = command_of_word(last, count, nearest);
    return !meant ||
           error_set(err, ERROR_USAGE,
                     "trace: did you mean 'rehearse %s'? a program '%s' is traced by 'rehearse trace -- %s'",
                     meant->name, word, word);
}

/* What is said goes to standard error: standard output and the exit status are the command's. */
static bool say(const rh_report *report, const char *form, struct error *err)
{
    return rh_number(report, "complete") == 0 || answer_say(report, form, err);
}

static bool run_trace(void *context, struct error *err)
{
    const struct command_line *line = context;
    rh_report *report = check_first_word(line, err) ? answer_ask(context, err) : NULL;
    if (!report)
        return false;
    double status = rh_number(report, "status"); /* NAN: no command was run */
    bool done = say(report, line->json ? "json" : "text", err);
    rh_free(report);
    if (done && status > 0.0)
        exit((int)status);
    return done;
}

COMMAND(trace, &api_trace,
        .options = COMMAND_ROWS(LINE_JSON_OF("print a summary of the recording as JSON, on standard error")),
        .operands = {.help = "the command to run, after '--', with its own options"}, .run = run_trace);
