#include "cli/origins.h"

#include <string.h>
#include <strings.h>

const struct origin origins[] = {
    {SAYS_origin_oobleck}, {SAYS_origin_hpgo},     {SAYS_origin_dapple}, {SAYS_origin_dlio},
    {SAYS_origin_datagen}, {SAYS_origin_bpftrace}, {SAYS_origin_xla},    {0},
};

const struct origin *origin_find(const char *name)
{
    for (const struct origin *origin = origins; origin->name; origin++)
        if (strcasecmp(origin->name, name) == 0)
            return origin;
    return NULL;
}

void origin_write(const struct origin *origin, struct text *out)
{
    text_format(out, "coming from %s:\n", origin->title);
    for (const struct command_example *example = origin->examples; example->line; example++)
        text_format(out, "\n  # %s\n  %s\n", example->what, example->line);
    text_format(out, "\nall commands, and what differs: docs/coming-from.md#%s\n", origin->section);
}

void origin_write_names(struct text *out, const char *between)
{
    for (const struct origin *origin = origins; origin->name; origin++)
        text_format(out, "%s%s", origin == origins ? "" : between, origin->name);
}
