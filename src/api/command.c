#include "api/command.h"

#include "core/caller.h"
#include "core/file.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 1024

struct rh_stop {
    atomic_bool requested;
    atomic_int others; /* who hold it besides its caller */
};

/* ---- structs that grow ---- */

/* Copies a caller's struct, which begins with its size, to ours of `size` bytes. */
static bool copy_sized(void *own, size_t size, const void *given, const char *what, struct error *err)
{
    size_t theirs = 0;
    memset(own, 0, size);
    memcpy(&theirs, given, sizeof theirs);
    if (theirs < sizeof theirs || theirs > API_MAX_REQUEST)
        return error_set(err, ERROR_USAGE, "%s: the request's size is %zu: initialise it with RH_INIT", what,
                         theirs);
    memcpy(own, given, theirs < size ? theirs : size);
    for (size_t i = size; i < theirs; i++)
        if (((const char *)given)[i])
            return error_set(err, ERROR_USAGE,
                             "%s: byte %zu of the request is set, library version %s knows only %zu", what, i,
                             rh_version(), size);
    memcpy(own, &size, sizeof size);
    return true;
}

/* ---- calls ---- */

rh_stop *rh_stop_new(void)
{
    return calloc(1, sizeof(rh_stop));
}

void rh_stop_request(rh_stop *stop)
{
    if (stop)
        atomic_store(&stop->requested, true);
}

void rh_stop_free(rh_stop *stop)
{
    if (stop && atomic_fetch_sub(&stop->others, 1) == 0)
        free(stop);
}

const atomic_bool *api_stop(const struct api_call *call)
{
    return call->how.stop ? &call->how.stop->requested : NULL;
}

void api_keep_stop(const struct api_call *call)
{
    if (call->how.stop)
        atomic_fetch_add(&call->how.stop->others, 1);
}

bool api_stopped(const struct api_call *call, struct error *err)
{
    bool stopped = call->how.stop && atomic_load(&call->how.stop->requested);
    if (stopped)
        error_set(err, ERROR_STOPPED, "stopped");
    return stopped;
}

static bool open_call(struct rh_call *own, const struct rh_call *given, struct error *err)
{
    *own = (struct rh_call)RH_INIT(*own);
    if (given && !copy_sized(own, sizeof *own, given, "call", err))
        return false;
    if (own->threads < 0 || own->threads > MAX_THREADS)
        return error_set(err, ERROR_USAGE, "threads: expected a whole number from 0 to %d, found %d",
                         MAX_THREADS, own->threads);
    if (!isfinite(own->time_limit) || own->time_limit < 0.0)
        return error_set(err, ERROR_USAGE, "time_limit: expected seconds, found %g", own->time_limit);
    return true;
}

/* ---- commands ---- */

const char *rh_command(int index)
{
    for (int i = 0; index >= 0 && api_commands[i]; i++)
        if (i == index)
            return api_commands[i]->name;
    return NULL;
}

static const struct api_command *find(const char *name, struct error *err)
{
    struct text list = {0};
    for (int i = 0; name && api_commands[i]; i++)
        if (strcmp(api_commands[i]->name, name) == 0)
            return api_commands[i];
    for (int i = 0; api_commands[i]; i++)
        text_format(&list, "%s%s", i > 0 ? ", " : "", api_commands[i]->name);
    error_set(err, ERROR_USAGE, "no command '%s'; there are %s", name ? name : "",
              list.failed || !list.data ? "others" : list.data);
    text_release(&list);
    return NULL;
}

/* A plan is given by its file or as a handle. */
static bool check_plans(const struct api_command *command, const char *request, struct error *err)
{
    const char *file = NULL;
    bool handle = false;
    for (const struct option_spec *spec = command->options; spec->name; spec++)
        if (spec->kind == OPTION_HANDLE && !spec->repeats)
            handle = handle || option_is_given(spec, request);
        else if (spec->kind == OPTION_FILE && !spec->repeats && strcmp(spec->field, "plan") == 0)
            memcpy(&file, request + spec->at, sizeof file);
    return !handle || !file ||
           error_set(err, ERROR_USAGE, "%s: `from` and '%s' both give a plan: choose one", command->name,
                     file);
}

