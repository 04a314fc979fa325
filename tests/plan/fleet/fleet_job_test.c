/* Fleets of training jobs against the prices of jobs on devices that are alike (plan/split). */
#include "devices/tables.h"
#include "plan/fleet/of_job.h"
#include "plan/fleet/plan.h"
#include "plan/fleet/small.h"
#include "support/jobs.h"

/* A transformer of four blocks: every plan of it is found at once. */
static const struct architecture tiny = {
    .name = "tiny",
    .layers = 4,
    .hidden = 1024,
    .heads = 16,
    .kv_heads = 16,
    .head_width = 64,
    .ffn = 4096,
    .vocabulary = 8192,
    .sequence = 1024,
    .causal = true,
};

static struct fleet_question question_on(const struct architecture *model, int64_t batch)
{
    struct fleet_question question = {.job = job_example(), .precision = MODEL_MIXED};
    question.job.model = model;
    question.job.batch = batch;
    question.job.sequence = 1024;
    return question;
}

static void add_group(struct fleet_question *question, const char *name, int nodes, int per_node,
                      double memory)
{
    const struct cost_device *device = tables_device(NULL, name);
    assert_non_null(device);
    question->groups[question->group_count++] = (struct cluster_group){
        .type = device,
        .calibration = tables_calibration(NULL, device),
        .inside = tables_link(NULL, device->link),
        .across = tables_link(NULL, "ib-400g"),
        .nodes = {nodes, per_node, memory > 0.0 ? (int64_t)memory : device->memory},
    };
}

static struct job_range only(int64_t value)
{
    return (struct job_range){value, value, true};
}

static void plan(struct fleet_answer *answer, const struct fleet_question *question)
{
    struct error err;
    if (!fleet_plan_job(answer, question, INFINITY, NULL, NULL, &err))
        fail_msg("%s", err.text);
}

/* The job of pipelines that are alike, one device a stage. */
static struct job job_of(const struct fleet_question *question, const struct fleet_answer *answer)
{
    const struct cluster_group *g = &question->groups[0];
    const struct fleet_pipeline *pipeline = &answer->plan.pipelines[0];
    struct job job = question->job;
    job_set_group(&job, g);
    job.degrees.tensor = answer->problem.options[pipeline->stages[0].option].tensor;
    job.degrees.pipeline = pipeline->stage_count;
    job.degrees.data = answer->pipelines;
    job.devices = job.degrees.tensor * job.degrees.pipeline * job.degrees.data;
    job.microbatch = answer->microbatch;
    job.recompute = answer->recompute;
    job.sharding = question->job.software->sharded ? 1 : 0;
    return job;
}

static void expect_near(double value, double expected, double share)
{
    if (!(fabs(value - expected) <= share * fabs(expected)))
        fail_msg("%.9g, expected %.9g", value, expected);
}

/* One stage a pipeline: every copy is a data parallel rank, and its seconds and bytes are the job's. */
static void copies_of_one_device_are_data_parallel_ranks(void **state)
{
    (void)state;
    for (int devices = 1; devices <= 8; devices *= 2)
        for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL; r++)
            for (int tied = 0; tied < 2; tied++) {
                struct architecture model = tiny;
                model.tied = tied;
                struct fleet_question question = question_on(&model, 64);
                struct fleet_answer answer;
                question.ranges[JOB_MICROBATCH] = only(2);
                question.ranges[JOB_RECOMPUTE] = only(r);
                question.ranges[JOB_TENSOR] = only(1);
                add_group(&question, "a100-80gb", 1, devices, 0);
                plan(&answer, &question);
                assert_int_equal(answer.pipelines, devices);
                assert_int_equal(answer.plan.pipelines[0].stage_count, 1);
                assert_int_equal(answer.microbatch, 2);
                assert_int_equal(answer.recompute, r);
                assert_int_equal(answer.combinations, 1);
                struct job job = job_of(&question, &answer);
                struct job_time time = job_time(&job);
                expect_near(answer.time.seconds, time.seconds, 0.005);
                expect_near(answer.time.pipelines + answer.time.after,
                            time.compute + time.tensor + time.data + time.optimizer, 0.005);
                expect_near(answer.time.other, job.calibration->step + job.software->step_host, 1e-12);
                double bytes = fleet_stage_memory(&answer.problem, &answer.plan.pipelines[0].stages[0], 1);
                double tied_bytes =
                    tied ? 1024.0 * 8192.0 *
                               (job.software->parameter_bytes + job.software->stored_gradient_bytes +
                                job.software->state_bytes / (answer.sharded ? devices : 1))
                         : 0.0;
                expect_near(bytes - tied_bytes, job_memory(&job).total, 0.01);
                assert_int_equal(fleet_idle(&answer, 0), 0);
                fleet_answer_release(&answer);
            }
}

