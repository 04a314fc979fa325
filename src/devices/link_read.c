#include "devices/link_read.h"

#include "core/doc.h"
#include "core/text.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define FORMAT "rehearse-links/1"

/* Wide enough for anything real, narrow enough that no sum or product of them overflows. */
#define TIME_MOST     10.0 /* seconds */
#define RATE_LEAST    1e3  /* bytes/s */
#define RATE_MOST     1e15
#define SHARE_LEAST   1e-6
#define SHARE_MOST    100.0
#define BYTES_MOST    0x1p53
#define DEVICES_MOST  1000000
#define RATE_EXPECTED "expected from 1 kB/s to 1 PB/s, found '%s'"

struct reader {
    struct cost_link_table *table;
    const struct cost_link_table *known;
    const struct doc *doc;
    struct error *err;
};

/* ---- names ---- */

const char *link_nearest(const struct cost_link_table *first, const struct cost_link_table *second,
                         const char *name)
{
    const struct cost_link_table *tables[] = {first, second};
    const char *names[2 * LINK_MOST];
    size_t count = 0;
    for (size_t t = 0; t < 2; t++)
        for (int i = 0; tables[t] && i < tables[t]->count; i++)
            names[count++] = tables[t]->links[i].name;
    return text_nearest(name, names, count);
}

static bool copy_text(struct reader *r, const struct doc_node *node, const char **value)
{
    const char *text;
    if (!doc_string(r->doc, node, &text, r->err))
        return false;
    *value = arena_string(&r->table->arena, text);
    return *value ? true : error_memory(r->err);
}

static bool read_text(struct reader *r, const struct doc_node *map, const char *key, const char **value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || copy_text(r, node, value);
}

/* A name by which a link is found: of a length that tables can show, and not taken in this file. */
static bool read_name(struct reader *r, const struct doc_node *node, const char **name)
{
    if (!copy_text(r, node, name))
        return false;
    if (strlen(*name) > LINK_NAME_MOST)
        return doc_error(r->doc, node, r->err, "expected at most %d characters", LINK_NAME_MOST);
    if (cost_link_in(r->table, *name))
        return doc_error(r->doc, node, r->err, "'%s' is the name of another link above", *name);
    return true;
}

static bool read_aliases(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *list = doc_find(map, "aliases");
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > LINK_ALIAS_MOST)
        return doc_error(r->doc, list, r->err, "expected at most %d aliases", LINK_ALIAS_MOST);
    link->aliases = ARENA_ARRAY(&r->table->arena, list->count, const char *);
    if (!link->aliases)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_name(r, node, &link->aliases[link->alias_count++]))
            return false;
    return true;
}

/* ---- numbers: each may be left out where `like` or `every` gave it ---- */

static bool read_time(struct reader *r, const struct doc_node *map, const char *key, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    if (!node)
        return true;
    if (!doc_quantity(r->doc, node, UNIT_TIME, true, value, r->err))
        return false;
    return *value <= TIME_MOST ||
           doc_error(r->doc, node, r->err, "expected at most %g seconds, found '%s'", TIME_MOST, node->text);
}

static bool read_number(struct reader *r, const struct doc_node *map, const char *key, double least,
                        double most, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_number(r->doc, node, least, most, value, r->err);
}

static bool read_upto(struct reader *r, const struct doc_node *map, double *upto)
{
    const struct doc_node *node = doc_find(map, "upto");
    if (!node)
        return true;
    if (!doc_quantity(r->doc, node, UNIT_BYTES, true, upto, r->err))
        return false;
    return *upto <= BYTES_MOST || doc_error(r->doc, node, r->err, "expected at most 8 PiB");
}

static bool read_protocol(struct reader *r, const struct doc_node *map, struct link_protocol *protocol)
{
    static const char *const keys[] = {"base", "hop", "rate", "upto"};
    if (!doc_is_map(r->doc, map, r->err) || !doc_only_keys(r->doc, map, keys, 4, r->err))
        return false;
    if (protocol->rate <= 0.0) {
        protocol->upto = INFINITY;
        if (!doc_need(r->doc, map, "rate", r->err))
            return false;
    }
    return read_time(r, map, "base", &protocol->base) && read_time(r, map, "hop", &protocol->hop) &&
           read_number(r, map, "rate", SHARE_LEAST, SHARE_MOST, &protocol->rate) &&
           read_upto(r, map, &protocol->upto);
}

