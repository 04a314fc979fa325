#include "cost/calibrate/links.h"

#include <math.h>

static void quoted(struct text *out, const char *key, const char *value)
{
    if (!value)
        return;
    text_format(out, "%s: ", key);
    text_add_quoted(out, value);
    text_add(out, "\n");
}

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
    text_add(out, "format: rehearse-links/1\n");
    quoted(out, "name", link->name);
    quoted(out, "title", link->title);
    text_format(out, "bandwidth: %.10g\n", link->bandwidth);
    if (link->devices)
        text_format(out, "devices: %d\n", link->devices);
    for (int k = 0; k < COLLECTIVE_KINDS; k++)
        write_transfer(out, collective_kind_name((enum collective_kind)k), &link->transfers[k]);
    if (link->barrier > 0.0)
        text_format(out, "barrier: %.4g us\n", link->barrier * 1e6);
    quoted(out, "source", link->source);
    quoted(out, "fitted", link->fitted);
}
