#include "cli/feed/workload_given.h"

#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_in(const char *word)
{
    static const char hydra[] = "workload=";
    if (strncmp(word, hydra, sizeof hydra - 1) == 0)
        return word + sizeof hydra - 1;
    return strchr(word, '=') ? NULL : word;
}

bool workload_given_is_override(const char *word)
{
    return !name_in(word);
}

/* Overrides are a plan's, then all words that do not name the workload, then those of --set. */
static bool sort_words(const struct workload_given *given, const char **name, const char **overrides,
                       int *count, struct error *err)
{
    *name = NULL;
    for (*count = 0; *count < given->planned_count; ++*count)
        overrides[*count] = given->planned[*count];
    for (size_t i = 0; i < given->words.count; i++) {
        const char *found = name_in(given->words.items[i]);
        if (found && *name)
            return error_set(err, ERROR_USAGE, "two workloads: '%s' and '%s'", *name, found);
        if (found)
            *name = found;
        else
            overrides[(*count)++] = given->words.items[i];
    }
    for (size_t i = 0; i < given->set.count; i++)
        overrides[(*count)++] = given->set.items[i];
    return *name ? true : error_set(err, ERROR_USAGE, "which workload? see 'rehearse feed --list'");
}

static void print_warnings(const struct workload *workload)
{
    for (int i = 0; i < workload->warning_count; i++)
        output_warn("%s", workload->warnings[i]);
}

bool workload_given_open(struct workload *workload, const struct workload_given *given, int64_t ranks,
                         bool warn, struct error *err)
{
    const char *name;
    size_t count = (size_t)given->planned_count + given->words.count + given->set.count;
    const char **overrides = calloc(count + 1, sizeof *overrides);
    struct workload_options options = {.overrides = overrides, .strict = given->strict, .ranks = ranks};
    if (!overrides)
        return error_memory(err);
    bool opened = sort_words(given, &name, overrides, &options.override_count, err) &&
                  workload_open(workload, name, &options, err);
    free(overrides);
    if (opened && warn)
        print_warnings(workload);
    return opened;
}
