/* Built-in workloads: data/workloads.yaml. */
#include "feed/workload/internal.h"

#include <pthread.h>
#include <string.h>
#include <strings.h>

#define MAX_BASES 8 /* one upon the other */

/* data/workloads.yaml, by scripts/embed.c. */
extern const char data_workloads[];
extern const size_t data_workloads_size;

static struct {
    struct doc doc; /* lives as long as the program */
    const struct doc_node *list;
    const char **names;
    int count;
    bool read;
    struct error err;
} table;
static pthread_once_t table_once = PTHREAD_ONCE_INIT;

static const char *name_of(const struct doc_node *entry)
{
    const struct doc_node *name = doc_find(entry, "name");
    return name && name->text ? name->text : "";
}

static void read_table(void)
{
    if (!doc_parse(&table.doc, DOC_JSON, "workloads.yaml", data_workloads, data_workloads_size, &table.err))
        return;
    table.list = doc_need(&table.doc, table.doc.root, "workloads", &table.err);
    if (!table.list)
        return;
    table.names = ARENA_ARRAY(&table.doc.arena, (size_t)table.list->count + 1, const char *);
    if (!table.names) {
        error_memory(&table.err);
        return;
    }
    for (const struct doc_node *entry = table.list->first_child; entry; entry = entry->next)
        if (*name_of(entry) != '_')
            table.names[table.count++] = name_of(entry);
    table.read = true;
}

const char *const *workload_builtins(int *count)
{
    pthread_once(&table_once, read_table);
    *count = table.count;
    return table.read ? table.names : NULL;
}

static bool is_called(const struct doc_node *entry, const char *name)
{
    const struct doc_node *aliases = doc_find(entry, "aliases");
    if (strcasecmp(name_of(entry), name) == 0)
        return true;
    for (const struct doc_node *alias = aliases ? aliases->first_child : NULL; alias; alias = alias->next)
        if (strcasecmp(alias->text, name) == 0)
            return true;
    return false;
}

static const struct doc_node *find(const char *name)
{
    for (const struct doc_node *entry = table.list->first_child; entry; entry = entry->next)
        if (is_called(entry, name))
            return entry;
    return NULL;
}

static bool unknown(const char *name, struct error *err)
{
    size_t length = strlen(name);
    const char *near = text_nearest(name, table.names, (size_t)table.count);
    struct text begun = {0};
    struct text_hint hint;
    for (int i = 0; i < table.count; i++)
        if (length > 0 && strncasecmp(table.names[i], name, length) == 0)
            text_format(&begun, "%s%s", begun.length ? ", " : "", table.names[i]);
    if (begun.data)
        error_set(err, ERROR_USAGE, "unknown workload '%.100s': expected %s", name, begun.data);
    else
        error_set(err, ERROR_USAGE, "unknown workload '%.100s'%s", name,
                  text_suggest(&hint, near, " (the name of a workload file ends in .yaml)"));
    text_release(&begun);
    return false;
}

bool workload_apply_builtin(struct workload *workload, const char *name, struct error *err)
{
    const struct doc_node *entries[MAX_BASES];
    int count = 0;
    pthread_once(&table_once, read_table);
    if (!table.read) {
        *err = table.err;
        return false;
    }
    entries[0] = *name == '_' ? NULL : find(name);
    if (!entries[0])
        return unknown(name, err);
    for (const struct doc_node *base; (base = doc_find(entries[count], "base")); count++) {
        const struct doc_node *entry = find(base->text);
        if (!entry || count + 1 == MAX_BASES)
            return doc_error(&table.doc, base, err, "no such workload, or too many of them");
        entries[count + 1] = entry;
    }
    for (; count >= 0; count--) {
        const struct doc_node *set = doc_need(&table.doc, entries[count], "set", err);
        if (!set || !workload_apply(workload, &table.doc, set, "", true, err))
            return false;
    }
    return true;
}
