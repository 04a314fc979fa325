#include "explain/found.h"

#include "core/text.h"
#include "names.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_PRODUCTS 256 /* the longest */
#define COVERS       0.6 /* of all their operations, to be taken as the model's width */

const char *const found_degree_names[FOUND_DEGREES] = {"tensor", "context", "expert", "pipeline", "data"};

/* ---- degrees ---- */

const struct found_word *found_word_in(const char *text)
{
    static const struct found_word words[] = {ROWS_group_word};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(text, words[i].part))
            return words[i].degree < FOUND_DEGREES ? &words[i] : NULL;
    return NULL;
}

/* FOUND_DEGREES: none, or several. */
static enum found_degree told_by(const char *text)
{
    static const char *const several[] = {"_and_", "with_", "embedding",   "expert_tensor", "expert_data",
                                          "intra", "inter", "dp_shard_cp", "dp_cp"};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++)
        if (strcasestr(text, several[i]))
            return FOUND_DEGREES;
    const struct found_word *word = found_word_in(text);
    return word ? word->degree : FOUND_DEGREES;
}

/* Does it exchange activations, a value for each token and place of the width, of 2 or 4 bytes? */
static bool has_activations(const struct explain_found *found, const struct explain_kind *kind)
{
    double values = (double)found->tokens * (double)found->hidden * (double)kind->count,
           each = values > 0 ? (double)kind->bytes / values : 0;
    return fabs(each - 2) < 0.1 || fabs(each - 4) < 0.2;
}

/* Of a group without a description: by what it does, and how far its ranks lie apart. */
static enum found_degree shown_by(const struct explain_found *found, const struct explain_kind *kind,
                                  const struct ranks_group *group)
{
    const struct found_word *word = found_word_in(kind->name);
    if (word)
        return word->degree;
    if (has_activations(found, kind))
        return FOUND_TENSOR;
    if ((int64_t)group->rank_count == found->world)
        return FOUND_DATA;
    if (!group->ranks)
        return FOUND_DEGREES;
    return group->ranks[1] - group->ranks[0] == 1 ? FOUND_TENSOR : FOUND_DATA;
}

/* Is a group of those that exchange gradients, over data and context? */
static bool is_together(const char *text)
{
    return strcasestr(text, "gradient") || strcasestr(text, "dp_shard_cp") || strcasestr(text, "dp_cp") ||
           strncasecmp(text, "data_parallel_group_with_cp", 27) == 0;
}

static void add_group(struct explain_found *found, const struct explain_kind *kind,
                      const struct ranks_group *group)
{
    enum found_degree degree = told_by(group->description);
    bool assumed = !*group->description || strcmp(group->description, "default_pg") == 0 ||
                   strcmp(group->description, "undefined") == 0;
    int64_t count = (int64_t)group->rank_count;
    if (strcasestr(kind->name, "barrier")) /* tells nothing of its group */
        return;
    if (strcasestr(group->description, "replicate")) {
        found->replicas = count;
        return;
    }
    if (is_together(group->description)) {
        found->together = count > found->together ? count : found->together;
        found->covered += count;
        return;
    }
    if (assumed)
        degree = shown_by(found, kind, group);
    if (degree == FOUND_DEGREES || (assumed && found->degrees[degree] > 0 && !found->assumed[degree]))
        return;
    if (found->assumed[degree] && !assumed)
        found->degrees[degree] = 0;
    found->assumed[degree] = assumed;
    found->degrees[degree] = count > found->degrees[degree] ? count : found->degrees[degree];
}

/* What no group tells is the rest of the world: of data; or, where messages go between ranks, of the pipeline. A group
 * of all ranks besides others is none of the data's, nor is one with which there are more ranks than the world has. */
static void add_rest(struct explain_found *found, bool messages)
{
    int64_t inner = 1, *data = &found->degrees[FOUND_DATA], *pipeline = &found->degrees[FOUND_PIPELINE];
    int64_t context = found->degrees[FOUND_CONTEXT] > 0 ? found->degrees[FOUND_CONTEXT] : 1;
    int64_t replicas = found->replicas > 0 ? found->replicas : 1;
    for (int i = FOUND_TENSOR; i <= FOUND_PIPELINE; i++)
        if (i != FOUND_EXPERT && found->degrees[i] > 0)
            inner *= found->degrees[i];
    bool told = *data > 0 && !found->assumed[FOUND_DATA] && inner * *data * replicas <= found->world;
    if (found->world <= 0)
        return;
    if (told) {
        *data *= replicas;
    } else if (found->covered >= found->world && found->together % context == 0) {
        *data = found->together / context * replicas;
    } else if (inner > 1 || replicas > 1 || *data > found->world) {
        *data = messages || found->world % inner != 0 ? 0 : found->world / inner;
    }
    found->assumed[FOUND_DATA] = !told;
    int64_t known = inner * (*data > 0 ? *data : 1);
    if (messages && *pipeline == 0 && found->world % known == 0 && found->world > known) {
        *pipeline = found->world / known;
        found->assumed[FOUND_PIPELINE] = true;
    }
}

