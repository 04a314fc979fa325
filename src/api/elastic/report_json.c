/* rehearse-elastic/1, docs/schema/elastic-1.json. */
#include "api/elastic/report.h"
#include "core/fields.h"
#include "elastic/batch.h"

#include <math.h>
#include <stdlib.h>

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
    FIELD_OUT(struct elastic_report, "microbatches", kit.batch, FIELD_INT64),
    FIELD_OUT(struct elastic_report, "setup", setup, FIELD_DOUBLE),
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
};

static bool write_set(const struct elastic_report *report, struct json *json, struct error *err)
{
    const struct elastic_set *set = &report->set;
    struct elastic_share *shares;
    int count;
    double slowest;
    if (!elastic_set_split(set, &report->kit, &shares, &count, &slowest, err))
        return false;
    fields_write(report, report_fields + 5, 10, json);
    json_open(json, "shares", '[');
    for (int i = 0; i < count; i++) {
        const struct elastic_shape *shape = &report->kit.shapes[shares[i].shape];
        json_open_flat(json, NULL, '{');
        json_string(json, "shape", shape->name);
        json_string(json, "file", shape->path);
        json_integer(json, "instances", set->counts[shares[i].shape]);
        json_integer(json, "pipelines", shares[i].count);
        json_integer(json, "microbatches", shares[i].each);
        json_integer(json, "with_one_more", shares[i].extra);
        json_number(json, "seconds",
                    elastic_line_seconds(shares[i].line, shares[i].each + (shares[i].extra > 0)));
        json_close(json);
    }
    json_close(json);
    json_close(json);
    free(shares);
    return true;
}

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

static const struct field losses_fields[] = {
    FIELD_OPEN("single_losses", FIELD_MAP),
    FIELD_OUT(struct elastic_losses, "worst_downtime", worst, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "mean_downtime", mean, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "worst_iteration_time", worst_iteration, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "mean_iteration_time", mean_iteration, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_losses, "nodes_that_need_a_checkpoint", checkpoints, FIELD_INT),
};

static void write_losses(const struct elastic_report *report, struct json *json)
{
    struct elastic_losses sum = elastic_sum_losses(report);
    FIELDS_WRITE(&sum, losses_fields, json);
    json_open(json, "places", '[');
    for (int i = 0; i < report->loss_count; i++) {
        const struct elastic_loss *loss = &report->losses[i];
        json_open_flat(json, NULL, '{');
        json_integer(json, "node", loss->node);
        json_integer(json, "alike", loss->nodes);
        json_string(json, "shape", loss->shape < 0 ? NULL : report->kit.shapes[loss->shape].name);
        json_integer(json, "position", loss->shape < 0 ? -1 : loss->position);
        json_bool(json, "checkpoint", loss->outcome.checkpoint);
        json_number(json, "bytes", loss->outcome.checkpoint ? 0 : loss->outcome.bytes_across);
        json_number(json, "downtime", loss->outcome.checkpoint ? NAN : report->setup + loss->outcome.seconds);
        json_number(json, "iteration_time", loss->outcome.iteration);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

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
    FIELD_OUT(struct elastic_event, "bytes_across", way.outcome.bytes_across, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "bytes_inside", way.bytes_inside, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "seconds", way.outcome.seconds, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_event, "lower_bound", way.bound, FIELD_DOUBLE),
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
    {.key = "downtime", .type = FIELD_DOUBLE},
};

static void write_event(const struct elastic_report *report, const struct elastic_event *event,
                        struct json *json)
{
    const struct elastic_transition *way = &event->way;
    json_open(json, NULL, '{');
    json_string(json, "event", event->what);
    write_integers("nodes", event->nodes, event->count, json);
    json_lines(json, "steps", text_within(&way->steps, json->out));
    fields_write(event, event_fields, 2, json);
    json_string(json, "missing_layers", way->missing.length > 0 ? way->missing.data : NULL);
    fields_write(event, event_fields + 2, 4, json);
    json_number(json, "downtime", report->setup + way->outcome.seconds);
    fields_write(event, event_fields + 6, 4, json);
    write_copies(&report->kit, way, json);
    write_instances(&way->after, json);
    json_close(json);
}

bool elastic_report_json(const struct elastic_report *report, struct json *json, struct error *err)
{
    json_open_document(json, "rehearse-elastic/1");
    fields_write(report, report_fields, 3, json);
    json_string(json, "faults_limit", report->limited ? report->limit.text : NULL);
    fields_write(report, report_fields + 3, 2, json);
    json_string(json, "method", elastic_methods[report->method]);
    json_string(json, "exists_once", elastic_exists_once(&report->kit) ? report->kit.sharded : NULL);
    FIELDS_LIST(report->kit.kinds, report->kit.kind_count, kind_fields, json, "nodes");
    bool ok = write_set(report, json, err);
    write_instances(&report->state, json);
    if (report->losses)
        write_losses(report, json);
    else
        json_null(json, "single_losses");
    json_open(json, "events", '[');
    FIELDS_TELL(told_fields, json);
    FIELDS_TELL(event_fields, json);
    for (int i = 0; i < report->event_count; i++)
        write_event(report, &report->events[i], json);
    json_close(json);
    json_close(json);
    return ok;
}
