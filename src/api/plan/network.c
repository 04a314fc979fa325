/* --network: what the link between nodes reaches. */
#include "api/plan/split.h"

#include "core/doc.h"
#include "core/text.h"
#include "devices/tables.h"

#include <math.h>
#include <string.h>

#define MOST_SHARE    10.0
#define MAX_BANDWIDTH 1e15 /* bytes/s */
#define MAX_RANKS     4096

/* Sets the link at a share of its rates; its name says why. */
static bool set_share(struct split *split, const char *why, double share, struct error *err)
{
    struct job *job = &split->question.job;
    struct arena *arena = &split->chosen.arena;
    if (share == 1.0)
        return true;
    const char *name = arena_format(arena, "%s (like %s)", why, job->across->name);
    job->across = name ? cluster_link_at(job->across, name, share * job->across->bandwidth, arena) : NULL;
    return job->across || error_memory(err);
}

/* Returns the largest share of its bandwidth that a link gives messages. */
static double rate_of_sends(const struct cost_link *link)
{
    const struct link_transfer *send = &link->transfers[COLLECTIVE_SEND];
    double most = 0.0;
    for (int i = 0; i < LINK_PROTOCOLS; i++)
        most = fmax(most, send->protocols[i].rate);
    return most > 0.0 ? most : 1.0;
}

/* Times have the rate of all pairs of two hosts together. */
static bool set_times(struct split *split, const struct doc *doc, struct error *err)
{
    const struct doc_node *links = doc_need(doc, doc->root, "links", err);
    const struct doc_node *nodes = links ? doc_need(doc, doc->root, "nodes", err) : NULL, *between = NULL;
    double bandwidth, ranks;
    if (!nodes || !doc_is_list(doc, links, err) || !doc_is_list(doc, nodes, err))
        return false;
    for (const struct doc_node *link = links->first_child; link; link = link->next) {
        const struct doc_node *host = doc_find(link, "host");
        between = host && host->type == DOC_NULL ? link : between;
    }
    if (!between || !nodes->first_child)
        return doc_error(doc, links, err,
                         "no link between hosts was measured: expected times of two hosts or more");
    const struct doc_node *rate = doc_need(doc, between, "bandwidth", err);
    const struct doc_node *count = rate ? doc_need(doc, nodes->first_child, "ranks", err) : NULL;
    if (!count || !doc_number(doc, rate, DOC_POSITIVE, MAX_BANDWIDTH, &bandwidth, err) ||
        !doc_number(doc, count, 1.0, MAX_RANKS, &ranks, err))
        return false;
    const struct cost_link *across = split->question.job.across;
    return set_share(split, "measured", bandwidth / ranks / rate_of_sends(across) / across->bandwidth, err);
}

static bool set_links(struct split *split, const char *path, struct error *err)
{
    struct table *table = &split->network;
    if (!tables_load(&split->chosen.added, TABLE_LINKS, table, path, err))
        return false;
    if (table->count != 1)
        return error_set(err, ERROR_USAGE, "--network: %s describes %d links, expected the one between nodes",
                         path, table->count);
    split->question.job.across = &table->links[0];
    return true;
}

static bool set_file(struct split *split, const char *path, struct error *err)
{
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    const struct doc_node *format = doc_find(doc.root, "format");
    bool times = format && format->type == DOC_STRING && strcmp(format->text, "rehearse-link-times/1") == 0;
    bool done = times ? set_times(split, &doc, err) : set_links(split, path, err);
    doc_release(&doc);
    return done;
}

bool split_choose_network(struct split *split, struct error *err)
{
    const char *given = split->options->asked.network;
    const struct cost_link *across = split->question.job.across;
    char *end;
    if (!given || strcmp(given, "typical") == 0)
        return set_share(split, "typical", across->typical > 0.0 ? across->typical : 1.0, err);
    if (strcmp(given, "reference") == 0)
        return true;
    double share = text_number(given, &end);
    if (end != given && *end == '\0')
        return (share > 0.0 && share <= MOST_SHARE)
                   ? set_share(split, given, share, err)
                   : error_set(
                         err, ERROR_USAGE,
                         "--network: expected a share of the link's rates above 0, up to %g, found '%s'",
                         MOST_SHARE, given);
    if (doc_is_name(given))
        return set_file(split, given, err);
    return error_set(err, ERROR_USAGE,
                     "--network: expected typical, reference, a share such as 0.6, or a file of 'rehearse "
                     "measure links', found '%s'",
                     given);
}
