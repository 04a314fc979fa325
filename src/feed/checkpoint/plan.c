#include "feed/checkpoint/plan.h"

#include "core/doc.h"
#include "devices/device.h"
#include "devices/tables.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MOST_DEGREE ((int64_t)1 << 20)

/* Where the model is: a plan's degrees of parallelism. */
struct degrees {
    int64_t tensor, pipeline, data, context, expert, zero;
};

struct reading {
    const struct doc *doc;
    struct checkpoint_of_plan *of;
    struct error *err;
};

static bool read_integer(const struct reading *r, const struct doc_node *map, const char *key, int64_t least,
                         int64_t *value)
{
    const struct doc_node *node = doc_need(r->doc, map, key, r->err);
    return node && doc_integer(r->doc, node, least, MOST_DEGREE, value, r->err);
}

/* What other kinds of plans do not say. */
static bool read_optional(const struct reading *r, const char *key, int64_t *value)
{
    const struct doc_node *node = doc_find(r->doc->root, key);
    return !node || doc_integer(r->doc, node, 1, WORKLOAD_MAX_INTEGER, value, r->err);
}

__attribute__((format(printf, 2, 3))) static bool not_sized(const struct reading *r, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(r->of->why, sizeof r->of->why, format, args);
    va_end(args);
    return true;
}

static bool read_degrees(const struct reading *r, const struct doc_node *plan, struct degrees *degrees)
{
    return read_integer(r, plan, "tp", 1, &degrees->tensor) &&
           read_integer(r, plan, "pp", 1, &degrees->pipeline) &&
           read_integer(r, plan, "dp", 1, &degrees->data) &&
           read_integer(r, plan, "cp", 1, &degrees->context) &&
           read_integer(r, plan, "ep", 1, &degrees->expert) &&
           read_integer(r, plan, "zero", 0, &degrees->zero) &&
           read_integer(r, plan, "devices", 1, &r->of->devices);
}

/* Bytes per parameter: of its weight, and of the optimizer's states. */
static bool element_bytes(const struct reading *r, int64_t *weight, int64_t *states)
{
    const struct doc_node *node = doc_need(r->doc, r->doc->root, "precision", r->err);
    const char *name;
    enum cost_type type;
    if (!node || !doc_string(r->doc, node, &name, r->err))
        return false;
    if (!cost_type_find(name, &type))
        return doc_error(r->doc, node, r->err, "'%s' is no type of number", name);
    *weight = (int64_t)fmax(cost_type_bytes(type), 2);
    *states = *weight == 2 ? 12 : 8;
    return true;
}

/* ZeRO 3 splits experts over all ranks, as it does the rest. Else they are apart where their ranks are others than those
 * of the rest: an expert is not split between tensor ranks then. */
static double split_experts(struct checkpoint_shards *shards, const struct degrees *degrees,
                            const struct architecture *model)
{
    if (degrees->expert == 1 || degrees->zero == 3)
        return 0;
    double experts = (double)(model->layers - model->dense_layers) * (double)model->experts *
                     architecture_expert_parameters(model);
    shards->expert = degrees->expert;
    shards->experts = (int64_t)(experts / (double)shards->layers / (double)degrees->expert);
    return experts;
}

static void split_layers(struct checkpoint_shards *shards, const struct degrees *degrees,
                         const struct architecture *model)
{
    double parts = (double)shards->tensor * (shards->zero_stage == 3 ? (double)shards->data : 1);
    double embedding = architecture_embedding_parameters(model), head = architecture_head_parameters(model);
    double norm = fmin((double)model->hidden * (model->norm_biased ? 2 : 1), head);
    shards->layers = model->layers + model->encoder_layers;
    double blocks = architecture_parameters(model) - embedding - head - split_experts(shards, degrees, model);
    shards->embedding = (int64_t)(embedding / parts);
    shards->head = (int64_t)((head - norm) / parts);
    shards->norm = (int64_t)(norm / parts);
    shards->block = (int64_t)(blocks / (double)shards->layers / parts);
}

static void split(struct checkpoint_of_plan *of, const struct degrees *degrees,
                  const struct architecture *model, int64_t weight, int64_t states)
{
    struct checkpoint_shards *shards = &of->shards;
    *shards = (struct checkpoint_shards){
        .ranks = of->devices,
        .tensor = degrees->tensor,
        .pipeline = degrees->pipeline,
        .data = degrees->data * degrees->context,
        .zero_stage = degrees->zero,
        .model_element = weight,
        .parameters = architecture_parameters(model),
        .ending = "pt",
    };
    split_layers(shards, degrees, model);
    double parts =
        (double)(shards->tensor * shards->pipeline) * (degrees->zero > 0 ? (double)shards->data : 1);
    shards->optimizer = (int64_t)(shards->parameters / parts) * states;
    of->parameters = shards->parameters;
    of->sized = true;
}

