#include "measure/layers/pjrt.h"

#include "measure/layers/layers.h"
#include "measure/layers/pjrt_api.h"
#include "measure/layers/pjrt_plugin.h"

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

static void *symbol_of(const char *name)
{
    void *library = dlopen(fake(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = library ? dlsym(library, name) : NULL;
    assert_non_null(symbol);
    return symbol;
}

static const char *text_of(const char *name)
{
    void *symbol = symbol_of(name);
    const char *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    return get();
}

/* What the plugin found wrong since the last call of this. */
static const char *faults(void)
{
    return text_of("fake_pjrt_report");
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
    struct pjrt *pjrt = pjrt_open(fake(), NULL, 0, err);
    bool done = pjrt && (program = pjrt_compile(pjrt, "layer.mlir", "module {}", 9, err)) &&
                pjrt_add_argument(program, &matrix, data, err) &&
                pjrt_add_argument(program, &matrix, data, err) &&
                pjrt_execute(program, NULL, 3, &seconds, err);
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
    assert_null(pjrt_open("/nowhere/plugin.so", NULL, 0, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "/nowhere/plugin.so: cannot load the plugin: "));
    assert_null(pjrt_open("meson.build", NULL, 0, &err));
    assert_non_null(strstr(err.text, "meson.build: cannot load the plugin: "));
    assert_null(pjrt_open(getenv("REHEARSE_NO_PLUGIN"), NULL, 0, &err));
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
    struct pjrt *pjrt = pjrt_open(fake(), NULL, 0, &err);
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

/* ---- what a plugin of a GPU needs besides ---- */

/* A copy of the fake plugin whose name says that it drives GPUs; `from` in it becomes `to`, of the same length. */
static const char *gpu_plugin(const char *from, const char *to)
{
    static char path[] = "/tmp/pjrt-cuda-XXXXXX";
    static char bytes[1 << 20];
    strcpy(path, "/tmp/pjrt-cuda-XXXXXX");
    int made = mkstemp(path);
    FILE *in = fopen(fake(), "rb"), *out = made >= 0 ? fdopen(made, "wb") : NULL;
    assert_true(in && out);
    size_t size = fread(bytes, 1, sizeof bytes, in);
    assert_true(size < sizeof bytes);
    char *at = from ? memmem(bytes, size, from, strlen(from) + 1) : NULL;
    assert_true(!from || at);
    if (at)
        memcpy(at, to, strlen(to));
    assert_int_equal(fwrite(bytes, 1, size, out), size);
    fclose(in);
    fclose(out);
    return path;
}

static void opens_with(const char *plugin, const char *const *given, size_t count, const char *expected)
{
    struct error err;
    struct pjrt *pjrt = pjrt_open(plugin, given, count, &err);
    if (!pjrt)
        fail_msg("%s", err.text);
    pjrt_close(pjrt);
    assert_string_equal(text_of("fake_pjrt_options"), expected);
}

static void options_reach_the_client(void **state)
{
    (void)state;
    static const char *const given[] = {"memory_fraction=1", "preallocate=false", "visible_devices=1",
                                        "visible_devices=2", "many=3,4",          "number=-5",
                                        "share=0.5",         "name=bfc"};
    static const char *const bad[] = {"memory_fraction",    "=1",
                                      "memory_fraction=x",  "preallocate=maybe",
                                      "visible_devices=0,", "collective_memory_size=1,2"};
    struct error err;
    setenv("FAKE_PJRT", "", 1);
    opens_with(fake(), given, 8,
               "memory_fraction=1.000 preallocate=false visible_devices=[1] many=[3,4] number=-5 share=0.500 "
               "name='bfc'");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_null(pjrt_open(fake(), &bad[i], 1, &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_non_null(strstr(err.text, "--plugin-option"));
    }
}

static void variables_of_jax_reach_plugins_of_gpus(void **state)
{
    (void)state;
    static const char *const given[] = {"memory_fraction=0.9"};
    static const char *const names[] = {
        "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_ALLOCATOR",
        "XLA_PYTHON_CLIENT_COLLECTIVE_MEM_SIZE_MB", "JAX_CUDA_VISIBLE_DEVICES"};
    static const char *const values[] = {".3", "false", "platform", "2", "all"};
    struct error err;
    const char *plugin = gpu_plugin(NULL, NULL);
    setenv("FAKE_PJRT", "", 1);
    for (size_t i = 0; i < 5; i++)
        setenv(names[i], values[i], 1);
    opens_with(fake(), NULL, 0, ""); /* not of a GPU: it may refuse them */
    struct pjrt *pjrt = pjrt_open(plugin, given, 1, &err);
    assert_non_null(pjrt);
    void *library = dlopen(plugin, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE),
         *symbol = dlsym(library, "fake_pjrt_options");
    const char *(*get)(void);
    memcpy(&get, &symbol, sizeof get);
    assert_string_equal(
        get(), "memory_fraction=0.900 allocator='platform' preallocate=false collective_memory_size=2097152");
    pjrt_close(pjrt);
    setenv(names[0], "half", 1);
    assert_null(pjrt_open(plugin, NULL, 0, &err));
    assert_string_equal(err.text, "XLA_PYTHON_CLIENT_MEM_FRACTION: memory_fraction cannot be 'half'");
    for (size_t i = 0; i < 5; i++)
        unsetenv(names[i]);
    unlink(plugin);
}

static void a_library_that_is_missing_is_named(void **state)
{
    (void)state;
    struct error err;
    const char *plugin = gpu_plugin("libc.so.6", "libq.so.6");
    assert_null(pjrt_open(plugin, NULL, 0, &err));
    unlink(plugin);
    assert_non_null(strstr(err.text, "libq.so.6: cannot open shared object file"));
    assert_non_null(
        strstr(err.text, "pip install 'jax[cuda12]' (or cuda13) puts NVIDIA's libraries beside the plugin"));
}

/* pip puts libraries into nvidia/NAME/lib, not all of which a plugin looks into itself. */
static void libraries_beside_a_plugin_are_loaded(void **state)
{
    (void)state;
    char folder[] = "/tmp/pjrt-XXXXXX", plugin[96], library[96], command[512];
    struct error err;
    assert_non_null(mkdtemp(folder));
    snprintf(plugin, sizeof plugin, "%s/jax_plugins/xla_cuda12/xla_cuda_plugin.so", folder);
    snprintf(library, sizeof library, "%s/nvidia/nvshmem/lib/libnvshmem_host.so.3", folder);
    snprintf(command, sizeof command,
             "mkdir -p %s/jax_plugins/xla_cuda12 %s/nvidia/nvshmem/lib && cp '%s' %s && cp '%s' %s", folder,
             folder, fake(), plugin, getenv("REHEARSE_NO_PLUGIN"), library);
    assert_int_equal(system(command), 0);
    setenv("FAKE_PJRT", "", 1);
    assert_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
    struct pjrt *pjrt = pjrt_open(plugin, NULL, 0, &err);
    assert_non_null(pjrt);
    assert_non_null(dlopen(library, RTLD_NOW | RTLD_NOLOAD));
    pjrt_close(pjrt);
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}

static void errors_tell_the_next_step(void **state)
{
    (void)state;
    static const struct {
        const char *behaviour, *said, *advice;
    } rows[] = {
        {"fail=10", "No visible GPU devices.", "No visible GPU devices: does nvidia-smi list the GPUs here?"},
        {"fail=10", "Could not load dynamic library 'libcudnn.so.9'",
         "'libcudnn.so.9': pip install 'jax[cuda12]'"},
        {"fail=10", "CUDA_ERROR_SYSTEM_NOT_READY", "nvidia-fabricmanager"},
        {"fail=10", "CUDA driver version is insufficient for CUDA runtime version", "update it"},
        {"fail=20", "Couldn't find ptxas", "nvidia-cuda-nvcc-cu12 brings ptxas"},
        {"fail=20", "No registered implementation for custom call to triton_kernel_call for platform CUDA",
         PJRT_GAP},
        {"gpu,fail=22,code=8", "Failed to allocate 4096 bytes",
         "out of memory: Failed to allocate 4096 bytes: nvidia-smi lists"},
    };
    struct pjrt_costs costs;
    struct pjrt_memory memory;
    struct error err;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("FAKE_PJRT_SAYS", rows[i].said, 1);
        assert_false(use(rows[i].behaviour, &costs, &memory, &err));
        if (!strstr(err.text, rows[i].advice))
            fail_msg("'%s' is not in '%s'", rows[i].advice, err.text);
    }
    unsetenv("FAKE_PJRT_SAYS");
}

/* ---- times of layers ---- */

static int turns(void)
{
    void *symbol = symbol_of("fake_pjrt_turns");
    int (*get)(void);
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

/* Measures files of layers, each once; NULL: *err says why not. */
static bool measure(struct measured_layers *measured, const char *behaviour, const char *const *paths,
                    int count, struct error *err)
{
    const struct layer_options options = {.is_first = false};
    const struct sample_options samples = {.precision = 0.05, .limit = 0.3};
    struct layer_file files[2] = {{0}};
    for (int i = 0; i < count; i++)
        files[i].path = paths[i];
    setenv("FAKE_PJRT", behaviour, 1);
    struct pjrt *pjrt = pjrt_open(fake(), NULL, 0, err);
    bool ok = pjrt && measure_files_pjrt(measured, pjrt, files, count, &options, &samples, err);
    pjrt_close(pjrt);
    assert_string_equal(faults(), "");
    return ok;
}

/* The fake GPU takes 50 us for the program and 50 us of the host; 5 us if its arguments are in the caches. */
static void the_host_is_subtracted_and_caches_are_flushed_on_a_gpu(void **state)
{
    (void)state;
    char path[] = "/tmp/pjrt-layer-XXXXXX";
    const char *const paths[] = {path};
    struct measured_layers measured;
    struct error err;
    close(mkstemp(path));
    write_layer(path, 4);
    if (!measure(&measured, "gpu", paths, 1, &err))
        fail_msg("%s", err.text);
    assert_true(measured.empty >= 50e-6);
    assert_true(measured.layers[0].forward.time.fastest < 100e-6 &&
                measured.layers[0].forward.time.median > 20e-6);
    assert_non_null(strstr(measured.layers[0].forward.notes, " of an empty program, caches flushed"));
    measured_release(&measured);
    assert_true(measure(&measured, "", paths, 1, &err)); /* a processor */
    assert_true(measured.empty == 0.0);
    measured_release(&measured);
    assert_false(measure(&measured, "gpu,fail=20", paths, 1, &err));
    assert_non_null(strstr(err.text, "the program that flushes caches: the plugin could not compile"));
    unlink(path);
}

/* A call whose code JAX registers from Python is a named gap; other layers are measured. */
static void a_custom_call_without_code_is_a_gap(void **state)
{
    (void)state;
    char path[] = "/tmp/pjrt-layer-XXXXXX", gap[] = "/tmp/pjrt-gap-XXXXXX";
    const char *const paths[] = {gap, path};
    struct measured_layers measured;
    struct profile profile;
    struct error err;
    struct text text = {0};
    close(mkstemp(path));
    write_layer(path, 4);
    FILE *file = fdopen(mkstemp(gap), "w");
    assert_non_null(file);
    fputs("module { func.func public @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {\n"
          "  %0 = stablehlo.custom_call @solve_ffi(%x) {api_version = 4 : i32} : (tensor<4x8xf32>) -> "
          "tensor<4x8xf32>\n"
          "  return %0 : tensor<4x8xf32> } }\n",
          file);
    fclose(file);
    if (!measure(&measured, "", paths, 2, &err))
        fail_msg("%s", err.text);
    assert_false(measured.layers[0].forward.is_there);
    assert_true(isnan(measured.layers[0].forward.seconds));
    assert_non_null(strstr(measured.layers[0].forward.notes, "No FFI handler registered for solve_ffi"));
    assert_true(measured.layers[1].forward.is_timed);
    assert_false(measured_profile(&profile, &measured, "gpu", &err));
    assert_non_null(strstr(err.text, "a profile needs all layers: "));
    measured_print(&measured, &text);
    assert_non_null(strstr(text.data, "forward  not measured: "));
    text_release(&text);
    measured_write_json(&measured, &(struct json){.out = &text});
    assert_non_null(strstr(text.data, "\"gap\": \"/tmp/pjrt-gap-"));
    text_release(&text);
    measured_release(&measured);
    unlink(path);
    unlink(gap);
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
    struct pjrt *pjrt = pjrt_open(fake(), NULL, 0, &err);
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
        cmocka_unit_test(options_reach_the_client),
        cmocka_unit_test(variables_of_jax_reach_plugins_of_gpus),
        cmocka_unit_test(a_library_that_is_missing_is_named),
        cmocka_unit_test(libraries_beside_a_plugin_are_loaded),
        cmocka_unit_test(errors_tell_the_next_step),
        cmocka_unit_test(layers_take_turns),
        cmocka_unit_test(the_host_is_subtracted_and_caches_are_flushed_on_a_gpu),
        cmocka_unit_test(a_custom_call_without_code_is_a_gap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
