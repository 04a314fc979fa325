/* XLA's own times against what its unit tests expect, and against a BERT layer's. */
#include "core/doc.h"
#include "cost/count/xla_time.h"
#include "support/reference.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct {
    const char *name, *capability;
    struct xla_device device;
} devices[] = {
    {"rtx_a6000_test", "sm_86", {84, 128, 1536, 1.41e9, 768.096e9, 6 << 20}},
    {"v100", "sm_70", {80, 64, 2048, 1.53e9, 898.048e9, 6 << 20}},
    {"a100", "sm_80", {108, 64, 2048, 1.41e9, 2039e9, 40 << 20}},
    {"h100", "sm_90", {132, 128, 2048, 1.98e9, 3352.32e9, 50 << 20}},
    {"a6000", "sm_86", {84, 128, 1536, 1.8e9, 768.096e9, 6 << 20}},
};

static size_t device_of(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (!strncmp(name, devices[i].name, strlen(devices[i].name)))
            return i;
    fail_msg("no device %s", name);
    return 0;
}

/* All kernels of an entry computation. */
struct total {
    int kernels;
    double seconds, read, write;
    struct xla_launch launch; /* of the root */
};

/* A reshape moves nothing. */
static bool is_kernel(const struct hlo_instruction *instruction)
{
    enum hlo_opcode opcode = instruction->opcode;
    return !(hlo_operations[opcode].traits & HLO_FREE) && opcode != HLO_RESHAPE && opcode != HLO_TUPLE &&
           opcode != HLO_OPT_BARRIER;
}

static struct total total_of(const char *file, size_t device)
{
    char relative[512];
    struct error err;
    struct hlo_module module;
    struct module_count count;
    struct count_options options = {.rules = COUNT_XLA_GPU,
                                    .cycles = op_cycles_find(devices[device].capability, false)};
    snprintf(relative, sizeof relative, "cost/%s", file);
    char *path = reference_path(relative);
    assert_non_null(path);
    bool counted = hlo_load(&module, path, &err) && module_count(&count, &module, &options, &err);
    free(path);
    if (!counted) {
        fail_msg("%s", err.text);
        return (struct total){0};
    }
    struct total total = {.launch = xla_launch_of(module.entry->root, &devices[device].device)};
    const struct instruction_count *counts = count.computations[module.entry->index];
    for (int i = 0; i < module.entry->count; i++) {
        if (!is_kernel(module.entry->instructions[i]))
            continue;
        struct xla_time time =
            xla_time_of(module.entry->instructions[i], &counts[i], &devices[device].device);
        total.kernels++;
        total.seconds += time.seconds;
        total.read += time.read;
        total.write += time.write;
    }
    module_count_release(&count);
    hlo_release(&module);
    return total;
}

static int load_golden(void **state)
{
    static struct doc golden;
    struct error err;
    char *path = reference_path("cost/golden.json");
    bool loaded = path && doc_load(&golden, path, &err);
    *state = loaded ? &golden : NULL;
    bool failed = path && !loaded;
    free(path);
    return failed ? -1 : 0;
}

static int release_golden(void **state)
{
    if (*state)
        doc_release(*state);
    return 0;
}

static const struct doc_node *cases_of(void **state, const char *list)
{
    const struct doc *golden = *state;
    if (!golden) {
        skip();
        return NULL;
    }
    const struct doc_node *cases = doc_find(golden->root, list);
    assert_non_null(cases);
    return cases->first_child;
}

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node ? node->number : NAN;
}

/* The figure that a case is about, in its unit; NAN for one that is not of a kernel's time or launch. */
static double found_for(const struct doc_node *c)
{
    const char *quantity = doc_find(c, "quantity")->text, *unit = doc_find(c, "unit")->text;
    const struct doc_node *file = doc_find(c, "file");
    if (file->type != DOC_STRING)
        return NAN;
    struct total total = total_of(file->text, device_of(doc_find(c, "device")->text));
    if (!strncmp(quantity, "num_blocks", 10))
        return total.launch.blocks;
    double seconds = total.seconds + total.kernels * XLA_LAUNCH_SECONDS;
    if (!strncmp(quantity, "memory", 6))
        seconds = total.read + total.write;
    else if (!strstr(quantity, "unfused"))
        return NAN;
    return seconds * (!strcmp(unit, "ms") ? 1e3 : 1e6);
}

static void xla_unit_tests_hold(void **state)
{
    int failures = 0, held = 0;
    for (const struct doc_node *c = cases_of(state, "time_cases"); c; c = c->next) {
        double found = found_for(c), expected = number_of(c, "value");
        if (isnan(found))
            continue;
        held++;
        if (fabs(found - expected) > number_of(c, "abs_tol")) {
            print_error("%s: %g, expected %g\n", doc_find(c, "case")->text, found, expected);
            failures++;
        }
    }
    assert_int_equal(failures, 0);
    assert_true(held > 0);
}

static void bert_layers_take_known_times(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "bert_layer"); c; c = c->next) {
        const struct doc_node *model = doc_find(c, "xla_model");
        for (const struct doc_node *of = model->first_child; of; of = of->next) {
            struct total total = total_of(doc_find(c, "file")->text, device_of(of->key));
            double expected = number_of(of, "unfused_exec_us");
            assert_int_equal(total.kernels, (int)number_of(of, "kernels"));
            if (fabs(total.seconds * 1e6 - expected) > 1e-3 * expected) {
                print_error("%s: %g us, expected %g\n", of->key, total.seconds * 1e6, expected);
                failures++;
            }
        }
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xla_unit_tests_hold),
        cmocka_unit_test(bert_layers_take_known_times),
    };
    return cmocka_run_group_tests_name("xla_time", tests, load_golden, release_golden);
}