/* Several nodes wait for the slowest of them, and gradients go from node to node. */
static void nodes_apart_wait_and_exchange_more(void **state)
{
    (void)state;
    for (int nodes = 2; nodes <= 4; nodes *= 2) {
        struct fleet_question question = question_on(&tiny, 64);
        struct fleet_answer answer;
        question.ranges[JOB_MICROBATCH] = only(2);
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        question.ranges[JOB_TENSOR] = only(1);
        add_group(&question, "h100", nodes, 2, 0);
        plan(&answer, &question);
        assert_int_equal(answer.pipelines, 2 * nodes);
        struct job job = job_of(&question, &answer);
        expect_near(answer.time.seconds, job_time(&job).seconds, 0.01);
        fleet_answer_release(&answer);
    }
}

/* Two groups of one device are as one: over a slow link, kernels of few micro-batches hide no more of the exchange than in a
 * job, and those of many as much as anywhere. */
static void groups_of_one_device_exchange_as_one_job(void **state)
{
    (void)state;
    int bare = 0, hidden = 0;
    for (int64_t batch = 8; batch <= 2048; batch *= 4) {
        struct fleet_question question = question_on(&tiny, batch);
        struct fleet_answer answer;
        struct cost_link slow = *tables_link(NULL, "ib-400g");
        slow.bandwidth /= 40.0;
        question.ranges[JOB_MICROBATCH] = only(2);
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        question.ranges[JOB_TENSOR] = only(1);
        add_group(&question, "a100-80gb", 1, 2, 0);
        add_group(&question, "a100-80gb", 1, 2, 0);
        question.groups[0].across = question.groups[1].across = &slow;
        struct error err;
        struct plan_stage stages[2] = {{.layers.last = 5,
                                        .degrees.tensor = 1,
                                        .degrees.context = 1,
                                        .degrees.expert = 1,
                                        .degrees.data = 1},
                                       {.layers.last = 5,
                                        .type = 1,
                                        .degrees.tensor = 1,
                                        .degrees.context = 1,
                                        .degrees.expert = 1,
                                        .degrees.data = 1}};
        struct plan_pipeline pipelines[2];
        for (int p = 0; p < 2; p++)
            pipelines[p] = (struct plan_pipeline){
                .copies = 2, .stage_count = 1, .stages = &stages[p], .microbatches = batch / 8};
        const struct plan plan = {.chunks = 1, .pipeline_count = 2, .pipelines = pipelines};
        if (!fleet_score_job(&answer, &question, &(struct fleet_given){&plan, {0, 1}}, 2, RECOMPUTE_NONE,
                             &err))
            fail_msg("%s", err.text);
        struct job job = job_of(&question, &answer);
        struct job_time time = job_time(&job);
        struct job_layers layers = job_layers_of(&job);
        double shown = job_exchange_of(&job, &layers).gradients;
        assert_int_equal(job.degrees.data, 4);
        expect_near(answer.time.seconds, time.seconds, 0.005);
        bare += time.data > 1.05 * shown;
        hidden += time.data == shown;
        fleet_answer_release(&answer);
    }
    assert_true(bare > 0 && hidden > 0);
}

