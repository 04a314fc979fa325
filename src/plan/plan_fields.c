#include "plan/plan_fields.h"

#include <math.h>

/* clang-format off */
#define TEXT(type, name, key) FIELD_OUT(type, key, name, FIELD_TEXT)
#define NUMBER(type, name, key) FIELD_AT(type, key, name, FIELD_DOUBLE, -1e300, 1e300)
#define AMOUNT(type, name, key) FIELD_AT(type, key, name, FIELD_DOUBLE, 0, INFINITY)
#define INT(type, name, key, min, max) FIELD_AT(type, key, name, FIELD_INT, min, max)
#define INTEGER(type, name, key, min) FIELD_AT(type, key, name, FIELD_INT64, min, PLAN_MAX_INTEGER)
#define BOOL(type, name, key) FIELD_OUT(type, key, name, FIELD_FLAG)
#define DEGREE(type, name) INT(type, degrees.name, #name, 1, 1 << 24)
#define MAP(name) const struct plan_map plan_map_##name = {name, sizeof(name) / sizeof *(name)}

#define OF_STORAGE(name) AMOUNT(struct plan_storage, name, #name)
static const struct field storage[] = {
    TEXT(struct plan_storage, workload, "workload"), TEXT(struct plan_storage, verdict, "verdict"),
    TEXT(struct plan_storage, limit, "limit"), OF_STORAGE(seconds), OF_STORAGE(compute), OF_STORAGE(loading),
    OF_STORAGE(checkpoints), OF_STORAGE(load_seconds), OF_STORAGE(samples_per_second), OF_STORAGE(sample_bytes),
    OF_STORAGE(checkpoint_bytes), OF_STORAGE(save_rate), OF_STORAGE(save_every), OF_STORAGE(accelerators),
};
/* clang-format on */

static const struct field head[] = {
    TEXT(struct plan, objective, "objective"),
    TEXT(struct plan, search, "search"),
    NUMBER(struct plan, iteration_time, "iteration_time"),
    NUMBER(struct plan, lower_bound, "lower_bound"),
    BOOL(struct plan, proven_optimal, "proven_optimal"),
    TEXT(struct plan, proof_over, "proof_over"),
    NUMBER(struct plan, planning_seconds, "planning_seconds"),
    NUMBER(struct plan, memory, "memory"),
    INTEGER(struct plan, asked_microbatches, "microbatches", -1),
    BOOL(struct plan, has_front, "has_front"),
};

static const struct field made_by[] = {
    TEXT(struct plan, version, "version"),
    TEXT(struct plan, planner, "planner"),
    TEXT(struct plan, rules, "rules"),
    TEXT(struct plan, import, "import"),
    TEXT(struct plan, memory_model, "memory_model"),
};

static const struct field model[] = {
    TEXT(struct plan, model, "name"),
    INT(struct plan, layer_count, "layers", 0, PLAN_MAX_LAYERS),
    TEXT(struct plan, layers_digest, "digest"),
};

static const struct field training[] = {
    INTEGER(struct plan, global_batch, "global_batch", 0),
    INTEGER(struct plan, microbatch, "microbatch", 0),
    INTEGER(struct plan, sequence, "sequence", 0),
    TEXT(struct plan, precision, "precision"),
    TEXT(struct plan, software, "software"),
    TEXT(struct plan, recompute, "recompute"),
    INT(struct plan, sharding, "sharding", -1, 3),
    NUMBER(struct plan, headroom, "headroom"),
    INT(struct plan, send_blocks, "send_blocks", -1, 1),
    INT(struct plan, prefetch, "prefetch", -1, PLAN_MAX_LAYERS),
    INT(struct plan, keeps_gathered, "keeps_gathered", -1, 1),
    NUMBER(struct plan, shards_share, "shards_share"),
};

static const struct field schedule[] = {
    TEXT(struct plan, schedule, "kind"),
    INT(struct plan, chunks, "chunks", 1, 4096),
    INT(struct plan, group, "group", 0, 1 << 20),
};

