/* The planner in a page: what page/engine.js calls. The library's commands by name, with texts in and texts out; one
 * question at a time, whose answer stays until the next. */
#include "api/handle.h"
#include "core/json.h"
#include "core/unit.h"
#include "rehearse.h"

#include <stdlib.h>
#include <string.h>

static struct {
    rh_handle *answer;
    void *request;
    struct rh_error error;
    struct rh_text form;
    struct text text; /* what was described, and warnings */
} planner;

static void warn(void *user, const char *text)
{
    (void)user;
    text_format(&planner.text, "%s\n", text);
}

/* Adds an item to the list of an option that may be repeated. The request borrows it, as all texts. */
static bool add_item(const struct rh_option *option, const char *value)
{
    struct rh_list *list = (struct rh_list *)((char *)planner.request + option->offset);
    const char **items = calloc(list->count + 1, sizeof *items);
    if (!items)
        return false;
    if (list->count > 0)
        memcpy(items, list->items, list->count * sizeof *items);
    items[list->count] = value;
    free((void *)list->items);
    *list = (struct rh_list){items, list->count + 1};
    return true;
}

static bool find(const char *command, const char *name, struct rh_option *option)
{
    *option = (struct rh_option){.size = sizeof *option};
    for (int i = 0; rh_option(command, i, option); i++, option->size = sizeof *option)
        if (strcmp(option->name, name) == 0)
            return true;
    return false;
}

static void forget(const char *command)
{
    struct rh_option option = {.size = sizeof option};
    for (int i = 0; planner.request && rh_option(command, i, &option); i++, option.size = sizeof option)
        if (option.type == 'l')
            free((void *)((struct rh_list *)((char *)planner.request + option.offset))->items);
    free(planner.request);
    planner.request = NULL;
}

/* Asks a command. `given`: name, value, name, value, …, each ended by a NUL, the last one by a second. Returns "", or what
 * the command refuses it with. */
const char *planner_ask(const char *command, const char *given);
const char *planner_ask(const char *command, const char *given)
{
    size_t size = rh_request_size(command);
    rh_free(planner.answer);
    planner.answer = NULL;
    planner.error = (struct rh_error){0};
    planner.request = size > 0 ? calloc(1, size) : NULL;
    text_release(&planner.text);
    if (!planner.request)
        return size > 0 ? "memory ran out" : "the planner in a page has no such command";
    memcpy(planner.request, &size, sizeof size);
    bool set = true;
    for (const char *name = given; set && *name;) {
        struct rh_option option;
        const char *value = name + strlen(name) + 1;
        bool list = find(command, name, &option) && option.type == 'l';
        set = list ? add_item(&option, value) : rh_set(command, planner.request, name, value, &planner.error);
        name = value + strlen(value) + 1;
    }
    const struct rh_call call = {.size = sizeof call, .threads = 1, .warning = warn};
    planner.answer = set ? rh_run(command, planner.request, &call, &planner.error) : NULL;
    forget(command);
    return planner.answer ? "" : planner.error.text[0] ? planner.error.text : "memory ran out";
}

/* Returns a form of the last answer; NULL: it has none of that name. "warnings" are its warnings, in lines; "drawing" is
 * what its page draws, as JSON; and "shown" is the document without what the planner does not show, most of a large one. */
const char *planner_form(const char *form);
const char *planner_form(const char *form)
{
    if (strcmp(form, "warnings") == 0)
        return planner.text.data ? planner.text.data : "";
    if (strcmp(form, "drawing") == 0)
        return planner.answer && strcmp(rh_kind(planner.answer), "report") == 0
                   ? ((struct api_report *)planner.answer)->drawing.json.data
                   : NULL;
    bool shown = strcmp(form, "shown") == 0;
    if (shown && planner.answer && planner.answer->kind->write) {
        static const char *const without[] = {"transfers", "seconds", NULL};
        struct json json = {.out = &planner.text, .without = without};
        text_release(&planner.text);
        planner.answer->kind->write(planner.answer, &json);
        return planner.text.data;
    }
    rh_text_free(&planner.form);
    planner.form = (struct rh_text){0};
    return planner.answer && rh_write(planner.answer, shown ? "json" : form, &planner.form, &planner.error)
               ? planner.form.data
               : NULL;
}

/* Returns the options of a command, as JSON: what struct rh_option says. */
const char *planner_describe(const char *command);
const char *planner_describe(const char *command)
{
    struct rh_option option = {.size = sizeof option};
    struct json json = {.out = &planner.text};
    text_release(&planner.text);
    json_open(&json, NULL, '[');
    for (int i = 0; rh_option(command, i, &option); i++, option.size = sizeof option) {
        json_open_flat(&json, NULL, '{');
        json_string(&json, "name", option.name);
        json_string(&json, "argument", option.argument);
        json_string(&json, "help", option.help);
        json_string(&json, "initial", option.initial);
        json_string(&json, "unit", option.unit);
        json_string(&json, "type", (char[]){option.type, '\0'});
        json_string(&json, "letter", option.letter ? (char[]){option.letter, '\0'} : NULL);
        json_open(&json, "words", '[');
        for (const char *const *word = option.words; word && *word; word++)
            json_string(&json, NULL, *word);
        json_close(&json);
        json_close(&json);
    }
    json_close(&json);
    return planner.text.data ? planner.text.data : "[]";
}

/* Returns a quantity as tables of the commands print it. `kind`: of enum unit_kind. */
const char *planner_show(double value, int kind);
const char *planner_show(double value, int kind)
{
    static struct unit_texts texts;
    return unit_text(&texts, value, (enum unit_kind)kind);
}