static void tensor_parallel_stages_are_priced_as_the_jobs(void **state)
{
    (void)state;
    for (int tensor = 2; tensor <= 4; tensor *= 2) {
        struct fleet_question question = question_on(&tiny, 32);
        struct fleet_answer answer;
        question.ranges[JOB_MICROBATCH] = only(1);
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        question.ranges[JOB_TENSOR] = only(tensor);
        add_group(&question, "h100", 1, 4, 0);
        plan(&answer, &question);
        struct job job = job_of(&question, &answer);
        assert_int_equal(job.degrees.tensor, tensor);
        expect_near(answer.time.seconds, job_time(&job).seconds, 0.005);
        expect_near(fleet_stage_memory(&answer.problem, &answer.plan.pipelines[0].stages[0], 1),
                    job_memory(&job).total, 0.01);
        fleet_answer_release(&answer);
    }
}

/* Two nodes wait for the slower one; half of what a stage says to the others is forward. */
static void forward_passes_are_a_part_of_all_seconds(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 32);
    struct fleet_answer answer;
    question.ranges[JOB_MICROBATCH] = only(2);
    question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
    question.ranges[JOB_TENSOR] = only(2);
    add_group(&question, "h100", 2, 2, 0);
    plan(&answer, &question);
    struct job job = job_of(&question, &answer);
    job.degrees.pipeline = 3;
    struct job_layers layers = job_layers_of(&job);
    const struct fleet_option *option = &answer.problem.options[0];
    double slower = 1.0 + job.calibration->jitter, forward = 0.0;
    assert_int_equal(answer.problem.layer_count, 6);
    assert_true(option->sums.forward[0] == 0.0 && option->sums.updated[0] == 0.0);
    for (int l = 0; l < 6; l++) {
        struct job_layer block = job_stage(&job, &layers, 1, l > 0 ? l - 1 : 0, l > 0 ? l : 1);
        const struct job_layer *layer = l == 0 ? &layers.embedding : l == 5 ? &layers.head : &block;
        forward += (layer->pass.forward + 0.5 * layer->pass.tensor) * slower;
        expect_near(option->sums.forward[l + 1], forward, 1e-9);
        assert_true(option->sums.forward[l + 1] < option->sums.seconds[l + 1]);
        double parameters = layer->parameters + layer->experts;
        double rate = JOB_STREAM_RATE * job.device->bandwidth * answer.pipelines; /* states are sharded */
        expect_near(option->sums.updated[l + 1] - option->sums.updated[l],
                    parameters * job.software->optimizer / rate, 1e-6);
    }
    fleet_answer_release(&answer);
}

