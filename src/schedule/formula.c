#include "schedule/formula.h"

#include <math.h>
#include <string.h>

static double all_of(const struct formula_case *c)
{
    return c->f + c->b + c->w;
}

/* GPipe (arXiv 1811.06965) and 1F1B. */
static double flush(const struct formula_case *c)
{
    return (c->m + c->p - 1) * all_of(c);
}

/* Chunks shorten the ends of the iteration (arXiv 2104.04473, section 2.2), and so do slices of the sequence, whose
 * bubble is (p - 1) / (v m + p - 1) of it (arXiv 2406.03488). */
static double chunked(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * all_of(c) / c->v;
}

/* Weight gradients fill a part of the ends (arXiv 2401.10241, table 2: (p - 1)(f + b - w)). */
static double half_filled(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * (c->f + c->b - c->w);
}

/* Chunks shorten that, too. */
static double half_filled_chunked(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * (c->f + c->b - c->w) / c->v;
}

/* No device idles from its first to its last pass; the last one begins p - 1 forward passes late (the same). */
static double filled(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * c->f;
}

/* (p/2 - 1)(F&B + B - 3W) of DualPipe's own page (deepseek-ai/DualPipe). */
static double dual(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p / 2 - 1) * (c->x + c->b + c->w - 3 * c->w);
}

/* The same with 2p stages on p devices, each of half the time. */
static double dual_folded(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * (c->x + c->b + c->w - 3 * c->w) / 2;
}

/* ZB-V: no device idles within its span, and half a forward pass is a step of the leg down (arXiv 2401.10241, section
 * 6). */
static double filled_v(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 1) * c->f / 2;
}

/* Chimera: a unit of p micro-batches fits together without bubbles if both directions take as long; the difference of
 * the backward pass is waited for p - 2 times in each unit (arXiv 2107.06925, figure 3, and for one unit with b + w = f
 * its (p - 2) / (2 m + p - 2)). */
static double crossed(const struct formula_case *c)
{
    return c->m * all_of(c) + (c->p - 2) * c->f + c->m / c->p * (c->p - 2) * (c->b + c->w - c->f);
}

static double all_kept(const struct formula_case *c)
{
    return c->m;
}

/* 1F1B, ZB-H1, ZB-V: a micro-batch comes back to the first device after p others. */
static double of_devices(const struct formula_case *c)
{
    return c->m < c->p ? c->m : c->p;
}

static double of_devices_twice(const struct formula_case *c)
{
    return c->m < 2 * c->p - 1 ? c->m : 2 * c->p - 1;
}

/* 2 (p - 1) + (v - 1) p + 1 chunks (Megatron-LM's warm-up). */
static double of_chunks(const struct formula_case *c)
{
    return c->m <= c->p ? c->m : c->p + (c->p - 1) / c->v;
}

/* p - 1 + (v - 1) group + 1 chunks, in groups of half a pipeline (arXiv 2503.01328). */
static double of_groups(const struct formula_case *c)
{
    return (c->p + (c->v - 1) * ceil(c->p / 2)) / c->v;
}

static double of_devices_and_one(const struct formula_case *c)
{
    return c->p + 1;
}

static double of_devices_and_a_half(const struct formula_case *c)
{
    return c->p + 0.5;
}

/* p + k - 1 slices (arXiv 2406.03488). */
static double of_slices(const struct formula_case *c)
{
    return fmin(c->m, (c->p + c->v - 1) / c->v);
}

/* A pair of devices keeps p + 1 micro-batches, and one is on its way (BPipe, ICML 2023). */
static double of_pairs(const struct formula_case *c)
{
    return fmin(of_devices(c), floor((c->p + 3) / 2));
}

static bool whole_rounds(const struct formula_case *c)
{
    return fmod(c->m, c->p) == 0;
}

static bool whole_groups(const struct formula_case *c)
{
    return c->m >= c->p && fmod(c->m, ceil(c->p / 2)) == 0;
}

static double unknown(const struct formula_case *c)
{
    (void)c;
    return NAN;
}

static bool always(const struct formula_case *c)
{
    return c->m > 0;
}

static bool equal_and_round(const struct formula_case *c)
{
    return c->f == c->b && c->b == c->w && c->m >= c->p;
}

static bool whole_units(const struct formula_case *c)
{
    return whole_rounds(c) && c->b + c->w >= c->f;
}

