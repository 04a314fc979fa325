/* A stop is obeyed at the next look at it, wherever that is: each long call is done once as a whole, which counts how often it
 * looks (core/stop.h), and then again and again, ended at the first look, at the last and at some between. No time decides;
 * bench/bench_looks measures how long a look is away. The test holds all rooms, and stands in for stop_wanted. */
#include "rehearse.h"

#include "caller.h"
#include "records.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define POINTS    5
#define MAX_AFTER 100 /* looks on the way out */

static atomic_long looks;
static long stop_at = -1; /* the look that finds a stop; -1: none does */
static rh_stop *stop;

bool __real_stop_wanted(void);
bool __wrap_stop_wanted(void);

bool __wrap_stop_wanted(void)
{
    if (atomic_fetch_add(&looks, 1) == stop_at)
        rh_stop_request(stop);
    return __real_stop_wanted();
}

/* Returns the code with which it ended; 0: it was done. */
static int do_it(const char *command, const void *request, int threads, long at, char text[static 1024])
{
    struct rh_call call = RH_INIT(call);
    struct rh_error error = {0};
    stop = rh_stop_new();
    assert_non_null(stop);
    call.stop = stop;
    call.threads = threads;
    atomic_store(&looks, 0);
    stop_at = at;
    rh_handle *made = rh_run(command, request, &call, &error);
    stop_at = -1;
    memcpy(text, error.text, sizeof error.text);
    int code = made ? 0 : error.code;
    rh_free(made);
    rh_stop_free(stop);
    return code;
}

/* `least`: looks that the work has at least. */
static void stop_everywhere(const char *command, const void *request, long least)
{
    char text[1024];
    if (do_it(command, request, 1, -1, text) != 0 || do_it(command, request, 1, -1, text) != 0)
        fail_msg("%s: %s", command, text); /* the first reads tables, too */
    long all = atomic_load(&looks);
    if (all < least)
        fail_msg("%s looks %ld times, not %ld", command, all, least);
    long longest = 0;
    for (int point = 0; point < POINTS; point++) {
        long at = (all - 1) * point / (POINTS - 1);
        int code = do_it(command, request, 1, at, text);
        long after = atomic_load(&looks) - at - 1;
        /* A database has a page less than the first time, or gnuplot took less long. */
        if (after < 0 && (point == POINTS - 1 || strncmp(command, "figure", 6) == 0))
            continue;
        if (code != RH_STOPPED || strcmp(text, "stopped") != 0)
            fail_msg("%s, stopped at look %ld of %ld: code %d, '%s'", command, at, all, code, text);
        if (after > MAX_AFTER)
            fail_msg("%s, stopped at look %ld of %ld: it looked %ld times more", command, at, all, after);
        longest = after > longest ? after : longest;
    }
    int code = do_it(command, request, 4, all / 2, text); /* other threads may do the rest before */
    if (code != RH_STOPPED && code != 0)
        fail_msg("%s, four threads: code %d, '%s'", command, code, text);
    print_message("# %s: %ld looks, at most %ld behind a stop\n", command, all, longest);
}

/* ---- plans ---- */

static rh_plan *find_plan(const char *file)
{
    struct rh_plan_request request = RH_INIT(request);
    struct rh_error error;
    request.model = "llama-3-8b";
    request.device = "h100";
    request.devices = "32";
    request.global_batch = "128";
    request.output = file;
    rh_plan *plan = rh_plan_find(&request, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    return plan;
}

static void plans(void **state)
{
    (void)state;
    struct rh_plan_request request = RH_INIT(request);
    request.model = "llama-3.1-405b";
    request.device = "h100";
    request.devices = "1024";
    request.global_batch = "512";
    stop_everywhere("plan", &request, 20);
    request = (struct rh_plan_request){.size = sizeof request, .model = "gpt2-xl", .global_batch = "32"};
    request.cluster = caller_write("two.yaml", "groups:\n"
                                               "  - {device: h100, nodes: 1, devices_per_node: 4}\n"
                                               "  - {device: a100-80gb, nodes: 1, devices_per_node: 4}\n"
                                               "inter_node: {bandwidth: 200 Gb/s, latency: 10 us}\n");
    stop_everywhere("plan", &request, 20);
}

static void checks_and_templates(void **state)
{
    (void)state;
    const char *file = caller_write("checked.json", "");
    struct rh_check_request check = RH_INIT(check);
    struct rh_templates_request templates = RH_INIT(templates);
    rh_free(find_plan(file));
    check.plans = (struct rh_list){&file, 1};
    stop_everywhere("check-plan", &check, 20);
    templates.profile = caller_write("toy.json", caller_profile);
    templates.cluster = caller_write("toy.yaml", "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n");
    templates.microbatches = 4;
    stop_everywhere("templates", &templates, 3);
}

/* ---- simulation ---- */

static void simulations(void **state)
{
    (void)state;
    struct rh_simulate_request request = RH_INIT(request);
    rh_plan *plan = find_plan(NULL);
    request.from = plan;
    request.no_symmetry = true;
    request.tasks = records_path("tasks.csv");
    stop_everywhere("simulate", &request, 100);
    request = (struct rh_simulate_request){.size = sizeof request, .from = plan, .compare = true};
    stop_everywhere("simulate", &request, 100);
    rh_free(plan);
    request = (struct rh_simulate_request){.size = sizeof request, .schedule = "zb-1p"};
    request.stages = 8;
    request.microbatches = 32;
    stop_everywhere("simulate", &request, 100);
}

static void replays(void **state)
{
    (void)state;
    static char text[1 << 20];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"schemaVersion\": 1, \"traceEvents\": [\n");
    for (int i = 1; i <= 2500; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", "
                                 "\"pid\": 1, \"tid\": 1, "
                                 "\"ts\": %d, \"dur\": 4, \"args\": {\"correlation\": %d}},\n"
                                 "{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, "
                                 "\"tid\": 7, \"ts\": %d, \"dur\": "
                                 "11, \"args\": {\"device\": 0, \"stream\": 7, \"correlation\": %d}},\n",
                                 30 * i, i, 30 * i + 12, i);
    snprintf(text + used, sizeof text - used, "{\"ph\": \"i\", \"name\": \"end\", \"ts\": 1}]}\n");
    struct rh_simulate_request request = RH_INIT(request);
    request.replay = caller_write("kineto.json", text);
    stop_everywhere("simulate", &request, 50);
    struct rh_explain_request explained = RH_INIT(explained);
    explained.traces = (struct rh_list){.items = (const char *const[]){request.replay}, .count = 1};
    stop_everywhere("explain", &explained, 50);
}

