/* rehearse-elastic/1, docs/schema/elastic-1.json. */
#include "api/elastic/report.h"
#include "core/fields.h"
#include "elastic/batch.h"

#include <stdlib.h>

static const struct field kind_fields[] = {
    FIELD_OUT(struct elastic_kind, "device_type", name, FIELD_TEXT),
    FIELD_OUT(struct elastic_kind, "nodes", nodes, FIELD_INT),
    FIELD_OUT(struct elastic_kind, "per_node", per_node, FIELD_INT),
    FIELD_OUT(struct elastic_kind, "inside", inside, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_kind, "across", across, FIELD_DOUBLE),
    FIELD_OUT(struct elastic_kind, "latency", latency, FIELD_DOUBLE),
};

static bool write_set(const struct elastic_report *report, struct json *json, struct error *err)
{
    const struct elastic_set *set = &report->set;
    struct elastic_share *shares;
    int count;
    double slowest;
    if (!elastic_set_split(set, &report->kit, &shares, &count, &slowest, err))
        return false;
    json_open(json, "set", '{');
    json_number(json, "iteration_time", set->seconds);
    json_number(json, "slowest_pipeline", set->slowest);
    json_number(json, "exchange", set->exchange);
    json_number(json, "lower_bound", set->bound);
    json_bool(json, "proven_optimal", set->proven);
    json_integer(json, "instances", set->instances);
    json_integer(json, "pipelines", set->pipelines);
    json_integer(json, "nodes_used", set->nodes);
    json_integer(json, "shapes_considered", report->kit.shape_count);
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

static void write_instances(const struct elastic_state *state, struct json *json)
{
    json_open(json, "instances", '[');
    for (int i = 0; i < state->instance_count; i++) {
        const struct elastic_shape *shape = &state->kit->shapes[state->instances[i].shape];
        json_open_flat(json, NULL, '{');
        json_string(json, "shape", shape->name);
        json_open_flat(json, "nodes", '[');
        for (int p = 0; p < shape->nodes; p++)
            json_integer(json, NULL, state->instances[i].nodes[p]);
        json_close(json);
        json_close(json);
    }
    json_close(json);
    json_open_flat(json, "spares", '[');
    for (int n = 0; n < state->node_count; n++)
        if (state->owner[n] == ELASTIC_SPARE)
            json_integer(json, NULL, n);
    json_close(json);
}

static void write_losses(const struct elastic_report *report, struct json *json)
{
    struct elastic_losses sum = elastic_sum_losses(report);
    json_open(json, "single_losses", '{');
    json_number(json, "worst_downtime", sum.worst);
    json_number(json, "mean_downtime", sum.mean);
    json_number(json, "worst_iteration_time", sum.worst_iteration);
    json_number(json, "mean_iteration_time", sum.mean_iteration);
    json_integer(json, "nodes_that_need_a_checkpoint", sum.checkpoints);
    json_open(json, "places", '[');
    for (int i = 0; i < report->loss_count; i++) {
        const struct elastic_loss *loss = &report->losses[i];
        json_open_flat(json, NULL, '{');
        json_integer(json, "node", loss->node);
        json_integer(json, "alike", loss->nodes);
        json_string(json, "shape", loss->shape < 0 ? NULL : report->kit.shapes[loss->shape].name);
        json_integer(json, "position", loss->shape < 0 ? -1 : loss->position);
        json_bool(json, "checkpoint", loss->checkpoint);
        json_number(json, "bytes", loss->checkpoint ? 0 : loss->bytes);
        if (loss->checkpoint)
            json_null(json, "downtime");
        else
            json_number(json, "downtime", report->setup + loss->seconds);
        json_number(json, "iteration_time", loss->iteration);
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
        json_open_flat(json, "to", '[');
        json_integer(json, NULL, copy->to_node);
        json_integer(json, NULL, copy->to_device);
        json_close(json);
        json_open_flat(json, "from", '[');
        json_integer(json, NULL, copy->from_node);
        json_integer(json, NULL, copy->from_device);
        json_close(json);
        json_open_flat(json, "layers", '[');
        json_integer(json, NULL, kit->segment_from[copy->first]);
        json_integer(json, NULL, kit->segment_from[copy->last + 1] - 1);
        json_close(json);
        json_open_flat(json, "share", '[');
        json_number(json, NULL, (double)copy->from / kit->units);
        json_number(json, NULL, (double)copy->until / kit->units);
        json_close(json);
        json_number(json, "bytes", copy->bytes);
        json_close(json);
    }
    json_close(json);
}

static void write_steps(const struct text *steps, struct json *json)
{
    struct text line = {0};
    json_open(json, "steps", '[');
    for (const char *at = steps->data; at && *at; at++) {
        if (*at != '\n') {
            text_add_bytes(&line, at, 1);
            continue;
        }
        json_string(json, NULL, text_within(&line, json->out));
        text_release(&line);
    }
    json_close(json);
    text_release(&line);
}

static void write_event(const struct elastic_report *report, const struct elastic_event *event,
                        struct json *json)
{
    const struct elastic_transition *way = &event->way;
    json_open(json, NULL, '{');
    json_string(json, "event", event->what);
    json_open_flat(json, "nodes", '[');
    for (int i = 0; i < event->count; i++)
        json_integer(json, NULL, event->nodes[i]);
    json_close(json);
    write_steps(&way->steps, json);
    json_bool(json, "checkpoint", way->checkpoint);
    json_string(json, "reason", way->reason);
    json_string(json, "missing_layers", way->missing.length > 0 ? way->missing.data : NULL);
    json_number(json, "bytes_across", way->bytes_across);
    json_number(json, "bytes_inside", way->bytes_inside);
    json_number(json, "seconds", way->seconds);
    json_number(json, "lower_bound", way->bound);
    json_number(json, "downtime", report->setup + way->seconds);
    json_number(json, "iteration_time_before", way->before);
    json_number(json, "iteration_time", way->iteration);
    json_number(json, "fastest_iteration_time", event->fastest);
    json_integer(json, "copies_of_every_layer", way->kept);
    write_copies(&report->kit, way, json);
    write_instances(&way->after, json);
    json_close(json);
}

bool elastic_report_json(const struct elastic_report *report, struct json *json, struct error *err)
{
    json_open_document(json, "rehearse-elastic/1");
    json_string(json, "model", report->kit.model);
    json_integer(json, "layers", report->kit.layer_count);
    json_integer(json, "faults", report->faults);
    json_string(json, "faults_limit", report->limited ? report->limit.text : NULL);
    json_integer(json, "microbatches", report->kit.batch);
    json_number(json, "setup", report->setup);
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
    for (int i = 0; i < report->event_count; i++)
        write_event(report, &report->events[i], json);
    json_close(json);
    json_close(json);
    return ok;
}
