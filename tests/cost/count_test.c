/* Counts against XLA's own unit tests, the old flow's committed figures, and real modules. */
#include "core/doc.h"
#include "core/file.h"
#include "cost/count/count.h"
#include "cost/count/fork.h"
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

#define TOLERANCE 1e-6

struct golden {
    bool present;
    struct doc doc;
};

/* A module of the reference, counted. */
struct counted {
    struct hlo_module module;
    struct module_count count;
};

static int load_golden(void **state)
{
    static struct golden golden;
    struct error err;
    char *path = reference_path("cost/golden.json");
    golden.present = path != NULL;
    if (path && !doc_load(&golden.doc, path, &err)) {
        print_error("%s\n", err.text);
        free(path);
        return -1;
    }
    free(path);
    *state = &golden;
    return 0;
}

static int release_golden(void **state)
{
    struct golden *golden = *state;
    if (golden->present)
        doc_release(&golden->doc);
    return 0;
}

/* The cases of a list of golden.json; skips without the reference. */
static const struct doc_node *cases_of(void **state, const char *list)
{
    const struct golden *golden = *state;
    if (!golden->present)
        skip();
    const struct doc_node *cases = doc_find(golden->doc.root, list);
    assert_non_null(cases);
    return cases->first_child;
}

static const char *text_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_STRING ? node->text : NULL;
}

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_NUMBER ? node->number : NAN;
}

/* Counts a file of the reference; fails the test when that cannot be. */
static void count_file(struct counted *counted, const char *file, const struct count_options *options)
{
    char relative[512];
    struct error err;
    snprintf(relative, sizeof relative, "cost/%s", file);
    char *path = reference_path(relative);
    assert_non_null(path);
    if (!hlo_load(&counted->module, path, &err))
        fail_msg("%s", err.text);
    free(path);
    if (!module_count(&counted->count, &counted->module, options, &err)) {
        hlo_release(&counted->module);
        fail_msg("%s: %s", file, err.text);
    }
}

static void release(struct counted *counted)
{
    module_count_release(&counted->count);
    hlo_release(&counted->module);
}

/* Says what differs and returns 1; 0 when it holds. A figure that is not expected (NAN) holds. */
static int differs(const char *name, const char *what, double found, double expected)
{
    if (isnan(expected) || fabs(found - expected) <= TOLERANCE * fabs(expected))
        return 0;
    print_error("%s: %s %.17g, expected %.17g\n", name, what, found, expected);
    return 1;
}

static int list_differs(const char *name, const char *what, const double *found, int count,
                        const struct doc_node *expected)
{
    int failures = 0;
    for (const struct doc_node *node = expected ? expected->first_child : NULL; node; node = node->next)
        failures += (int)node->index >= count ? 1 : differs(name, what, found[node->index], node->number);
    return failures;
}

/* Looks in the entry computation first, then in the others. */
static const struct hlo_instruction *find_instruction(const struct counted *counted, const char *name,
                                                      const struct instruction_count **count)
{
    const struct hlo_module *module = &counted->module;
    for (int i = -1; i < module->count; i++) {
        const struct hlo_computation *computation = i < 0 ? module->entry : module->computations[i];
        for (int j = 0; j < computation->count; j++) {
            const struct hlo_instruction *instruction = computation->instructions[j];
            if (name ? strcmp(instruction->name, name) != 0 : instruction != computation->root)
                continue;
            *count = &counted->count.computations[computation->index][j];
            return instruction;
        }
    }
    return NULL;
}

/* The profile of a case in place of the built-in one. */
static const struct op_cycles *own_cycles(const struct doc_node *profile)
{
    static struct op_cycles cycles;
    memset(&cycles, 0, sizeof cycles);
    for (const struct doc_node *row = profile->first_child; row; row = row->next)
        for (const struct doc_node *node = row->first_child; node; node = node->next) {
            enum hlo_opcode opcode = hlo_opcode_find(row->key, strlen(row->key));
            cycles.elementwise[opcode][hlo_type_find(node->key, strlen(node->key))] = (int32_t)node->number;
        }
    return &cycles;
}

