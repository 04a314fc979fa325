/* Answers of a made-up simulation as text and as JSON, tasks that others do for real, and timelines kept as traces. */
#include "devices/tables.h"
#include "plan/split/plan.h"
#include "sim/play.h"
#include "sim/tasks.h"
#include "sim/timeline.h"
#include "support/folder.h"
#include "support/jobs.h"
#include "trace/store/store.h"

#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* ---- what is printed ---- */

enum { STEPS = 14, LINKS = 10 };

/* An answer in which all numbers differ. */
struct made {
    struct plan plan;
    struct plan_device_type types[2];
    struct sim_device devices[2];
    struct sim_step steps[STEPS];
    struct sim_link links[LINKS];
    struct sim_variant more[1];
    struct sim_result result;
};

static void make(struct made *made)
{
    static const char *causes[] = {"send", "gradients"};
    memset(made, 0, sizeof *made);
    plan_init(&made->plan);
    made->types[0] = (struct plan_device_type){.name = "small", .nodes.memory = INT64_C(16) << 30};
    made->types[1] = (struct plan_device_type){.name = "large", .nodes.memory = INT64_C(80) << 30};
    made->plan.model = "m-1";
    made->plan.types = made->types;
    made->plan.type_count = 2;
    made->devices[0] = (struct sim_device){.place = 0, .type = 0, .members = 3, .begin = 0.5, .end = 9.5};
    made->devices[1] =
        (struct sim_device){.pipeline = 2, .place = 4, .type = 1, .members = 5, .begin = 1, .end = 9};
    made->devices[0].seconds[SIM_FORWARD] = 2.5;
    made->devices[0].seconds[SIM_BUBBLE] = 7.5;
    made->devices[1].seconds[SIM_BACKWARD] = 10;
    made->devices[1].peak = (struct sim_memory){.parameters = 0x1p30,
                                                .gradients = 0x1p31,
                                                .optimizer = 0x1p32,
                                                .activations = 0x1p33,
                                                .working = 0x1p29,
                                                .total = 0x1p34,
                                                .time = 4};
    for (int i = 0; i < STEPS; i++)
        made->steps[i] =
            (struct sim_step){.what = "send", .stage = -1, .link = -1, .seconds = 1.5 - 0.1 * i, .count = 1};
    made->steps[0] = (struct sim_step){.what = "forward",
                                       .pipeline = 1,
                                       .stage = 3,
                                       .link = 0,
                                       .seconds = 5,
                                       .count = 6,
                                       .link_name = "nvlink"};
    for (int i = 0; i < LINKS; i++)
        made->links[i] = (struct sim_link){.name = "port",
                                           .alike = i == 0 ? 1 : 1 + i,
                                           .capacity = 1e9,
                                           .bytes = 2e9,
                                           .share = 0.25,
                                           .full = LINKS - i,
                                           .causes = causes,
                                           .cause_count = 2};
    made->more[0] = (struct sim_variant){"bandwidth", 0.1, 8};
    made->result = (struct sim_result){.level = "layers",
                                       .expected = 12,
                                       .schedule = "1f1b",
                                       .seconds = 10,
                                       .makespan = 11,
                                       .samples = 64,
                                       .tokens = 4096,
                                       .utilisation = 0.5,
                                       .bubble = 0.125,
                                       .formula = 8,
                                       .reason_count = 2,
                                       .reasons = {{"first", 2}, {"second", -0.4}},
                                       .device_count = 2,
                                       .devices = made->devices,
                                       .slowest = 0,
                                       .fullest = 1,
                                       .iterations = 1,
                                       .shown = 20,
                                       .step_count = 3,
                                       .steps = made->steps,
                                       .link_count = 2,
                                       .links = made->links,
                                       .more_count = 1,
                                       .more = made->more,
                                       .tasks = 77};
}

static void prints(struct made *made, const char *expected)
{
    struct text out = {0};
    sim_print(&made->result, &made->plan, &out);
    assert_false(out.failed);
    assert_string_equal(out.data, expected);
    text_release(&out);
}

