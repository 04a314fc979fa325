#include "measure/layers/pjrt.h"

#include "measure/layers/fill.h"
#include "measure/layers/layers.h"
#include "measure/layers/pjrt_api.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static const char *fake(void)
{
    return getenv("REHEARSE_FAKE_PJRT");
}

/* What the plugin found wrong since the last call of this. */
static const char *faults(void)
{
    void *library = dlopen(fake(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    assert_non_null(library);
    void *symbol = dlsym(library, "fake_pjrt_report");
    const char *(*report)(void);
    memcpy(&report, &symbol, sizeof report);
    return report();
}

static const int64_t sizes[] = {4, 8};
static const struct hlo_shape matrix = {.type = HLO_TYPE_F32, .rank = 2, .dims = sizes};

/* Opens, compiles, runs and asks for everything. */
static bool use(const char *behaviour, struct pjrt_costs *costs, struct pjrt_memory *memory,
                struct error *err)
{
    float data[32] = {0};
    double seconds = 0.0;
    struct pjrt_program *program = NULL;
    setenv("FAKE_PJRT", behaviour, 1);
    struct pjrt *pjrt = pjrt_open(fake(), err);
    bool done = pjrt && (program = pjrt_compile(pjrt, "layer.mlir", "module {}", 9, err)) &&
                pjrt_add_argument(program, &matrix, data, err) &&
                pjrt_add_argument(program, &matrix, data, err) && pjrt_execute(program, 3, &seconds, err);
    if (done) {
        assert_true(seconds >= 60e-6);
        pjrt_read_costs(program, costs);
        pjrt_read_memory(program, memory);
    }
    pjrt_release(program);
    pjrt_close(pjrt);
    assert_string_equal(faults(), "");
    return done;
}

static void works(const char *behaviour, struct pjrt_costs *costs, struct pjrt_memory *memory)
{
    struct error err;
    if (!use(behaviour, costs, memory, &err))
        fail_msg("%s: %s", behaviour, err.text);
}

static void fails(const char *behaviour, const char *expected, enum error_kind kind)
{
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    struct error err;
    if (use(behaviour, &costs, &memory, &err))
        fail_msg("%s: no error", behaviour);
    if (!strstr(err.text, expected))
        fail_msg("%s: '%s' is not in '%s'", behaviour, expected, err.text);
    assert_null(strchr(err.text, '\n'));
    assert_int_equal(err.kind, kind);
}

static void programs_run(void **state)
{
    (void)state;
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    works("arguments=2", &costs, &memory);
    assert_true(costs.flops == 1024.0 && costs.bytes == 96.0 && costs.transcendentals == -1.0);
    assert_string_equal(costs.why, "");
    assert_int_equal(memory.arguments, 64);
    assert_int_equal(memory.temporary, 16);
    assert_int_equal(memory.peak, -1);
    works("peak", &costs, &memory);
    assert_int_equal(memory.peak, 128);
    works("outputs=0", &costs, &memory);
    works("outputs=300", &costs, &memory);
}

static void other_versions_are_used_as_far_as_they_go(void **state)
{
    (void)state;
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    works("minor=300,calls=97", &costs, &memory);
    works("minor=40,calls=96", &costs, &memory); /* memory statistics are behind its end */
    assert_int_equal(memory.arguments, -1);
    assert_string_equal(memory.why, "not implemented by the plugin");
    assert_true(costs.flops == 1024.0);
    works("calls=59", &costs, &memory);
    fails("calls=58,minor=3", "has 58 calls of PJRT (version 0.3), expected at least 59", ERROR_INPUT);
    fails("major=1", "version 1.81 of PJRT, expected 0.x", ERROR_INPUT);
    fails("table=8", "its table of calls has 8 bytes", ERROR_INPUT);
    fails("nothing", "its GetPjrtApi returns nothing", ERROR_INPUT);
}

static void missing_analyses_are_said(void **state)
{
    (void)state;
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    works("absent=46", &costs, &memory);
    assert_string_equal(costs.why, "not implemented by the plugin");
    works("fail=46,code=12", &costs, &memory);
    assert_string_equal(costs.why, "not implemented by the plugin");
    works("fail=96,code=13", &costs, &memory);
    assert_non_null(strstr(memory.why, "call 96 fails"));
    assert_int_equal(memory.temporary, -1);
}

/* Each call, when it fails or is missing, gives a message or is done without; nothing is left over. */
static void every_call_may_fail(void **state)
{
    (void)state;
    static const struct {
        int slot;
        const char *words;
    } needed[] = {
        {PJRT_PLUGIN_INITIALIZE, "could not initialize: call 3 fails as told"},
        {PJRT_EVENT_AWAIT, "layer.mlir: the plugin could not wait: call 8"},
        {PJRT_CLIENT_CREATE, "could not create a client: call 10"},
        {PJRT_CLIENT_ADDRESSABLE_DEVICES, "could not list its devices: call 16"},
        {PJRT_CLIENT_COMPILE, "layer.mlir: the plugin could not compile: call 20"},
        {PJRT_CLIENT_BUFFER_FROM_HOST, "could not copy an argument to the device: call 22"},
        {PJRT_EXECUTABLE_OUTPUTS, "could not count results: call 44"},
        {PJRT_LOADED_EXECUTABLE, "could not describe a program: call 51"},
        {PJRT_LOADED_EXECUTE, "layer.mlir: the plugin could not run: call 55"},
    };
    static const int optional[] = {
        PJRT_EVENT_DESTROY,           PJRT_CLIENT_DESTROY,   PJRT_CLIENT_PLATFORM_NAME,
        PJRT_CLIENT_PLATFORM_VERSION, PJRT_DESCRIPTION_KIND, PJRT_DEVICE_DESCRIPTION,
        PJRT_EXECUTABLE_DESTROY,      PJRT_LOADED_DESTROY,   PJRT_BUFFER_DESTROY};
    char behaviour[64];
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        snprintf(behaviour, sizeof behaviour, "fail=%d", needed[i].slot);
        fails(behaviour, needed[i].words, ERROR_FAILED);
        snprintf(behaviour, sizeof behaviour, "fail=%d,silent", needed[i].slot);
        fails(behaviour, "it does not say why", ERROR_FAILED);
        if (needed[i].slot == PJRT_EVENT_AWAIT)
            continue;
        snprintf(behaviour, sizeof behaviour, "absent=%d", needed[i].slot);
        fails(behaviour, "its interface 0.81 lacks the call", ERROR_FAILED);
    }
    for (size_t i = 0; i < sizeof optional / sizeof *optional; i++) {
        snprintf(behaviour, sizeof behaviour, "fail=%d", optional[i]);
        works(behaviour, &costs, &memory);
    }
    fails("absent=8", "cannot wait: its interface", ERROR_FAILED);
    fails("fail=55:3", "could not run: call 55", ERROR_FAILED);
    fails("fail=8:4", "could not wait: call 8", ERROR_FAILED);
    fails("fail=22:2", "could not copy an argument", ERROR_FAILED);
    fails("fail=22,code=8", "could not copy an argument to the device: out of memory: call 22", ERROR_FAILED);
    fails("fail=55,code=8", "could not run: out of memory: call 55", ERROR_FAILED);
}

static void empty_results_are_refused(void **state)
{
    (void)state;
    fails("empty=10", "the plugin created no client", ERROR_FAILED);
    fails("devices=0", "the plugin has no device here", ERROR_FAILED);
    fails("empty=20", "the plugin compiled nothing", ERROR_FAILED);
    fails("empty=22", "made no buffer of argument 0", ERROR_FAILED);
    fails("outputs=70000", "has 70000 results, expected at most 65536", ERROR_FAILED);
}

static void other_files_are_no_plugins(void **state)
{
    (void)state;
    struct error err;
    assert_null(pjrt_open("/nowhere/plugin.so", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "/nowhere/plugin.so: cannot load the plugin: "));
    assert_null(pjrt_open("meson.build", &err));
    assert_non_null(strstr(err.text, "meson.build: cannot load the plugin: "));
    assert_null(pjrt_open(getenv("REHEARSE_NO_PLUGIN"), &err));
    assert_non_null(strstr(err.text, "not a PJRT plugin: it has no function GetPjrtApi"));
}

static void types_that_it_lacks_are_refused(void **state)
{
    (void)state;
    const int64_t dims[] = {2};
    const struct hlo_shape sixes = {.type = HLO_TYPE_F6E2M3FN, .rank = 1, .dims = dims};
    const struct hlo_shape tuple = {.type = HLO_TYPE_TUPLE};
    char data[8] = {0};
    struct error err;
    setenv("FAKE_PJRT", "", 1);
    struct pjrt *pjrt = pjrt_open(fake(), &err);
    struct pjrt_program *program = pjrt_compile(pjrt, "layer.mlir", "module {}", 9, &err);
    assert_non_null(program);
    assert_false(pjrt_add_argument(program, &sixes, data, &err));
    assert_string_equal(err.text, "layer.mlir: argument 0 is f6e2m3fn[2], a type that PJRT does not have");
    assert_false(pjrt_add_argument(program, &tuple, data, &err));
    pjrt_release(program);
    pjrt_close(pjrt);
    assert_string_equal(faults(), "");
    assert_int_equal(pjrt_type_of(HLO_TYPE_F8E4M3FN), 17);
    assert_int_equal(pjrt_type_of(HLO_TYPE_F8E8M0FNU), 28);
    assert_int_equal(pjrt_type_of(HLO_TYPE_TOKEN), 0);
}

/* ---- times of layers ---- */

static int turns(void)
{
    void *library = dlopen(fake(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? dlsym(library, "fake_pjrt_turns") : NULL;
    int (*get)(void);
    assert_non_null(symbol);
    memcpy(&get, &symbol, sizeof get);
    return get();
}

/* A clock that each look moves on. */
static double looked_at(void)
{
    static double seconds;
    return seconds += 1e-3;
}

static void write_layer(const char *path, int rows)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "module { func.func public @main(%%x: tensor<%dx8xf32>) -> tensor<%dx8xf32> {\n"
            "  %%0 = stablehlo.add %%x, %%x : tensor<%dx8xf32>\n  return %%0 : tensor<%dx8xf32> } }\n",
            rows, rows, rows, rows);
    fclose(file);
}

/* Else each would be of its own minute, whose interval says nothing about another minute. */
static void layers_take_turns(void **state)
{
    (void)state;
    char folder[] = "/tmp/pjrt-XXXXXX", paths[2][64];
    struct measured_layers measured;
    struct error err;
    const struct layer_options options = {.is_first = false};
    const struct sample_options samples = {.precision = 0.5, .limit = 10.0, .now = looked_at};
    assert_non_null(mkdtemp(folder));
    for (int i = 0; i < 2; i++) {
        snprintf(paths[i], sizeof paths[i], "%s/%d.mlir", folder, i);
        write_layer(paths[i], i + 1);
    }
    const struct layer_file files[] = {{.path = paths[0]}, {.path = paths[1]}};
    setenv("FAKE_PJRT", "", 1);
    struct pjrt *pjrt = pjrt_open(fake(), &err);
    int before = turns();
    if (!measure_files_pjrt(&measured, pjrt, files, 2, &options, &samples, &err))
        fail_msg("%s", err.text);
    assert_true(turns() - before >= 2 * 8 - 1);
    assert_true(measured.layers[0].forward.time.count >= 8 && measured.layers[1].forward.time.count >= 8);
    measured_release(&measured);
    pjrt_close(pjrt);
    assert_string_equal(faults(), "");
    for (int i = 0; i < 2; i++)
        unlink(paths[i]);
    rmdir(folder);
}

/* ---- contents of arguments ---- */

static double bf16_value(uint16_t half)
{
    uint32_t bits = (uint32_t)half << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static double f16_value(uint16_t half)
{
    double size = ldexp(1.0 + (half & 0x3ff) / 1024.0, (half >> 10 & 31) - 15);
    return half & 0x8000 ? -size : size;
}

static void contents_are_sensible(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static const int64_t dims[] = {COUNT};
    static const enum hlo_type types[] = {HLO_TYPE_F32, HLO_TYPE_F64, HLO_TYPE_BF16, HLO_TYPE_F16};
    static union {
        char bytes[COUNT * 16];
        float single[COUNT];
        double real[COUNT];
        uint16_t half[COUNT];
        int32_t whole[COUNT];
        uint8_t narrow[COUNT];
    } data;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const struct hlo_shape shape = {.type = types[t], .rank = 1, .dims = dims};
        double sum = 0.0, squares = 0.0;
        fill_random(&data, &shape, 1);
        for (int i = 0; i < COUNT; i++) {
            double value = t == 0   ? (double)data.single[i]
                           : t == 1 ? data.real[i]
                           : t == 2 ? bf16_value(data.half[i])
                                    : f16_value(data.half[i]);
            assert_true(fabs(value) <= 1.0 && fabs(value) >= 9e-4);
            sum += value;
            squares += value * value;
        }
        assert_true(fabs(sum / COUNT) < 0.05 && fabs(squares / COUNT - 1.0 / 3.0) < 0.03);
    }
    const struct hlo_shape whole = {.type = HLO_TYPE_S32, .rank = 1, .dims = dims};
    fill_random(&data, &whole, 1);
    for (int i = 0; i < COUNT; i++)
        assert_in_range(data.whole[i], 0, FILL_MAX_INDEX - 1);
    static const enum hlo_type narrow[] = {HLO_TYPE_F8E4M3FN, HLO_TYPE_F8E5M2, HLO_TYPE_PRED, HLO_TYPE_S4,
                                           HLO_TYPE_F8E8M0FNU};
    static const int limits[] = {0xbf, 0xbf, 1, 1, 127};
    for (size_t t = 0; t < sizeof narrow / sizeof *narrow; t++) {
        const struct hlo_shape shape = {.type = narrow[t], .rank = 1, .dims = dims};
        fill_random(&data, &shape, 1);
        for (int i = 0; i < COUNT; i++)
            assert_true(data.narrow[i] <= limits[t] && (t > 1 || (data.narrow[i] & 0x40) == 0));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_run),
        cmocka_unit_test(other_versions_are_used_as_far_as_they_go),
        cmocka_unit_test(missing_analyses_are_said),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(empty_results_are_refused),
        cmocka_unit_test(other_files_are_no_plugins),
        cmocka_unit_test(types_that_it_lacks_are_refused),
        cmocka_unit_test(layers_take_turns),
        cmocka_unit_test(contents_are_sensible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
