/* A transformer's layer as HLO text, as front ends write it: BERT's, or GPT's. For tests and benchmarks. */
#ifndef REHEARSE_TESTS_TRANSFORMER_HLO_H
#define REHEARSE_TESTS_TRANSFORMER_HLO_H

#include "core/text.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct shape {
    int batch, sequence, hidden, heads;
    const char *type; /* "f32", "bf16" */
    bool causal;      /* GPT: layer normalisation first, scores after the diagonal masked, GELU by tanh */
};

struct writer {
    struct text text;
    const struct shape *shape;
    int next; /* value */
};

/* Appends "v7 = f32[8,128,768] OPERATION" and returns 7. `dims` are sizes with commas. */
static int put(struct writer *w, const char *dims, const char *format, ...)
{
    char operation[512];
    va_list list;
    va_start(list, format);
    vsnprintf(operation, sizeof operation, format, list);
    va_end(list);
    text_format(&w->text, "  v%d = %s[%s] %s\n", w->next, w->shape->type, dims, operation);
    return w->next++;
}

static const char *dims(char *to, int count, const int *at)
{
    to[0] = '\0';
    for (int i = 0; i < count; i++)
        sprintf(to + strlen(to), i ? ",%d" : "%d", at[i]);
    return to;
}

#define DIMS(...)                                                                                            \
    dims((char[64]){0}, (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (const int[]){__VA_ARGS__})

/* x [tokens, in] times w [out, in], plus b. */
static int linear(struct writer *w, int x, const char *weight, const char *bias, int in, int out)
{
    int tokens = w->shape->batch * w->shape->sequence;
    int turned = put(w, DIMS(in, out), "transpose(%s), dimensions={1,0}", weight);
    int product = put(w, DIMS(tokens, out),
                      "dot(v%d, v%d), lhs_contracting_dims={1}, rhs_contracting_dims={0}", x, turned);
    int wide = put(w, DIMS(tokens, out), "broadcast(%s), dimensions={1}", bias);
    return put(w, DIMS(tokens, out), "add(v%d, v%d)", product, wide);
}

static int number(struct writer *w, const char *shape, const char *value)
{
    int constant = put(w, "", "constant(%s)", value);
    return put(w, shape, "broadcast(v%d), dimensions={}", constant);
}

static int norm(struct writer *w, int x, const char *scale, const char *shift)
{
    int tokens = w->shape->batch * w->shape->sequence, hidden = w->shape->hidden;
    const char *rows = DIMS(tokens), *all = DIMS(tokens, hidden);
    int sum = put(w, rows, "reduce(v%d, zero), dimensions={1}, to_apply=sum", x);
    int mean = put(w, rows, "divide(v%d, v%d)", sum, number(w, rows, "768"));
    int centred = put(w, all, "subtract(v%d, v%d)", x, put(w, all, "broadcast(v%d), dimensions={0}", mean));
    int square = put(w, all, "multiply(v%d, v%d)", centred, centred);
    int squares = put(w, rows, "reduce(v%d, zero), dimensions={1}, to_apply=sum", square);
    int variance = put(w, rows, "divide(v%d, v%d)", squares, number(w, rows, "768"));
    int root = put(w, rows, "rsqrt(v%d)", put(w, rows, "add(v%d, v%d)", variance, number(w, rows, "1e-5")));
    int unit =
        put(w, all, "multiply(v%d, v%d)", centred, put(w, all, "broadcast(v%d), dimensions={0}", root));
    int scaled = put(w, all, "multiply(v%d, v%d)", unit, put(w, all, "broadcast(%s), dimensions={1}", scale));
    return put(w, all, "add(v%d, v%d)", scaled, put(w, all, "broadcast(%s), dimensions={1}", shift));
}

/* [tokens, hidden] as [batch, heads, sequence, width]. */
static int split(struct writer *w, int x)
{
    const struct shape *s = w->shape;
    int width = s->hidden / s->heads;
    int parts = put(w, DIMS(s->batch, s->sequence, s->heads, width), "reshape(v%d)", x);
    return put(w, DIMS(s->batch, s->heads, s->sequence, width), "transpose(v%d), dimensions={0,2,1,3}",
               parts);
}

static int masked(struct writer *w, int scores)
{
    const struct shape *s = w->shape;
    const char *square = DIMS(s->sequence, s->sequence),
               *all = DIMS(s->batch, s->heads, s->sequence, s->sequence);
    text_format(&w->text,
                "  rows = s32[%s] iota(), iota_dimension=0\n  columns = s32[%s] iota(), iota_dimension=1\n",
                square, square);
    text_format(&w->text, "  seen = pred[%s] compare(rows, columns), direction=GE\n", square);
    text_format(&w->text, "  mask = pred[%s] broadcast(seen), dimensions={2,3}\n", all);
    return put(w, all, "select(mask, v%d, v%d)", scores, number(w, all, "-1e9"));
}

static int attention(struct writer *w, int x)
{
    const struct shape *s = w->shape;
    int h = s->hidden, width = h / s->heads;
    const char *all = DIMS(s->batch, s->heads, s->sequence, s->sequence);
    const char *rows = DIMS(s->batch, s->heads, s->sequence);
    int q = split(w, linear(w, x, "wq", "bq", h, h)), k = split(w, linear(w, x, "wk", "bk", h, h));
    int v = split(w, linear(w, x, "wv", "bv", h, h));
    int scores = put(w, all,
                     "dot(v%d, v%d), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
                     "rhs_contracting_dims={3}",
                     q, k);
    scores = put(w, all, "multiply(v%d, v%d)", scores, number(w, all, "0.125"));
    if (s->causal)
        scores = masked(w, scores);
    int max = put(w, rows, "reduce(v%d, least), dimensions={3}, to_apply=max", scores);
    int shifted =
        put(w, all, "subtract(v%d, v%d)", scores, put(w, all, "broadcast(v%d), dimensions={0,1,2}", max));
    int power = put(w, all, "exponential(v%d)", shifted);
    int total = put(w, rows, "reduce(v%d, zero), dimensions={3}, to_apply=sum", power);
    int weights =
        put(w, all, "divide(v%d, v%d)", power, put(w, all, "broadcast(v%d), dimensions={0,1,2}", total));
    int context = put(w, DIMS(s->batch, s->heads, s->sequence, width),
                      "dot(v%d, v%d), lhs_batch_dims={0,1}, rhs_batch_dims={0,1}, lhs_contracting_dims={3}, "
                      "rhs_contracting_dims={2}",
                      weights, v);
    int turned =
        put(w, DIMS(s->batch, s->sequence, s->heads, width), "transpose(v%d), dimensions={0,2,1,3}", context);
    int joined = put(w, DIMS(s->batch * s->sequence, h), "reshape(v%d)", turned);
    return linear(w, joined, "wo", "bo", h, h);
}

static int feed_forward(struct writer *w, int x)
{
    int h = w->shape->hidden, tokens = w->shape->batch * w->shape->sequence;
    const char *wide = DIMS(tokens, 4 * h);
    int inner = linear(w, x, "wi", "bi", h, 4 * h);
    int bent = put(w, wide, w->shape->causal ? "tanh(v%d)" : "erf(v%d)",
                   put(w, wide, "multiply(v%d, v%d)", inner, number(w, wide, "0.70710678")));
    int half = put(w, wide, "multiply(v%d, v%d)", inner, number(w, wide, "0.5"));
    int one = put(w, wide, "add(v%d, v%d)", bent, number(w, wide, "1"));
    return linear(w, put(w, wide, "multiply(v%d, v%d)", half, one), "wd", "bd", 4 * h, h);
}

static void write_arguments(struct writer *w)
{
    static const char *const square[] = {"wq", "wk", "wv", "wo"}, *const narrow[] = {"bq", "bk", "bv",
                                                                                     "bo", "g1", "s1",
                                                                                     "g2", "s2", "bd"};
    int h = w->shape->hidden, argument = 0;
    const char *type = w->shape->type;
    text_format(&w->text, "  hidden = %s[%d,%d,%d] parameter(%d)\n", type, w->shape->batch,
                w->shape->sequence, h, argument++);
    for (size_t i = 0; i < sizeof square / sizeof *square; i++)
        text_format(&w->text, "  %s = %s[%d,%d] parameter(%d)\n", square[i], type, h, h, argument++);
    for (size_t i = 0; i < sizeof narrow / sizeof *narrow; i++)
        text_format(&w->text, "  %s = %s[%d] parameter(%d)\n", narrow[i], type, h, argument++);
    text_format(&w->text, "  wi = %s[%d,%d] parameter(%d)\n", type, 4 * h, h, argument++);
    text_format(&w->text, "  bi = %s[%d] parameter(%d)\n", type, 4 * h, argument++);
    text_format(&w->text, "  wd = %s[%d,%d] parameter(%d)\n", type, h, 4 * h, argument++);
}

/* The module's text; the caller releases it. */
static struct text transformer(const struct shape *shape)
{
    struct writer w = {.shape = shape};
    const char *all = DIMS(shape->batch * shape->sequence, shape->hidden), *type = shape->type;
    text_add(&w.text, "HloModule layer\n");
    text_format(&w.text, "sum { a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT s = %s[] add(a, b) }\n",
                type, type, type);
    text_format(&w.text,
                "max { a = %s[] parameter(0)\n b = %s[] parameter(1)\n ROOT s = %s[] maximum(a, b) }\n", type,
                type, type);
    text_add(&w.text, "ENTRY e {\n");
    write_arguments(&w);
    text_format(&w.text, "  zero = %s[] constant(0)\n  least = %s[] constant(-inf)\n", type, type);
    int x = put(&w, all, "reshape(hidden)");
    if (shape->causal) {
        x = put(&w, all, "add(v%d, v%d)", x, attention(&w, norm(&w, x, "g1", "s1")));
        x = put(&w, all, "add(v%d, v%d)", x, feed_forward(&w, norm(&w, x, "g2", "s2")));
    } else {
        x = norm(&w, put(&w, all, "add(v%d, v%d)", attention(&w, x), x), "g1", "s1");
        x = norm(&w, put(&w, all, "add(v%d, v%d)", feed_forward(&w, x), x), "g2", "s2");
    }
    text_format(&w.text, "  ROOT out = %s[%d,%d,%d] reshape(v%d)\n}\n", type, shape->batch, shape->sequence,
                shape->hidden, x);
    return w.text;
}

#endif