static const struct field iteration[] = {
    NUMBER(struct plan, expected, "expected"),
    NUMBER(struct plan, interval.low, "low"),
    NUMBER(struct plan, interval.high, "high"),
    NUMBER(struct plan, interval.like_low, "like_low"),
    NUMBER(struct plan, interval.like_high, "like_high"),
    NUMBER(struct plan, interval.unlike_low, "unlike_low"),
    NUMBER(struct plan, interval.unlike_high, "unlike_high"),
    BOOL(struct plan, interval.extrapolates, "extrapolates"),
};

static const struct field nearest[] = {
    TEXT(struct plan_nearest, id, "id"),
    TEXT(struct plan_nearest, source, "source"),
    TEXT(struct plan_nearest, model, "model"),
    TEXT(struct plan_nearest, device, "device"),
    INT(struct plan_nearest, devices, "devices", 0, 1 << 24),
    TEXT(struct plan_nearest, differs, "differs"),
};

static const struct field bottleneck[] = {
    INT(struct plan, bottleneck_pipeline, "pipeline", -1, PLAN_MAX_PIPELINES),
    INT(struct plan, bottleneck_stage, "stage", -1, PLAN_MAX_STAGES),
    BOOL(struct plan, bottleneck_sends, "sends"),
};

static const struct field budget[] = {
    AMOUNT(struct plan_budget, tokens, "tokens"),
    AMOUNT(struct plan_budget, seconds, "seconds"),
    AMOUNT(struct plan_budget, device_hours, "device_hours"),
    AMOUNT(struct plan_budget, dollars, "dollars"),
    AMOUNT(struct plan_budget, dollars_per_hour, "dollars_per_hour"),
    AMOUNT(struct plan_budget, dollars_per_million_tokens, "dollars_per_million_tokens"),
    AMOUNT(struct plan_budget, watt_hours, "watt_hours"),
    AMOUNT(struct plan_budget, watt_hours_computing, "watt_hours_computing"),
};

static const struct field device_type[] = {
    TEXT(struct plan_device_type, name, "name"),
    INT(struct plan_device_type, nodes.count, "nodes", 0, 1 << 24),
    INT(struct plan_device_type, nodes.devices, "per_node", 0, 1 << 24),
    INTEGER(struct plan_device_type, nodes.memory, "memory", 0),
    INT(struct plan_device_type, inside, "inside", -1, PLAN_MAX_LINKS - 1),
    INT(struct plan_device_type, across, "across", -1, PLAN_MAX_LINKS - 1),
    /* only plans over several types say how each runs */
    FIELD_OUT(struct plan_device_type, "products", products, FIELD_SOME_TEXT),
    FIELD_OUT(struct plan_device_type, "like", like, FIELD_SOME_TEXT),
};

static const struct field link[] = {
    TEXT(struct plan_link, name, "name"),
    NUMBER(struct plan_link, bandwidth, "bandwidth"),
    NUMBER(struct plan_link, latency, "latency"),
    INT(struct plan_link, shared_by, "shared_by", 1, 1 << 24),
};

static const struct field pipeline[] = {
    INT(struct plan_pipeline, copies, "copies", 1, 1 << 24),
    INTEGER(struct plan_pipeline, microbatches, "microbatches", 0),
};

static const struct field stage[] = {
    INT(struct plan_stage, chunk, "chunk", 0, 4095),
    DEGREE(struct plan_stage, tensor),
    DEGREE(struct plan_stage, context),
    DEGREE(struct plan_stage, expert),
    DEGREE(struct plan_stage, data),
};

static const struct field run[] = {
    INT(struct plan_run, node, "node", 0, 1 << 24),
    INT(struct plan_run, nodes, "nodes", 1, 1 << 24),
    INT(struct plan_run, first, "first", 0, 1 << 24),
    INT(struct plan_run, count, "count", 1, 1 << 24),
};

static const struct field seconds[] = {
    NUMBER(struct plan_seconds, forward, "forward"),
    NUMBER(struct plan_seconds, backward, "backward"),
    NUMBER(struct plan_seconds, backward_weight, "backward_weight"),
    NUMBER(struct plan_seconds, recompute, "recompute"),
    NUMBER(struct plan_seconds, collectives, "collectives"),
    NUMBER(struct plan_seconds, send, "send"),
    NUMBER(struct plan_seconds, gradients, "gradients"),
    NUMBER(struct plan_seconds, optimizer, "optimizer"),
};