static bool read_nvls(struct reader *r, const struct doc_node *map, struct link_switch *nvls)
{
    static const char *const keys[] = {"base", "rate", "from"};
    if (!doc_is_map(r->doc, map, r->err) || !doc_only_keys(r->doc, map, keys, 3, r->err))
        return false;
    if (nvls->rate <= 0.0 && !doc_need(r->doc, map, "rate", r->err))
        return false;
    return read_time(r, map, "base", &nvls->base) &&
           read_number(r, map, "rate", 0, SHARE_MOST, &nvls->rate) &&
           read_number(r, map, "from", 2, DEVICES_MOST, &nvls->from);
}

static bool read_share(struct reader *r, const struct doc_node *node, struct link_transfer *transfer)
{
    static const char *const keys[] = {"devices", "of"};
    struct link_share *share = &transfer->shares[transfer->share_count];
    int64_t devices;
    if (!doc_is_map(r->doc, node, r->err) || !doc_only_keys(r->doc, node, keys, 2, r->err))
        return false;
    const struct doc_node *at = doc_need(r->doc, node, "devices", r->err);
    if (!at || !doc_integer(r->doc, at, 2, DEVICES_MOST, &devices, r->err) ||
        !doc_need(r->doc, node, "of", r->err) ||
        !read_number(r, node, "of", SHARE_LEAST, SHARE_MOST, &share->share))
        return false;
    if (transfer->share_count && devices <= transfer->shares[transfer->share_count - 1].devices)
        return doc_error(r->doc, at, r->err, "expected more devices than in the entry before");
    share->devices = (int)devices;
    transfer->share_count++;
    return true;
}

static bool read_shares(struct reader *r, const struct doc_node *map, struct link_transfer *transfer)
{
    const struct doc_node *list = doc_find(map, "share");
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > LINK_SHARES_MOST)
        return doc_error(r->doc, list, r->err, "expected at most %d entries", LINK_SHARES_MOST);
    transfer->share_count = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_share(r, node, transfer))
            return false;
    return true;
}

static bool read_transfer(struct reader *r, const struct doc_node *map, struct link_transfer *transfer)
{
    static const char *const keys[] = {"ll", "ll128", "simple", "own", "nvls", "share"};
    if (!doc_is_map(r->doc, map, r->err) ||
        !doc_only_keys(r->doc, map, keys, sizeof keys / sizeof *keys, r->err))
        return false;
    for (int p = 0; p < LINK_PROTOCOLS; p++) {
        const struct doc_node *node = doc_find(map, link_protocol_name((enum link_protocol_name)p));
        if (node && !read_protocol(r, node, &transfer->protocols[p]))
            return false;
    }
    const struct doc_node *nvls = doc_find(map, "nvls");
    return (!nvls || read_nvls(r, nvls, &transfer->nvls)) && read_shares(r, map, transfer) &&
           read_number(r, map, "own", 0, SHARE_MOST, &transfer->own);
}

static bool read_transfers(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *every = doc_find(map, "every");
    for (int k = 0; k < COLLECTIVE_KINDS; k++) {
        struct link_transfer *transfer = &link->transfers[k];
        const struct doc_node *own = doc_find(map, collective_kind_name((enum collective_kind)k));
        if (!read_shares(r, map, transfer) || (every && !read_transfer(r, every, transfer)) ||
            (own && !read_transfer(r, own, transfer)))
            return false;
        if (transfer->protocols[LINK_SIMPLE].rate > 0.0)
            continue;
        if (own)
            return doc_need(r->doc, own, "simple", r->err);
        return doc_need(r->doc, every ? every : map,
                        every ? "simple" : collective_kind_name((enum collective_kind)k), r->err);
    }
    return true;
}

/* ---- a link ---- */

static bool read_like(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *node = doc_find(map, "like");
    const char *name;
    if (!node)
        return true;
    if (!doc_string(r->doc, node, &name, r->err))
        return false;
    const struct cost_link *other = cost_link_in(r->table, name);
    if (!other)
        other = cost_link_in(r->known, name);
    if (!other) {
        const char *nearest = link_nearest(r->table, r->known, name);
        return nearest
                   ? doc_error(r->doc, node, r->err, "unknown link '%s', did you mean '%s'?", name, nearest)
                   : doc_error(r->doc, node, r->err, "unknown link '%s'", name);
    }
    *link = *other;
    link->title = NULL;
    link->alias_count = 0;
    link->aliases = NULL;
    link->fitted = NULL;
    link->source = NULL;
    return true;
}

