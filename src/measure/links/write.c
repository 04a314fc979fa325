#include "measure/links/write.h"

#include "cluster/cluster.h"
#include "core/fields.h"
#include "core/unit.h"

#include <inttypes.h>
#include <string.h>

/* ---- a cluster ---- */

static void write_link(const struct study_link *link, const char *key, struct text *out)
{
    text_format(out, "%s: {bandwidth: %.5g, latency: %.4g}", key, link->bandwidth, link->latency);
}

static void write_group(const struct study *study, int kind, const char *device, struct text *out)
{
    const struct node_facts *node = &study->nodes[kind];
    struct study_link inside;
    int nodes = 0, each = node->ranks;
    for (int host = 0; host < study->host_count; host++)
        nodes += study->kind_of[host] == kind;
    int64_t memory = study->device_memory > 0 ? study->device_memory : node->memory / each;
    text_add(out, "  - device: ");
    text_add_quoted(out, device);
    text_format(out, "\n    nodes: %d\n    devices_per_node: %d\n", nodes, each);
    if (memory > 0)
        text_format(out, "    memory: %" PRId64 "\n", memory);
    if (study_link_of(study, kind, false, &inside)) {
        text_add(out, "    ");
        write_link(&inside, "intra_node", out);
        text_add(out, "\n");
    }
}

/* What is told about the nodes but is no part of the format. */
static void write_comments(const struct study *study, struct text *out)
{
    for (int host = 0; host < study->host_count; host++) {
        const struct node_facts *node = &study->nodes[host];
        if (study->kind_of[host] != host)
            continue;
        text_add(out, "# ");
        text_add_printable(out, node->name, strlen(node->name), "");
        text_format(out, ": %s, %d packages, %d cores, %d threads, %d memories",
                    *node->processor ? node->processor : "unknown processor", node->packages, node->cores,
                    node->threads, node->memories);
        if (*node->cards)
            text_format(out, ", cards %s", node->cards);
        text_add(out, "\n");
    }
}

bool study_write_cluster(const struct study *study, const struct study_facts *facts, struct text *out,
                         struct error *err)
{
    struct study_link across;
    int kinds = 0;
    for (int host = 0; host < study->host_count; host++)
        kinds += study->kind_of[host] == host;
    if (kinds > CLUSTER_MAX_GROUPS)
        return error_set(err, ERROR_FAILED, "%d kinds of hosts: a cluster has at most %d groups", kinds,
                         CLUSTER_MAX_GROUPS);
    text_format(out, "# %s\n", facts->source);
    write_comments(study, out);
    text_add(out, "format: rehearse-cluster/1\nname: measured\ngroups:\n");
    for (int host = 0; host < study->host_count; host++)
        if (study->kind_of[host] == host)
            write_group(study, host, facts->device, out);
    if (study_link_of(study, -1, false, &across)) {
        write_link(&across, "inter_node", out);
        text_add(out, "\n");
    }
    return true;
}

/* ---- tables ---- */

void study_write_csv(const struct study *study, struct text *out)
{
    text_add(out, "collective,ranks,nodes,bytes,time_us,low_us,high_us\n");
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i];
        const struct study_place *place = &study->places[row->place];
        /* Ranks that share their host's card with idle ones are no rows of a link: see fit.c. */
        if (row->work.task != LINK_COLLECTIVE || place->kind == PLACE_ONE_EACH)
            continue;
        text_format(out, "%s,%d,%d,%" PRId64 ",%.4f,%.4f,%.4f\n", collective_kind_name(row->work.kind),
                    place->devices, place->nodes, row->work.bytes, 1e6 * row->time.median,
                    1e6 * row->time.low, 1e6 * row->time.high);
    }
}

static void print_link(const struct study *study, int host, struct text *out)
{
    struct study_link link;
    struct unit_texts texts = {0};
    if (!study_link_of(study, host, false, &link))
        return;
    text_format(out, "%-28s %10s %14s %14s", host < 0 ? "between hosts" : study->nodes[host].name,
                unit_text(&texts, link.latency, UNIT_TIME), unit_text(&texts, link.bandwidth, UNIT_RATE),
                unit_text(&texts, link.both, UNIT_RATE));
    if (link.hidden >= 0.0)
        text_format(out, "   %6.0f %% %6.0f %%", 100.0 * link.hidden, 100.0 * link.polled);
    text_add(out, "\n");
}

