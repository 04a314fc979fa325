#include "feed/workload/distribution.h"

#include <math.h>
#include <string.h>

#define MAX_SECONDS 1e9
#define FEW_EVENTS  10.0 /* of a Poisson distribution: up to here one by one */

/* --- random numbers ----------------------------------------------------------------------------------------- */

void distribution_philox(const uint32_t counter[4], uint64_t key, uint32_t out[4])
{
    uint32_t key0 = (uint32_t)key, key1 = (uint32_t)(key >> 32);
    memcpy(out, counter, 4 * sizeof *out);
    for (int round = 0; round < 10; round++) {
        uint64_t product0 = (uint64_t)0xD2511F53 * out[0];
        uint64_t product1 = (uint64_t)0xCD9E8D57 * out[2];
        uint32_t first = (uint32_t)(product1 >> 32) ^ out[1] ^ key0;
        uint32_t third = (uint32_t)(product0 >> 32) ^ out[3] ^ key1;
        out[0] = first;
        out[1] = (uint32_t)product1;
        out[2] = third;
        out[3] = (uint32_t)product0;
        key0 += 0x9E3779B9; /* the golden ratio */
        key1 += 0xBB67AE85; /* sqrt(3) - 1 */
    }
}

/* The numbers of one draw, one after the other; rejection needs more than one. */
struct source {
    struct distribution_draw draw;
    uint32_t block; /* next */
    int left;       /* of values */
    double values[2];
};

/* In (0, 1): 53 bits and a half, so that neither end is reached and log() is finite. */
static double unit(uint32_t high, uint32_t low)
{
    uint64_t bits = ((uint64_t)high << 21) ^ (low >> 11);
    return ((double)bits + 0.5) * 0x1p-53;
}

static double next(struct source *source)
{
    if (source->left == 0) {
        const struct distribution_draw *draw = &source->draw;
        uint32_t counter[4] = {(uint32_t)draw->step, (uint32_t)(draw->step >> 32), draw->stream,
                               source->block++};
        uint32_t bits[4];
        distribution_philox(counter, draw->seed, bits);
        source->values[1] = unit(bits[0], bits[1]);
        source->values[0] = unit(bits[2], bits[3]);
        source->left = 2;
    }
    return source->values[--source->left];
}

/* Box and Muller, A Note on the Generation of Random Normal Deviates, 1958. */
static double normal(struct source *source)
{
    double radius = sqrt(-2 * log(next(source)));
    return radius * cos(2 * M_PI * next(source));
}

/* Marsaglia and Tsang, A Simple Method for Generating Gamma Variables, 2000; shapes below 1 by their
 * section 6. */
static double gamma_of(struct source *source, double shape)
{
    double boost = shape < 1 ? pow(next(source), 1 / shape) : 1;
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    double c = 1 / sqrt(9 * d);
    for (;;) {
        double x = normal(source);
        double v = 1 + c * x;
        if (v <= 0)
            continue;
        v = v * v * v;
        if (log(next(source)) < 0.5 * x * x + d - d * v + d * log(v))
            return boost * d * v;
    }
}

/* Hörmann, The Transformed Rejection Method for Generating Poisson Random Variables, 1993: algorithm PTRS. */
static double poisson_many(struct source *source, double lam)
{
    double b = 0.931 + 2.53 * sqrt(lam);
    double a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    double limit = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = next(source) - 0.5, v = next(source);
        double distance = 0.5 - fabs(u);
        double k = floor((2 * a / distance + b) * u + lam + 0.43);
        if (distance >= 0.07 && v <= limit)
            return k;
        if (k < 0 || (distance < 0.013 && v > distance))
            continue;
        if (log(v * inverse_alpha / (a / (distance * distance) + b)) <= k * log(lam) - lam - lgamma(k + 1))
            return k;
    }
}

/* Events until the product of uniform numbers falls below e^-lam (Knuth, The Art of Computer Programming,
 * 3.4.1). */
static double poisson(struct source *source, double lam)
{
    if (lam >= FEW_EVENTS)
        return poisson_many(source, lam);
    double product = next(source), limit = exp(-lam);
    int events = 0;
    for (; product > limit; events++)
        product *= next(source);
    return events;
}

static double draw_one(const struct distribution *distribution, struct source *source)
{
    double first = distribution->first, second = distribution->second;
    switch (distribution->type) {
    case DISTRIBUTION_NORMAL:
        return first + second * normal(source);
    case DISTRIBUTION_UNIFORM:
        return first + (second - first) * next(source);
    case DISTRIBUTION_GAMMA:
        return second * gamma_of(source, first);
    case DISTRIBUTION_EXPONENTIAL:
        return -first * log(next(source));
    case DISTRIBUTION_POISSON:
        return poisson(source, first);
    default:
        return first;
    }
}

