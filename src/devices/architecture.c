#include "devices/architecture.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

/* Wide enough for anything real; narrow enough that a product of two widths, of a width and a sequence, or
 * of the scores of all heads (sequence x sequence x heads) stays within int64_t. */
#define MAX_LAYERS     100000
#define MAX_WIDTH      (INT64_C(1) << 24)
#define MAX_HEADS      (INT64_C(1) << 14)
#define MAX_EXPERTS    (INT64_C(1) << 16)
#define MAX_PARAMETERS 0x1p53

/* The keys of a model. Numbers that are left out are 0. */
static const struct field fields[] = {
#define X(type, name, text, min, max) FIELD(struct architecture, name, FIELD_##type, min, max),
    ARCHITECTURE_MEMBERS(X)
#undef X
};

#define FIELD_COUNT (sizeof fields / sizeof *fields)

/* The text of a field that has one; "": none is given. */
static const char *text_of(const struct architecture *model, const struct field *field)
{
    const char *text = *(const char *const *)(const void *)((const char *)model + field->offset);
    return text ? text : "";
}

static bool in_range(const struct architecture *model, const char *place, struct error *err)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct field *field = &fields[i];
        double value = field->type == FIELD_TEXT ? 0.0 : field_get(model, field);
        if (value < field->min || value > field->max)
            return error_set(err, ERROR_INPUT,
                             "%s: %s: expected a whole number from %.0f to %.0f, found '%.0f'", place,
                             field->key, field->min, field->max, value);
    }
    return true;
}

const struct field *architecture_field(const char *key)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].type != FIELD_TEXT && strcmp(fields[i].key, key) == 0)
            return &fields[i];
    return NULL;
}

bool architecture_same(const struct architecture *a, const struct architecture *b)
{
    for (size_t i = 0; i < FIELD_COUNT; i++)
        if (fields[i].offset != offsetof(struct architecture, sequence) &&
            (fields[i].type == FIELD_TEXT ? strcmp(text_of(a, &fields[i]), text_of(b, &fields[i])) != 0
                                          : field_get(a, &fields[i]) != field_get(b, &fields[i])))
            return false;
    return true;
}

static bool fails(const char *place, struct error *err, const char *why)
{
    return error_set(err, ERROR_INPUT, "%s: %s", place, why);
}

static bool check_latent(struct architecture *model, const char *place, struct error *err)
{
    if (!model->kv_rank) {
        if (model->query_rank || model->rope_width || model->nope_width || model->value_width)
            return fails(place, err, "query_rank, rope_width, nope_width and value_width need a kv_rank");
        return true;
    }
    if (!model->rope_width || !model->nope_width || !model->value_width)
        return fails(place, err, "kv_rank needs rope_width, nope_width and value_width");
    if (model->encoder_layers)
        return fails(place, err, "an encoder has plain attention: kv_rank is not for it");
    int64_t width = model->nope_width + model->rope_width;
    if (model->head_width && model->head_width != width)
        return fails(place, err, "with kv_rank, head_width is nope_width + rope_width");
    model->head_width = width;
    return true;
}

static bool check_heads(struct architecture *model, const char *place, struct error *err)
{
    if (!model->kv_heads)
        model->kv_heads = model->heads;
    if (model->heads % model->kv_heads != 0)
        return error_set(err, ERROR_INPUT, "%s: kv_heads (%" PRId64 ") do not divide heads (%" PRId64 ")",
                         place, model->kv_heads, model->heads);
    if (!model->head_width && model->hidden % model->heads != 0)
        return error_set(err, ERROR_INPUT,
                         "%s: heads (%" PRId64 ") do not divide hidden (%" PRId64
                         ") and there is no head_width",
                         place, model->heads, model->hidden);
    if (!model->head_width)
        model->head_width = model->hidden / model->heads;
    if (model->heads * model->head_width > MAX_WIDTH || model->heads * model->value_width > MAX_WIDTH)
        return error_set(err, ERROR_INPUT, "%s: all heads together are wider than %" PRId64, place,
                         MAX_WIDTH);
    return true;
}

