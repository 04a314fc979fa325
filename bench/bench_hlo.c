/* What reading HLO text takes, as a part of the speed at which memchr finds the ends of its lines: the same
 * bytes, the same process. Medians. */
#include "core/progress.h"
#include "core/text.h"
#include "hlo/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 5

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double values[RUNS])
{
    qsort(values, RUNS, sizeof *values, by_value);
    return values[RUNS / 2];
}

static double count_lines(const struct text *text, size_t *lines)
{
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double started = clock_now();
        const char *at = text->data, *end = text->data + text->length;
        for (*lines = 0; (at = memchr(at, '\n', (size_t)(end - at))); at++)
            ++*lines;
        seconds[i] = clock_now() - started;
    }
    return median(seconds);
}

static int64_t instructions_of(const struct hlo_module *module)
{
    int64_t count = 0;
    for (int i = 0; i < module->count; i++)
        count += module->computations[i]->count;
    return count;
}

static double read_it(const struct text *text, int64_t *instructions)
{
    double seconds[RUNS];
    struct hlo_module module;
    struct error err;
    for (int i = 0; i < RUNS; i++) {
        double started = clock_now();
        if (!hlo_parse_text(&module, "bench.hlo", text->data, text->length, &err)) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
        seconds[i] = clock_now() - started;
        *instructions = instructions_of(&module);
        hlo_release(&module);
    }
    return median(seconds);
}

static void measure(const char *name, struct text *text)
{
    size_t lines;
    int64_t instructions;
    if (text->failed)
        exit(1);
    double megabytes = (double)text->length / 1e6;
    double counted = count_lines(text, &lines), read = read_it(text, &instructions);
    printf("%-28s %9.1f %10zu %13" PRId64 " %10.0f %12.0f %8.3f\n", name, megabytes, lines, instructions,
           megabytes / read, megabytes / counted, counted / read);
    text_release(text);
}

/* A feed-forward layer per turn, as XLA prints it before its passes. */
static void add_layer(struct text *text, int i, bool operand_shapes, bool metadata)
{
    const char *wide = operand_shapes ? "f32[8,128,3072]{2,1,0} " : "";
    const char *narrow = operand_shapes ? "f32[8,128,768]{2,1,0} " : "";
    const char *weight = operand_shapes ? "f32[768,3072]{1,0} " : "";
    const char *about = metadata
                            ? ", metadata={op_name=\"jit(step)/jit(main)/transformer/layer/feed_forward\" "
                              "source_file=\"model/transformer.py\" source_line=128}"
                            : "";
    text_format(text,
                "  dot.%d = f32[8,128,3072]{2,1,0} dot(%sx.%d, %sw), lhs_contracting_dims={2}, "
                "rhs_contracting_dims={0}%s\n",
                i, narrow, i, weight, about);
    text_format(text, "  bias.%d = f32[8,128,3072]{2,1,0} broadcast(b), dimensions={2}%s\n", i, about);
    text_format(text, "  add.%d = f32[8,128,3072]{2,1,0} add(%sdot.%d, %sbias.%d)%s\n", i, wide, i, wide, i,
                about);
    text_format(text, "  tanh.%d = f32[8,128,3072]{2,1,0} tanh(%sadd.%d)%s\n", i, wide, i, about);
    text_format(text, "  scaled.%d = f32[8,128,3072]{2,1,0} multiply(%stanh.%d, %sadd.%d)%s\n", i, wide, i,
                wide, i, about);
    text_format(text,
                "  back.%d = f32[8,128,768]{2,1,0} dot(%sscaled.%d, %sw), lhs_contracting_dims={2}, "
                "rhs_contracting_dims={1}%s\n",
                i, wide, i, weight, about);
    text_format(text, "  x.%d = f32[8,128,768]{2,1,0} add(%sback.%d, %sx.%d)%s\n", i + 1, narrow, i, narrow,
                i, about);
}

static void many_instructions(const char *name, int layers, bool operand_shapes, bool metadata)
{
    struct text text = {0};
    text_add(&text, "HloModule many\n\nENTRY main {\n  x.0 = f32[8,128,768]{2,1,0} parameter(0)\n"
                    "  w = f32[768,3072]{1,0} parameter(1)\n  b = f32[3072]{0} parameter(2)\n");
    for (int i = 0; i < layers; i++)
        add_layer(&text, i, operand_shapes, metadata);
    text_add(&text, "}\n");
    measure(name, &text);
}

static void large_constants(const char *name, int count, int values)
{
    struct text text = {0};
    text_add(&text, "HloModule constants\n\nENTRY main {\n");
    for (int i = 0; i < count; i++) {
        text_format(&text, "  c.%d = f32[%d]{0} constant({", i, values);
        for (int k = 0; k < values; k++)
            text_format(&text, k ? ", 0.%06d" : "0.%06d", (i + k * 7919) % 1000000);
        text_add(&text, "})\n");
    }
    text_add(&text, "}\n");
    measure(name, &text);
}

int main(void)
{
    printf("%-28s %9s %10s %13s %10s %12s %8s\n", "", "MB", "lines", "instructions", "MB/s", "memchr MB/s",
           "ratio");
    many_instructions("instructions", 40000, false, false);
    many_instructions("  shapes of operands", 40000, true, false);
    many_instructions("  and metadata", 40000, true, true);
    large_constants("constants of 4096 values", 4000, 4096);
    large_constants("constants of 4M values", 4, 1 << 22);
    return 0;
}