double distribution_sample(const struct distribution *distribution, struct distribution_draw draw)
{
    struct source source = {.draw = draw};
    double value = draw_one(distribution, &source);
    if (value >= 0)
        return value;
    return distribution->mirror ? -value : 0;
}

/* --- moments ------------------------------------------------------------------------------------------------ */

int64_t distribution_nanoseconds(double seconds)
{
    if (!(seconds > 0))
        return 0;
    return seconds < 1e-9 * (double)DISTRIBUTION_NEVER ? (int64_t)(1e9 * seconds) : DISTRIBUTION_NEVER;
}

double distribution_mean(const struct distribution *distribution)
{
    double first = distribution->first, second = distribution->second;
    switch (distribution->type) {
    case DISTRIBUTION_UNIFORM:
        return (first + second) / 2;
    case DISTRIBUTION_GAMMA:
        return first * second;
    default:
        return first;
    }
}

/* --- in and out --------------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *first, *second; /* the parameters' names; NULL: has none */
} types[] = {
    [DISTRIBUTION_CONSTANT] = {"constant", "mean", NULL},
    [DISTRIBUTION_NORMAL] = {"normal", "mean", "stdev"},
    [DISTRIBUTION_UNIFORM] = {"uniform", "min", "max"},
    [DISTRIBUTION_GAMMA] = {"gamma", "shape", "scale"},
    [DISTRIBUTION_EXPONENTIAL] = {"exponential", "scale", NULL},
    [DISTRIBUTION_POISSON] = {"poisson", "lam", NULL},
};
#define TYPE_COUNT ((int)(sizeof types / sizeof *types))

static bool read_type(enum distribution_type *type, const struct doc *doc, const struct doc_node *map,
                      struct error *err)
{
    const struct doc_node *node = doc_find(map, "type");
    const char *name = NULL;
    *type = doc_find(map, "stdev") ? DISTRIBUTION_NORMAL : DISTRIBUTION_CONSTANT;
    if (!node)
        return true;
    if (!doc_string(doc, node, &name, err))
        return false;
    for (int i = 0; i < TYPE_COUNT; i++)
        if (strcmp(types[i].name, name) == 0) {
            *type = (enum distribution_type)i;
            return true;
        }
    return doc_error(doc, node, err,
                     "expected one of constant, normal, uniform, gamma, exponential, poisson; found '%s'",
                     name);
}

static bool read_parameter(double *value, const char *name, const struct doc *doc, const struct doc_node *map,
                           double min, struct error *err)
{
    if (!name)
        return true;
    const struct doc_node *node = doc_need(doc, map, name, err);
    return node && doc_number(doc, node, min, MAX_SECONDS, value, err);
}

static bool read_map(struct distribution *distribution, const struct doc *doc, const struct doc_node *map,
                     struct error *err)
{
    if (!read_type(&distribution->type, doc, map, err))
        return false;
    const char *first = types[distribution->type].first, *second = types[distribution->type].second;
    bool plain = !doc_find(map, "type"); /* a mean, with or without a standard deviation */
    const char *known[] = {"type", "mirror", first, plain ? "stdev" : second};
    double min = distribution->type == DISTRIBUTION_GAMMA ? 1e-9 : 0;
    if (!doc_only_keys(doc, map, known, known[3] ? 4 : 3, err) ||
        !read_parameter(&distribution->first, first, doc, map, min, err) ||
        !read_parameter(&distribution->second, second, doc, map, 0, err))
        return false;
    if (distribution->type == DISTRIBUTION_UNIFORM && distribution->second < distribution->first)
        return doc_error(doc, map, err, "max is less than min");
    const struct doc_node *mirror = doc_find(map, "mirror");
    if (mirror && mirror->type != DOC_BOOL)
        return doc_error(doc, mirror, err, "expected true or false");
    distribution->mirror = mirror && mirror->boolean;
    return true;
}

bool distribution_read(struct distribution *distribution, const struct doc *doc, const struct doc_node *node,
                       struct error *err)
{
    *distribution = (struct distribution){0};
    if (node->type != DOC_MAP)
        return doc_number(doc, node, 0, MAX_SECONDS, &distribution->first, err);
    return node->count == 0 || read_map(distribution, doc, node, err);
}

void distribution_write(const struct distribution *distribution, struct json *json, const char *key)
{
    if (distribution->type == DISTRIBUTION_CONSTANT) {
        json_number(json, key, distribution->first);
        return;
    }
    json_open_flat(json, key, '{');
    json_string(json, "type", types[distribution->type].name);
    json_number(json, types[distribution->type].first, distribution->first);
    if (types[distribution->type].second)
        json_number(json, types[distribution->type].second, distribution->second);
    if (distribution->mirror)
        json_bool(json, "mirror", true);
    json_close(json);
}

bool distribution_equal(const struct distribution *a, const struct distribution *b)
{
    return a->type == b->type && a->first == b->first && a->second == b->second && a->mirror == b->mirror;
}