/* A token's experts must find room in its groups. */
static bool check_groups(const struct architecture *model, const char *place, struct error *err)
{
    int64_t groups = model->route_groups, active = model->route_active_groups;
    bool divides = groups == 0 ? active == 0
                               : model->experts % groups == 0 && active >= 1 && active <= groups &&
                                     model->active_experts <= model->experts / groups * active;
    return divides ||
           fails(place, err,
                 "route_groups divide experts, and route_active_groups of them hold a token's experts");
}

static bool check_experts(struct architecture *model, const char *place, struct error *err)
{
    if (!model->experts) {
        if (model->active_experts || model->shared_experts || model->expert_ffn || model->router_biased ||
            model->dense_layers || model->route_groups || model->experts_every)
            return fails(place, err, "keys of a mixture (active_experts, dense_layers, …) need experts");
        return true;
    }
    if (model->encoder_layers)
        return fails(place, err, "a model with an encoder has no experts");
    if (model->active_experts < 1 || model->active_experts > model->experts)
        return error_set(err, ERROR_INPUT,
                         "%s: active_experts: expected from 1 to the number of experts (%" PRId64
                         "), found '%" PRId64 "'",
                         place, model->experts, model->active_experts);
    if (model->dense_layers > model->layers)
        return error_set(err, ERROR_INPUT, "%s: dense_layers (%d) are more than layers (%d)", place,
                         model->dense_layers, model->layers);
    if (model->shared_gate && !model->shared_experts)
        return fails(place, err, "shared_gate needs shared_experts");
    if (!model->expert_ffn)
        model->expert_ffn = model->ffn;
    return check_groups(model, place, err);
}

static bool check_tokens(struct architecture *model, const char *place, struct error *err)
{
    if (!model->vocabulary && !model->patch)
        return fails(place, err, "expected a vocabulary, or for images a patch");
    if (model->vocabulary && model->patch)
        return fails(place, err, "expected a vocabulary or a patch, found both");
    if (model->patch && (model->tied || model->masked))
        return fails(place, err, "tied and masked need a vocabulary");
    if (model->classes && !model->patch)
        return fails(place, err, "classes need a patch");
    if (model->window_every && !model->window)
        return fails(place, err, "window_every needs a window");
    if (!model->embedding_width)
        model->embedding_width = model->hidden;
    return true;
}

/* Facts must not contradict one another, or the sizes. */
static bool check_facts(const struct architecture *model, const char *place, struct error *err)
{
    bool rotary = model->rope_base || model->rope_scale > 0.0 || model->rope_percent ||
                  model->rope_yarn > 0.0 || model->rope_local_base || model->nope_every;
    if (model->gelu + model->quick_gelu + model->relu + model->squared_relu > 1)
        return fails(place, err, "expected one of gelu, quick_gelu, relu and squared_relu, found several");
    if (model->quick_gelu && !model->gated)
        return fails(place, err, "quick_gelu is for a gated MLP");
    if (model->alibi && (model->positions || rotary))
        return fails(place, err, "alibi goes without positions and rotary embeddings");
    if (rotary && model->positions)
        return fails(place, err, "rotary embeddings (rope_base, …) go without positions");
    if (model->rope_yarn > 0.0 && model->rope_scale > 0.0)
        return fails(place, err, "expected rope_scale or rope_yarn, found both");
    if (model->rope_local_base && !model->window)
        return fails(place, err, "rope_local_base needs a window");
    if (model->qk_norm + model->qk_norm_wide + model->qk_l2_norm > 1)
        return fails(place, err, "expected one of qk_norm, qk_norm_wide and qk_l2_norm, found several");
    if (model->block_norms == 1 && !model->parallel)
        return fails(place, err, "one norm of a block is for parallel attention and MLP (parallel)");
    if ((model->sigmoid_router || model->pre_softmax_router || model->own_router ||
         model->router_scale > 0.0) &&
        !model->experts)
        return fails(place, err, "keys of a router need experts");
    return model->sigmoid_router + model->pre_softmax_router + model->own_router <= 1 ||
           fails(place, err,
                 "expected one of sigmoid_router, pre_softmax_router and own_router, found several");
}

