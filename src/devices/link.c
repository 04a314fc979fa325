#include "devices/link.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

/* Wide enough for anything real, narrow enough that no sum or product of them overflows. */
#define MAX_TIME      10.0 /* seconds */
#define MIN_RATE      1e3  /* bytes/s */
#define MAX_RATE      1e15
#define MIN_SHARE     1e-6
#define MAX_SHARE     100.0
#define MAX_BYTES     0x1p53
#define MAX_DEVICES   1000000
#define RATE_EXPECTED "expected from 1 kB/s to 1 PB/s, found '%s'"

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

/* ---- numbers: each may be left out where `like` or `every` gave it ---- */

static bool read_time(struct table_reader *r, const struct doc_node *map, const char *key, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    if (!node)
        return true;
    if (!doc_quantity(r->doc, node, UNIT_TIME, true, value, r->err))
        return false;
    return *value <= MAX_TIME ||
           doc_error(r->doc, node, r->err, "expected at most %g seconds, found '%s'", MAX_TIME, node->text);
}

static bool read_number(struct table_reader *r, const struct doc_node *map, const char *key, double least,
                        double most, double *value)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_number(r->doc, node, least, most, value, r->err);
}

static bool read_upto(struct table_reader *r, const struct doc_node *map, double *upto)
{
    const struct doc_node *node = doc_find(map, "upto");
    if (!node)
        return true;
    if (!doc_quantity(r->doc, node, UNIT_BYTES, true, upto, r->err))
        return false;
    return *upto <= MAX_BYTES || doc_error(r->doc, node, r->err, "expected at most 8 PiB");
}

static bool read_protocol(struct table_reader *r, const struct doc_node *map, struct link_protocol *protocol)
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
           read_number(r, map, "rate", MIN_SHARE, MAX_SHARE, &protocol->rate) &&
           read_upto(r, map, &protocol->upto);
}

static bool read_nvls(struct table_reader *r, const struct doc_node *map, struct link_switch *nvls)
{
    static const char *const keys[] = {"base", "rate", "from"};
    if (!doc_is_map(r->doc, map, r->err) || !doc_only_keys(r->doc, map, keys, 3, r->err))
        return false;
    if (nvls->rate <= 0.0 && !doc_need(r->doc, map, "rate", r->err))
        return false;
    return read_time(r, map, "base", &nvls->base) && read_number(r, map, "rate", 0, MAX_SHARE, &nvls->rate) &&
           read_number(r, map, "from", 2, MAX_DEVICES, &nvls->from);
}

static bool read_share(struct table_reader *r, const struct doc_node *node, struct link_transfer *transfer)
{
    static const char *const keys[] = {"devices", "of"};
    struct link_share *share = &transfer->shares[transfer->share_count];
    int64_t devices;
    if (!doc_is_map(r->doc, node, r->err) || !doc_only_keys(r->doc, node, keys, 2, r->err))
        return false;
    const struct doc_node *at = doc_need(r->doc, node, "devices", r->err);
    if (!at || !doc_integer(r->doc, at, 2, MAX_DEVICES, &devices, r->err) ||
        !doc_need(r->doc, node, "of", r->err) ||
        !read_number(r, node, "of", MIN_SHARE, MAX_SHARE, &share->share))
        return false;
    if (transfer->share_count && devices <= transfer->shares[transfer->share_count - 1].devices)
        return doc_error(r->doc, at, r->err, "expected more devices than in the entry before");
    share->devices = (int)devices;
    transfer->share_count++;
    return true;
}

static bool read_shares(struct table_reader *r, const struct doc_node *map, struct link_transfer *transfer)
{
    const struct doc_node *list = doc_find(map, "share");
    if (!list)
        return true;
    if (!doc_is_list(r->doc, list, r->err))
        return false;
    if (list->count > LINK_MAX_SHARES)
        return doc_error(r->doc, list, r->err, "expected at most %d entries", LINK_MAX_SHARES);
    transfer->share_count = 0;
    for (const struct doc_node *node = list->first_child; node; node = node->next)
        if (!read_share(r, node, transfer))
            return false;
    return true;
}

