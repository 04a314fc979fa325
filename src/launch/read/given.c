/* What --set gives, and what in the files asks for it: a name that nothing asks for is told. */
#include "launch/read/read.h"

#include "core/stop.h"

#include <string.h>

#define MAX_NAMES 4000 /* that a suggestion is chosen from */

/* ---- names ---- */

static bool has(const struct launch_names *names, const char *name, size_t length)
{
    for (int i = 0; i < names->count; i++)
        if (strncmp(names->items[i], name, length) == 0 && !names->items[i][length])
            return true;
    return false;
}

static void add(struct launch_options *options, struct launch_names *names, const char *name, size_t length)
{
    if (names->count >= MAX_NAMES || has(names, name, length))
        return;
    const char **items =
        arena_grow(&options->arena, names->items, names->count, &names->room, sizeof *names->items);
    const char *copy = arena_copy(&options->arena, name, length);
    if (!items || !copy) {
        options->no_memory = true;
        return;
    }
    names->items = items;
    items[names->count++] = copy;
}

void launch_ask(struct launch_options *options, const char *name)
{
    add(options, &options->asked, name, strlen(name));
}

/* ---- what asks ---- */

void launch_ask_shell(struct launch_options *options, const struct shell *shell)
{
    for (int i = 0; i < shell->variable_count && !stop_wanted(); i++) {
        const struct shell_variable *variable = &shell->variables[i];
        if (!variable->is_given || variable->is_asked)
            add(options, variable->is_given ? &options->asked : &options->names, variable->name,
                strlen(variable->name));
    }
    for (int i = 0; i < shell->unknown_count; i++)
        if (shell->unknowns[i].name)
            add(options, &options->names, shell->unknowns[i].name, strlen(shell->unknowns[i].name));
    for (int i = 0; i < shell->skipped.count; i++)
        add(options, &options->names, shell->skipped.items[i].text, strlen(shell->skipped.items[i].text));
}

static const char *below_model(const char *name)
{
    return text_starts_with(name, "model.") ? name + strlen("model.") : name;
}

void launch_ask_settings(struct launch_options *options, int first)
{
    for (const char *const *given = options->given; given && *given; given++) {
        size_t length = strcspn(*given, "=");
        char *name = arena_copy(&options->arena, *given, length);
        for (int i = first; name && i < options->argument_count; i++)
            if (launch_same_name(below_model(options->arguments[i].name), below_model(name))) {
                launch_ask(options, name);
                break;
            }
        options->no_memory |= !name;
    }
}

/* ---- what nothing asks for ---- */

static bool is_asked(const struct launch_options *options, const char *name, size_t length)
{
    for (int i = 0; i < options->argument_count; i++)
        if (strcmp(options->arguments[i].path, "--set") == 0 &&
            strncmp(options->arguments[i].name, name, length) == 0 && !options->arguments[i].name[length])
            return true;
    return has(&options->asked, name, length);
}

/* Returns the name that may have been meant: a variable of a script, or a setting. */
static const char *meant(struct launch_options *options, const char *name)
{
    size_t count = 0, room = (size_t)options->names.count + (size_t)options->argument_count;
    const char **names = ARENA_ARRAY(&options->arena, room + 1, const char *);
    options->no_memory |= !names;
    for (int i = 0; names && i < options->names.count; i++)
        names[count++] = options->names.items[i];
    for (int i = 0; names && i < options->argument_count; i++)
        names[count++] = options->arguments[i].name + strspn(options->arguments[i].name, "-");
    return names ? text_nearest(name, names, count) : NULL;
}

void launch_unasked(struct launch_options *options, struct launch_names *found)
{
    for (const char *const *given = options->given; given && *given; given++) {
        size_t length = strcspn(*given, "=");
        char *name = arena_copy(&options->arena, *given, length);
        struct text_hint hint;
        if (!name || is_asked(options, name, length)) {
            options->no_memory |= !name;
            continue;
        }
        const char *said = arena_format(&options->arena, "--set %s: not used by any file%s", *given,
                                        text_suggest(&hint, meant(options, name), ""));
        if (said)
            add(options, found, said, strlen(said));
        options->no_memory |= !said;
    }
}
