/* rehearse-elastic/1, docs/schema/elastic-1.json. */
#include "api/elastic/report.h"
#include "core/fields.h"

static const struct field kind_fields[] = {
    FIELD_OUT(struct elastic_kind, "device_type", name, FIELD_TEXT),
    FIELD_OUT(struct elastic_kind, "nodes", nodes.count, FIELD_INT),
    FIELD_OUT(struct elastic_kind, "per_node", nodes.devices, FIELD_INT),
    FIELD_OUT(struct elastic_kind, "inside", inside, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_kind, "across", across, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_kind, "latency", latency, FIELD_DOUBLE),
};

static const struct field report_fields[] = {
    FIELD_OUT(struct elastic_report, "model", kit.model, FIELD_TEXT),
    FIELD_OUT(struct elastic_report, "layers", kit.layer_count, FIELD_INT),
    FIELD_OUT(struct elastic_report, "faults", faults, FIELD_INT),
    FIELD_OUT(struct elastic_report, "faults_limit", faults_limit, FIELD_TEXT),
    FIELD_OUT(struct elastic_report, "microbatches", kit.batch, FIELD_INT64),
    FIELD_OUT(struct elastic_report, "setup", setup, FIELD_DOUBLE),
    FIELD_WORDS(struct elastic_report, "method", method, elastic_methods),
    FIELD_OUT(struct elastic_report, "exists_once", exists_once, FIELD_TEXT),
};

static const struct field share_fields[] = {
    FIELD_OUT(struct elastic_share, "shape", name, FIELD_TEXT),
    FIELD_OUT(struct elastic_share, "file", path, FIELD_TEXT),
    FIELD_OUT(struct elastic_share, "instances", instances, FIELD_INT),
    FIELD_OUT(struct elastic_share, "pipelines", count, FIELD_INT64),
    FIELD_OUT(struct elastic_share, "microbatches", each, FIELD_INT64),
    FIELD_OUT(struct elastic_share, "with_one_more", extra, FIELD_INT64),
    FIELD_OUT(struct elastic_share, "seconds", seconds, FIELD_DOUBLE),
};

static const struct field set_fields[] = {
    FIELD_OPEN("set", FIELD_MAP),
    FIELD_OUT(struct elastic_report, "iteration_time", set.seconds, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_report, "slowest_pipeline", set.slowest, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_report, "exchange", set.exchange, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_report, "lower_bound", set.bound, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_report, "proven_optimal", set.proven, FIELD_FLAG),
    FIELD_OUT(struct elastic_report, "instances", set.instances, FIELD_INT),
    FIELD_OUT(struct elastic_report, "pipelines", set.pipelines, FIELD_INT64),
    FIELD_OUT(struct elastic_report, "nodes_used", set.nodes, FIELD_INT),
    FIELD_OUT(struct elastic_report, "shapes_considered", kit.shape_count, FIELD_INT),
    FIELD_ROWS(struct elastic_report, "shares", shares, share_count, share_fields, FIELD_LIST),
    FIELD_CLOSE,
};

static void write_integers(const char *key, const int *values, int count, struct json *json)
{
    json_open_flat(json, key, '[');
    for (int i = 0; i < count; i++)
        json_integer(json, NULL, values[i]);
    json_close(json);
}

static void write_instances(const struct elastic_state *state, struct json *json)
{
    json_open(json, "instances", '[');
    for (int i = 0; i < state->instance_count; i++) {
        const struct elastic_shape *shape = &state->kit->shapes[state->instances[i].shape];
        json_open_flat(json, NULL, '{');
        json_string(json, "shape", shape->name);
        write_integers("nodes", state->instances[i].nodes, shape->nodes, json);
        json_close(json);
    }
    json_close(json);
    json_open_flat(json, "spares", '[');
    for (int n = 0; n < state->node_count; n++)
        if (state->owner[n] == ELASTIC_SPARE)
            json_integer(json, NULL, n);
    json_close(json);
}