/* Where one device cannot hold the model, two do: each what it holds as a stage of the job's. */
static void pipelines_hold_what_their_stages_do(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 32);
    struct fleet_answer answer;
    question.ranges[JOB_MICROBATCH] = only(1);
    question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
    question.ranges[JOB_TENSOR] = only(1);
    add_group(&question, "a100-80gb", 1, 1, 0);
    plan(&answer, &question);
    double whole = fleet_stage_memory(&answer.problem, &answer.plan.pipelines[0].stages[0], 1);
    struct job on_one = question.job;
    on_one.device = tables_device(NULL, "a100-80gb");
    double runtime = job_runtime(&on_one);
    fleet_answer_release(&answer);

    question.group_count = 0;
    add_group(&question, "a100-80gb", 2, 1, (double)tables_device(NULL, "a100-80gb")->memory);
    question.headroom = 1.0 - 0.7 * whole / (double)question.groups[0].nodes.memory;
    plan(&answer, &question);
    const struct fleet_pipeline *pipeline = &answer.plan.pipelines[0];
    assert_int_equal(answer.pipelines, 1);
    assert_int_equal(pipeline->stage_count, 2);
    struct job job = job_of(&question, &answer);
    struct job_layers layers = job_layers_of(&job);
    int blocks = pipeline->stages[0].last - 1;
    for (int i = 0; i < 2; i++) {
        struct job_layer layer = job_stage(&job, &layers, i, i ? blocks : 0, i ? 4 : blocks);
        struct job_memory memory = job_stage_memory(&job, &layers, i, &layer);
        double bytes = fleet_stage_memory(&answer.problem, &pipeline->stages[i], 2 - i);
        expect_near(bytes, memory.total, 1e-9);
        assert_true(bytes <= 0.7 * whole);
        assert_true(bytes > runtime);
        double seconds =
            (job_pass_seconds(&layer.pass) - layer.pass.host) * (1.0 + job.calibration->jitter) +
            layer.pass.host +
            layer.parameters * job.software->accumulate / (job.device->bandwidth * JOB_STREAM_RATE) +
            (i > 0 ? layers.send_across : 0.0);
        expect_near(fleet_stage_seconds(&answer.problem, &pipeline->stages[i]), seconds, 1e-9);
    }
    fleet_answer_release(&answer);
}

/* A fleet may do what any job with the same choices may, and its bound holds for those jobs, but for what their formulas
 * leave out of the filling of a pipeline: the layers at its ends and the additions of gradients. The job of llama-3-8b
 * takes 479.8 ms by formula and 484.5 ms played, the same pipelines 493.5 ms in a fleet, whose bound is 488.7 ms. */
static void alike_devices_are_used_as_well_as_by_jobs(void **state)
{
    (void)state;
    static const struct {
        const char *model;
        int nodes;
        int64_t batch;
        bool network;
    } cases[] = {{"bert-large", 1, 64, true},
                 {"llama-3-8b", 2, 32, true},
                 {"llama-3-8b", 2, 32, false},
                 {"gpt2-xl", 2, 64, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct architecture *model = architecture_find(cases[i].model);
        assert_non_null(model);
        struct fleet_question question = question_on(model, cases[i].batch);
        struct fleet_answer answer;
        question.job.sequence = 512;
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        question.ranges[JOB_MICROBATCH] = only(1);
        add_group(&question, "h100", cases[i].nodes, 4, 0);
        question.groups[0].across = cases[i].network ? question.groups[0].across : question.groups[0].inside;
        plan(&answer, &question);
        struct job_question alike = {.job = question.job};
        job_set_group(&alike.job, &question.groups[0]);
        alike.job.devices = 4 * cases[i].nodes;
        for (int d = 0; d < JOB_TECHNIQUE; d++)
            if (d != JOB_TENSOR && d != JOB_PIPELINE && d != JOB_DATA)
                alike.ranges[d] = only(d == JOB_SHARDING || d == JOB_RECOMPUTE ? d == JOB_SHARDING : 1);
        struct job_search_options options = {.top = 1};
        struct job_search search;
        struct error err;
        if (!job_search(&search, &alike, &options, &err))
            fail_msg("%s: %s", cases[i].model, err.text);
        if (answer.time.seconds > search.plans[0].time.seconds * 1.03)
            fail_msg("%s: %.6g, a job takes %.6g", cases[i].model, answer.time.seconds,
                     search.plans[0].time.seconds);
        if (answer.lower_bound > search.plans[0].time.seconds * (cases[i].network ? 1.02 : 1.0001))
            fail_msg("%s: at least %.6g, a job takes %.6g, answer %.6g", cases[i].model, answer.lower_bound,
                     search.plans[0].time.seconds, answer.time.seconds);
        assert_true(answer.lower_bound <= answer.time.seconds);
        assert_true(answer.lower_bound >= 0.7 * answer.time.seconds);
        job_search_release(&search);
        fleet_answer_release(&answer);
    }
}

/* ---- what may be chosen ---- */

static void the_best_of_all_choices_is_found(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 12);
    struct fleet_answer all, one;
    add_group(&question, "v100-32gb", 1, 2, 4e9);
    add_group(&question, "a100-40gb", 1, 2, 4e9);
    question.ranges[JOB_TENSOR] = only(1);
    plan(&all, &question);
    static const int divisors[] = {1, 2, 3, 4, 6, 12};
    double best = INFINITY, bound = INFINITY;
    int feasible = 0;
    for (int m = 0; m < 6; m++)
        for (int r = RECOMPUTE_NONE; r <= RECOMPUTE_FULL; r++) {
            struct error err;
            question.ranges[JOB_MICROBATCH] = only(divisors[m]);
            question.ranges[JOB_RECOMPUTE] = only(r);
            if (!fleet_plan_job(&one, &question, INFINITY, NULL, NULL, &err)) {
                assert_int_equal(err.kind, ERROR_INFEASIBLE);
                continue;
            }
            feasible++;
            assert_int_equal(one.microbatch, divisors[m]);
            assert_int_equal(one.recompute, r);
            best = fmin(best, one.time.seconds);
            bound = fmin(bound, one.lower_bound);
            fleet_answer_release(&one);
        }
    assert_true(feasible > 3);
    assert_int_equal(all.combinations, 12); /* selective is the same as none */
    expect_near(all.time.seconds, best, 0.002);
    assert_true(all.lower_bound <= best * (1.0 + 1e-9) && all.lower_bound >= bound * 0.99);
    fleet_answer_release(&all);
}