/* Returns the first option that says nothing without another one, which is not given; NULL: there is none. Sets `list`
 * to what it needs. */
static const struct option_spec *check_needs(const struct api_command *command, const char *own,
                                             const bool *given, struct text *list)
{
    const struct option_spec *options = command->options, *spec = options;
    for (; spec->name; spec++) {
        bool met = !spec->needs || !given[spec - options];
        list->length = 0;
        for (const char *need = spec->needs; need && !met; need = strchr(need, ' ')) {
            need += *need == ' ';
            size_t length = strcspn(need, " "), name = strcspn(need, "= ");
            const struct option_spec *other = options;
            while (other->name && (strlen(other->name) != name || strncmp(other->name, need, name) != 0))
                other++;
            if (!other->name)
                continue;
            const char *word = NULL, *wanted = name < length ? need + name + 1 : NULL;
            if (wanted)
                memcpy(&word, own + other->at, sizeof word);
            met = wanted ? word && strncmp(word, wanted, length - name - 1) == 0 : given[other - options];
            const char *value = wanted ? wanted : other->argument ? other->argument : "";
            if (other->kind != OPTION_HANDLE)
                text_format(list, "%s%s%s%s%.*s", list->length > 0 ? " or " : "",
                            other->is_operand ? "" : "--", other->is_operand ? "" : other->name,
                            other->is_operand || !*value ? "" : " ", (int)strcspn(value, " "), value);
        }
        if (!met)
            return spec;
    }
    return NULL;
}

static bool open_request(const struct api_command *command, const void *request, void *own, bool *given,
                         struct error *err)
{
    if (!request)
        return error_set(err, ERROR_USAGE, "%s: there is no request", command->name);
    if (!copy_sized(own, command->size, request, command->name, err))
        return false;
    for (int i = 0; command->options[i].name; i++) {
        given[i] = option_is_given(&command->options[i], own);
        if (!option_complete(&command->options[i], own, err))
            return false;
    }
    struct text list = {0};
    const struct option_spec *lonely = check_needs(command, own, given, &list);
    bool ok =
        !lonely || (list.failed ? error_memory(err)
                                : error_set(err, ERROR_USAGE, "--%s needs %s", lonely->name, list.data));
    text_release(&list);
    return ok && check_plans(command, own, err);
}

/* A caller's functions, which have the locale that their thread had before the call. */
struct callbacks {
    const struct rh_call *call;
    locale_t locale;
};

static void tell_progress(void *user, const char *what, const char *detail)
{
    const struct callbacks *callbacks = user;
    locale_t ours = uselocale(callbacks->locale);
    callbacks->call->progress(callbacks->call->user, what, detail);
    uselocale(ours);
}

static void tell_warning(void *user, const char *text)
{
    const struct callbacks *callbacks = user;
    locale_t ours = uselocale(callbacks->locale);
    callbacks->call->warning(callbacks->call->user, text);
    uselocale(ours);
}

static rh_handle *make_report(const struct api_command *command, const void *own, const struct api_call *call,
                              struct error *err)
{
    if (command->make)
        return command->make(own, call, err);
    struct api_report *report = api_report_new(err);
    return report ? api_made(&report->base, command->answer(own, call, report, err), err) : NULL;
}

/* Keeps the question beside its answer, for pages. */
static void keep_question(const struct api_command *command, const char *own, const bool *given,
                          const char *line, rh_handle *made)
{
    made->line = line ? arena_string(&made->arena, line) : NULL;
    for (const struct option_spec *spec = command->options; spec->name; spec++)
        if (given[spec - command->options] && strcmp(spec->name, "output") == 0)
            made->file = arena_string(&made->arena, *(const char *const *)(own + spec->at));
    made->failed = line && !made->line;
}