static struct count_options options_of(const struct doc_node *c)
{
    struct count_options options = {.rules = COUNT_XLA};
    const struct doc_node *given = doc_find(c, "options");
    const struct doc_node *repeated = doc_find(given, "count_multiple_input_accesses");
    if (!strcmp(text_of(c, "flavour"), "gpu"))
        options.rules = COUNT_XLA_GPU;
    if (repeated && options.rules == COUNT_XLA)
        options.repeated_reads = repeated->boolean;
    if (repeated && options.rules == COUNT_XLA_GPU)
        options.once_per_operand = !repeated->boolean;
    if (doc_find(given, "profile"))
        options.cycles = own_cycles(doc_find(given, "profile"));
    return options;
}

static int case_differs(const struct doc_node *c, const struct counted *counted)
{
    const char *name = text_of(c, "case");
    const struct doc_node *expect = doc_find(c, "expect");
    bool whole = !strcmp(text_of(c, "scope"), "root");
    const struct instruction_count *count = NULL;
    const struct hlo_instruction *instruction = find_instruction(counted, text_of(c, "instr"), &count);
    assert_non_null(instruction);
    const struct module_count *sums = &counted->count;
    return differs(name, "flops", whole ? sums->flops : count->flops, number_of(expect, "flops")) +
           differs(name, "transcendentals", whole ? sums->transcendentals : count->transcendentals,
                   number_of(expect, "transcendentals")) +
           differs(name, "bytes", whole ? sums->bytes : count->bytes, number_of(expect, "bytes")) +
           differs(name, "output_bytes", count->output_bytes, number_of(expect, "output_bytes")) +
           differs(name, "transferred", count->transferred, number_of(expect, "bytes_transferred")) +
           differs(name, "emitted", count->emitted, number_of(expect, "ir_size")) +
           list_differs(name, "operand_bytes", count->operand_bytes, instruction->operand_count,
                        doc_find(expect, "operand_bytes")) +
           list_differs(name, "operand_use", count->operand_use, instruction->operand_count,
                        doc_find(expect, "operand_utilization"));
}

static void xla_unit_tests_hold(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "cost_cases"); c; c = c->next) {
        struct counted counted;
        struct count_options options = options_of(c);
        count_file(&counted, text_of(c, "file"), &options);
        failures += case_differs(c, &counted);
        release(&counted);
    }
    assert_int_equal(failures, 0);
}

/* Bytes of the root of a case. */
static double case_bytes(const struct doc_node *c)
{
    struct counted counted;
    const struct instruction_count *count = NULL;
    struct count_options options = options_of(c);
    count_file(&counted, text_of(c, "file"), &options);
    double bytes = find_instruction(&counted, text_of(c, "instr"), &count) ? count->bytes : -1;
    release(&counted);
    return bytes;
}

static void fusions_cost_the_same_nested_or_flat(void **state)
{
    const struct doc_node *cases = cases_of(state, "cost_cases");
    for (const struct doc_node *c = cases; c; c = c->next) {
        const char *other = text_of(doc_find(c, "expect"), "equal_to");
        for (const struct doc_node *d = cases; d && other; d = d->next)
            if (!strcmp(text_of(d, "case"), other))
                assert_int_equal(differs(other, "bytes", case_bytes(c), case_bytes(d)), 0);
    }
}

static int sums_differ(const char *file, const struct doc_node *expected, enum count_rules rules)
{
    struct counted counted;
    count_file(&counted, file, &(struct count_options){.rules = rules});
    int failures = differs(file, "flops", counted.count.flops, number_of(expected, "flops")) +
                   differs(file, "transcendentals", counted.count.transcendentals,
                           number_of(expected, "transcendentals")) +
                   differs(file, "bytes", counted.count.bytes, number_of(expected, "bytes"));
    release(&counted);
    return failures;
}

static void real_modules_have_known_sums(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "real_modules"); c; c = c->next) {
        failures += sums_differ(text_of(c, "file"), doc_find(c, "base"), COUNT_XLA);
        failures += sums_differ(text_of(c, "file"), doc_find(c, "gpu_sm86"), COUNT_XLA_GPU);
    }
    assert_int_equal(failures, 0);
}

