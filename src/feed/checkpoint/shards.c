#include "feed/checkpoint/shards.h"

#include "feed/workload/internal.h"

#include <stdio.h>
#include <string.h>

#define MAX_BYTES 0x1p62

/* --- sizes ---------------------------------------------------------------------------------------------------- */

/* Heads' width times key and value heads; the width is rounded down, as DLIO does. */
static int64_t kv_width(const struct workload_model *model)
{
    return model->hidden_size / model->num_attention_heads * model->num_kv_heads;
}

/* A tensor of a layer, and how it is split over the tensor ranks. */
struct layer_part {
    const char *name;
    int64_t rows, columns;
    enum { BY_ROWS, BY_COLUMNS, ON_EACH_RANK } split;
};

#define BLOCK_PARTS 6

/* Query, key and value; projection; the two matrices into a gated MLP; the one out of it; two norms. */
static const struct layer_part *block_parts(const struct checkpoint_shards *shards,
                                            struct layer_part parts[BLOCK_PARTS])
{
    int64_t h = shards->hidden, ffn = shards->ffn;
    const struct layer_part all[BLOCK_PARTS] = {
        {"input_layernorm.weight", h, 1, ON_EACH_RANK},
        {"self_attention.linear_proj.weight", h, h, BY_COLUMNS},
        {"self_attention.linear_qkv.weight", h + 2 * shards->kv, h, BY_ROWS},
        {"pre_mlp_layernorm.weight", h, 1, ON_EACH_RANK},
        {"mlp.linear_fc1.weight", 2 * ffn, h, BY_ROWS},
        {"mlp.linear_fc2.weight", h, ffn, BY_COLUMNS},
    };
    return memcpy(parts, all, sizeof all);
}

/* Elements on one rank. */
static int64_t part_elements(const struct checkpoint_shards *shards, const struct layer_part *part)
{
    int64_t all = part->rows * part->columns;
    all /= part->split == ON_EACH_RANK ? 1 : shards->split.tensor;
    return shards->split.zero_stage == 3 ? all / shards->split.data : all;
}

static double block_parameters(const struct checkpoint_shards *shards)
{
    struct layer_part parts[BLOCK_PARTS];
    double sum = 0;
    block_parts(shards, parts);
    for (int i = 0; i < BLOCK_PARTS; i++)
        sum += (double)parts[i].rows * (double)parts[i].columns;
    return sum;
}

static bool transformer_sizes(struct checkpoint_shards *shards, const struct workload_model *model,
                              struct error *err)
{
    struct layer_part parts[BLOCK_PARTS];
    double h = (double)model->hidden_size;
    double widest = 16 * (h + (double)model->ffn_hidden_size + (double)model->vocab_size);
    shards->hidden = model->hidden_size;
    shards->kv = kv_width(model);
    shards->ffn = model->ffn_hidden_size;
    shards->vocab = model->vocab_size;
    shards->parameters =
        2 * (double)shards->vocab * h + (double)model->num_layers * block_parameters(shards) + h;
    if (widest * h > MAX_BYTES || 24 * shards->parameters > MAX_BYTES)
        return error_set(err, ERROR_INPUT, "model.transformer: more than 2^62 bytes");
    const struct layer_part table = {"", shards->vocab, shards->hidden, BY_ROWS},
                            norm = {"", shards->hidden, 1, ON_EACH_RANK};
    shards->embedding = shards->head = part_elements(shards, &table);
    shards->norm = part_elements(shards, &norm);
    block_parts(shards, parts);
    for (int i = 0; i < BLOCK_PARTS; i++)
        shards->block += part_elements(shards, &parts[i]);
    return true;
}

/* Mixed precision: master weights and two moments, each with five vectors beside (base_checkpointing.py). */
static void optimizer_size(struct checkpoint_shards *shards, const struct workload_model *model)
{
    int64_t parts = shards->split.tensor * shards->split.pipeline *
                    (shards->split.zero_stage > 0 ? shards->split.data : 1);
    int64_t share = (int64_t)shards->parameters / parts;
    int64_t elements = share > 0 ? 3 * (share + 5 * model->hidden_size) : 0;
    shards->optimizer = elements * workload_datatype_bytes(model->optimizer_datatype);
}