static void print_errors(const struct link_fit *fit, struct text *out)
{
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++)
        if (fit->kinds[kind].rows > 0)
            text_format(out, "%-28s %-15s %6d %8.1f %% %8.1f %% %8.1f %%\n", fit->link.name,
                        collective_kind_name((enum collective_kind)kind), fit->kinds[kind].rows,
                        100.0 * fit->kinds[kind].median, 100.0 * fit->kinds[kind].mean,
                        100.0 * fit->kinds[kind].p90);
}

/* "all_reduce", "stream": the words of the tables. */
static const char *work_name(const struct link_work *work)
{
    switch (work->task) {
    case LINK_STREAM:
        return "stream";
    case LINK_BOTH:
        return "both ways";
    case LINK_OVERLAP:
        return work->loops == 0 ? "exchange" : work->poll > 0 ? "computing, polled" : "computing";
    default:
        return collective_kind_name(work->kind);
    }
}

static void print_rows(const struct study *study, struct text *out)
{
    struct unit_texts texts = {0};
    char bytes[32];
    text_format(out, "\n%-28s %-17s %10s %12s %22s\n", "place", "work", "bytes", "median", "95 % interval");
    for (int i = 0; i < study->row_count; i++) {
        const struct study_row *row = &study->rows[i];
        unit_format(bytes, sizeof bytes, (double)row->work.bytes, UNIT_BYTES, 3);
        text_format(out, "%-28s %-17s %10s %12s %10s to %8s", study->places[row->place].name,
                    work_name(&row->work), bytes, unit_text(&texts, row->time.median, UNIT_TIME),
                    unit_text(&texts, row->time.low, UNIT_TIME),
                    unit_text(&texts, row->time.high, UNIT_TIME));
        struct text notes = {0};
        sample_notes_print(&row->time, &notes);
        text_format(out, "%s%s\n", notes.length > 0 ? "  " : "", text_within(&notes, out));
        text_release(&notes);
    }
}

void study_print(const struct study *study, const struct study_fits *fits, const struct study_facts *facts,
                 struct text *out)
{
    text_format(out, "%s\n\n%-28s %10s %14s %14s   %8s %8s\n", facts->source, "link", "latency", "one way",
                "each of two", "hidden", "polled");
    for (int host = 0; host < study->host_count; host++)
        print_link(study, host, out);
    print_link(study, -1, out);
    print_rows(study, out);
    if (!fits->has_inside && !fits->has_across)
        return;
    text_format(out, "\n%-28s %-15s %6s   error of rows held out of the fit\n", "", "", "");
    text_format(out, "%-28s %-15s %6s %10s %10s %10s\n", "fitted", "", "rows", "median", "mean", "p90");
    if (fits->has_inside)
        print_errors(&fits->inside, out);
    if (fits->has_across)
        print_errors(&fits->across, out);
    if (fits->is_shortest)
        text_add(out, "to the shortest time of each row, as other load disturbed the medians\n");
}

/* ---- JSON ---- */

static const struct field row_fields[] = {
    FIELD_OUT(struct study_row, "bytes", work.bytes, FIELD_INT64),
    FIELD_OUT(struct study_row, "seconds", time.median, FIELD_DOUBLE),
    FIELD_OUT(struct study_row, "low", time.low, FIELD_DOUBLE),
    FIELD_OUT(struct study_row, "high", time.high, FIELD_DOUBLE),
    FIELD_OUT(struct study_row, "shortest", time.fastest, FIELD_DOUBLE),
    FIELD_OUT(struct study_row, "samples", time.count, FIELD_INT),
    /* of work beside computing */
    FIELD_OUT(struct study_row, "computing", computing, FIELD_DOUBLE),
    FIELD_OUT(struct study_row, "alone", alone, FIELD_DOUBLE),
};

static const struct field place_fields[] = {
    FIELD_OUT(struct study_place, "ranks", devices, FIELD_INT),
    FIELD_OUT(struct study_place, "nodes", nodes, FIELD_INT),
    FIELD_OUT(struct study_place, "groups", pairs, FIELD_INT),
};