static void all_parts_are_printed(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    prints(&made,
           "m-1, schedule 1f1b, played by layers\n"
           "iteration 10.00 s simulated in the steady state, 11.00 s alone; 64 samples/s, 4096 tokens/s; "
           "50.0 % of the devices' peak\n"
           "formula 8.000 s: the simulation takes 25.0 % longer, from first (+25.0 %); second (-5.0 %)\n"
           "expected 12.00 s of the plan, by formula and known runs\n"
           "pipeline stalls (waiting for other stages): 12.5 % of the time\n"
           "\n"
           "busiest device, place 0 of pipeline 0 (small):\n"
           "  forward       2.500 s   25.0 %\n"
           "  bubble        7.500 s   75.0 %\n"
           "\n"
           "fullest device: place 4 of pipeline 2 (large), 16.0 GiB of 80.0 GiB, after 4.000 s\n"
           "  parameters 1.00 GiB, gradients 2.00 GiB, optimizer 4.00 GiB, activations 8.00 GiB, working 512 "
           "MiB\n"
           "\n"
           "critical path\n"
           "  forward          pipeline 1 stage 3       5.000 s   50.0 %  6 times  nvlink\n"
           "  send                                      1.400 s   14.0 %\n"
           "  send                                      1.300 s   13.0 %\n"
           "\n"
           "saturated links\n"
           "  port                                           full   10.00 s, used 25.0 %: send, gradients\n"
           "  port, and 1 like it                            full   9.000 s, used 25.0 %: send, gradients\n"
           "\n"
           "with 10 % more speed of\n"
           "  bandwidth                   8.000 s  -20.0 %\n");
}

/* What is unknown, or nothing, takes no line. */
static void unknown_parts_are_not_printed(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    struct sim_result *result = &made.result;
    made.plan.model = NULL;
    result->expected = NAN;
    result->level = "passes";
    result->makespan = result->seconds;
    result->samples = result->tokens = result->utilisation = result->formula = NAN;
    result->reason_count = result->step_count = result->more_count = 0;
    result->fullest = -1;
    made.links[0].full = 0;
    prints(&made, "a plan, schedule 1f1b, played by passes\n"
                  "iteration 10.00 s simulated\n"
                  "pipeline stalls (waiting for other stages): 12.5 % of the time\n"
                  "\n"
                  "busiest device, place 0 of pipeline 0 (small):\n"
                  "  forward       2.500 s   25.0 %\n"
                  "  bubble        7.500 s   75.0 %\n");
}

static bool printed(struct made *made, const char *part)
{
    struct text out = {0};
    sim_print(&made->result, &made->plan, &out);
    bool found = strstr(out.data, part);
    text_release(&out);
    return found;
}

static void borders_of_what_is_printed(void **state)
{
    (void)state;
    struct made made;
    make(&made);
    made.result.formula = 10.004;
    assert_true(printed(&made, "the simulation equals the formula"));
    made.result.formula = 10.01;
    assert_true(printed(&made, "the simulation takes 0.1 % less"));
    made.result.formula = made.result.expected; /* the same number is not said twice */
    assert_false(printed(&made, "expected"));
    made.types[1].nodes.memory = INT64_C(1) << 34;
    assert_false(printed(&made, "does not fit"));
    made.types[1].nodes.memory--;
    assert_true(printed(&made, "does not fit"));
    made.types[1].nodes.memory = 0;
    assert_true(printed(&made, "(large), 16.0 GiB, after 4.000 s"));
    made.devices[1].peak.activations = 0;
    assert_false(printed(&made, "activations"));
    made.result.step_count = 12;
    assert_false(printed(&made, "more\n"));
    made.result.step_count = 14;
    assert_true(printed(&made, "  and 2 more\n"));
    made.result.iterations = 2;
    assert_true(printed(&made, "critical path of 2 iterations, which take 20.00 s\n"));
    assert_true(printed(&made, "25.0 %  6 times")); /* 5 s of the 20 s that are shown */
    made.result.link_count = 10;
    assert_true(printed(&made, "port, and 7 like it"));
    assert_false(printed(&made, "port, and 8 like it"));
    made.links[1].full = 0;
    assert_false(printed(&made, "like it"));
}