/* optimization_groups and layer_parameters: numbers of one byte each. */
static bool given_sizes(struct checkpoint_shards *shards, const struct workload_model *model,
                        struct error *err)
{
    double layer = 0, groups = 0;
    for (int i = 0; i < model->layer_parameters.count; i++) {
        int64_t part = model->layer_parameters.values[i] / shards->split.tensor;
        layer += (double)part;
    }
    for (int i = 0; i < model->optimization_groups.count; i++)
        groups += 3 * (double)model->optimization_groups.values[i];
    if (layer * (double)(shards->layers + 1) > WORKLOAD_MAX_INTEGER || groups > WORKLOAD_MAX_INTEGER)
        return error_set(err, ERROR_INPUT,
                         "model.layer_parameters, optimization_groups: more than 2^53 bytes");
    shards->given_layer = (int64_t)layer;
    if (groups > 0)
        shards->optimizer = (int64_t)groups;
    return true;
}

bool checkpoint_shards_init(struct checkpoint_shards *shards, const struct workload *workload, int64_t ranks,
                            struct error *err)
{
    const struct workload_model *model = &workload->model;
    bool subset = workload->checkpoint.mode == WORKLOAD_CHECKPOINT_SUBSET;
    bool transformer = workload_is_transformer(workload);
    if (ranks < 1)
        return error_set(err, ERROR_USAGE, "a checkpoint needs at least one rank");
    if (!workload_check_parallelism(workload, ranks, err))
        return false;
    *shards = (struct checkpoint_shards){
        .ranks = ranks,
        .split = model->split,
        .layers = model->num_layers > 0 ? model->num_layers : 0,
        .model_type = model->model_datatype,
        .optimizer_type = model->optimizer_datatype,
        .model_element = workload_datatype_bytes(model->model_datatype),
        .whole_model = transformer ? 0 : model->model_size_bytes,
        .ending = workload->framework == WORKLOAD_TENSORFLOW ? "pb" : "pt",
    };
    if (!subset)
        shards->split.data = ranks / (model->split.tensor * model->split.pipeline);
    if (shards->layers > 0) {
        if (!transformer_sizes(shards, model, err))
            return false;
        optimizer_size(shards, model);
    }
    return given_sizes(shards, model, err);
}

/* --- files ---------------------------------------------------------------------------------------------------- */

/* Where a rank is. */
struct place {
    int64_t model;             /* tensor and pipeline together: of a replica */
    int64_t data;              /* replica */
    int64_t first_layer, last; /* both included */
    bool first_replica;
};

static struct place place_of(const struct checkpoint_shards *shards, int64_t rank)
{
    int64_t replica = shards->split.tensor * shards->split.pipeline;
    int64_t stage = rank / shards->split.tensor % shards->split.pipeline;
    int64_t each = shards->layers / shards->split.pipeline, more = shards->layers % shards->split.pipeline;
    struct place place = {.model = rank % replica, .data = rank / replica, .first_replica = rank < replica};
    place.first_layer = stage * each + (stage < more ? stage : more) + 1;
    place.last = place.first_layer + each + (stage < more ? 1 : 0) - 1;
    if (shards->given_layer == 0 && stage == shards->split.pipeline - 1)
        place.last = shards->layers + 2;
    if (shards->given_layer == 0 && stage == 0)
        place.first_layer = 0;
    return place;
}

static int64_t layer_bytes(const struct checkpoint_shards *shards, int64_t layer)
{
    if (shards->given_layer > 0)
        return shards->given_layer;
    int64_t elements = shards->block;
    if (layer == 0)
        elements = shards->embedding;
    if (layer == shards->layers + 1)
        elements = shards->head;
    if (layer == shards->layers + 2)
        elements = shards->norm;
    return elements * shards->model_element;
}

static int64_t all_layers_bytes(const struct checkpoint_shards *shards, const struct place *place)
{
    int64_t bytes = 0;
    for (int64_t layer = place->first_layer; layer <= place->last; layer++)
        bytes += layer_bytes(shards, layer);
    return bytes;
}

/* Without ZeRO only the first replica writes at all. */
static bool writes(const struct checkpoint_shards *shards, const struct place *place)
{
    return shards->split.zero_stage > 0 || place->first_replica;
}

/* Files of layers: one each in a pipeline, else one with all of them. */
static int layer_files(const struct checkpoint_shards *shards, const struct place *place)
{
    bool sharded = shards->split.zero_stage == 3;
    if (shards->layers == 0 || !writes(shards, place) || (!sharded && !place->first_replica))
        return 0;
    bool by_layer =
        shards->split.pipeline > 1 && (shards->split.zero_stage == 1 || shards->split.zero_stage == 2);
    return by_layer ? (int)(place->last - place->first_layer + 1) : 1;
}