static void real_modules_are_read_whole(void **state)
{
    for (const struct doc_node *c = cases_of(state, "real_modules"); c; c = c->next) {
        struct counted counted;
        int instructions = 0;
        count_file(&counted, text_of(c, "file"), &(struct count_options){.rules = COUNT_XLA});
        for (int i = 0; i < counted.module.count; i++)
            instructions += counted.module.computations[i]->count;
        int failures =
            differs(text_of(c, "file"), "computations", counted.module.count, number_of(c, "computations")) +
            differs(text_of(c, "file"), "instructions", instructions, number_of(c, "instructions"));
        release(&counted);
        assert_int_equal(failures, 0);
    }
}

static double fork_flops(const char *file)
{
    struct counted counted;
    count_file(&counted, file, &(struct count_options){.rules = COUNT_XLA_FORK});
    double flops = fork_module_flops(&counted.count, &counted.module);
    release(&counted);
    return flops;
}

static void bert_layers_have_known_sums(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "bert_layer"); c; c = c->next)
        failures += sums_differ(text_of(c, "file"), doc_find(c, "base"), COUNT_XLA);
    assert_int_equal(failures, 0);
}

static void bert_layers_take_the_forks_times(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "bert_layer"); c; c = c->next) {
        const char *file = text_of(c, "file");
        double flops = fork_flops(file);
        failures += differs(file, "flops of the fork", flops, number_of(c, "fork_gpu_flops"));
        const struct doc_node *times = doc_find(c, "fork_layer_time_us");
        for (const struct doc_node *time = times->first_child; time; time = time->next) {
            double microseconds = fork_layer_seconds(flops, fork_device_find(time->key)->clock_hz) * 1e6;
            failures += fabs(microseconds - time->number) > 0.001; /* printed to the nanosecond */
        }
    }
    assert_int_equal(failures, 0);
}

/* Figures that the fork committed, with the clocks it had then. */
static void the_forks_committed_times_come_out(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "fork_cases"); c; c = c->next) {
        const struct doc_node *times = doc_find(c, "expect_ns"), *clocks = doc_find(c, "clocks");
        const char *file = text_of(c, "file");
        double flops = number_of(c, "gpu_flops");
        if (strstr(file, ".hlo"))
            failures += differs(file, "flops of the fork", fork_flops(file), flops);
        for (const struct doc_node *time = times->first_child; time; time = time->next)
            failures +=
                differs(time->key, "nanoseconds",
                        fork_layer_seconds(flops, number_of(clocks, time->key) * 1e9) * 1e9, time->number);
    }
    assert_int_equal(failures, 0);
}

static double dot_flops(const struct counted *counted, int *dots)
{
    double flops = 0;
    for (int i = 0; i < counted->module.count; i++)
        for (int j = 0; j < counted->module.computations[i]->count; j++)
            if (counted->module.computations[i]->instructions[j]->opcode == HLO_DOT) {
                flops += counted->count.computations[i][j].flops;
                (*dots)++;
            }
    return flops;
}

static void dots_of_mlir_modules_have_known_sums(void **state)
{
    int failures = 0;
    for (const struct doc_node *c = cases_of(state, "mlir_dot_flops"); c; c = c->next) {
        struct counted counted;
        int dots = 0;
        count_file(&counted, text_of(c, "file"), &(struct count_options){.rules = COUNT_REHEARSE});
        failures += differs(text_of(c, "file"), "flops of dots", dot_flops(&counted, &dots),
                            number_of(c, "dot_flops"));
        failures += differs(text_of(c, "file"), "dots", dots, number_of(c, "n_dots"));
        release(&counted);
    }
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(xla_unit_tests_hold),
        cmocka_unit_test(fusions_cost_the_same_nested_or_flat),
        cmocka_unit_test(real_modules_have_known_sums),
        cmocka_unit_test(real_modules_are_read_whole),
        cmocka_unit_test(bert_layers_have_known_sums),
        cmocka_unit_test(bert_layers_take_the_forks_times),
        cmocka_unit_test(the_forks_committed_times_come_out),
        cmocka_unit_test(dots_of_mlir_modules_have_known_sums),
    };
    return cmocka_run_group_tests_name("count", tests, load_golden, release_golden);
}