static void sum_up(struct checkpoint_of_plan *of)
{
    struct checkpoint_shard shard;
    for (int64_t rank = 0; rank < of->shards.ranks; rank++) {
        for (int i = 0, count = checkpoint_shards_count(&of->shards, rank); i < count; i++) {
            checkpoint_shards_get(&of->shards, rank, i, &shard);
            *(shard.kind == CHECKPOINT_MODEL ? &of->model_bytes : &of->optimizer_bytes) +=
                (double)shard.bytes;
        }
    }
}

static bool find_model(const struct reading *r, const struct architecture **model, const char **name)
{
    const struct doc_node *node = doc_need(r->doc, r->doc->root, "model", r->err);
    if (!node || !doc_string(r->doc, node, name, r->err))
        return false;
    if (!tables_ready(r->err))
        return false;
    if (!*model)
        *model = architecture_find(*name);
    return true;
}

static bool read_split(const struct reading *r, const struct doc_node *plan, const struct architecture *model)
{
    struct checkpoint_of_plan *of = r->of;
    struct degrees degrees;
    int64_t weight = 0, states = 0;
    const char *name;
    if (!read_degrees(r, plan, &degrees) || !element_bytes(r, &weight, &states) ||
        !find_model(r, &model, &name))
        return false;
    of->data_parallel = degrees.data;
    double product =
        (double)degrees.tensor * (double)degrees.pipeline * (double)degrees.data * (double)degrees.context;
    if (product != (double)of->devices)
        return doc_error(r->doc, plan, r->err, "tp x pp x dp x cp is %.0f, devices %lld", product,
                         (long long)of->devices);
    if (degrees.zero > 3)
        return doc_error(r->doc, plan, r->err, "zero: expected 0 to 3, found %lld", (long long)degrees.zero);
    if (!model)
        return not_sized(r, "there is no built-in model '%s'; give its file", name);
    int64_t stage = degrees.tensor * degrees.data * degrees.context;
    if (degrees.expert > stage)
        return doc_error(r->doc, plan, r->err, "ep is %lld, tp x dp x cp %lld", (long long)degrees.expert,
                         (long long)stage);
    if (degrees.expert > 1 && degrees.zero == 0)
        return not_sized(r, "expert parallelism without ZeRO: who saves which experts' states is not known");
    split(of, &degrees, model, weight, states);
    sum_up(of);
    return true;
}

/* The devices are all alike, and the first plan is the best. */
static bool read_plans(const struct reading *r, const struct architecture *model)
{
    const struct doc_node *plans = doc_find(r->doc->root, "plans");
    if (!plans)
        return not_sized(r, "%s",
                         doc_find(r->doc->root, "pipelines")
                             ? "it is of devices of several kinds, whose pipelines have different stages"
                             : "it says how layers are divided, not how large the model is");
    if (!doc_is_list(r->doc, plans, r->err))
        return false;
    if (!plans->first_child)
        return doc_error(r->doc, plans, r->err, "there is no plan in it");
    return doc_is_map(r->doc, plans->first_child, r->err) && read_split(r, plans->first_child, model);
}

static bool fits(const struct reading *r, int64_t ranks)
{
    struct checkpoint_of_plan *of = r->of;
    if (!of->sized || ranks == 0)
        return true;
    if (ranks < 0 || ranks > of->devices)
        return error_set(r->err, ERROR_USAGE, "%s: %lld ranks; the plan uses %lld devices", r->doc->path,
                         (long long)ranks, (long long)of->devices);
    of->shards.ranks = ranks;
    return true;
}

static bool read_plan(const struct doc *doc, struct checkpoint_of_plan *of, int64_t ranks,
                      const struct architecture *model, struct error *err)
{
    struct reading r = {doc, of, err};
    *of = (struct checkpoint_of_plan){0};
    if (!doc_is_map(doc, doc->root, err) || !doc_need(doc, doc->root, "format", err) ||
        !doc_is_format(doc, doc->root, "rehearse-plan/1", err))
        return false;
    const struct doc_node *time = doc_need(doc, doc->root, "iteration_time", err);
    return time && doc_number(doc, time, DOC_POSITIVE, 1e9, &of->step_seconds, err) &&
           read_optional(&r, "global_batch", &of->global_batch) &&
           read_optional(&r, "sequence", &of->sequence) && read_plans(&r, model) && fits(&r, ranks);
}

bool checkpoint_plan_parse(struct checkpoint_of_plan *of, const char *path, const char *text, size_t length,
                           int64_t ranks, const struct architecture *model, struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_JSON, path, text, length, err))
        return false;
    bool ok = read_plan(&doc, of, ranks, model, err);
    doc_release(&doc);
    return ok;
}

bool checkpoint_plan_load(struct checkpoint_of_plan *of, const char *path, int64_t ranks,
                          const struct architecture *model, struct error *err)
{
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    bool ok = read_plan(&doc, of, ranks, model, err);
    doc_release(&doc);
    return ok;
}