/* With attention that keeps no scores, selective recomputation is none at all; it is tried if it is asked for, and none
 * goes before it. */
static void selective_recomputation_is_tried_where_it_differs(void **state)
{
    (void)state;
    static const struct {
        const char *software;
        int combinations; /* of 3 micro-batches */
    } cases[] = {{"megatron-core", 6}, {"torchtitan", 9}, {"megatron-deepspeed", 9}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fleet_question question = question_on(&tiny, 4);
        struct fleet_answer answer;
        question.job.software = software_find(cases[i].software);
        assert_non_null(question.job.software);
        question.ranges[JOB_TENSOR] = only(1);
        add_group(&question, "h100", 1, 2, 0);
        plan(&answer, &question);
        assert_int_equal(answer.combinations, cases[i].combinations);
        fleet_answer_release(&answer);
        question.ranges[JOB_RECOMPUTE] = (struct job_range){RECOMPUTE_NONE, RECOMPUTE_SELECTIVE, true};
        plan(&answer, &question);
        assert_int_equal(answer.combinations, 6);
        if (i == 0)
            assert_int_equal(answer.recompute, RECOMPUTE_NONE);
        fleet_answer_release(&answer);
    }
}

static void ranges_are_kept(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 256);
    struct fleet_answer answer;
    add_group(&question, "h100", 1, 4, 0);
    question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_FULL);
    question.ranges[JOB_MICROBATCH] = (struct job_range){3, 20, true}; /* 4, 8, 16 */
    question.ranges[JOB_TENSOR] = (struct job_range){2, 3, true};      /* 2: 3 does not divide a node of 4 */
    plan(&answer, &question);
    assert_int_equal(answer.combinations, 3);
    assert_true(answer.microbatch == 4 || answer.microbatch == 8 || answer.microbatch == 16);
    assert_int_equal(answer.recompute, RECOMPUTE_FULL);
    assert_int_equal(answer.problem.option_count, 1);
    assert_int_equal(answer.problem.options[0].tensor, 2);
    fleet_answer_release(&answer);
    question.ranges[JOB_MICROBATCH] = (struct job_range){0};
    question.ranges[JOB_TENSOR] = (struct job_range){0};
    plan(&answer, &question);
    assert_int_equal(answer.combinations, 7); /* 1 to 64, unless more are asked for */
    assert_int_equal(answer.problem.option_count, 3);
    fleet_answer_release(&answer);
    question.ranges[JOB_MICROBATCH] = (struct job_range){1, 1000, true};
    plan(&answer, &question);
    assert_int_equal(answer.combinations, 9);
    fleet_answer_release(&answer);
}