/* Every number of the answer stands in the document below its name. */
static void the_document_has_every_number(void **state)
{
    (void)state;
    struct made made;
    struct text out = {0};
    make(&made);
    struct json json = {.out = &out};
    sim_write_json(&made.result, &made.plan, &json);
    assert_string_equal(
        out.data, "{\n"
                  "  \"format\": \"rehearse-played-plan/1\",\n  \"$schema\": "
                  "\"https://rehearse.invalid/schema/played-plan-1.json\",\n"
                  "  \"model\": \"m-1\",\n"
                  "  \"schedule\": \"1f1b\",\n"
                  "  \"level\": \"layers\",\n"
                  "  \"iteration_time\": 10,\n"
                  "  \"expected\": 12,\n"
                  "  \"makespan\": 11,\n"
                  "  \"samples_per_second\": 64,\n"
                  "  \"tokens_per_second\": 4096,\n"
                  "  \"utilisation\": 0.5,\n"
                  "  \"bubble\": 0.125,\n"
                  "  \"formula\": {\n"
                  "    \"iteration_time\": 8,\n"
                  "    \"reasons\": [\n"
                  "      {\"reason\": \"first\", \"seconds\": 2},\n"
                  "      {\"reason\": \"second\", \"seconds\": -0.4}\n"
                  "    ]\n"
                  "  },\n"
                  "  \"slowest\": 0,\n"
                  "  \"fullest\": 1,\n"
                  "  \"devices\": [\n"
                  "    {\n"
                  "      \"pipeline\": 0,\n"
                  "      \"place\": 0,\n"
                  "      \"device_type\": 0,\n"
                  "      \"members\": 3,\n"
                  "      \"begin\": 0.5,\n"
                  "      \"end\": 9.5,\n"
                  "      \"seconds\": {\"forward\": 2.5, \"backward\": 0, \"recompute\": 0, \"tensor\": 0, "
                  "\"context\": 0, \"expert\": 0, \"shards\": 0, \"send\": 0, \"bubble\": 7.5, "
                  "\"gradients\": 0, \"optimizer\": 0, \"loading\": 0, \"saving\": 0, \"other\": 0},\n"
                  "      \"peak_memory\": {\"total\": 0, \"time\": 0, \"parameters\": 0, \"gradients\": 0, "
                  "\"optimizer\": 0, \"activations\": 0, \"working\": 0}\n"
                  "    },\n"
                  "    {\n"
                  "      \"pipeline\": 2,\n"
                  "      \"place\": 4,\n"
                  "      \"device_type\": 1,\n"
                  "      \"members\": 5,\n"
                  "      \"begin\": 1,\n"
                  "      \"end\": 9,\n"
                  "      \"seconds\": {\"forward\": 0, \"backward\": 10, \"recompute\": 0, \"tensor\": 0, "
                  "\"context\": 0, \"expert\": 0, \"shards\": 0, \"send\": 0, \"bubble\": 0, \"gradients\": "
                  "0, \"optimizer\": 0, \"loading\": 0, \"saving\": 0, \"other\": 0},\n"
                  "      \"peak_memory\": {\"total\": 17179869184, \"time\": 4, \"parameters\": 1073741824, "
                  "\"gradients\": 2147483648, \"optimizer\": 4294967296, \"activations\": 8589934592, "
                  "\"working\": 536870912}\n"
                  "    }\n"
                  "  ],\n"
                  "  \"iterations_shown\": 1,\n"
                  "  \"critical_path\": [\n"
                  "    {\"what\": \"forward\", \"pipeline\": 1, \"stage\": 3, \"link\": \"nvlink\", "
                  "\"seconds\": 5, \"count\": 6},\n"
                  "    {\"what\": \"send\", \"pipeline\": 0, \"stage\": -1, \"link\": null, \"seconds\": "
                  "1.4, \"count\": 1},\n"
                  "    {\"what\": \"send\", \"pipeline\": 0, \"stage\": -1, \"link\": null, \"seconds\": "
                  "1.3, \"count\": 1}\n"
                  "  ],\n"
                  "  \"links\": [\n"
                  "    {\"name\": \"port\", \"alike\": 1, \"capacity\": 1000000000, \"bytes\": 2000000000, "
                  "\"share\": 0.25, \"full\": 10, \"causes\": [\"send\", \"gradients\"]},\n"
                  "    {\"name\": \"port\", \"alike\": 2, \"capacity\": 1000000000, \"bytes\": 2000000000, "
                  "\"share\": 0.25, \"full\": 9, \"causes\": [\"send\", \"gradients\"]}\n"
                  "  ],\n"
                  "  \"more\": [\n"
                  "    {\"resource\": \"bandwidth\", \"more\": 0.1, \"iteration_time\": 8}\n"
                  "  ],\n"
                  "  \"tasks\": 77\n"
                  "}\n");
    text_release(&out);
}

