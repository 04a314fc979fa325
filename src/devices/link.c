#include "devices/link.h"

#include <math.h>
#include <string.h>

/* Wide enough for anything real, narrow enough that no sum or product of them overflows. */
#define MAX_TIME    10.0 /* seconds */
#define MIN_RATE    1e3  /* bytes/s */
#define MAX_RATE    1e15
#define MIN_SHARE   1e-6
#define MAX_SHARE   100.0
#define MAX_BYTES   0x1p53
#define MIN_GROUP   2 /* devices */
#define MAX_DEVICES 1000000

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

/* ---- the parts of a link: each number may be left out where `like` or `every` gave it ---- */

static const struct field protocol_fields[] = {
    FIELD(struct link_protocol, base, FIELD_TIME, 0, MAX_TIME),
    FIELD(struct link_protocol, hop, FIELD_TIME, 0, MAX_TIME),
    FIELD(struct link_protocol, rate, FIELD_DOUBLE, MIN_SHARE, MAX_SHARE),
    FIELD(struct link_protocol, upto, FIELD_BYTES, 0, MAX_BYTES),
};

static const struct field nvls_fields[] = {
    FIELD(struct link_switch, base, FIELD_TIME, 0, MAX_TIME),
    FIELD(struct link_switch, rate, FIELD_DOUBLE, 0, MAX_SHARE),
    FIELD(struct link_switch, from, FIELD_DOUBLE, MIN_GROUP, MAX_DEVICES),
};

static const struct field share_fields[] = {
    FIELD(struct link_share, devices, FIELD_INT, MIN_GROUP, MAX_DEVICES),
    FIELD_AT(struct link_share, "of", share, FIELD_DOUBLE, MIN_SHARE, MAX_SHARE),
};

static const struct field transfer_fields[] = {
    FIELD(struct link_transfer, own, FIELD_DOUBLE, 0, MAX_SHARE),
    {.key = "ll", .type = FIELD_OTHER},
    {.key = "ll128", .type = FIELD_OTHER},
    {.key = "simple", .type = FIELD_OTHER},
    {.key = "nvls", .type = FIELD_OTHER},
    {.key = "share", .type = FIELD_OTHER},
};

static bool read_protocol(struct table_reader *r, const struct doc_node *map, struct link_protocol *protocol)
{
    if (protocol->rate <= 0.0)
        protocol->upto = INFINITY;
    return fields_read(protocol, protocol_fields, 4, r->doc, map, r->err);
}

static bool read_nvls(struct table_reader *r, const struct doc_node *map, struct link_switch *nvls)
{
    nvls->from = fmax(nvls->from, MIN_GROUP);
    return fields_read(nvls, nvls_fields, 3, r->doc, map, r->err) &&
           (nvls->rate > 0.0 || doc_need(r->doc, map, "rate", r->err));
}

static bool read_share(struct table_reader *r, const struct doc_node *node, struct link_transfer *transfer)
{
    struct link_share *share = &transfer->shares[transfer->share_count];
    *share = (struct link_share){0};
    if (!fields_read(share, share_fields, 2, r->doc, node, r->err))
        return false;
    if (transfer->share_count++ > 0 && share->devices <= share[-1].devices)
        return doc_error(r->doc, doc_find(node, "devices"), r->err,
                         "expected more devices than in the entry before");
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
    if (!fields_read(transfer, transfer_fields, sizeof transfer_fields / sizeof *transfer_fields, r->doc, map,
                     r->err))
        return false;
    for (int p = 0; p < LINK_PROTOCOLS; p++) {
        const struct doc_node *node = doc_find(map, link_protocol_name((enum link_protocol_name)p));
        if (node && !read_protocol(r, node, &transfer->protocols[p]))
            return false;
    }
    const struct doc_node *nvls = doc_find(map, "nvls");
    return (!nvls || read_nvls(r, nvls, &transfer->nvls)) && read_shares(r, map, transfer);
}

static bool read_transfers(struct table_reader *r, const struct doc_node *map, void *entry)
{
    struct cost_link *link = entry;
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

static const struct field link_fields[] = {
    FIELD(struct cost_link, bandwidth, FIELD_RATE, MIN_RATE, MAX_RATE),
    FIELD(struct cost_link, devices, FIELD_INT, 0, MAX_DEVICES),
    FIELD(struct cost_link, typical, FIELD_DOUBLE, 0, 1),
    FIELD(struct cost_link, barrier, FIELD_TIME, 0, MAX_TIME),
    FIELD(struct cost_link, buffers, FIELD_BYTES, 0, MAX_BYTES),
    FIELD(struct cost_link, pair_buffers, FIELD_BYTES, 0, MAX_BYTES),
    {.key = "share", .type = FIELD_OTHER},
    {.key = "every", .type = FIELD_OTHER},
    {.key = "all_reduce", .type = FIELD_OTHER},
    {.key = "all_gather", .type = FIELD_OTHER},
    {.key = "reduce_scatter", .type = FIELD_OTHER},
    {.key = "all_to_all", .type = FIELD_OTHER},
    {.key = "send", .type = FIELD_OTHER},
};

const struct table_kind cost_link_kind = {
    .format = "rehearse-links/1",
    .noun = "link",
    .list = "links",
    .parts = TABLE_TITLED | TABLE_ALIASED | TABLE_SOURCED | TABLE_FITTED | TABLE_LIKE | TABLE_SINGLE,
    .size = sizeof(struct cost_link),
    .fields = link_fields,
    .field_count = sizeof link_fields / sizeof *link_fields,
    .read = read_transfers,
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
    table_write_entry(out, &cost_link_kind, link);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        write_transfer(out, collective_kind_name((enum collective_kind)k), &link->transfers[k]);
    table_write_text(out, "source", link->source);
    table_write_text(out, "fitted", link->fitted);
}
