/* Hybrid models and models that see: parameters and work as torch counts them (scripts/count-models). */
#include "core/csv.h"
#include "core/text.h"
#include "cost/transformer.h"
#include "devices/architecture_config.h"
#include "devices/software.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static struct arena arena;

struct counted {
    char name[64];
    double parameters, vision; /* parameters */
    double sequence, flops;    /* of a token of such a sequence, forward */
    double patches, seen;      /* flops of an image */
};

/* Products of a layer, where no score is skipped. */
static double flops_of(const struct layer_work *work)
{
    double sum = 0.0;
    for (int i = 0; i < work->forward_count; i++) {
        const struct kernel *kernel = &work->kernels[i];
        double product = 2.0 * kernel->repeats * (double)kernel->size.batch * (double)kernel->size.m *
                         (double)kernel->size.n * (double)kernel->size.k;
        if (kernel->kind == KERNEL_GEMM)
            sum += product * (kernel->causal ? 2.0 : 1.0);
        else if (kernel->kind == KERNEL_ATTENTION)
            sum += 2.0 * product;
    }
    return sum;
}

static void compare(const struct counted *counted, struct architecture *model)
{
    if (counted->patches > 0.0)
        model->vision_patches = (int64_t)counted->patches + (strcmp(model->vision, "llama4") == 0);
    struct layer_split split = {.microbatch = 1,
                                .sequence = (int64_t)counted->sequence,
                                .degrees = {1, 1, 1, 1, 1},
                                .type = COST_BF16,
                                .software = software_find("fsdp")};
    struct layer_work work;
    double text = 0.0, seen = 0.0;
    transformer_embedding(&work, model, &split);
    seen += flops_of(&work);
    for (int i = 0; i < model->layers + architecture_first_block(model); i++) {
        transformer_block(&work, model, i, &split);
        *(i < model->vision_layers ? &seen : &text) += flops_of(&work);
    }
    transformer_head(&work, model, &split);
    text += flops_of(&work);
    text /= counted->sequence;
    double parameters = architecture_parameters(model), tower = architecture_vision_parameters(model);
    if (parameters != counted->parameters || tower != counted->vision)
        fail_msg("%s: %.0f parameters, torch counts %.0f; of the tower %.0f, %.0f", counted->name, parameters,
                 counted->parameters, tower, counted->vision);
    if (fabs(text / counted->flops - 1.0) > 0.01)
        fail_msg("%s: %.0f flops of a token, torch counts %.0f", counted->name, text, counted->flops);
    if (counted->vision > 0.0 && fabs(seen / counted->seen - 1.0) > 0.01)
        fail_msg("%s: %.0f flops of an image, torch counts %.0f", counted->name, seen, counted->seen);
}

static void models_are_as_torch_counts_them(void **state)
{
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[600];
    struct error err;
    (void)state;
    if (!root)
        skip();
    snprintf(path, sizeof path, "%s/tests/devices/counted.csv", root);
    FILE *file = fopen(path, "r");
    char line[400];
    int count = 0;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        struct counted counted = {.name = ""};
        struct architecture model;
        bool is_config;
        if (line[0] == '#' ||
            sscanf(line, "%63[^,],%lf,%lf,%lf,%lf,%lf,%lf", counted.name, &counted.parameters,
                   &counted.vision, &counted.sequence, &counted.flops, &counted.patches, &counted.seen) != 7)
            continue;
        snprintf(path, sizeof path, "%s/tests/devices/configs/%s.json", root, counted.name);
        if (!architecture_load_config(&model, path, &arena, &is_config, &err))
            fail_msg("%s", err.text);
        compare(&counted, &model);
        count++;
    }
    fclose(file);
    assert_true(count >= 19);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(models_are_as_torch_counts_them)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    arena_release(&arena);
    return failed;
}