/* ---- tasks ---- */

static void make_plan(struct plan *plan, int pipeline, bool shards)
{
    struct job job = job_example();
    struct error err;
    if (shards) {
        job.software = software_find("fsdp");
        job.sharding = 3;
    } else {
        job.degrees.tensor = 2;
    }
    job.degrees.pipeline = pipeline;
    job.batch = 32;
    job_spread(&job, 16);
    plan_init(plan);
    if (!job_check(&job, &err) || !plan_of_one_job(plan, &job, 16, &err))
        fail_msg("%s", err.text);
}

/* The passes of one device: each layer of its stages once forward for each micro-batch. */
static void check_kernels(const struct sim_tasks *tasks, const struct plan *plan, int device)
{
    const struct engine_system *system = tasks->system;
    const struct engine_order *order = &system->orders[system->devices[device].order];
    const struct sim_seat *seat = &tasks->seats[device];
    const struct plan_pipeline *pipeline = &plan->pipelines[seat->pipeline];
    const struct plan_stage *stage = &pipeline->stages[seat->place];
    int64_t forward[256] = {0}, backward[256] = {0}, ends = 0;
    for (size_t p = 0; p < order->count; p++) {
        const struct engine_template *template = &system->templates[order->passes[p].template];
        for (int i = 0; i < template->count; i++) {
            struct sim_kernels kernels;
            const struct engine_task *task = &template->tasks[i];
            enum timeline_kind kind = system->labels[task->label].kind;
            ends += kind == TASK_OPTIMIZER;
            if (!sim_task_kernels(tasks, device, order->passes[p].template, i, &kernels)) {
                assert_true(kind != TASK_FORWARD || task->group > 0);
                continue;
            }
            assert_ptr_equal(kernels.stage, stage);
            assert_in_range(kernels.layer, stage->layers.first, stage->layers.last);
            if (kind == TASK_FORWARD)
                forward[kernels.layer]++;
            else if (kind == TASK_BACKWARD)
                backward[kernels.layer]++;
        }
    }
    for (int layer = stage->layers.first; layer <= stage->layers.last; layer++) {
        assert_int_equal(forward[layer], pipeline->microbatches);
        assert_int_equal(backward[layer], pipeline->microbatches);
    }
    assert_int_equal(ends, 1);
}

/* The engine takes as long for them as the simulation says; each device has its own seat, and each node
 * eight devices. */
static void tasks_are_those_of_the_simulation(void **state)
{
    (void)state;
    for (int pipeline = 1; pipeline <= 4; pipeline *= 4)
        for (int shards = 0; shards < (pipeline == 1 ? 2 : 1); shards++) {
            struct plan plan;
            struct error err;
            struct sim_result simulated;
            struct engine_result played;
            struct sim_options options = {.plain = true, .level = SIM_LAYERS};
            make_plan(&plan, pipeline, shards);
            if (!sim_play(&plan, &options, &simulated, &err))
                fail_msg("%s", err.text);
            options.level = SIM_AUTO;
            struct sim_tasks *tasks = sim_tasks_make(&plan, &options, 1, &err);
            if (!tasks || !engine_run(tasks->system, NULL, &played, &err))
                fail_msg("%s", err.text);
            if (fabs((played.makespan + tasks->other) / simulated.makespan - 1) > 1e-12)
                fail_msg("%.12g s and %.12g s of tasks, %.12g s simulated", played.makespan, tasks->other,
                         simulated.makespan);
            assert_string_equal(simulated.level, "layers");
            assert_string_equal(tasks->schedule, simulated.schedule);
            assert_int_equal(tasks->iterations, 1);
            assert_int_equal(tasks->system->device_count, 16);
            assert_int_equal(tasks->node_count, 2);
            int on_node[2] = {0};
            for (int d = 0; d < 16; d++) {
                const struct sim_seat *seat = &tasks->seats[d];
                assert_in_range(seat->node, 0, 1);
                on_node[seat->node]++;
                for (int e = 0; e < d; e++)
                    assert_false(seat->copy == tasks->seats[e].copy && seat->place == tasks->seats[e].place &&
                                 seat->index == tasks->seats[e].index);
                check_kernels(tasks, &plan, d);
            }
            assert_int_equal(on_node[0], 8);
            engine_result_release(&played);
            sim_tasks_free(tasks);
            sim_result_release(&simulated);
            plan_release(&plan);
        }
}