static bool whole_file(const struct checkpoint_shards *shards, const struct place *place)
{
    return shards->whole_model > 0 && writes(shards, place);
}

/* Does this rank write a file of experts? */
static bool expert_file(const struct checkpoint_shards *shards, const struct place *place)
{
    bool unsharded = shards->split.zero_stage == 1 || shards->split.zero_stage == 2;
    return unsharded && shards->experts > 0 &&
           place->data * shards->split.tensor + place->model % shards->split.tensor < shards->expert;
}

/* Of all blocks of its stage. */
static int64_t expert_bytes(const struct checkpoint_shards *shards, const struct place *place)
{
    int64_t first = place->first_layer > 1 ? place->first_layer : 1;
    int64_t last = place->last < shards->layers ? place->last : shards->layers;
    return (last - first + 1) * shards->experts * shards->model_element;
}

int checkpoint_shards_count(const struct checkpoint_shards *shards, int64_t rank)
{
    struct place place = place_of(shards, rank);
    return whole_file(shards, &place) + layer_files(shards, &place) + expert_file(shards, &place) +
           (shards->optimizer > 0 && writes(shards, &place) ? 1 : 0);
}

static void get_layers(const struct checkpoint_shards *shards, const struct place *place, int index,
                       struct checkpoint_shard *shard)
{
    long long layer = place->first_layer + index, model = place->model, data = place->data;
    bool single = shards->split.zero_stage == 1 || shards->split.zero_stage == 2;
    shard->bytes =
        single && shards->split.pipeline > 1 ? layer_bytes(shards, layer) : all_layers_bytes(shards, place);
    if (single && shards->split.pipeline > 1)
        snprintf(shard->name, sizeof shard->name, "layer_%lld-model_%lld_model_states.%s", layer, model,
                 shards->ending);
    else if (single)
        snprintf(shard->name, sizeof shard->name, "model_%lld_model_states.%s", model, shards->ending);
    else
        snprintf(shard->name, sizeof shard->name, "zero_pp_rank_%lld_mp_rank_%lld_model_states.%s", data,
                 model, shards->ending);
}

void checkpoint_shards_get(const struct checkpoint_shards *shards, int64_t rank, int index,
                           struct checkpoint_shard *shard)
{
    struct place place = place_of(shards, rank);
    int whole = whole_file(shards, &place), layers = layer_files(shards, &place);
    shard->kind = CHECKPOINT_MODEL;
    if (index < whole) {
        shard->bytes = shards->whole_model;
        snprintf(shard->name, sizeof shard->name, "model_states-%lld.%s", (long long)rank, shards->ending);
    } else if (index < whole + layers) {
        get_layers(shards, &place, index - whole, shard);
    } else if (index < whole + layers + expert_file(shards, &place)) {
        shard->bytes = expert_bytes(shards, &place);
        snprintf(shard->name, sizeof shard->name, "zero_pp_rank_%lld_mp_rank_%lld_expert_states.%s",
                 (long long)place.data, (long long)place.model, shards->ending);
    } else {
        shard->kind = CHECKPOINT_OPTIMIZER;
        shard->bytes = shards->optimizer;
        snprintf(shard->name, sizeof shard->name, "zero_pp_rank_%lld_mp_rank_%lld_optim_states.%s",
                 (long long)place.data, (long long)place.model, shards->ending);
    }
}

/* --- tensors -------------------------------------------------------------------------------------------------- */

/* Adds bytes that are numbers of the type; or bytes, if they are not. */
static bool add_flat(struct checkpoint_tensors *tensors, enum workload_datatype type, int64_t bytes,
                     const char *name, struct error *err)
{
    int64_t element = bytes % workload_datatype_bytes(type) == 0 ? workload_datatype_bytes(type) : 1;
    struct checkpoint_tensor tensor = {.name = name,
                                       .type = element == 1 ? WORKLOAD_DATATYPE_UINT8 : type,
                                       .dims = 1,
                                       .shape = {bytes / element}};
    return bytes == 0 || checkpoint_tensors_add(tensors, "checkpoint", tensor, err);
}