static const struct field place_fields[] = {
    FIELD_OUT(struct elastic_loss, "node", node, FIELD_INT),
    FIELD_OUT(struct elastic_loss, "alike", nodes, FIELD_INT),
    FIELD_OUT(struct elastic_loss, "shape", name, FIELD_TEXT),
    FIELD_OUT(struct elastic_loss, "position", position, FIELD_INT),
    FIELD_OUT(struct elastic_loss, "checkpoint", outcome.checkpoint, FIELD_FLAG),
    FIELD_OUT(struct elastic_loss, "bytes", outcome.bytes_across, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_loss, "downtime", downtime, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_loss, "iteration_time", outcome.iteration, FIELD_DOUBLE),
};

static const struct field losses_fields[] = {
    FIELD_OUT(struct elastic_losses, "worst_downtime", worst, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "mean_downtime", mean, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "worst_iteration_time", worst_iteration, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "mean_iteration_time", mean_iteration, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "nodes_that_need_a_checkpoint", checkpoints, FIELD_INT),
    FIELD_ROWS(struct elastic_losses, "places", places, count, place_fields, FIELD_LIST),
};

static const struct field summed_fields[] = {
    FIELD_PART(struct elastic_report, "single_losses", summed, losses_fields, FIELD_POINTER),
};

static void write_copies(const struct elastic_kit *kit, const struct elastic_transition *way,
                         struct json *json)
{
    json_open(json, "copies", '[');
    for (int i = 0; i < way->copy_count; i++) {
        const struct elastic_copy *copy = &way->copies[i];
        json_open_flat(json, NULL, '{');
        write_integers("to", (const int[]){copy->to_node, copy->to_device}, 2, json);
        write_integers("from", (const int[]){copy->from_node, copy->from_device}, 2, json);
        write_integers("layers",
                       (const int[]){kit->segment_from[copy->first], kit->segment_from[copy->last + 1] - 1},
                       2, json);
        json_open_flat(json, "share", '[');
        json_number(json, NULL, (double)copy->from / kit->units);
        json_number(json, NULL, (double)copy->until / kit->units);
        json_close(json);
        json_number(json, "bytes", copy->bytes);
        json_close(json);
    }
    json_close(json);
}

static const struct field event_fields[] = {
    FIELD_OUT(struct elastic_event, "checkpoint", way.outcome.checkpoint, FIELD_FLAG),
    FIELD_OUT(struct elastic_event, "reason", way.reason, FIELD_TEXT),
    FIELD_OUT(struct elastic_event, "missing_layers", way.missing.data, FIELD_TEXT),
    FIELD_OUT(struct elastic_event, "bytes_across", way.outcome.bytes_across, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "bytes_inside", way.bytes_inside, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "seconds", way.outcome.seconds, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "lower_bound", way.bound, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "downtime", downtime, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "iteration_time_before", way.before, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "iteration_time", way.outcome.iteration, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "fastest_iteration_time", fastest, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "copies_of_every_layer", way.kept, FIELD_INT),
};

/* What an event has besides. */
static const struct field told_fields[] = {
    {.key = "event", .type = FIELD_TEXT},
    {.key = "nodes", .type = FIELD_INT64},
    {.key = "nodes.ends", .type = FIELD_INT64},
};

static void write_event(const struct elastic_report *report, const struct elastic_event *event,
                        struct json *json)
{
    json_open(json, NULL, '{');
    json_string(json, "event", event->what);
    write_integers("nodes", event->nodes, event->count, json);
    json_lines(json, "steps", text_within(&event->way.steps, json->out));
    FIELDS_WRITE(event, event_fields, json);
    write_copies(&report->kit, &event->way, json);
    write_instances(&event->way.after, json);
    json_close(json);
}

void elastic_report_json(const struct elastic_report *report, struct json *json)
{
    json_open_document(json, "rehearse-elastic/1");
    FIELDS_WRITE(report, report_fields, json);
    FIELDS_LIST(report->kit.kinds, report->kit.kind_count, kind_fields, json, "nodes");
    FIELDS_WRITE(report, set_fields, json);
    write_instances(&report->state, json);
    FIELDS_WRITE(report, summed_fields, json);
    json_open(json, "events", '[');
    FIELDS_TELL(told_fields, json);
    FIELDS_TELL(event_fields, json);
    for (int i = 0; i < report->event_count; i++)
        write_event(report, &report->events[i], json);
    json_close(json);
    json_close(json);
}