static const struct field link_fields[] = {
    FIELD_OUT(struct study_link, "latency", latency, FIELD_DOUBLE),
    FIELD_OUT(struct study_link, "bandwidth", bandwidth, FIELD_DOUBLE),
    FIELD_OUT(struct study_link, "bandwidth_both_ways", both, FIELD_DOUBLE),
    /* where they are known */
    FIELD_OUT(struct study_link, "hidden", hidden, FIELD_DOUBLE),
    FIELD_OUT(struct study_link, "hidden_polled", polled, FIELD_DOUBLE),
};

static const struct field facts_fields[] = {
    FIELD(struct study_facts, source, FIELD_TEXT, 0, 0),
    FIELD(struct study_facts, carrier, FIELD_TEXT, 0, 0),
    FIELD(struct study_facts, device, FIELD_TEXT, 0, 0),
};

static const struct field node_fields[] = {
    FIELD(struct node_facts, name, FIELD_CHARS, 0, 0),
    FIELD(struct node_facts, processor, FIELD_CHARS, 0, 0),
    FIELD(struct node_facts, ranks, FIELD_INT, 0, 0),
    FIELD(struct node_facts, packages, FIELD_INT, 0, 0),
    FIELD(struct node_facts, cores, FIELD_INT, 0, 0),
    FIELD(struct node_facts, threads, FIELD_INT, 0, 0),
    FIELD(struct node_facts, memory, FIELD_INT64, 0, 0),
    FIELD(struct node_facts, cards, FIELD_CHARS, 0, 0),
};

static void json_link(struct json *json, const struct study *study, int host)
{
    struct study_link link;
    if (!study_link_of(study, host, false, &link))
        return;
    json_open_flat(json, NULL, '{');
    json_string(json, "host", host < 0 ? NULL : study->nodes[host].name);
    fields_write(&link, link_fields, link.hidden >= 0.0 ? 5 : 3, json);
    json_close(json);
}

static void json_row(struct json *json, const struct study *study, const struct study_row *row)
{
    const struct study_place *place = &study->places[row->place];
    struct text notes = {0};
    sample_notes_print(&row->time, &notes);
    json_open_flat(json, NULL, '{');
    json_string(json, "work", work_name(&row->work));
    FIELDS_WRITE(place, place_fields, json);
    json_string(json, "host", place->host < 0 ? NULL : study->nodes[place->host].name);
    fields_write(row, row_fields, row->work.task == LINK_OVERLAP && row->work.loops > 0 ? 8 : 6, json);
    if (notes.length > 0)
        json_string(json, "notes", text_within(&notes, json->out));
    text_release(&notes);
    json_close(json);
}

static void json_fit(struct json *json, const struct link_fit *fit, bool shortest)
{
    for (int kind = 0; kind < COLLECTIVE_KINDS; kind++) {
        if (fit->kinds[kind].rows == 0)
            continue;
        json_open_flat(json, NULL, '{');
        json_string(json, "link", fit->link.name);
        json_string(json, "collective", collective_kind_name((enum collective_kind)kind));
        json_integer(json, "rows", fit->kinds[kind].rows);
        json_string(json, "of", shortest ? "shortest" : "seconds");
        fields_write(&fit->kinds[kind], error_score_fields + ERRORS_MEAN, 3, json);
        json_close(json);
    }
}

void study_write_json(const struct study *study, const struct study_fits *fits,
                      const struct study_facts *facts, struct json *json)
{
    json_open_document(json, "rehearse-link-times/1");
    FIELDS_WRITE(facts, facts_fields, json);
    FIELDS_LIST(study->nodes, study->host_count, node_fields, json, "nodes");
    json_open(json, "links", '[');
    for (int host = 0; host < study->host_count; host++)
        json_link(json, study, host);
    json_link(json, study, -1);
    json_close(json);
    json_open(json, "times", '[');
    for (int i = 0; i < study->row_count; i++)
        json_row(json, study, &study->rows[i]);
    json_close(json);
    json_open(json, "left_out", '[');
    if (fits->has_inside)
        json_fit(json, &fits->inside, fits->is_shortest);
    if (fits->has_across)
        json_fit(json, &fits->across, fits->is_shortest);
    json_close(json);
    json_close(json);
}