/* Collectives of the critical path name the link of the plan's transfers. */
static void steps_name_the_links_of_transfers(void **state)
{
    (void)state;
    struct plan plan;
    struct error err;
    struct sim_result result;
    const struct sim_options options = {.plain = true, .level = SIM_LAYERS};
    int named = 0;
    make_plan(&plan, 4, false);
    if (!sim_play(&plan, &options, &result, &err))
        fail_msg("%s", err.text);
    for (int i = 0; i < result.step_count; i++) {
        const struct sim_step *step = &result.steps[i];
        bool tensor = strcmp(step->what, "tensor") == 0, gradients = strcmp(step->what, "gradients") == 0;
        if (step->stage < 0 || (!tensor && !gradients))
            continue;
        const struct plan_stage *stage = &plan.pipelines[step->pipeline].stages[step->stage];
        for (int t = 0; t < stage->transfer_count; t++)
            if (stage->transfers[t].purpose == (tensor ? PURPOSE_TENSOR : PURPOSE_GRADIENTS)) {
                assert_int_equal(step->link, stage->transfers[t].link);
                assert_string_equal(step->link_name, plan.links[step->link].name);
                named++;
            }
    }
    assert_true(named > 0);
    sim_result_release(&result);
    plan_release(&plan);
}

/* Of several iterations the first stage loads each but the first; all devices save, and meet when a
 * checkpoint is written. */
static void tasks_of_hosts_are_told_apart(void **state)
{
    (void)state;
    for (int iterations = 1; iterations <= 4; iterations++)
        for (int every = 1; every <= 2; every++) {
            struct plan plan;
            struct error err;
            const struct sim_options options = {.plain = true,
                                                .load_rate = 1000,
                                                .load_bytes = 1e6,
                                                .save_every = every,
                                                .copy_rate = 1e9,
                                                .save_rate = 1e9};
            make_plan(&plan, 4, false);
            struct sim_tasks *tasks = sim_tasks_make(&plan, &options, iterations, &err);
            if (!tasks)
                fail_msg("%s", err.text);
            for (int d = 0; d < 16; d++) {
                int kinds[SIM_HOST_SAVED + 1] = {0}, ends = 0;
                const struct engine_order *order = &tasks->system->orders[tasks->system->devices[d].order];
                for (size_t p = 0; p < order->count; p++) {
                    const struct engine_template *template =
                        &tasks->system->templates[order->passes[p].template];
                    for (int i = 0; i < template->count; i++) {
                        kinds[sim_task_of_host(&template->tasks[i])]++;
                        ends += tasks->system->labels[template->tasks[i].label].kind == TASK_OPTIMIZER;
                    }
                }
                int saves =
                    (iterations - 1 + every - 1) / every; /* the first and each `every`th, but the last */
                assert_int_equal(kinds[SIM_HOST_LOADS], tasks->seats[d].place == 0 ? iterations - 1 : 0);
                assert_int_equal(kinds[SIM_HOST_COPIES], saves);
                assert_int_equal(kinds[SIM_HOST_WRITES], saves);
                assert_int_equal(kinds[SIM_HOST_SAVED], saves);
                assert_int_equal(ends, iterations);
            }
            sim_tasks_free(tasks);
            plan_release(&plan);
        }
}

