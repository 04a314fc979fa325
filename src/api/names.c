#include "api/names.h"

#include "api/wings.h"
#include "devices/tables.h"
#include "feed/workload/workload.h"

#include <string.h>

static void add_name(struct text *out, int i, const char *name)
{
    text_format(out, "%s%s", i > 0 ? " " : "", name);
}

#if REHEARSE_WING_PLAN || REHEARSE_WING_RUN || REHEARSE_WING_STORAGE /* who have the tables of devices */
static void add_table(enum table_of which, struct text *out)
{
    struct error err;
    if (!tables_ready(&err)) {
        out->failed = true;
        return;
    }
    const struct table *table = tables_known(which);
    for (int i = 0; i < table->count; i++)
        add_name(out, i,
                 which == TABLE_MODELS    ? table->models[i].name
                 : which == TABLE_DEVICES ? table->devices[i].name
                 : which == TABLE_LINKS   ? table->links[i].name
                                          : table->software[i].name);
}

bool option_names(const struct option_spec *spec, struct text *out)
{
    static const struct {
        const char *option;
        enum table_of table;
    } tables[] = {{"model", TABLE_MODELS},
                  {"device", TABLE_DEVICES},
                  {"inside", TABLE_LINKS},
                  {"across", TABLE_LINKS},
                  {"software", TABLE_SOFTWARE}};
    if (spec->kind != OPTION_TEXT)
        return false;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (strcmp(spec->name, tables[i].option) == 0) {
            add_table(tables[i].table, out);
            return true;
        }
    return false;
}
#else
bool option_names(const struct option_spec *spec, struct text *out)
{
    (void)spec, (void)out;
    return false;
}
#endif

bool option_operand_names(const char *operands, struct text *out)
{
    int count = 0;
    if (!operands || strcmp(operands, "WORKLOAD") != 0)
        return false;
    const char *const *names = NULL;
    IN_STORAGE(names = workload_builtins(&count);)
    out->failed |= !names;
    for (int i = 0; names && i < count; i++)
        add_name(out, i, names[i]);
    return true;
}