/* Heads, groups of keys and the MLP are split evenly, and only by software that can. */
static void tensor_degrees_divide_the_model(void **state)
{
    (void)state;
    struct architecture model = tiny;
    struct software software = *software_find("megatron-core");
    for (int i = 0; i < 5; i++) {
        struct fleet_answer answer;
        model = tiny;
        software = *software_find("megatron-core");
        if (i == 1)
            model.heads = model.kv_heads = 6, model.hidden = 384;
        if (i == 2)
            model.kv_heads = 2;
        if (i == 3)
            model.ffn = 4097;
        if (i == 4)
            software.offers = 0;
        struct fleet_question question = question_on(&model, 4);
        question.job.software = &software;
        question.ranges[JOB_MICROBATCH] = only(1);
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        add_group(&question, "h100", 1, 4, 0);
        plan(&answer, &question);
        assert_int_equal(answer.problem.option_count, i == 0 ? 3 : i < 3 ? 2 : 1);
        fleet_answer_release(&answer);
    }
}

/* ---- devices of several types ---- */

static void more_devices_are_not_slower(void **state)
{
    (void)state;
    double seconds[3];
    for (int i = 0; i < 3; i++) {
        struct fleet_question question = question_on(&tiny, 48);
        struct fleet_answer answer;
        question.ranges[JOB_MICROBATCH] = only(1);
        question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
        if (i != 1)
            add_group(&question, "a100-80gb", 1, 2, 0);
        if (i != 0)
            add_group(&question, "v100-32gb", 1, 4, 0);
        plan(&answer, &question);
        seconds[i] = answer.time.seconds;
        expect_near(answer.time.pipelines + answer.time.after + answer.time.other, seconds[i], 1e-9);
        if (i == 2) {
            assert_int_equal(answer.problem.type_count, 2);
            assert_int_equal(answer.problem.types[0].devices, 2);
            assert_int_equal(answer.problem.types[1].devices, 4);
            assert_true(fleet_idle(&answer, 0) == 0); /* the faster ones all work */
            int64_t microbatches = 0;
            for (int k = 0; k < answer.plan.pipeline_count; k++)
                microbatches += answer.plan.pipelines[k].microbatches;
            assert_int_equal(microbatches, 48);
        }
        fleet_answer_release(&answer);
    }
    assert_true(seconds[2] < seconds[0] * 0.95 && seconds[2] < seconds[1]);
}

/* The step's fixed seconds are those of the slowest device that is used. */
static void fixed_seconds_are_the_slowest_devices(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 48);
    struct calibration slow, fast;
    struct fleet_answer answer;
    question.ranges[JOB_MICROBATCH] = only(1);
    question.ranges[JOB_RECOMPUTE] = only(RECOMPUTE_NONE);
    question.ranges[JOB_TENSOR] = only(1);
    add_group(&question, "a100-80gb", 1, 2, 0);
    add_group(&question, "a100-80gb", 1, 2, 0);
    fast = slow = *question.groups[0].calibration;
    fast.step = 0.25;
    slow.step = 0.25 + 1e-6;
    question.groups[0].calibration = &fast;
    question.groups[1].calibration = &slow;
    plan(&answer, &question);
    assert_int_equal(answer.pipelines, 4);
    expect_near(answer.time.other, 0.25 + 1e-6 + question.job.software->step_host, 1e-12);
    assert_true(answer.lower_bound >= 0.25 + 0.5 * answer.time.pipelines);
    double all = answer.time.pipelines;
    fleet_answer_release(&answer);
    /* a device that would add more than it saves stays idle */
    slow.step = 0.25 + 4.0 * all;
    plan(&answer, &question);
    assert_int_equal(answer.pipelines, 2);
    expect_near(answer.time.other, 0.25 + question.job.software->step_host, 1e-12);
    assert_true(answer.lower_bound >= 0.25 + 0.5 * answer.time.pipelines);
    fleet_answer_release(&answer);
}