/* Writes the page, if the request has an option for it. */
static bool save_page(const struct api_command *command, const char *own, const bool *given,
                      const rh_handle *made, struct error *err)
{
    struct rh_error why;
    for (const struct option_spec *spec = command->options; spec->name; spec++)
        if (given[spec - command->options] && strcmp(spec->name, "page") == 0 &&
            !rh_save(made, "page", *(const char *const *)(own + spec->at), &why))
            return error_set(err, (enum error_kind)why.code, "%s", why.text);
    return true;
}

/* Ends a command: what it has made, with its question, and its page. */
static rh_handle *complete(const struct api_command *command, const char *own, const struct api_call *call,
                           rh_handle *made, struct error *err)
{
    keep_question(command, own, call->given, call->how.line, made);
    if (made->failed ? error_memory(err) : save_page(command, own, call->given, made, err))
        return made;
    rh_free(made);
    return NULL;
}

/* Of the values that a request gives for an option. */
static bool names_file(const struct option_spec *spec, const char *own, const char *path)
{
    const struct rh_list *list = (const void *)(own + spec->at),
                         one = {.items = (const void *)(own + spec->at), .count = 1};
    if (!spec->repeats)
        list = &one;
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i] && file_same(list->items[i], path))
            return true;
    return false;
}

static bool is_written(const struct api_command *command, const struct option_spec *spec)
{
    static const char *const names[] = {"output", "page",  "figure",         "prometheus", "timeline",
                                        "tasks",  "trace", "write-schedule", "simulated"};
    bool written = false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        written |= strcmp(spec->name, names[i]) == 0;
    written &= strcmp(command->name, "explain") != 0 || strcmp(spec->name, "trace") != 0; /* one to be read */
    return written && spec->kind == OPTION_FILE && !spec->is_operand;
}

/* What is read, as an operand or by an option, is not replaced by what is made of it. */
static bool spares_inputs(const struct api_command *command, const char *own, const bool *given,
                          struct error *err)
{
    for (const struct option_spec *out = command->options; out->name; out++) {
        const char *path = given[out - command->options] && is_written(command, out)
                               ? *(const char *const *)(own + out->at)
                               : "";
        for (const struct option_spec *in = command->options; *path && in->name; in++)
            if ((in->kind == OPTION_FILE || (in->is_operand && in->kind == OPTION_TEXT)) &&
                !is_written(command, in) && given[in - command->options] && names_file(in, own, path))
                return error_set(err, ERROR_USAGE, "--%s: %s is what is read: choose another file", out->name,
                                 path);
    }
    return true;
}

static rh_handle *run_request(const struct api_command *command, const void *request,
                              const struct rh_call *call, locale_t locale, struct error *err)
{
    _Alignas(max_align_t) char own[API_MAX_REQUEST];
    bool given[API_MAX_OPTIONS];
    struct error stopped;
    struct api_call how = {.given = given};
    if (!open_request(command, request, own, given, err) || !spares_inputs(command, own, given, err) ||
        !open_call(&how.how, call, err) || api_stopped(&how, err))
        return NULL;
    /* Work that ends in order looks at its flag where it can: all that it reads and writes for that goes on. */
    struct callbacks callbacks = {&how.how, locale};
    struct caller caller = {.stop = how.how.stop && !command->ends_in_order ? &how.how.stop->requested : NULL,
                            .progress = how.how.progress ? tell_progress : NULL,
                            .warning = how.how.warning ? tell_warning : NULL,
                            .user = &callbacks};
    struct caller *before = caller_set(&caller);
    rh_handle *made = make_report(command, own, &how, err);
    /* there is no page of an answer that is none */
    if (made && !atomic_load(&caller.starved) && (made->stands || !api_stopped(&how, err)))
        made = complete(command, own, &how, made, err);
    caller_set(before);
    bool starved = atomic_load(&caller.starved);
    if (command->ends_in_order && !made && api_stopped(&how, &stopped))
        err->kind = ERROR_STOPPED;
    if (!starved && (command->ends_in_order || (made && made->stands) || !api_stopped(&how, err)))
        return made;
    rh_free(made); /* it may have ended too early, or with less than it needs */
    if (starved)
        error_memory(err);
    return NULL;
}