static bool read_transfer(struct table_reader *r, const struct doc_node *map, struct link_transfer *transfer)
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
           read_number(r, map, "own", 0, MAX_SHARE, &transfer->own);
}

static bool read_transfers(struct table_reader *r, const struct doc_node *map, struct cost_link *link)
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

static bool read_bandwidth(struct table_reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *node = doc_find(map, "bandwidth");
    if (!node)
        return link->bandwidth > 0.0 || doc_need(r->doc, map, "bandwidth", r->err);
    if (!doc_quantity(r->doc, node, UNIT_RATE, false, &link->bandwidth, r->err))
        return false;
    return (link->bandwidth >= MIN_RATE && link->bandwidth <= MAX_RATE) ||
           doc_error(r->doc, node, r->err, RATE_EXPECTED, node->text);
}

static bool read_devices(struct table_reader *r, const struct doc_node *map, struct cost_link *link)
{
    const struct doc_node *node = doc_find(map, "devices");
    int64_t devices = link->devices;
    if (node && !doc_integer(r->doc, node, 0, MAX_DEVICES, &devices, r->err))
        return false;
    link->devices = (int)devices;
    return true;
}

static size_t list_keys(const char *keys[TABLE_MAX_KEYS])
{
    static const char *const own[] = {"bandwidth", "devices", "share", "every", "barrier"};
    size_t count = sizeof own / sizeof *own;
    memcpy(keys, own, sizeof own);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        keys[count++] = kinds[k];
    return count;
}

static bool read_link(struct table_reader *r, const struct doc_node *map, void *entry, bool like)
{
    struct cost_link *link = entry;
    (void)like;
    return read_bandwidth(r, map, link) && read_devices(r, map, link) && read_transfers(r, map, link) &&
           read_time(r, map, "barrier", &link->barrier);
}

const struct table_kind cost_link_kind = {
    .format = "rehearse-links/1",
    .noun = "link",
    .list = "links",
    .parts = TABLE_TITLED | TABLE_ALIASED | TABLE_SOURCED | TABLE_FITTED | TABLE_LIKE | TABLE_SINGLE,
    .size = sizeof(struct cost_link),
    .keys = list_keys,
    .read = read_link,
};

/* ---- as a file ---- */

static void write_protocol(struct text *out, const char *name, const struct link_protocol *protocol)
{
    if (protocol->rate <= 0.0)
        return;
    text_format(out, "  %s: {base: %.4g us, hop: %.4g us, rate: %.4g", name, protocol->base * 1e6,
                protocol->hop * 1e6, protocol->rate);
    if (isfinite(protocol->upto))
        text_format(out, ", upto: %.0f", protocol->upto);
    text_add(out, "}\n");
}

static void write_transfer(struct text *out, const char *name, const struct link_transfer *transfer)
{
    text_format(out, "%s:\n", name);
    for (int p = 0; p < LINK_PROTOCOLS; p++)
        write_protocol(out, link_protocol_name((enum link_protocol_name)p), &transfer->protocols[p]);
    text_format(out, "  own: %.4g\n", transfer->own);
    if (transfer->nvls.rate > 0.0)
        text_format(out, "  nvls: {base: %.4g us, rate: %.4g, from: %.0f}\n", transfer->nvls.base * 1e6,
                    transfer->nvls.rate, transfer->nvls.from);
    if (transfer->share_count)
        text_add(out, "  share:\n");
    for (int i = 0; i < transfer->share_count; i++)
        text_format(out, "  - {devices: %d, of: %.4g}\n", transfer->shares[i].devices,
                    transfer->shares[i].share);
}

void cost_link_write(const struct cost_link *link, struct text *out)
{
    text_format(out, "format: %s\n", cost_link_kind.format);
    table_write_text(out, "name", link->name);
    table_write_text(out, "title", link->title);
    text_format(out, "bandwidth: %.10g\n", link->bandwidth);
    if (link->devices)
        text_format(out, "devices: %d\n", link->devices);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        write_transfer(out, collective_kind_name((enum collective_kind)k), &link->transfers[k]);
    if (link->barrier > 0.0)
        text_format(out, "barrier: %.4g us\n", link->barrier * 1e6);
    table_write_text(out, "source", link->source);
    table_write_text(out, "fitted", link->fitted);
}