/* ---- products ---- */

static double operations(const struct explain_product *product)
{
    return product->size.batch == 1 ? product_flops(&product->size) * (double)product->count : 0;
}

/* The share of all operations in products that have a size; `columns`: as that of their result. */
static double share_of_size(const struct explain *explain, int64_t value, bool columns)
{
    double all = 0, with = 0;
    for (size_t i = 0; i < explain->product_count && i < MAX_PRODUCTS; i++) {
        const struct product_size *size = &explain->products[i].size;
        double own = operations(&explain->products[i]);
        bool has = columns ? size->n == value : size->m == value || size->n == value || size->k == value;
        all += own;
        with += has ? own : 0;
    }
    return all > 0 ? with / all : 0;
}

/* Tokens are rows, or summed over for gradients of weights, and never columns; the width is what most share beside.
 * Where products of known size take less than half of the compute, they are not the model's. */
static void add_sizes(struct explain_found *found, const struct explain *explain)
{
    double tokens = COVERS, hidden = COVERS;
    int64_t compute = 0, sized = 0;
    for (size_t i = 0; i < explain->name_count; i++)
        compute += explain->names[i].class == REPLAY_COMPUTE ? explain->names[i].total : 0;
    for (size_t i = 0; i < explain->product_count; i++)
        sized += explain->products[i].total;
    if (2 * sized < compute)
        return;
    for (size_t i = 0; i < explain->product_count && i < MAX_PRODUCTS; i++) {
        const struct product_size *size = &explain->products[i].size;
        const int64_t values[] = {size->m, size->k, size->n};
        for (int j = 0; j < 3 && size->batch == 1; j++) {
            double share = share_of_size(explain, values[j], false);
            bool columns = share_of_size(explain, values[j], true) > 0;
            if (!columns && j < 2 && share > tokens) {
                tokens = share;
                found->tokens = values[j];
            }
            if (columns && share > hidden) {
                hidden = share;
                found->hidden = values[j];
            }
        }
    }
}

void explain_find_job(struct explain_found *found, const struct explain *explain)
{
    int64_t lanes = (int64_t)explain->lane_count;
    bool messages = false;
    *found = (struct explain_found){.world = explain->run.world > lanes ? explain->run.world : lanes};
    add_sizes(found, explain);
    for (size_t i = 0; i < explain->run.collective_count; i++)
        messages |= explain->run.collectives[i].message && explain->run.collectives[i].again > 0;
    for (size_t i = 0; i < explain->kind_count; i++) {
        const struct ranks_group *group = &explain->run.groups[explain->kinds[i].group];
        if (!group->assumed && group->rank_count > 1)
            add_group(found, &explain->kinds[i], group);
    }
    add_rest(found, messages);
}

static void tell_number(const char *what, int64_t now, int64_t before, struct text *out)
{
    if (now > 0 && before > 0 && now != before)
        text_format(out, "%s%s %" PRId64 ", before %" PRId64, out->length > 0 ? "; " : "", what, now, before);
}

void explain_tell_unlike(const struct explain *now, const struct explain *before, struct text *out)
{
    struct explain_found a, b;
    int64_t all_a = 0, all_b = 0;
    explain_find_job(&a, now);
    explain_find_job(&b, before);
    tell_number("ranks", now->run.world, before->run.world, out);
    for (int i = 0; i < FOUND_DEGREES; i++) { /* where any is found, the others are 1 */
        all_a += a.degrees[i];
        all_b += b.degrees[i];
    }
    for (int i = 0; i < FOUND_DEGREES && all_a > 0 && all_b > 0; i++)
        tell_number(found_degree_names[i], a.degrees[i] > 0 ? a.degrees[i] : 1,
                    b.degrees[i] > 0 ? b.degrees[i] : 1, out);
    tell_number("tokens", a.tokens, b.tokens, out);
    tell_number("hidden", a.hidden, b.hidden, out);
    if (now->device && before->device && strcmp(now->device, before->device) != 0)
        text_format(out, "%sdevice %s, before %s", out->length > 0 ? "; " : "", now->device, before->device);
}
