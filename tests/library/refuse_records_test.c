/* Memory that is refused to calls about recorded runs. */
#include "records.h"
#include "refuse.h"

#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char *trace_or_skip(void)
{
    static const char *trace;
    if (!trace)
        trace = records_trace("trace.db", 10);
    if (!trace)
        skip();
    return trace;
}

static void comparing(void **state)
{
    (void)state;
    const char *const traces[] = {trace_or_skip(), trace_or_skip(), trace_or_skip()};
    struct rh_compare_request request = RH_INIT(request);
    request.traces = (struct rh_list){traces, 2};
    request.replicates = 10;
    refuse_command("compare", &request, 7);
    request.traces.count = 3;
    refuse_command("compare", &request, 31);
}

static void showing(void **state)
{
    (void)state;
    struct rh_trace_show_request request = RH_INIT(request);
    struct rh_trace_phases_request phases = RH_INIT(phases);
    request.trace = phases.trace = trace_or_skip();
    request.keep_rows = true;
    refuse_command("trace show", &request, 3);
    refuse_command("trace phases", &phases, 7);
}

static void converting(void **state)
{
    (void)state;
    const char *const calls = caller_write("two.strace", "7 1.000000 read(3, \"\"..., 9) = 9 <0.000020>\n"
                                                         "7 2.000000 read(3, \"\"..., 9) = 9 <0.000020>\n");
    struct rh_trace_import_request import = RH_INIT(import);
    struct rh_trace_export_request export = RH_INIT(export);
    export.trace = trace_or_skip();
    export.format = "csv";
    export.output = records_path("refused.csv");
    refuse_command("trace export", &export, 7);
    import.paths = (struct rh_list){&calls, 1};
    import.output = records_path("refused.db");
    import.force = true;
    refuse_command("trace import", &import, 23);
}

static void making_a_page(void **state)
{
    (void)state;
    struct rh_report_request request = RH_INIT(request);
    const char *const log = records_log();
    struct rh_figure_steps_request steps = RH_INIT(steps);
    steps.folders = (struct rh_list){&log, 1};
    steps.skip_epochs = RH_ZERO;
    refuse_command("figure steps", &steps, 1);
    request.folder = "/no/such/folder";
    rh_handle *none = rh_report_make(&request, NULL, NULL);
    assert_null(none);
}

static void making_data(void **state)
{
    (void)state;
    static const char *const words[] = {"unet3d_h100",
                                        "dataset.num_files_train=1",
                                        "dataset.format=npz",
                                        "dataset.record_length_bytes=4096",
                                        "dataset.record_length_bytes_stdev=0",
                                        "dataset.num_samples_per_file=1"};
    struct rh_dataset_generate_request request = RH_INIT(request);
    struct rh_dataset_verify_request verify = RH_INIT(verify);
    struct rh_feed_request list = RH_INIT(list), shown = RH_INIT(shown);
    char folder[512], command[600];
    snprintf(folder, sizeof folder, "%s.set", records_path("refused"));
    request.workload = (struct rh_list){words, sizeof words / sizeof *words};
    request.output = verify.folder = folder;
    refuse_command("dataset generate", &request, 3);
    refuse_command("dataset verify", &verify, 1);
    list.list = true;
    refuse_command("feed", &list, 1);
    shown.workload = request.workload;
    shown.show = true;
    refuse_command("feed", &shown, 3);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comparing),     cmocka_unit_test(showing),     cmocka_unit_test(converting),
        cmocka_unit_test(making_a_page), cmocka_unit_test(making_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
