#include "cli/answer.h"
#include "cli/command.h"

#define PLAN_CSV                                                                                             \
    OPTION(command_line, csv, OPTION_FLAG, "csv", .topic = "output",                                         \
           .help = "print comma-separated values instead of a table")
#define PLAN_DOT                                                                                             \
    OPTION(command_line, dot, OPTION_FLAG, "dot", .topic = "output",                                         \
           .help = "print a Graphviz graph instead of a table")

/* Two of these would fill the same place. */
static const char *choose_form(const struct command_line *line, const struct rh_plan_request *asked,
                               struct error *err)
{
    const bool wanted[] = {line->json, line->csv, line->dot, asked->emit};
    static const char *const names[] = {"json", "csv", "dot", "emit"};
    const char *form = NULL;
    for (int i = 0; i < 4; i++) {
        if (wanted[i] && form)
            return error_null(err, ERROR_USAGE, "--%s and --%s both want standard output: choose one", form,
                              names[i]);
        form = wanted[i] ? names[i] : form;
    }
    return form ? form : "text";
}

static bool run_plan(void *context, struct error *err)
{
    struct rh_plan_request *asked = context;
    asked->form = choose_form(context, asked, err);
    rh_handle *answer = asked->form ? answer_ask(context, err) : NULL;
    bool done = answer && answer_write_form(answer, asked->form, NULL, err);
    rh_free(answer);
    return done;
}

COMMAND(plan, &api_plan,
        .options = COMMAND_ROWS(LINE_TIME_LIMIT, LINE_THREADS, LINE_JSON, PLAN_CSV, PLAN_DOT),
        .run = run_plan);
