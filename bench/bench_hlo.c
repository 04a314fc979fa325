/* What reading HLO and StableHLO text takes, as a part of the speed at which memchr finds the ends of its lines:
 * the same bytes, the same process. Processor time, medians. */
#include "core/clock.h"
#include "measure.h"

#include "core/text.h"
#include "hlo/module.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 5

typedef bool hlo_reader_fn(struct hlo_module *module, const char *path, const char *text, size_t length,
                           struct error *err);

static double count_lines(const struct text *text, size_t *lines)
{
    double seconds[RUNS];
    for (int i = 0; i < RUNS; i++) {
        double started = clock_processor();
        const char *at = text->data, *end = text->data + text->length;
        for (*lines = 0; (at = memchr(at, '\n', (size_t)(end - at))); at++)
            ++*lines;
        seconds[i] = clock_processor() - started;
    }
    return measure_median(seconds, RUNS);
}

static int64_t instructions_of(const struct hlo_module *module)
{
    int64_t count = 0;
    for (int i = 0; i < module->count; i++)
        count += module->computations[i]->count;
    return count;
}

static double read_it(const struct text *text, hlo_reader_fn *parse, int64_t *instructions)
{
    double seconds[RUNS];
    struct hlo_module module;
    struct error err;
    for (int i = 0; i < RUNS; i++) {
        double started = clock_processor();
        if (!parse(&module, "bench", text->data, text->length, &err)) {
            fprintf(stderr, "bench: %s\n", err.text);
            exit(1);
        }
        seconds[i] = clock_processor() - started;
        *instructions = instructions_of(&module);
        hlo_release(&module);
    }
    return measure_median(seconds, RUNS);
}

static bool parse_mlir(struct hlo_module *module, const char *path, const char *text, size_t length,
                       struct error *err)
{
    return hlo_parse_mlir_sized(module, path, text, length, NULL, err);
}

static void measure(const char *name, hlo_reader_fn *parse, struct text *text)
{
    size_t lines;
    int64_t instructions;
    if (text->failed)
        exit(1);
    double megabytes = (double)text->length / 1e6;
    double counted = count_lines(text, &lines), read = read_it(text, parse, &instructions);
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
    measure(name, hlo_parse_text, &text);
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
    measure(name, hlo_parse_text, &text);
}

/* The same layer, as JAX prints it. */
static void add_mlir_layer(struct text *text, int i, bool generic, bool locations)
{
    const char *wide = "tensor<8x128x3072xf32>", *narrow = "tensor<8x128x768xf32>";
    const char *loc = locations ? " loc(#loc7)" : "";
    int n = 7 * i, x = i ? n - 1 : -1;
    char last[32];
    snprintf(last, sizeof last, x < 0 ? "%%arg0" : "%%%d", x);
    text_format(text,
                "    %%%d = stablehlo.dot_general %s, %%arg1, contracting_dims = [2] x [0], precision = "
                "[DEFAULT, DEFAULT] : (%s, tensor<768x3072xf32>) -> %s%s\n",
                n, last, narrow, wide, loc);
    text_format(text,
                "    %%%d = stablehlo.broadcast_in_dim %%arg2, dims = [2] : (tensor<3072xf32>) -> %s%s\n",
                n + 1, wide, loc);
    if (generic) {
        text_format(text, "    %%%d = \"stablehlo.add\"(%%%d, %%%d) : (%s, %s) -> %s%s\n", n + 2, n, n + 1,
                    wide, wide, wide, loc);
        text_format(text, "    %%%d = \"stablehlo.tanh\"(%%%d) : (%s) -> %s%s\n", n + 3, n + 2, wide, wide,
                    loc);
        text_format(text, "    %%%d = \"stablehlo.multiply\"(%%%d, %%%d) : (%s, %s) -> %s%s\n", n + 4, n + 3,
                    n + 2, wide, wide, wide, loc);
    } else {
        text_format(text, "    %%%d = stablehlo.add %%%d, %%%d : %s%s\n", n + 2, n, n + 1, wide, loc);
        text_format(text, "    %%%d = stablehlo.tanh %%%d : %s%s\n", n + 3, n + 2, wide, loc);
        text_format(text, "    %%%d = stablehlo.multiply %%%d, %%%d : %s%s\n", n + 4, n + 3, n + 2, wide,
                    loc);
    }
    text_format(text,
                "    %%%d = stablehlo.dot_general %%%d, %%arg1, contracting_dims = [2] x [1] : (%s, "
                "tensor<768x3072xf32>) -> %s%s\n",
                n + 5, n + 4, wide, narrow, loc);
    text_format(text, "    %%%d = stablehlo.add %%%d, %s : %s%s\n", n + 6, n + 5, last, narrow, loc);
}

static void many_operations(const char *name, int layers, bool generic, bool locations)
{
    struct text text = {0};
    text_add(&text, "module @many {\n  func.func public @main(%arg0: tensor<8x128x768xf32>, %arg1: "
                    "tensor<768x3072xf32>, %arg2: tensor<3072xf32>) -> tensor<8x128x768xf32> {\n");
    for (int i = 0; i < layers; i++)
        add_mlir_layer(&text, i, generic, locations);
    text_format(&text, "    return %%%d : tensor<8x128x768xf32>\n  }\n}\n", 7 * layers - 1);
    if (locations)
        text_add(&text, "#loc7 = loc(\"jit(step)/feed_forward\"(\"model/transformer.py\":128:12))\n");
    measure(name, parse_mlir, &text);
}

enum written { DECIMAL, HEXADECIMAL, ELIDED };

static void add_values(struct text *text, enum written written, int values, int i)
{
    if (written == ELIDED) {
        text_add(text, "__elided__");
        return;
    }
    text_add(text, written == DECIMAL ? "[" : "\"0x");
    for (int k = 0; k < values; k++)
        if (written == DECIMAL)
            text_format(text, k ? ", 1.%06de-02" : "1.%06de-02", (i + k * 7919) % 1000000);
        else
            text_format(text, "%08X", (unsigned)(i + k) * 2654435761u);
    text_add(text, written == DECIMAL ? "]" : "\"");
}

static void mlir_constants(const char *name, enum written written, int count, int values)
{
    struct text text = {0};
    text_add(&text, "module @constants {\n  func.func public @main() {\n");
    for (int i = 0; i < count; i++) {
        text_format(&text, "    %%cst_%d = stablehlo.constant dense<", i);
        add_values(&text, written, values, i);
        text_format(&text, "> : tensor<%dxf32>\n", values);
    }
    text_add(&text, "    return\n  }\n}\n");
    measure(name, parse_mlir, &text);
}

int main(void)
{
    printf("%-28s %9s %10s %13s %10s %12s %8s\n", "", "MB", "lines", "instructions", "MB/s", "memchr MB/s",
           "ratio");
    puts("HLO text");
    many_instructions("  instructions", 40000, false, false);
    many_instructions("  with shapes of operands", 40000, true, false);
    many_instructions("  and metadata", 40000, true, true);
    large_constants("  constants of 4096 values", 4000, 4096);
    large_constants("  constants of 4M values", 4, 1 << 22);
    puts("StableHLO text");
    many_operations("  operations", 40000, false, false);
    many_operations("  with locations", 40000, false, true);
    many_operations("  in generic form", 40000, true, false);
    mlir_constants("  decimal constants", DECIMAL, 2000, 8192);
    mlir_constants("  hexadecimal constants", HEXADECIMAL, 16, 1 << 20);
    mlir_constants("  elided constants", ELIDED, 1000000, 1024);
    return 0;
}