static bool fills_round(const struct formula_case *c)
{
    return c->m >= c->p;
}

static bool fills_ends(const struct formula_case *c)
{
    return c->m >= c->p && c->w <= c->f && c->w <= c->b;
}

static bool equal_passes(const struct formula_case *c)
{
    return c->f == c->b && c->b == c->w;
}

static bool equal_and_many(const struct formula_case *c)
{
    return equal_passes(c) && c->m >= 2 * c->p - 1;
}

static bool equal_pairs(const struct formula_case *c)
{
    return equal_passes(c) && c->x == all_of(c);
}

static const struct {
    const char *schedule, *text, *condition;
    double (*value)(const struct formula_case *c);
    bool (*holds)(const struct formula_case *c); /* NULL: always */
    const char *memory_text;
    double (*memory)(const struct formula_case *c); /* NULL: none */
    bool (*memory_holds)(const struct formula_case *c);
} formulas[] = {
    {"gpipe", "(m + p - 1) T", NULL, flush, NULL, "m", all_kept, always},
    {"1f1b", "(m + p - 1) T", NULL, flush, NULL, "min(m, p)", of_devices, always},
    {"seq-1f1b", "m T + (p - 1) T / v", NULL, chunked, NULL, "min(m, (p + v - 1) / v)", of_slices, always},
    {"bpipe", "(m + p - 1) T", NULL, flush, NULL, "min(m, p, floor((p + 3) / 2))", of_pairs, always},
    {"eager-1f1b", "(m + p - 1) T", NULL, flush, NULL, "min(m, 2 p - 1)", of_devices_twice, always},
    {"pipedream", "(m + p - 1) T", NULL, flush, NULL, "min(m, p)", of_devices, always},
    {"2bw", "(m + p - 1) T", NULL, flush, NULL, "min(m, p)", of_devices, always},
    {"looped-bfs", "m T + (p - 1) T / v", "m >= p", chunked, fills_round, "m", all_kept, always},
    {"interleaved", "m T + (p - 1) T / v", "m >= p", chunked, fills_round, "p + (p - 1) / v", of_chunks,
     whole_rounds},
    {"group-interleaved", NULL, NULL, unknown, NULL, "(p + (v - 1) ceil(p/2)) / v", of_groups, whole_groups},
    {"chimera", "m T + (p - 2) f + (m/p)(p - 2)(b + w - f)", "m a multiple of p, f <= b + w", crossed,
     whole_units, NULL, NULL, NULL},
    {"zb-h1", "m T + (p - 1)(f + b - w)", "m >= p, w <= f, w <= b", half_filled, fills_ends, "min(m, p)",
     of_devices, always},
    {"interleaved-zb", "m T + (p - 1)(f + b - w) / v", "m >= p, w <= f, w <= b", half_filled_chunked,
     fills_ends, "min(m, p)", of_devices, whole_rounds},
    {"zb-h2", "m T + (p - 1) f", "m >= 2 p - 1, f = b = w", filled, equal_and_many, "min(m, 2 p - 1)",
     of_devices_twice, always},
    {"zb-v", "m T + (p - 1) f / 2", "m >= p, f = b = w", filled_v, equal_and_round, "min(m, p)", of_devices,
     equal_and_round},
    {"dualpipe", "m T + (p/2 - 1)(x + b - 2 w)", "f = b = w, x = T", dual, equal_pairs, "p + 1",
     of_devices_and_one, always},
    {"dualpipev", "m T + (p - 1)(x + b - 2 w) / 2", "f = b = w, x = T", dual_folded, equal_pairs, "p + 1/2",
     of_devices_and_a_half, always},
};

struct formula schedule_formula(const struct schedule *schedule, const struct formula_case *numbers)
{
    struct formula found = {.makespan = NAN, .memory = NAN};
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++) {
        if (strcmp(formulas[i].schedule, schedule->name) != 0)
            continue;
        found = (struct formula){.text = formulas[i].text,
                                 .condition = formulas[i].condition,
                                 .makespan = formulas[i].value(numbers),
                                 .exact = formulas[i].holds == NULL || formulas[i].holds(numbers),
                                 .memory_text = formulas[i].memory_text,
                                 .memory = NAN};
        if (formulas[i].memory != NULL) {
            found.memory = formulas[i].memory(numbers);
            found.memory_exact = formulas[i].memory_holds(numbers);
        }
    }
    return found;
}