static bool read_texts(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    if (!read_text(r, map, "title", &link->title) || !read_text(r, map, "source", &link->source) ||
        !read_text(r, map, "fitted", &link->fitted))
        return false;
    if (!link->title)
        link->title = link->name;
    return true;
}

static bool read_bandwidth(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *node = doc_find(map, "bandwidth");
    if (!node)
        return link->bandwidth > 0.0 || doc_need(r->doc, map, "bandwidth", r->err);
    if (!doc_quantity(r->doc, node, UNIT_RATE, false, &link->bandwidth, r->err))
        return false;
    return (link->bandwidth >= RATE_LEAST && link->bandwidth <= RATE_MOST) ||
           doc_error(r->doc, node, r->err, RATE_EXPECTED, node->text);
}

static bool read_devices(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *node = doc_find(map, "devices");
    int64_t devices = link->devices;
    if (node && !doc_integer(r->doc, node, 0, DEVICES_MOST, &devices, r->err))
        return false;
    link->devices = (int)devices;
    return true;
}

static bool read_link(struct reader *r, const struct doc_node *map, struct cost_link *link)
{
    static const char *const keys[] = {"format",     "name",           "like",  "title",      "aliases",
                                       "bandwidth",  "devices",        "share", "every",      "all_reduce",
                                       "all_gather", "reduce_scatter", "send",  "all_to_all", "barrier",
                                       "source",     "fitted"};
    if (!doc_is_map(r->doc, map, r->err) ||
        !doc_only_keys(r->doc, map, keys, sizeof keys / sizeof *keys, r->err))
        return false;
    const struct doc_node *name = doc_need(r->doc, map, "name", r->err);
    return name && read_like(r, map, link) && read_name(r, name, &link->name) && read_aliases(r, map, link) &&
           read_texts(r, map, link) && read_bandwidth(r, map, link) && read_devices(r, map, link) &&
           read_transfers(r, map, link) && read_time(r, map, "barrier", &link->barrier);
}

/* ---- a file: one link, or a list of them ---- */

static bool read_list(struct reader *r, const struct doc_node *root, const struct doc_node *list)
{
    static const char *const keys[] = {"format", "links"};
    if (!doc_only_keys(r->doc, root, keys, 2, r->err) || !doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count < 1 || list->count > LINK_MOST)
        return doc_error(r->doc, list, r->err, "expected from 1 to %d links, found %u", LINK_MOST,
                         list->count);
    r->table->links = ARENA_ARRAY(&r->table->arena, list->count, struct cost_link);
    if (!r->table->links)
        return error_memory(r->err);
    for (const struct doc_node *node = list->first_child; node; node = node->next) {
        /* counted when it is whole: until then it is no name for those below */
        if (!read_link(r, node, &r->table->links[r->table->count]))
            return false;
        r->table->count++;
    }
    return true;
}

static bool read_root(struct reader *r)
{
    const struct doc_node *root = r->doc->root;
    if (!doc_is_map(r->doc, root, r->err) || !doc_is_format(r->doc, root, FORMAT, r->err))
        return false;
    const struct doc_node *list = doc_find(root, "links");
    if (list)
        return read_list(r, root, list);
    r->table->links = ARENA_NEW(&r->table->arena, struct cost_link);
    if (!r->table->links)
        return error_memory(r->err);
    if (!read_link(r, root, r->table->links))
        return false;
    r->table->count = 1;
    return true;
}

static bool from_doc(struct cost_link_table *table, const struct cost_link_table *known, struct doc *doc,
                     struct error *err)
{
    struct reader r = {table, known, doc, err};
    bool done = read_root(&r);
    doc_release(doc);
    if (!done)
        cost_link_release(table);
    return done;
}

bool link_read(struct cost_link_table *table, const struct cost_link_table *known, const char *path,
               const char *data, size_t length, struct error *err)
{
    struct doc doc;
    bool json = text_ends_with(path, ".json");
    return doc_parse(&doc, json ? DOC_JSON : DOC_YAML, path, data, length, err) &&
           from_doc(table, known, &doc, err);
}

bool link_read_file(struct cost_link_table *table, const struct cost_link_table *known, const char *path,
                    struct error *err)
{
    struct doc doc;
    return doc_load(&doc, path, err) && from_doc(table, known, &doc, err);
}