static const struct field bytes[] = {
    NUMBER(struct plan_bytes, parameters, "parameters"),
    NUMBER(struct plan_bytes, gradients, "gradients"),
    NUMBER(struct plan_bytes, optimizer, "optimizer"),
    NUMBER(struct plan_bytes, activations, "activations"),
    NUMBER(struct plan_bytes, in_flight, "in_flight"),
    NUMBER(struct plan_bytes, working, "working"),
    NUMBER(struct plan_bytes, sent, "sent"),
    NUMBER(struct plan_bytes, total, "total"),
};

static const struct field transfer[] = {
    INT(struct plan_transfer, group, "group", 2, 1 << 24),
    INT(struct plan_transfer, per_node, "per_node", 1, 1 << 24),
    INT(struct plan_transfer, link, "link", -1, PLAN_MAX_LINKS - 1),
    AMOUNT(struct plan_transfer, count, "count"),
    AMOUNT(struct plan_transfer, bytes, "bytes"),
    AMOUNT(struct plan_transfer, seconds, "seconds"),
    AMOUNT(struct plan_transfer, shown, "shown"),
};

static const struct field alternative[] = {
    NUMBER(struct plan_alternative, iteration_time, "iteration_time"),
    INT(struct plan_alternative, devices, "devices", 1, 1 << 24),
    DEGREE(struct plan_alternative, tensor),
    DEGREE(struct plan_alternative, context),
    DEGREE(struct plan_alternative, expert),
    DEGREE(struct plan_alternative, pipeline),
    DEGREE(struct plan_alternative, data),
    INT(struct plan_alternative, chunks, "chunks", 1, 1 << 24),
    INT(struct plan_alternative, sharding, "sharding", 0, 3),
    INTEGER(struct plan_alternative, microbatch, "microbatch", 0),
    INTEGER(struct plan_alternative, microbatches, "microbatches", 0),
    TEXT(struct plan_alternative, recompute, "recompute"),
    NUMBER(struct plan_alternative, memory, "memory"),
    NUMBER(struct plan_alternative, utilisation, "utilisation"),
    BOOL(struct plan_alternative, on_front, "on_front"),
};

static const struct field sensitivity[] = {
    TEXT(struct plan_sensitivity, resource, "resource"),
    NUMBER(struct plan_sensitivity, more, "more"),
    NUMBER(struct plan_sensitivity, iteration_time, "iteration_time"),
    BOOL(struct plan_sensitivity, split_differs, "split_differs"),
};

static const struct field fleet[] = {
    NUMBER(struct plan_fleet, iteration_time, "iteration_time"),
    TEXT(struct plan_fleet, way, "way"),
    INT(struct plan_fleet, pipelines, "pipelines", 0, 1 << 24),
    INTEGER(struct plan_fleet, microbatch, "microbatch", 0),
    INT(struct plan_fleet, sharding, "sharding", 0, 3),
    TEXT(struct plan_fleet, recompute, "recompute"),
    NUMBER(struct plan_fleet, memory, "memory"),
};

static const struct field idle[] = {
    INT(struct plan_idle, type, "device_type", 0, PLAN_MAX_TYPES - 1),
    INT(struct plan_idle, devices, "devices", 0, 1 << 24),
    NUMBER(struct plan_idle, with_one, "with_one"),
    TEXT(struct plan_idle, reason, "reason"),
};

MAP(head);
MAP(made_by);
MAP(model);
MAP(training);
MAP(schedule);
MAP(iteration);
MAP(bottleneck);
MAP(nearest);
MAP(budget);
MAP(storage);
MAP(device_type);
MAP(link);
MAP(pipeline);
MAP(stage);
MAP(run);
MAP(seconds);
MAP(bytes);
MAP(transfer);
MAP(alternative);
MAP(sensitivity);
MAP(fleet);
MAP(idle);