static void sweeps(void **state)
{
    (void)state;
    struct rh_sweep_request request = RH_INIT(request);
    rh_plan *plan = find_plan(NULL);
    request.from = plan;
    request.global_batch = "64..512";
    stop_everywhere("sweep", &request, 20);
    rh_free(plan);
    request = (struct rh_sweep_request){.size = sizeof request, .model = "llama-3-8b", .device = "h100"};
    request.devices = "8..64";
    request.global_batch = "128";
    stop_everywhere("sweep", &request, 20);
}

static void losses(void **state)
{
    (void)state;
    static char text[1 << 18];
    struct rh_elastic_request request = RH_INIT(request);
    request.rate = "rsc-1";
    request.nodes = 64;
    request.seeds = 8;
    stop_everywhere("elastic", &request, 20);
    size_t used = (size_t)snprintf(text, sizeof text, "t_s,event,node\n");
    for (int i = 0; i < 8000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%s,%d\n", 60 * i,
                                 i % 2 ? "returned" : "lost", i / 2 % 64);
    request = (struct rh_elastic_request){.size = sizeof request, .nodes = 64};
    request.failures = caller_write("losses.csv", text);
    stop_everywhere("elastic", &request, 40);
}

/* ---- prices ---- */

static const char *program_of(int dots)
{
    static char text[1 << 19];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "HloModule large\n\nENTRY main {\n  v0 = f32[64,64] parameter(0)\n");
    for (int i = 1; i <= dots; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "  %sv%d = f32[64,64] dot(v%d, v0), lhs_contracting_dims={1}, "
                                 "rhs_contracting_dims={0}\n",
                                 i == dots ? "ROOT " : "", i, i - 1);
    snprintf(text + used, sizeof text - used, "}\n");
    return caller_write("large.hlo", text);
}

static void prices(void **state)
{
    (void)state;
    const char *file = program_of(3000);
    struct rh_cost_request request = RH_INIT(request);
    request.files = (struct rh_list){&file, 1};
    request.devices = "h100";
    stop_everywhere("cost", &request, 3000); /* each product is looked up among measured ones */
    request.explain = true;
    stop_everywhere("cost", &request, 3000);
    file = caller_file("examples/gpt-block.mlir");
    request.explain = false;
    stop_everywhere("cost", &request, 10);
}

