/* Measured runs beside their predictions, prices of launch descriptions, and fits to measurements, as another program asks for them. */
#include "rehearse.h"

#include "caller.h"

#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- validation ---- */

static const char splits[] =
    "id,source_repo,gpus,framework,model,precision,tp,pp,mbs,gbs,recompute,zero,sec_per_iter\n"
    "a,ours,64,NeMo,llama-3-70b,bf16,4,4,1,128,none,1,12\n"
    "b,ours,64,NeMo,llama-3-70b,bf16,4,4,1,128,full,1,15\n"
    "c,ours,64,NeMo,llama-3-70b,bf16,8,8,1,128,full,1,20\n"
    "d,ours,64,NeMo,no-such-model,bf16,8,8,1,128,full,1,20\n";

static rh_report *validated(const struct rh_validate_request *request)
{
    struct rh_error error;
    rh_report *report = rh_validate(request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    return report;
}

static void runs_are_columns(void **state)
{
    (void)state;
    char gpu[] = "h100", file[512];
    struct rh_validate_request request = RH_INIT(request);
    request.table = strcpy(file, caller_write("splits.csv", splits));
    request.gpu = gpu; /* the table has no such column */
    request.rank = true;
    rh_report *report = validated(&request);
    memset(gpu, 'x', strlen(gpu));
    memset(file, 'x', strlen(file));
    assert_true(rh_number(report, "rows") == 4.0 && rh_number(report, "modelled") == 3.0);
    assert_string_equal(caller_word(report, "runs.id", 2), "c");
    assert_string_equal(caller_word(report, "runs.gpu", 3), "h100");
    assert_null(caller_word(report, "runs.reason", 0));
    assert_non_null(strstr(caller_word(report, "runs.reason", 3), "no-such-model"));
    for (int i = 0; i < 3; i++) {
        double predicted = caller_value(report, "runs.predicted", i);
        double measured = caller_value(report, "runs.measured", i);
        assert_true(fabs(predicted / measured - 1.0 - caller_value(report, "runs.error", i)) < 1e-9);
        assert_true(caller_value(report, "runs.low", i) < predicted);
        assert_true(predicted < caller_value(report, "runs.high", i));
    }
    assert_true(caller_value(report, "jobs.splits", 0) == 3.0);
    assert_true(rh_number(report, "rank_correlation") == 1.0);
    caller_check_forms(report, "\"rehearse-validation/1\"");
    rh_free(report);
}

static void the_published_runs_come_with_the_library(void **state)
{
    (void)state;
    struct rh_validate_request request = RH_INIT(request);
    rh_report *all = validated(&request);
    request.set = "mlperf";
    request.leave_out = "source";
    rh_report *some = validated(&request);
    assert_true(rh_number(some, "rows") < rh_number(all, "rows"));
    assert_true(rh_number(all, "median_error") > 0.0 && rh_number(all, "median_error") < 0.1);
    assert_non_null(caller_word(some, "left_out.name", 0));
    rh_free(some);
    rh_free(all);
}

static void a_report_stands_without_its_picture(void **state)
{
    (void)state;
    struct rh_validate_request request = RH_INIT(request);
    request.table =
        caller_write("none.csv", "gpu,gpus,model,tp,pp,mbs,gbs\nTPUv3,64,llama-3-70b,8,4,1,128\n");
    request.figure = "/tmp/rehearse-never.svg";
    rh_report *report = validated(&request);
    assert_true(rh_number(report, "undrawn_code") == RH_INFEASIBLE);
    assert_non_null(strstr(rh_string(report, "undrawn"), "nothing to draw"));
    rh_free(report);
}

static void schedules_have_columns_of_their_own(void **state)
{
    (void)state;
    struct rh_validate_request request = RH_INIT(request);
    struct rh_error error;
    request.schedules = true;
    request.table = caller_write("schedules.csv", caller_schedules);
    rh_report *report = validated(&request);
    assert_true(caller_value(report, "runs.simulated", 0) > 0.0);
    assert_true(fabs(caller_value(report, "runs.rate_error", 0)) < 0.5);
    caller_check_forms(report, "\"rehearse-schedule-validation/1\"");
    rh_free(report);
    request.setup = "setup.yaml";
    assert_null(rh_validate(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
}

/* ---- prices ---- */

static const char script[] =
    "NODES=${NODES:-2}\n"
    "torchrun --nnodes $NODES --nproc_per_node 8 pretrain_gpt.py --num-layers 32 --hidden-size 4096 \\\n"
    " --ffn-hidden-size 14336 --num-attention-heads 32 --group-query-attention --num-query-groups 8 \\\n"
    " --swiglu --normalization RMSNorm --position-embedding-type rope --disable-bias-linear \\\n"
    " --untie-embeddings-and-output-weights --vocab-size 128256 --seq-length 8192 \\\n"
    " --max-position-embeddings 8192 --tensor-model-parallel-size 4 --micro-batch-size ${MBS} \\\n"
    " --global-batch-size 64 --bf16 --use-distributed-optimizer --turbo-mode\n";

static void a_script_is_priced(void **state)
{
    (void)state;
    char set[] = "MBS=1", file[512];
    const char *const files[] = {file}, *const sets[] = {set};
    const char *plan = caller_write("as-it-stands.json", "");
    struct rh_price_request request = RH_INIT(request);
    struct rh_simulate_request play = RH_INIT(play);
    struct rh_error error;
    strcpy(file, caller_write("train.sh", script));
    request.files = (struct rh_list){files, 1};
    request.device = "h100";
    assert_null(rh_price(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    assert_non_null(strstr(error.text, "MBS"));
    request.set = (struct rh_list){sets, 1};
    request.plan = plan;
    rh_report *report = rh_price(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    memset(set, 'x', strlen(set));
    memset(file, 'x', strlen(file));
    assert_true(rh_number(report, "devices") == 16.0 && rh_number(report, "fits") == 1.0);
    assert_true(rh_number(report, "planned.iteration_time") <= rh_number(report, "iteration_time"));
    assert_true(rh_number(report, "low") < rh_number(report, "expected"));
    double sum = 0.0;
    for (int i = 0; i < 7; i++)
        sum += caller_value(report, "parts.seconds", i);
    assert_true(fabs(sum / rh_number(report, "iteration_time") - 1.0) < 1e-6);
    struct rh_array names;
    int unknown = 0;
    assert_true(rh_get(report, "arguments.name", &names));
    for (int i = 0; i < names.shape[0]; i++)
        if (strcmp(caller_word(report, "arguments.use", i), "unknown") == 0) {
            assert_string_equal(caller_word(report, "arguments.name", i), "--turbo-mode");
            assert_non_null(strstr(caller_word(report, "arguments.file", i), "train.sh"));
            unknown++;
        }
    assert_int_equal(unknown, 1);
    caller_check_forms(report, "\"rehearse-price/1\"");
    rh_free(report);
    play.plan = plan;
    report = rh_simulate(&play, NULL, &error);
    assert_non_null(report);
    rh_free(report);
}

static void what_is_not_understood_can_be_an_error(void **state)
{
    (void)state;
    const char *const files[] = {caller_write("train.sh", script)}, *const sets[] = {"MBS=1"};
    struct rh_price_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_price(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request.files = (struct rh_list){files, 1};
    request.set = (struct rh_list){sets, 1};
    request.strict = true;
    assert_null(rh_price(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
    assert_non_null(strstr(error.text, "--turbo-mode is not understood"));
}

/* ---- calibration ---- */

/* A device that is slower than any: two of its products take a time that follows from their size. */
static const char *products(void)
{
    static char table[16384];
    size_t length = (size_t)snprintf(table, sizeof table, "gpu,dtype,m,n,k,time_us\n");
    for (int m = 64; m <= 8192; m *= 8)
        for (int n = 512; n <= 8192; n *= 4)
            for (int k = 256; k <= 8192; k *= 2)
                length +=
                    (size_t)snprintf(table + length, sizeof table - length, "a100_sxm,bf16,%d,%d,%d,%g\n", m,
                                     n, k, 5.0 + 2.0 * m * n * k / 2e8);
    return caller_write("gemm.csv", table);
}

static void a_device_is_fitted(void **state)
{
    (void)state;
    struct rh_calibrate_request request = RH_INIT(request);
    struct rh_cost_request cost = RH_INIT(cost);
    struct rh_error error;
    char file[512];
    request.device = "a100";
    request.gemm = strcpy(file, products());
    request.name = "mine";
    request.output = cost.devices = caller_write("mine.yaml", "");
    rh_report *report = rh_calibrate(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    memset(file, 'x', strlen(file));
    assert_string_equal(caller_word(report, "fitted.what", 0), "matrix products");
    assert_string_equal(caller_word(report, "fitted.name", 0), "bf16");
    assert_true(caller_value(report, "fitted.rows", 0) == 54.0);
    assert_true(caller_value(report, "fitted.median", 0) < caller_value(report, "fitted.median_before", 0));
    assert_string_equal(caller_word(report, "files.name", 0), "mine");
    assert_non_null(strstr(caller_word(report, "files.text", 0), "name: \"mine\""));
    caller_check_forms(report, "\"rehearse-calibration-fit/1\"");
    rh_free(report);
    cost.model = "gpt2";
    rh_profile *profile = rh_cost(&cost, NULL, &error);
    assert_non_null(profile);
    assert_string_equal(caller_word(profile, "devices.name", 0), "mine");
    rh_free(profile);
}

static void a_run_of_ones_own_is_read(void **state)
{
    (void)state;
    struct rh_calibrate_request request = RH_INIT(request);
    struct rh_error error;
    request.from = caller_file("tests/data/logs/megatron.log");
    request.device = "h100";
    rh_report *report = rh_calibrate(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    assert_true(fabs(rh_number(report, "lab") -
                     rh_number(report, "measured") / rh_number(report, "expected")) < 1e-9);
    assert_true(rh_number(report, "low") < rh_number(report, "high"));
    assert_string_equal(caller_word(report, "files.name", 0), "calibration");
    rh_free(report);
}

static void wrong_calibrations_are_refused(void **state)
{
    (void)state;
    struct rh_calibrate_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_calibrate(&request, NULL, &error));
    assert_string_equal(error.text, "calibrate: '--device NAME' is missing");
    request.device = "a100";
    request.gemm = caller_write("bad.csv", "m,n,k,time_us\n1,1,1,quick\n");
    assert_null(rh_calibrate(&request, NULL, &error));
    assert_int_equal(error.code, RH_INPUT);
    request.type = "bf17";
    assert_null(rh_calibrate(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
}

/* ---- this machine ---- */

static struct rh_measure_layers_request measure_request(const char *const *files)
{
    struct rh_measure_layers_request request = RH_INIT(request);
    request.files = (struct rh_list){files, 1};
    request.pjrt = getenv("REHEARSE_FAKE_PJRT");
    request.precision = "50%";
    request.limit = 0.2;
    if (!request.pjrt)
        skip();
    return request;
}

static void layers_are_timed(void **state)
{
    (void)state;
    char file[512];
    const char *const files[] = {file};
    struct rh_measure_layers_request request = measure_request(files);
    struct rh_error error;
    strcpy(file, caller_write("layer.mlir", caller_layer));
    request.output = caller_write("timed.json", "");
    request.command = "a test";
    rh_report *report = rh_measure_layers(&request, NULL, &error);
    if (!report)
        fail_msg("%s", error.text);
    memset(file, 'x', strlen(file));
    assert_string_equal(rh_string(report, "device"), "Fake 100");
    assert_string_equal(caller_word(report, "layers.name", 0), "layer");
    assert_non_null(strstr(caller_word(report, "layers.path", 0), "/layer.mlir"));
    assert_true(caller_value(report, "layers.forward", 0) > 0.0);
    assert_true(caller_value(report, "layers.forward_low", 0) <= caller_value(report, "layers.forward", 0));
    assert_true(caller_value(report, "layers.backward_measured", 0) == 0.0);
    caller_check_forms(report, "\"rehearse-layer-times/1\"");
    struct rh_text json;
    assert_true(rh_write(report, "json", &json, NULL));
    assert_non_null(strstr(json.data, "\"command\": \"a test\""));
    rh_text_free(&json);
    rh_free(report);
    struct rh_profile_request load = {.size = sizeof load, .path = request.output};
    rh_profile *profile = rh_profile_load(&load, NULL, &error);
    assert_non_null(profile);
    assert_string_equal(caller_word(profile, "devices.name", 0), "Fake 100");
    rh_free(profile);
}

/* The thread that measures stays on a core during the call alone. */
static void the_callers_cores_are_its_own_again(void **state)
{
    (void)state;
    const char *const files[] = {caller_write("layer.mlir", caller_layer)};
    struct rh_measure_layers_request request = measure_request(files);
    struct rh_error error;
    cpu_set_t before, after;
    char core[16];
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    for (int i = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, &before))
            snprintf(core, sizeof core, "%d", i);
    request.cores = core;
    rh_report *report = rh_measure_layers(&request, NULL, &error);
    assert_non_null(report);
    rh_free(report);
    assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    request.precision = "no share";
    assert_null(rh_measure_layers(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    request = (struct rh_measure_layers_request){.size = sizeof request, .pjrt = request.pjrt};
    report = rh_measure_layers(&request, NULL, &error); /* what the plugin is */
    assert_non_null(report);
    assert_true(rh_number(report, "devices") == 2.0);
    rh_free(report);
}

static void one_process_has_no_link(void **state)
{
    (void)state;
    struct rh_measure_links_request request = RH_INIT(request);
    struct rh_error error;
    assert_null(rh_measure_links(&request, NULL, &error));
    assert_int_equal(error.code, RH_USAGE);
    assert_non_null(strstr(error.text, "one rank has no link"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_columns),
        cmocka_unit_test(the_published_runs_come_with_the_library),
        cmocka_unit_test(a_report_stands_without_its_picture),
        cmocka_unit_test(schedules_have_columns_of_their_own),
        cmocka_unit_test(a_script_is_priced),
        cmocka_unit_test(a_device_is_fitted),
        cmocka_unit_test(a_run_of_ones_own_is_read),
        cmocka_unit_test(wrong_calibrations_are_refused),
        cmocka_unit_test(layers_are_timed),
        cmocka_unit_test(the_callers_cores_are_its_own_again),
        cmocka_unit_test(one_process_has_no_link),
        cmocka_unit_test(what_is_not_understood_can_be_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