static bool check_size(const struct architecture *model, const char *place, struct error *err)
{
    double parameters = architecture_parameters(model);
    if (parameters > MAX_PARAMETERS)
        return error_set(err, ERROR_INPUT, "%s: %.3g parameters are more than %.3g", place, parameters,
                         MAX_PARAMETERS);
    return true;
}

bool architecture_check(struct architecture *model, const char *place, struct error *err)
{
    if (!in_range(model, place, err))
        return false;
    if (!model->ffn)
        model->ffn = 4 * model->hidden;
    return check_latent(model, place, err) && check_heads(model, place, err) &&
           check_experts(model, place, err) && check_tokens(model, place, err) &&
           check_facts(model, place, err) && architecture_check_blocks(model, place, err) &&
           in_range(model, place, err) && check_size(model, place, err);
}

/* Names. */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_separator(char c)
{
    return c == '-' || c == '_' || c == ' ' || c == '.';
}

/* The next character of a name that counts, in lower case; 0 at its end. Separators count between two
 * digits only, where a point is one thing ("llama-3.1") and all others are another. */
static char next_character(const char *name, size_t *at)
{
    size_t from = *at;
    size_t to = from;
    char separator = '-';
    for (; is_separator(name[to]); to++)
        if (name[to] == '.')
            separator = '.';
    *at = to;
    if (to > from && from > 0 && is_digit(name[from - 1]) && is_digit(name[to]))
        return separator;
    if (name[to] == '\0')
        return '\0';
    *at = to + 1;
    return name[to] >= 'A' && name[to] <= 'Z' ? (char)(name[to] - 'A' + 'a') : name[to];
}

static bool same_name(const char *a, const char *b)
{
    size_t i = 0;
    size_t j = 0;
    for (;;) {
        char c = next_character(a, &i);
        if (c != next_character(b, &j))
            return false;
        if (c == '\0')
            return true;
    }
}

/* The file. */

static bool check_name(struct table_reader *r, const struct doc_node *node, const char *name)
{
    return !same_name(name, "") || doc_error(r->doc, node, r->err, "expected a name, found '%s'", name);
}

static void set_unless_given(const struct doc_node *map, const char *key, bool *flag, bool value)
{
    if (!doc_find(map, key))
        *flag = value;
}

/* Biases go together unless the file says otherwise; since LLaMA, models without them have RMSNorm. */
static bool read_model(struct table_reader *r, const struct doc_node *map, void *entry)
{
    struct architecture *model = entry;
    struct error why;
    set_unless_given(map, "causal", &model->causal, true);
    set_unless_given(map, "qkv_biased", &model->qkv_biased, model->biased);
    set_unless_given(map, "router_biased", &model->router_biased, model->experts && model->biased);
    set_unless_given(map, "rms_norm", &model->rms_norm, !model->biased);
    set_unless_given(map, "norm_biased", &model->norm_biased, !model->rms_norm);
    return architecture_check(model, model->name, &why) || doc_error(r->doc, map, r->err, "%s", why.text);
}

const struct table_kind architecture_kind = {
    .format = "rehearse-architecture/1",
    .noun = "model",
    .list = "models",
    .parts = TABLE_ALIASED | TABLE_SOURCED | TABLE_SINGLE | TABLE_MARKED,
    .size = sizeof(struct architecture),
    .same = same_name,
    .fields = fields,
    .field_count = FIELD_COUNT,
    .check_name = check_name,
    .read = read_model,
};