static void profiles(void **state)
{
    (void)state;
    static char text[1 << 19];
    size_t used = (size_t)snprintf(text, sizeof text, "{\"format\": \"rehearse-profile/1\", \"layers\": [");
    for (int i = 0; i < 3000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "%s{\"parameter_bytes\": 10, \"activation_bytes\": 1}", i ? ", " : "");
    used += (size_t)snprintf(text + used, sizeof text - used,
                             "], \"devices\": [{\"name\": \"gpu\", \"layers\": [");
    for (int i = 0; i < 3000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s{\"forward\": 1, \"backward\": 2}",
                                 i ? ", " : "");
    snprintf(text + used, sizeof text - used, "]}]}");
    struct rh_profile_request request = RH_INIT(request);
    request.path = caller_write("layers.json", text);
    stop_everywhere("profile show", &request, 15);
}

/* ---- predictions ---- */

static void predictions(void **state)
{
    (void)state;
    struct rh_validate_request validate = RH_INIT(validate);
    struct rh_calibrate_request calibrate = RH_INIT(calibrate);
    static char text[1 << 16];
    validate.leave_out = "job";
    stop_everywhere("validate", &validate, 500); /* at each run: read, predicted, judged */
    size_t used = (size_t)snprintf(text, sizeof text, "m,n,k,time_us\n");
    for (int i = 0; i < 100; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%d,%d,%d,%d\n", 128 * (1 + i % 61),
                                 128 * (1 + i % 37), 64 * (1 + i % 53), 10 + i % 61 * (i % 37) / 10);
    calibrate.device = "h100-sxm";
    calibrate.gemm = caller_write("products.csv", text);
    stop_everywhere("calibrate", &calibrate, 200);
}

static void scripts(void **state)
{
    (void)state;
    static char text[1 << 17];
    size_t used = 0;
    for (int i = 0; i < 1000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "VALUE_%d=%d\n", i, i);
    snprintf(text + used, sizeof text - used,
             "torchrun --nnodes 1 --nproc_per_node 8 pretrain_gpt.py --num-layers 24 --hidden-size 2048 "
             "--num-attention-heads 16 --seq-length 2048 --max-position-embeddings 2048 "
             "--micro-batch-size 1 --global-batch-size 64 --vocab-size 51200 --bf16\n");
    const char *file = caller_write("train.sh", text);
    struct rh_price_request request = RH_INIT(request);
    request.files = (struct rh_list){&file, 1};
    request.device = "h100";
    stop_everywhere("price", &request, 1000);
}

static void schedules(void **state)
{
    (void)state;
    struct rh_simulate_request request = RH_INIT(request);
    request.schedule = "1f1b";
    request.stages = 16;
    request.microbatches = 256;
    const char *file = request.write_schedule = records_path("schedule.csv");
    stop_everywhere("simulate", &request, 50);
    request = (struct rh_simulate_request){.size = sizeof request, .schedule = file}; /* it is whole */
    stop_everywhere("simulate", &request, 20);
}

/* ---- recorded runs ---- */

static const char *trace_or_skip(void)
{
    static const char *trace;
    if (!trace)
        trace = records_trace("trace.db", 10);
    if (!trace)
        skip();
    return trace;
}

static void recorded_runs(void **state)
{
    (void)state;
    const char *const traces[] = {trace_or_skip(), trace_or_skip()};
    struct rh_compare_request compare = RH_INIT(compare);
    struct rh_trace_show_request show = RH_INIT(show);
    struct rh_trace_phases_request phases = RH_INIT(phases);
    struct rh_trace_export_request export = RH_INIT(export);
    compare.traces = (struct rh_list){traces, 2};
    compare.replicates = 200;
    stop_everywhere("compare", &compare, 400);
    show.trace = phases.trace = export.trace = traces[0];
    stop_everywhere("trace show", &show, 10);
    stop_everywhere("trace phases", &phases, 10);
    export.format = "csv";
    export.output = records_path("rows.csv");
    stop_everywhere("trace export", &export, 10);
}

static void imports(void **state)
{
    (void)state;
    static char text[1 << 19];
    size_t used = 0;
    (void)trace_or_skip();
    for (int i = 0; i < 5000; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "7 1700000000.%06d read(3</data/a>, \"\"..., 4096) = 4096 <0.000010>\n",
                                 i * 100);
    const char *file = caller_write("many.strace", text);
    struct rh_trace_import_request request = RH_INIT(request);
    request.paths = (struct rh_list){&file, 1};
    request.output = records_path("many.db");
    request.zone = "UTC";
    request.force = true;
    stop_everywhere("trace import", &request, 10);
}

/* gnuplot draws while the call waits for it: that is looked at, too. */
static void pictures(void **state)
{
    (void)state;
    struct rh_figure_timeline_request timeline = RH_INIT(timeline);
    struct rh_figure_throughput_request throughput = RH_INIT(throughput);
    const char *trace = trace_or_skip();
    char text[1024];
    timeline.trace = trace;
    timeline.output = records_path("timeline.svg");
    if (do_it("figure timeline", &timeline, 1, -1, text) != 0) {
        print_message("# %s\n", text);
        skip();
    }
    stop_everywhere("figure timeline", &timeline, 10);
    throughput.traces = (struct rh_list){&trace, 1};
    throughput.output = records_path("throughput.svg");
    stop_everywhere("figure throughput", &throughput, 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plans),       cmocka_unit_test(checks_and_templates),
        cmocka_unit_test(simulations), cmocka_unit_test(replays),
        cmocka_unit_test(sweeps),      cmocka_unit_test(losses),
        cmocka_unit_test(prices),      cmocka_unit_test(profiles),
        cmocka_unit_test(predictions), cmocka_unit_test(scripts),
        cmocka_unit_test(schedules),   cmocka_unit_test(recorded_runs),
        cmocka_unit_test(imports),     cmocka_unit_test(pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