/* A plan that cannot be played has no tasks. */
static void tasks_of_a_wrong_plan_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *message;
        double forward, sent;
    } cases[] = {
        {"pipelines[0].stages[0].seconds.forward: expected a time of at least 0", -1, 0},
        {"pipelines[0].stages[0].seconds.forward: expected a time of at least 0", INFINITY, 0},
        {"pipelines[0].stages[0].bytes.sent: expected at least 0 bytes", 1, -1},
        {"pipelines[0].stages[0].bytes.sent: expected at most 1 PiB", 1, 0x1p51},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan;
        struct error err;
        const struct sim_options options = {0};
        make_plan(&plan, 1, false);
        plan.pipelines[0].stages[0].seconds.forward = cases[i].forward;
        plan.pipelines[0].stages[0].bytes.sent = cases[i].sent;
        assert_null(sim_tasks_make(&plan, &options, 1, &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        assert_string_equal(err.text, cases[i].message);
        plan_release(&plan);
    }
}

/* ---- timelines as traces ---- */

struct taken {
    struct timeline_task tasks[4096];
    int count;
    struct timeline_sink store;
};

static bool take(void *context, const struct timeline_task *task, struct error *err)
{
    struct taken *taken = context;
    assert_true(taken->count < 4096);
    taken->tasks[taken->count++] = *task;
    return taken->store.task(taken->store.context, task, err);
}

static bool moves(const struct timeline_task *task)
{
    return task->bytes >= 1 &&
           (task->kind == TASK_SEND || task->kind == TASK_RECEIVE || task->kind == TASK_LOAD ||
            task->kind == TASK_SAVE || task->kind == TASK_COLLECTIVE);
}

static void tasks_are_events_of_a_trace(void **state)
{
    (void)state;
    enum { ORIGIN = 5000 };
    char path[256];
    struct plan plan;
    struct error err;
    struct sim_result result;
    static struct taken taken;
    snprintf(path, sizeof path, "%s/run.db", test_folder);
    struct timeline_store *store = timeline_store_open(path, ORIGIN, &err);
    assert_non_null(store);
    taken.store = timeline_store_sink(store);
    const struct timeline_sink sink = {.context = &taken, .task = take};
    make_plan(&plan, 4, false);
    const struct sim_options options = {
        .plain = true, .level = SIM_LAYERS, .send_blocks = SIM_YES, .sink = &sink};
    if (!sim_play(&plan, &options, &result, &err) || !timeline_store_close(store, true, &err))
        fail_msg("%s", err.text);
    sim_result_release(&result);
    plan_release(&plan);

    struct trace_reader *reader = trace_reader_new(path, &err);
    assert_non_null(reader);
    struct trace_cursor *cursor = trace_events(reader, &TRACE_ALL, &err);
    struct trace_event event;
    int events = 0, moved = 0;
    double last = 0, first = INFINITY;
    static bool met[4096];
    for (; trace_next_event(cursor, &event); events++) {
        const struct trace_process_info *process = trace_process_info(reader, event.process);
        int found = -1;
        for (int i = 0; i < taken.count && found < 0; i++)
            if (!met[i] && taken.tasks[i].device == process->pid &&
                llround(taken.tasks[i].begin * 1e9) == event.start_ns - ORIGIN &&
                llround((taken.tasks[i].end - taken.tasks[i].begin) * 1e9) == event.latency_ns &&
                (event.class == TRACE_OTHER) == !moves(&taken.tasks[i]))
                found = i;
        if (found < 0)
            fail_msg("event %d is no task", events);
        met[found] = true;
        char name[48];
        snprintf(name, sizeof name, "device %" PRId64, process->pid);
        assert_string_equal(process->name, name);
        const struct timeline_task *task = &taken.tasks[found];
        if (moves(task)) {
            assert_int_equal(event.class, task->kind == TASK_RECEIVE || task->kind == TASK_LOAD
                                              ? TRACE_READ
                                              : TRACE_WRITE);
            assert_int_equal(event.result, (int64_t)task->bytes);
            moved++;
        }
        last = fmax(last, task->end);
        first = fmin(first, task->begin);
    }
    assert_true(trace_cursor_close(cursor, &err));
    assert_int_equal(events, taken.count);
    assert_true(moved > 0 && moved < events);
    trace_reader_free(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_parts_are_printed),
        cmocka_unit_test(unknown_parts_are_not_printed),
        cmocka_unit_test(borders_of_what_is_printed),
        cmocka_unit_test(the_document_has_every_number),
        cmocka_unit_test(tasks_are_those_of_the_simulation),
        cmocka_unit_test(steps_name_the_links_of_transfers),
        cmocka_unit_test(tasks_of_hosts_are_told_apart),
        cmocka_unit_test(tasks_of_a_wrong_plan_are_refused),
        cmocka_unit_test(tasks_are_events_of_a_trace),
    };
    return cmocka_run_group_tests_name("sim/answer", tests, folder_make, folder_remove);
}