static bool add_part(const struct checkpoint_shards *shards, const struct layer_part *part, const char *name,
                     struct checkpoint_tensors *tensors, struct error *err)
{
    int64_t t = shards->split.tensor, elements = part_elements(shards, part);
    struct checkpoint_tensor tensor = {.name = name, .type = shards->model_type, .dims = 2};
    tensor.shape[0] = part->rows / (part->split == BY_ROWS ? t : 1);
    tensor.shape[1] = part->columns / (part->split == BY_COLUMNS ? t : 1);
    return part->columns > 1 && elements > 0 && tensor.shape[0] * tensor.shape[1] == elements
               ? checkpoint_tensors_add(tensors, "checkpoint", tensor, err)
               : add_flat(tensors, tensor.type, elements * shards->model_element, name, err);
}

static bool add_layer(const struct checkpoint_shards *shards, int64_t layer,
                      struct checkpoint_tensors *tensors, struct error *err)
{
    struct layer_part parts[BLOCK_PARTS] = {
        {"embedding.word_embeddings.weight", shards->vocab, shards->hidden, BY_ROWS},
        {"output_layer.weight", shards->vocab, shards->hidden, BY_ROWS},
        {"decoder.final_layernorm.weight", shards->hidden, 1, ON_EACH_RANK},
    };
    bool block = layer > 0 && layer <= shards->layers, flat = shards->given_layer > 0 || shards->hidden == 0;
    const struct layer_part *part = &parts[block || layer == 0 ? 0 : layer - shards->layers];
    char name[128];
    if (block)
        part = block_parts(shards, parts);
    for (int i = 0; i < (block && !flat ? BLOCK_PARTS : 1); i++) {
        snprintf(name, sizeof name, "decoder.layers.%lld.%s", (long long)layer - 1,
                 flat ? "flat_param" : part[i].name);
        if (!(flat ? add_flat(tensors, shards->model_type, layer_bytes(shards, layer),
                              block ? name : part->name, err)
                   : add_part(shards, &part[i], block ? name : part->name, tensors, err)))
            return false;
    }
    return true;
}

/* The two moments, and the master weights if there are any: DeepSpeed's names. */
static bool add_states(const struct checkpoint_shards *shards, struct checkpoint_tensors *tensors,
                       struct error *err)
{
    static const char *const names[] = {
        "optimizer_state_dict.base_optimizer_state.state.0.exp_avg",
        "optimizer_state_dict.base_optimizer_state.state.0.exp_avg_sq",
        "optimizer_state_dict.single_partition_of_fp32_groups.0",
    };
    int64_t element = workload_datatype_bytes(shards->optimizer_type);
    int count = shards->optimizer % (3 * element) == 0 ? 3 : shards->optimizer % (2 * element) == 0 ? 2 : 1;
    for (int i = 0; i < count; i++)
        if (!add_flat(tensors, shards->optimizer_type, shards->optimizer / count, names[i], err))
            return false;
    return true;
}

bool checkpoint_shards_tensors(const struct checkpoint_shards *shards, int64_t rank, int index,
                               struct checkpoint_tensors *tensors, struct error *err)
{
    struct place place = place_of(shards, rank);
    int whole = whole_file(shards, &place), layers = layer_files(shards, &place);
    int64_t layer = layers > 1 ? place.first_layer + index - whole : place.first_layer;
    int64_t last = layers > 1 ? layer : place.last;
    if (index < whole)
        return add_flat(tensors, shards->model_type, shards->whole_model, "model", err);
    if (index == whole + layers && expert_file(shards, &place))
        return add_flat(tensors, shards->model_type, expert_bytes(shards, &place),
                        "decoder.layers.mlp.experts", err);
    if (index >= whole + layers)
        return add_states(shards, tensors, err);
    while (layer <= last)
        if (!add_layer(shards, layer++, tensors, err))
            return false;
    return true;
}

double checkpoint_shards_rank_bytes(const struct checkpoint_shards *shards, int64_t rank)
{
    struct checkpoint_shard shard;
    double bytes = 0;
    for (int i = 0, count = checkpoint_shards_count(shards, rank); i < count; i++) {
        checkpoint_shards_get(shards, rank, i, &shard);
        bytes += (double)shard.bytes;
    }
    return bytes;
}

double checkpoint_shards_bytes(const struct checkpoint_shards *shards)
{
    double bytes = 0;
    for (int64_t rank = 0; rank < shards->ranks; rank++)
        bytes += checkpoint_shards_rank_bytes(shards, rank);
    return bytes;
}

char *checkpoint_shards_folder(char *buffer, int64_t epoch, int64_t step)
{
    snprintf(buffer, CHECKPOINT_FOLDER_SIZE, "global_epoch%lld_step%lld", (long long)epoch, (long long)step);
    return buffer;
}
