/* Memory that is refused to pictures, pages, runs of data, and recordings: some of their allocations, each in its turn. */
#include "records.h"
#include "refuse.h"

#include "caller.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

struct asked {
    const char *command;
    const void *request;
    const char *removed; /* a file that is to be made anew; NULL: none */
};

static bool run_it(const void *context, struct rh_error *error)
{
    const struct asked *asked = context;
    const struct rh_call call = {.size = sizeof call, .threads = 1};
    if (asked->removed)
        unlink(asked->removed);
    rh_handle *made = rh_run(asked->command, asked->request, &call, error);
    bool done = made != NULL;
    rh_free(made);
    return done;
}

static const char *trace_or_skip(void)
{
    static const char *trace;
    if (!trace)
        trace = records_trace("trace.db", 10);
    if (!trace)
        skip();
    return trace;
}

/* Refuses some allocations of a picture, if one can be drawn here. */
static void refuse_drawing(const char *command, const void *request, long step)
{
    struct rh_error error;
    rh_handle *made = rh_run(command, request, NULL, &error);
    rh_free(made);
    if (!made && strstr(error.text, "gnuplot")) {
        print_message("# %s\n", error.text);
        skip();
    }
    refuse_each(run_it, &(struct asked){command, request, NULL}, step);
}

static void drawing_plans(void **state)
{
    (void)state;
    struct rh_plan_request plan = RH_INIT(plan);
    struct rh_figure_plan_request figure = RH_INIT(figure);
    plan.profile = caller_write("toy.json", caller_profile);
    plan.cluster = caller_write("toy.yaml", "groups: [{device: gpu, nodes: 2, devices_per_node: 1}]\n");
    plan.microbatches = 4;
    rh_plan *found = rh_plan_find(&plan, NULL, NULL);
    figure.from = found;
    refuse_drawing("figure plan", &figure, 1);
    rh_free(found);
}

static void drawing_traces(void **state)
{
    (void)state;
    const char *const trace = trace_or_skip();
    struct rh_figure_timeline_request timeline = RH_INIT(timeline);
    struct rh_figure_distribution_request distribution = RH_INIT(distribution);
    struct rh_figure_throughput_request throughput = RH_INIT(throughput);
    timeline.trace = trace;
    distribution.traces = throughput.traces = (struct rh_list){&trace, 1};
    refuse_drawing("figure timeline", &timeline, 61);
    refuse_drawing("figure distribution", &distribution, 61);
    refuse_drawing("figure throughput", &throughput, 61);
}

static void making_a_page(void **state)
{
    (void)state;
    static char folder[512], command[1200];
    struct rh_report_request request = RH_INIT(request);
    snprintf(folder, sizeof folder, "%s.runs", records_path("page"));
    snprintf(command, sizeof command, "mkdir '%s' && cp '%s' '%s/'", folder,
             caller_write("toy.json", caller_profile), folder);
    assert_int_equal(system(command), 0);
    request.folder = folder;
    refuse_each(run_it, &(struct asked){"report", &request, NULL}, 3);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void feeding(void **state)
{
    (void)state;
    static char folder[512], where[600], command[600];
    static const char *const words[] = {"unet3d_h100"};
    const char *const set[] = {"dataset.num_files_train=2",
                               "dataset.format=npz",
                               "dataset.record_length_bytes=4096",
                               "dataset.record_length_bytes_stdev=0",
                               "dataset.num_samples_per_file=1",
                               where,
                               "reader.batch_size=1",
                               "train.computation_time=0.0001"};
    const struct rh_list all = {set, sizeof set / sizeof *set};
    struct rh_dataset_generate_request data = RH_INIT(data);
    struct rh_feed_request request = RH_INIT(request);
    struct rh_error error;
    snprintf(folder, sizeof folder, "%s.set", records_path("fed"));
    snprintf(where, sizeof where, "dataset.data_folder=%s", folder);
    data.workload = request.workload = (struct rh_list){words, 1};
    data.set = request.set = all;
    data.output = folder;
    rh_report *made = rh_dataset_generate(&data, NULL, &error);
    if (!made)
        fail_msg("%s", error.text);
    rh_free(made);
    request.epochs = 1;
    request.warm = true;
    request.keep_steps = true;
    refuse_each(run_it, &(struct asked){"feed", &request, NULL}, 31);
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

/* By this process alone, and by ranks that are started, which this malloc is not of. */
static void playing(void **state)
{
    (void)state;
    struct rh_plan_request planned = RH_INIT(planned);
    struct rh_play_request request = RH_INIT(request);
    struct rh_error error;
    const char *program = getenv("REHEARSE_PROGRAM");
    planned.model = "gpt2";
    planned.device = "h100";
    planned.devices = "2";
    planned.global_batch = "4";
    rh_plan *plan = rh_plan_find(&planned, NULL, &error);
    if (!plan)
        fail_msg("%s", error.text);
    request.from = (struct rh_handles){(const rh_handle *const *)&plan, 1};
    request.iterations = 1;
    request.byte_share = 1e-6;
    request.trace = records_path("played.json");
    refuse_each(run_it, &(struct asked){"run", &request, request.trace}, 1);
    request.trace = NULL;
    request.ranks = 2;
    if (program && access(program, X_OK) == 0)
        refuse_each(run_it, &(struct asked){"run", &request, NULL}, 29);
    rh_free(plan);
}

static void recording(void **state)
{
    (void)state;
    static const char *const words[] = {"true"};
    struct rh_trace_request request = RH_INIT(request);
    (void)trace_or_skip();
    request.no_bpf = true;
    request.output = records_path("recorded.db");
    request.command = (struct rh_list){words, 1};
    refuse_each(run_it, &(struct asked){"trace", &request, request.output}, 61);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(drawing_plans), cmocka_unit_test(drawing_traces), cmocka_unit_test(making_a_page),
        cmocka_unit_test(feeding),       cmocka_unit_test(playing),        cmocka_unit_test(recording),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