rh_handle *api_run(const struct api_command *command, const void *request, const struct rh_call *call,
                   struct rh_error *error)
{
    struct error err = {.kind = ERROR_FAILED};
    locale_t before = text_use_plain_locale();
    rh_handle *handle = NULL;
    if (command)
        handle = run_request(command, request, call, before, &err);
    else
        error_set(&err, ERROR_USAGE,
                  "the library was built without the wing of this command (meson -Dwings=…)");
    uselocale(before);
    if (!handle)
        api_report(&err, error);
    return handle;
}

rh_handle *rh_run(const char *command, const void *request, const struct rh_call *call,
                  struct rh_error *error)
{
    struct error err;
    const struct api_command *found = find(command, &err);
    if (found)
        return api_run(found, request, call, error);
    api_report(&err, error);
    return NULL;
}

size_t rh_request_size(const char *command)
{
    struct error err;
    const struct api_command *found = find(command, &err);
    return found ? found->size : 0;
}

/* ---- options ---- */

static char type_of(const struct option_spec *spec)
{
    switch (spec->kind) {
    case OPTION_INTEGER:
        return 'q';
    case OPTION_NUMBER:
    case OPTION_QUANTITY:
        return 'd';
    case OPTION_FLAG:
        return '?';
    case OPTION_HANDLE:
        return spec->repeats ? 'H' : 'h';
    default:
        return spec->repeats ? 'l' : 's';
    }
}

bool rh_option(const char *command, int index, struct rh_option *option)
{
    struct error err;
    const struct api_command *found = find(command, &err);
    const struct option_spec *spec = found ? found->options : NULL;
    for (int i = 0; spec && spec->name && i < index; i++)
        spec++;
    if (!option || option->size < sizeof option->size || index < 0 || !spec || !spec->name)
        return false;
    struct rh_option full = {
        .size = option->size,
        .name = spec->name,
        .field = spec->field,
        .argument = spec->argument,
        .help = spec->help,
        .initial = spec->initial,
        .words = spec->words,
        .type = type_of(spec),
        .required = spec->required && !spec->of_commands,
        .offset = spec->at,
        .unit = spec->kind == OPTION_QUANTITY && spec->unit == UNIT_DURATION ? "s" : NULL,
        .was = spec->was,
        .letter = spec->letter,
    };
    memcpy(option, &full, full.size < sizeof full ? full.size : sizeof full);
    return true;
}

static bool set_flag(const char *option, const char *value, bool *field, struct error *err)
{
    bool on = !*value || strcmp(value, "true") == 0 || strcmp(value, "1") == 0;
    if (!on && strcmp(value, "false") != 0 && strcmp(value, "0") != 0)
        return error_set(err, ERROR_USAGE, "--%s: expected true or false, found '%s'", option, value);
    *field = on;
    return true;
}

static bool set(const char *command, void *request, const char *option, const char *value, struct error *err)
{
    const struct api_command *found = find(command, err);
    if (!found)
        return false;
    if (!request || !option || !value)
        return error_set(err, ERROR_USAGE, "%s: a request, an option and its value are needed", command);
    for (const struct option_spec *spec = found->options; spec->name; spec++) {
        size_t size;
        if (!option_is_called(spec, option, strlen(option)) && strcmp(spec->field, option) != 0)
            continue;
        memcpy(&size, request, sizeof size);
        if (spec->repeats || spec->kind == OPTION_HANDLE)
            return error_set(err, ERROR_USAGE, "%s: '%s' is not a single value: set its field", command,
                             option);
        if (size < spec->at + option_width(spec))
            return error_set(err, ERROR_USAGE, "%s: the request has no room for '%s'", command, option);
        if (spec->kind == OPTION_FLAG)
            return set_flag(option, value, (bool *)((char *)request + spec->at), err);
        return option_read_request(spec, value, request, err);
    }
    return error_set(err, ERROR_USAGE, "%s: unknown option '%s'", command, option);
}

bool rh_set(const char *command, void *request, const char *option, const char *value, struct rh_error *error)
{
    struct error err;
    locale_t before = text_use_plain_locale();
    bool done = set(command, request, option, value, &err);
    uselocale(before);
    if (!done)
        api_report(&err, error);
    return done;
}
