#include "devices/blocks.h"

#include "core/once.h"
#include "core/text.h"

#include <math.h>
#include <string.h>

/* In the order of enum config_habit. */
static const char *const habits[] = {"gated",       "biased",   "qkv-biased", "layer-norm",  "tied",
                                     "qk-norm",     "learned",  "dropout",    "full-ffn",    "mixture",
                                     "latent",      "sinks",    "masked",     "plain-norm",  "embedding-norm",
                                     "gelu",        "parallel", "one-norm",   "four-norms",  "wide-norm",
                                     "output-norm", "scaled",   "sigmoid",    "softmax-all", "mixed"};

extern const char data_blocks[];
extern const size_t data_blocks_size;

#define MAX_KINDS 16

static struct {
    struct once once;
    struct doc doc; /* holds the texts */
    struct block_kind kinds[2][MAX_KINDS];
    const struct doc_node *types[MAX_KINDS]; /* of a tower: model_types */
    int count[2];
} known = {.once = ONCE_INIT};

/* ---- sizes ---- */

/* Those that heads make are cut by tensor parallelism. */
#define SIZES(X)                                                                                             \
    X(hidden, model->hidden)                                                                                 \
    X(key_heads, cut(model->linear_key_heads, tensor))                                                       \
    X(value_heads, cut(model->linear_value_heads, tensor))                                                   \
    X(key_width, model->linear_key_width)                                                                    \
    X(value_width, model->linear_value_width)                                                                \
    X(key, cut(model->linear_key_heads, tensor) * (double)model->linear_key_width)                           \
    X(value, cut(model->linear_value_heads, tensor) * (double)model->linear_value_width)                     \
    X(convolution, model->linear_convolution)                                                                \
    X(chunk, model->linear_chunk)                                                                            \
    X(query_rank, model->query_rank)                                                                         \
    X(index_heads, model->index_heads)                                                                       \
    X(index_width, model->index_width)                                                                       \
    X(width, model->vision_hidden)                                                                           \
    X(ffn, model->vision_ffn)                                                                                \
    X(patch, model->vision_patch)                                                                            \
    X(merge, model->vision_merge)                                                                            \
    X(positions, model->vision_positions)                                                                    \
    X(deep, model->vision_deep)                                                                              \
    X(inner, model->vision_inner)                                                                            \
    X(outer, model->vision_outer)

static const char *const sizes[] = {
#define X(name, value) #name,
    SIZES(X)
#undef X
};

#define SIZE_COUNT (sizeof sizes / sizeof *sizes)

static double cut(int64_t heads, int tensor)
{
    return fmax(floor((double)heads / tensor), 1.0);
}

static double size_of(int which, const struct architecture *model, int tensor)
{
    const double values[] = {
#define X(name, value) (double)(value),
        SIZES(X)
#undef X
    };
    return values[which];
}

double block_value(const struct block_count *count, const struct architecture *model, int tensor)
{
    double sum = 0.0;
    for (int t = 0; t < count->count; t++) {
        double product = count->terms[t].factor;
        for (int i = 0; i < count->terms[t].size_count; i++)
            product *= size_of(count->terms[t].sizes[i], model, tensor);
        sum += product;
    }
    return sum;
}

double block_parameters(const struct block_kind *kind, const struct architecture *model)
{
    double sum =
        block_value(&kind->vectors, model, 1) + block_value(&kind->out, model, 1) * (double)model->hidden;
    for (int i = 0; i < kind->product_count; i++)
        sum += block_value(&kind->products[i].in, model, 1) * block_value(&kind->products[i].out, model, 1);
    return sum;
}

/* ---- the file ---- */

bool block_habits(unsigned *all, const struct doc *doc, const struct doc_node *list, struct error *err)
{
    for (const struct doc_node *word = list->first_child; word; word = word->next) {
        size_t i = 0, count = sizeof habits / sizeof *habits;
        while (i < count && strcmp(habits[i], word->text ? word->text : "") != 0)
            i++;
        if (i == count)
            return doc_error(doc, word, err, "unknown habit");
        *all |= 1u << i;
    }
    return true;
}

static bool wrong(const struct doc_node *node, struct error *err)
{
    return doc_error(&known.doc, node, err, "expected a sum of products of sizes, as \"2 key + value\"");
}

static bool read_word(struct block_count *count, const char *word, size_t length)
{
    int term = count->count - 1, place = count->terms[term].size_count;
    for (int i = 0; i < (int)SIZE_COUNT; i++)
        if (strlen(sizes[i]) == length && memcmp(sizes[i], word, length) == 0 && place < 4) {
            count->terms[term].sizes[count->terms[term].size_count++] = i;
            return true;
        }
    return false;
}

