#include "devices/link.h"

#include "core/doc.h"
#include "devices/link_read.h"
#include "devices/tables.h"

#include <string.h>
#include <strings.h>

/* data/links.yaml, by scripts/embed. */
extern const char data_links[];
extern const size_t data_links_size;

static const char *const kinds[COLLECTIVE_KINDS] = {
    [COLLECTIVE_ALL_REDUCE] = "all_reduce",
    [COLLECTIVE_ALL_GATHER] = "all_gather",
    [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
    [COLLECTIVE_ALL_TO_ALL] = "all_to_all",
    [COLLECTIVE_SEND] = "send",
};

const char *collective_kind_name(enum collective_kind kind)
{
    return (unsigned)kind < COLLECTIVE_KINDS ? kinds[kind] : NULL;
}

bool collective_kind_find(const char *name, enum collective_kind *kind)
{
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        if (strcmp(kinds[k], name) == 0) {
            *kind = (enum collective_kind)k;
            return true;
        }
    return false;
}

const char *link_protocol_name(enum link_protocol_name protocol)
{
    static const char *const names[LINK_PROTOCOLS] = {"ll", "ll128", "simple"};
    return (unsigned)protocol < LINK_PROTOCOLS ? names[protocol] : NULL;
}

double link_transfer_share(const struct link_transfer *transfer, int devices)
{
    for (int i = 0; i < transfer->share_count; i++)
        if (devices <= transfer->shares[i].devices)
            return transfer->shares[i].share;
    return 1.0;
}

/* ---- the built-in table ---- */

static struct cost_link_table built_in;

bool link_read_known(struct error *err)
{
    return built_in.count > 0 || link_read(&built_in, NULL, "links.yaml", data_links, data_links_size, err);
}

const struct cost_link_table *cost_links(void)
{
    cost_tables_needed();
    return &built_in;
}

static bool is_called(const struct cost_link *link, const char *name)
{
    if (strcasecmp(link->name, name) == 0)
        return true;
    for (int i = 0; i < link->alias_count; i++)
        if (strcasecmp(link->aliases[i], name) == 0)
            return true;
    return false;
}

const struct cost_link *cost_link_in(const struct cost_link_table *table, const char *name)
{
    for (int i = 0; table && i < table->count; i++)
        if (is_called(&table->links[i], name))
            return &table->links[i];
    return NULL;
}

static struct cost_link_table added;

const struct cost_link *cost_link_find(const char *name)
{
    const struct cost_link *link = cost_link_in(&added, name);
    return link ? link : cost_link_in(cost_links(), name);
}

/* ---- a user's table ---- */

/* A table of one link, whose texts are the built-in table's. */
static bool table_of_one(struct cost_link_table *table, const char *name, struct error *err)
{
    const struct cost_link *link = cost_link_find(name);
    if (!link) {
        const char *nearest = link_nearest(cost_links(), NULL, name);
        return nearest ? error_set(err, ERROR_USAGE, "unknown link '%s', did you mean '%s'?", name, nearest)
                       : error_set(err, ERROR_USAGE, "unknown link '%s'", name);
    }
    table->links = ARENA_NEW(&table->arena, struct cost_link);
    if (!table->links)
        return error_memory(err);
    table->links[0] = *link;
    table->count = 1;
    return true;
}

bool cost_links_add(const char *path, struct error *err)
{
    return cost_tables(err) && link_read_file(&added, cost_links(), path, err);
}

bool cost_link_load(struct cost_link_table *table, const char *path, struct error *err)
{
    *table = (struct cost_link_table){0};
    if (!cost_tables(err))
        return false;
    return doc_is_name(path) ? link_read_file(table, cost_links(), path, err)
                             : table_of_one(table, path, err);
}

bool cost_link_parse(struct cost_link_table *table, const char *path, const char *data, size_t length,
                     struct error *err)
{
    *table = (struct cost_link_table){0};
    return cost_tables(err) && link_read(table, cost_links(), path, data, length, err);
}

void cost_link_release(struct cost_link_table *table)
{
    arena_release(&table->arena);
    *table = (struct cost_link_table){0};
}