static void threads_change_nothing(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 16);
    struct fleet_answer one, many;
    struct error err;
    add_group(&question, "v100-32gb", 1, 2, 3e9);
    add_group(&question, "a100-40gb", 1, 2, 3e9);
    struct parallel *pool = parallel_new(3, &err);
    assert_non_null(pool);
    plan(&one, &question);
    assert_true(fleet_plan_job(&many, &question, INFINITY, pool, NULL, &err));
    assert_true(one.time.seconds == many.time.seconds && one.lower_bound == many.lower_bound);
    assert_int_equal(one.microbatch, many.microbatch);
    assert_int_equal(one.recompute, many.recompute);
    assert_int_equal(one.combinations, many.combinations);
    fleet_answer_release(&one);
    fleet_answer_release(&many);
    parallel_free(pool);
}

static void clusters_have_as_many_groups_as_a_fleet_has_types(void **state)
{
    (void)state;
    struct cluster_group groups[FLEET_MAX_TYPES + 1] = {{.nodes.count = 0}};
    struct cluster cluster = {.path = "many.yaml", .group_count = FLEET_MAX_TYPES, .groups = groups};
    struct fleet_question question = {.group_count = 0};
    struct error err;
    for (int g = 0; g <= FLEET_MAX_TYPES; g++)
        groups[g].nodes.count = g + 1;
    assert_true(fleet_take_cluster(&question, &cluster, &err));
    assert_int_equal(question.group_count, FLEET_MAX_TYPES);
    for (int g = 0; g < FLEET_MAX_TYPES; g++)
        assert_int_equal(question.groups[g].nodes.count, g + 1);
    cluster.group_count++;
    assert_false(fleet_take_cluster(&question, &cluster, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, "many.yaml: expected at most 8 groups, found 9");
}

static void models_too_large_are_refused(void **state)
{
    (void)state;
    struct fleet_question question = question_on(&tiny, 8);
    struct fleet_answer answer;
    struct error err;
    add_group(&question, "v100-32gb", 1, 2, 1e8);
    assert_false(fleet_plan_job(&answer, &question, INFINITY, NULL, NULL, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    assert_non_null(strstr(err.text, "'tiny' does not fit"));
    assert_non_null(strstr(err.text, "divides 8"));
    struct architecture deep = tiny;
    deep.layers = FLEET_MAX_LAYERS - 1;
    question.job.model = &deep;
    assert_false(fleet_plan_job(&answer, &question, INFINITY, NULL, NULL, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_of_one_device_are_data_parallel_ranks),
        cmocka_unit_test(nodes_apart_wait_and_exchange_more),
        cmocka_unit_test(groups_of_one_device_exchange_as_one_job),
        cmocka_unit_test(tensor_parallel_stages_are_priced_as_the_jobs),
        cmocka_unit_test(forward_passes_are_a_part_of_all_seconds),
        cmocka_unit_test(pipelines_hold_what_their_stages_do),
        cmocka_unit_test(alike_devices_are_used_as_well_as_by_jobs),
        cmocka_unit_test(the_best_of_all_choices_is_found),
        cmocka_unit_test(selective_recomputation_is_tried_where_it_differs),
        cmocka_unit_test(ranges_are_kept),
        cmocka_unit_test(tensor_degrees_divide_the_model),
        cmocka_unit_test(more_devices_are_not_slower),
        cmocka_unit_test(fixed_seconds_are_the_slowest_devices),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(clusters_have_as_many_groups_as_a_fleet_has_types),
        cmocka_unit_test(models_too_large_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