static bool read_count(struct block_count *count, const struct doc_node *node, struct error *err)
{
    if (!node)
        return true;
    const char *at = node->type == DOC_STRING ? node->text : "";
    for (count->count = 0; *at;) {
        size_t length = strcspn(at, " ");
        bool next = count->count == 0 || (length == 1 && *at == '+');
        if (next && count->count == (int)(sizeof count->terms / sizeof *count->terms))
            return wrong(node, err);
        if (next)
            count->terms[count->count++].factor = 1.0;
        int64_t factor;
        if (text_whole(at, " ", &factor))
            count->terms[count->count - 1].factor = (double)factor;
        else if (*at != '+' && !read_word(count, at, length))
            return wrong(node, err);
        at += length + strspn(at + length, " ");
    }
    return count->count > 0 || wrong(node, err);
}

static bool read_product(struct block_product *product, const struct doc_node *row, struct error *err)
{
    const struct doc_node *name = row->first_child, *in = name ? name->next : NULL,
                          *out = in ? in->next : NULL;
    if (!out)
        return wrong(row, err);
    product->name = name->text;
    product->each_patch = out->next;
    return read_count(&product->in, in, err) && read_count(&product->out, out, err);
}

static bool read_scan(struct block_scan *scan, const struct doc_node *row, struct error *err)
{
    const struct doc_node *rows = row->first_child, *columns = rows ? rows->next : NULL,
                          *inner = columns ? columns->next : NULL, *heads = inner ? inner->next : NULL;
    scan->heads = (struct block_count){.count = 1, .terms = {{.factor = 1.0}}};
    if (!inner || (!heads && !read_word(&scan->heads, "value_heads", strlen("value_heads"))))
        return wrong(row, err);
    return read_count(&scan->rows, rows, err) && read_count(&scan->columns, columns, err) &&
           read_count(&scan->inner, inner, err) && read_count(&scan->heads, heads, err);
}

static bool read_kind(struct block_kind *kind, const struct doc_node *node, struct error *err)
{
    const struct doc_node *products = doc_find(node, "products"), *scan = doc_find(node, "scan"),
                          *image = doc_find(node, "image"), *block = doc_find(node, "block"),
                          *letter = doc_find(node, "letter");
    *kind = (struct block_kind){.word = node->key,
                                .letter = letter ? letter->text[0] : 0,
                                .image = image ? (int64_t)image->number : 0};
    for (const struct doc_node *row = products->first_child; row; row = row->next)
        if (kind->product_count == BLOCK_MAX_PRODUCTS ||
            !read_product(&kind->products[kind->product_count++], row, err))
            return false;
    for (const struct doc_node *row = scan ? scan->first_child : NULL; row; row = row->next)
        if (kind->scan_count == BLOCK_MAX_PRODUCTS || !read_scan(&kind->scan[kind->scan_count++], row, err))
            return false;
    return (!block || block_habits(&kind->habits, &known.doc, block, err)) &&
           read_count(&kind->out, doc_find(node, "out"), err) &&
           read_count(&kind->convolved, doc_find(node, "convolved"), err) &&
           read_count(&kind->vectors, doc_find(node, "vectors"), err) &&
           read_count(&kind->passes, doc_find(node, "passes"), err) &&
           read_count(&kind->kept, doc_find(node, "kept"), err);
}

static bool read_kinds(struct error *err)
{
    static const char *const lists[] = {"mixers", "towers"};
    if (!doc_parse(&known.doc, DOC_JSON, "blocks.yaml", data_blocks, data_blocks_size, err))
        return false;
    bool ok = true;
    for (int l = 0; l < 2; l++) {
        const struct doc_node *list = doc_find(known.doc.root, lists[l]);
        known.count[l] = 0;
        for (const struct doc_node *node = list->first_child; ok && node && known.count[l] < MAX_KINDS;
             node = node->next) {
            known.types[known.count[l]] = doc_find(node, "types");
            ok = read_kind(&known.kinds[l][known.count[l]++], node, err);
        }
    }
    if (!ok)
        doc_release(&known.doc);
    return ok;
}

const struct block_kind *block_mixer(char letter)
{
    bool there = once_needed(&known.once, read_kinds);
    for (int i = 0; there && i < known.count[0]; i++)
        if (known.kinds[0][i].letter == letter)
            return &known.kinds[0][i];
    return NULL;
}

const struct block_kind *block_tower(const char *word)
{
    bool there = once_needed(&known.once, read_kinds);
    for (int i = 0; there && i < known.count[1]; i++)
        if (strcmp(known.kinds[1][i].word, word) == 0)
            return &known.kinds[1][i];
    return NULL;
}

const struct block_kind *block_tower_of(const char *type)
{
    bool there = once_needed(&known.once, read_kinds);
    for (int i = 0; there && i < known.count[1]; i++)
        for (const struct doc_node *node = known.types[i]->first_child; node; node = node->next)
            if (strcmp(node->text, type) == 0)
                return &known.kinds[1][i];
    return NULL;
}
