/* Fleets of measured profiles: small ones whose prices are known, and all ways to share micro-batches. */
#include "plan/fleet/of_job.h"
#include "plan/fleet/plan.h"
#include "plan/fleet/small.h"
#include "plan/search.h"
#include "support/random_problem.h"

#define MEASURED 3 /* layers */

/* Two layers times of one type of device, and another type that takes twice as long. */
struct measured {
    double forward[2][MEASURED], backward[2][MEASURED], reduce[MEASURED];
    int64_t parameters[MEASURED], activations[MEASURED];
    struct profile_layer layers[MEASURED];
    struct profile profile;
    struct cluster_group groups[2];
    struct cluster cluster;
    struct plan_problem problem;
    struct fleet_profile_question question;
};

static void make_measured(struct measured *m, int groups, int64_t microbatches)
{
    *m = (struct measured){
        .forward = {{1, 2, 3}, {2, 4, 6}},
        .backward = {{2, 3, 4}, {4, 6, 8}},
        .reduce = {0.25, 0.5, 0.125},
        .parameters = {1000, 2000, 4000},
        .activations = {100, 300, 700},
        .layers = {{.output_bytes = 50}, {.output_bytes = 80}, {.output_bytes = 7}},
    };
    m->profile = (struct profile){.layer_count = MEASURED, .layers = m->layers};
    m->cluster = (struct cluster){.group_count = groups, .groups = m->groups};
    m->problem = (struct plan_problem){
        .layer_count = MEASURED,
        .parameter_bytes = m->parameters,
        .activation_bytes = m->activations,
        .group_count = groups,
    };
    for (int g = 0; g < groups; g++) {
        m->groups[g] = (struct cluster_group){.nodes = {1, 1, 0}};
        m->problem.groups[g] = (struct plan_group){
            .nodes = {1, 1, 0},
            .splits = 1,
            .forward = m->forward[g],
            .backward = m->backward[g],
            .allreduce = {NULL, m->reduce},
        };
    }
    m->question = (struct fleet_profile_question){
        .problem = &m->problem, .profile = &m->profile, .cluster = &m->cluster, .microbatches = microbatches};
}

static void set_nodes(struct measured *m, int group, int nodes, int per_node, int splits)
{
    m->groups[group].nodes.count = m->problem.groups[group].nodes.count = nodes;
    m->groups[group].nodes.devices = m->problem.groups[group].nodes.devices = per_node;
    m->problem.groups[group].splits = splits;
}

static void plan(struct fleet_answer *answer, const struct measured *m)
{
    struct error err;
    if (!fleet_plan_profile(answer, &m->question, &err))
        fail_msg("%s", err.text);
}

static void one_device_does_all(void **state)
{
    (void)state;
    struct measured m;
    struct fleet_answer answer;
    make_measured(&m, 1, 7);
    plan(&answer, &m);
    assert_true(SMALL_SAME(answer.time.seconds, 7 * 15.0));
    assert_true(SMALL_SAME(answer.time.pipelines, 7 * 15.0));
    assert_true(answer.time.after == 0.0 && answer.time.other == 0.0);
    assert_true(answer.lower_bound <= answer.time.seconds && answer.lower_bound >= 0.99 * 105.0);
    assert_int_equal(answer.pipelines, 1);
    assert_int_equal(answer.combinations, 1);
    assert_true(isinf(answer.problem.types[0].memory));
    /* parameters six times (plan/problem.h), activations once */
    assert_true(SMALL_SAME(fleet_stage_memory(&answer.problem, &(struct fleet_stage){0, 0, 3}, 1), 43100.0));
    fleet_answer_release(&answer);
}

/* 15 s a micro-batch and 30 s: the fast device takes two of every three. */
static void devices_share_the_batch_by_their_speed(void **state)
{
    (void)state;
    static const struct {
        int64_t microbatches;
        double seconds;
    } cases[] = {{3, 30}, {6, 60}, {7, 75}, {30, 300}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct measured m;
        struct fleet_answer answer;
        make_measured(&m, 2, cases[i].microbatches);
        m.cluster.inter_node = (struct cluster_link){
            .bandwidth = 1.0, .latency = 0.0}; /* pipelines from one to the other take years */
        m.parameters[0] = m.parameters[1] = m.parameters[2] = 0;
        plan(&answer, &m);
        assert_true(SMALL_SAME(answer.time.seconds, cases[i].seconds));
        assert_int_equal(answer.pipelines, 2);
        assert_int_equal(fleet_idle(&answer, 0) + fleet_idle(&answer, 1), 0);
        fleet_answer_release(&answer);
    }
}

/* Does the exact search find a pipeline over so many of the nodes? */
static bool one_pipeline_fits(const struct measured *m, int nodes, int others)
{
    const struct plan_search_options options = {.method = SEARCH_EXACT};
    struct plan_problem problem = m->problem;
    struct pipeline pipeline;
    struct error err;
    problem.groups[0].nodes.count = nodes;
    problem.groups[1].nodes.count = others;
    problem.microbatches = (int)m->question.microbatches;
    if (nodes + others == 0 || nodes + others > MEASURED)
        return false;
    if (!plan_search_exact(&problem, &options, &pipeline, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        return false;
    }
    pipeline_release(&pipeline);
    return true;
}

/* `-n 64` and `--global-batch 64` say the same about what the devices hold. */
static void all_searches_agree_about_what_fits(void **state)
{
    (void)state;
    struct random_source source = {1};
    int cases = random_cases(400), fitting = 0;
    for (int i = 0; i < cases; i++) {
        struct measured m;
        struct fleet_answer answer;
        struct error err;
        make_measured(&m, 2, 64);
        set_nodes(&m, 0, 2, 1, 1);
        for (int l = 0; l < MEASURED; l++) {
            m.parameters[l] = random_range(&source, 0, 3);
            m.activations[l] = random_range(&source, 0, 6);
        }
        for (int g = 0; g < 2; g++)
            m.problem.groups[g].nodes.memory = random_range(&source, 6, 40);
        bool fits = false;
        for (int nodes = 0; nodes <= 2; nodes++)
            for (int others = 0; others <= 1; others++)
                fits |= one_pipeline_fits(&m, nodes, others);
        bool found = fleet_plan_profile(&answer, &m.question, &err);
        if (found)
            fleet_answer_release(&answer);
        else
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
        if (found != fits)
            fail_msg("case %d: %s", i, found ? "only a fleet has a pipeline that fits" : err.text);
        fitting += fits;
    }
    assert_in_range(fitting, cases / 4, cases - cases / 8);
}

/* Stages of 1 device have no all-reduce; of 2 and 4, half and a quarter of the seconds and an all-reduce each way. */
static void stages_are_priced_as_the_problem_says(void **state)
{
    (void)state;
    struct measured m;
    struct fleet_answer answer;
    make_measured(&m, 1, 8);
    set_nodes(&m, 0, 1, 4, 3);
    m.problem.groups[0].allreduce[2] = m.reduce;
    m.cluster.inter_node = (struct cluster_link){.bandwidth = 100.0, .latency = 0.25};
    m.groups[0].intra_node = (struct cluster_link){.bandwidth = 1000.0, .latency = 0.5};
    plan(&answer, &m);
    assert_int_equal(answer.problem.option_count, 3);
    for (int o = 0; o < 3; o++) {
        const struct fleet_option *option = &answer.problem.options[o];
        double share = 1 << o, sums[MEASURED + 1] = {0}, forward = 0.0;
        assert_int_equal(option->tensor, 1 << o);
        for (int l = 0; l < MEASURED; l++) {
            sums[l + 1] =
                sums[l] + (m.forward[0][l] + m.backward[0][l]) / share + (o > 0 ? 2.0 * m.reduce[l] : 0.0);
            assert_true(SMALL_SAME(option->sums.seconds[l + 1], sums[l + 1]));
            forward += m.forward[0][l] / share + (o > 0 ? m.reduce[l] : 0.0);
            assert_true(SMALL_SAME(option->sums.forward[l + 1], forward));
            assert_true(option->sums.updated[l + 1] == 0.0);
        }
        assert_true(SMALL_SAME(option->sums.kept[3], 1100.0 / share));
        assert_true(SMALL_SAME(option->sums.held[3], 42000.0 / share));
        /* the node's port of 100 bytes/s for each of four devices, there and back */
        assert_true(option->sums.send[0] == 0.0);
        assert_true(SMALL_SAME(option->sums.send[1], 2.0 * (50.0 / share / 25.0 + 0.25)));
        assert_true(SMALL_SAME(option->sums.send[2], 2.0 * (80.0 / share / 25.0 + 0.25)));
    }
    fleet_answer_release(&answer);
}

/* Four devices that are alike are four pipelines; 3/4 of the gradients go round twice. */
static void gradients_go_round_a_ring(void **state)
{
    (void)state;
    static const struct {
        int nodes, per_node;
        double bandwidth; /* of the slowest link, for one replica of four */
    } cases[] = {{1, 4, 1000.0}, {4, 1, 250.0}, {2, 2, 250.0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct measured m;
        struct fleet_answer answer;
        make_measured(&m, 1, 400);
        set_nodes(&m, 0, cases[i].nodes, cases[i].per_node, 1);
        m.cluster.inter_node = (struct cluster_link){.bandwidth = 250.0, .latency = 0.0};
        m.groups[0].intra_node = (struct cluster_link){.bandwidth = 1000.0, .latency = 0.0};
        plan(&answer, &m);
        assert_int_equal(answer.pipelines, 4);
        assert_true(SMALL_SAME(answer.time.pipelines, 1500.0));
        assert_true(SMALL_SAME(answer.time.after, 2.0 * 0.75 * 7000.0 / cases[i].bandwidth));
        assert_true(SMALL_SAME(answer.time.seconds, answer.time.pipelines + answer.time.after));
        fleet_answer_release(&answer);
    }
}

/* 43,100 bytes a device, of which a share is kept free; without a memory there is no limit. */
static void memory_is_kept_free(void **state)
{
    (void)state;
    struct measured m;
    struct fleet_answer answer;
    struct error err;
    make_measured(&m, 1, 4);
    m.problem.groups[0].nodes.memory = 43100;
    plan(&answer, &m);
    fleet_answer_release(&answer);
    m.question.headroom = 0.01;
    assert_false(fleet_plan_profile(&answer, &m.question, &err));
    assert_int_equal(err.kind, ERROR_INFEASIBLE);
    set_nodes(&m, 0, 2, 1, 1); /* two stages */
    plan(&answer, &m);
    assert_int_equal(answer.pipelines, 1);
    assert_int_equal(answer.plan.pipelines[0].stage_count, 2);
    assert_true(SMALL_SAME(answer.problem.types[0].memory, 0.99 * 43100));
    assert_true(SMALL_SAME(answer.time.seconds, 15.0 + 3 * 8.0)); /* layers 0 and 1, and 2: 8 and 7 s */
    fleet_answer_release(&answer);
}

/* A profile of unknown micro-batch counts as one of a sample. */
static void batches_are_shared_by_the_profiles_micro_batch(void **state)
{
    (void)state;
    static const struct {
        int microbatch_size, microbatch;
        int64_t batch, microbatches;
    } cases[] = {{0, 1, 7, 7}, {1, 1, 32, 32}, {4, 4, 32, 8}, {32, 32, 32, 1}, {4, 4, 33, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct planning planning;
        struct fleet_profile_question question;
        struct error err;
        planning.profile.microbatch_size = cases[i].microbatch_size;
        bool asked = fleet_ask_profile(&question, &planning, cases[i].batch, 0.125, &err);
        assert_int_equal(asked, cases[i].microbatches > 0);
        if (!asked) {
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
            assert_string_equal(err.text,
                                "--global-batch: 33 is not a multiple of the profile's micro-batch of 4");
            continue;
        }
        assert_int_equal(question.microbatches, cases[i].microbatches);
        assert_int_equal(question.microbatch, cases[i].microbatch);
        assert_true(question.headroom == 0.125);
        assert_ptr_equal(question.profile, &planning.profile);
    }
}

/* A plan that was found, given back, takes as long, with the same gradients of each stage. */
static void plans_score_as_they_were_found(void **state)
{
    (void)state;
    struct random_source source = {3};
    int several = 0;
    for (int i = 0; i < 60; i++) {
        struct measured m;
        struct fleet_answer answer, scored;
        struct plan found, again;
        struct error err;
        make_measured(&m, 2, random_range(&source, 1, 30));
        m.cluster.inter_node =
            (struct cluster_link){.bandwidth = random_range(&source, 200, 4000), .latency = 0.0};
        for (int g = 0; g < 2; g++)
            set_nodes(&m, g, random_range(&source, 1, 2), random_range(&source, 1, 2), 1);
        plan(&answer, &m);
        plan_init(&found);
        plan_init(&again);
        assert_true(plan_add_types(&found, 2, &err) && plan_add_types(&again, 2, &err));
        for (int g = 0; g < 2; g++) {
            found.types[g].nodes.count = again.types[g].nodes.count = m.groups[g].nodes.count;
            found.types[g].nodes.devices = again.types[g].nodes.devices = m.groups[g].nodes.devices;
        }
        assert_true(plan_of_fleet(&found, &answer, &err));
        const struct fleet_given given = {.plan = &found, .type_of = {0, 1}};
        if (!fleet_score_profile(&scored, &m.question, &given, &err))
            fail_msg("case %d: %s", i, err.text);
        assert_true(SMALL_SAME(scored.time.seconds, answer.time.seconds));
        assert_true(SMALL_SAME(scored.time.after, answer.time.after));
        assert_int_equal(scored.pipelines, answer.pipelines);
        assert_int_equal(scored.combinations, 0);
        assert_true(plan_of_fleet(&again, &scored, &err));
        assert_int_equal(again.pipeline_count, found.pipeline_count);
        for (int p = 0; p < found.pipeline_count; p++)
            for (int s = 0; s < found.pipelines[p].stage_count; s++) {
                const struct plan_stage *a = &found.pipelines[p].stages[s];
                const struct plan_stage *b = &again.pipelines[p].stages[s];
                assert_true(SMALL_SAME(a->seconds.gradients, b->seconds.gradients));
                assert_true(SMALL_SAME(a->bytes.total, b->bytes.total));
                assert_true(a->bytes.in_flight <= (double)found.pipelines[p].microbatches);
            }
        several += answer.pipelines > 1;
        plan_release(&found);
        plan_release(&again);
        fleet_answer_release(&answer);
        fleet_answer_release(&scored);
    }
    assert_in_range(several, 10, 60);
}

static void too_many_groups_or_layers_are_refused(void **state)
{
    (void)state;
    struct measured m;
    struct fleet_answer answer;
    struct error err;
    make_measured(&m, 1, 4);
    m.problem.group_count = FLEET_MAX_TYPES + 1;
    assert_false(fleet_plan_profile(&answer, &m.question, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    make_measured(&m, 1, 4);
    m.problem.layer_count = FLEET_MAX_LAYERS + 1;
    assert_false(fleet_plan_profile(&answer, &m.question, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_does_all),
        cmocka_unit_test(all_searches_agree_about_what_fits),
        cmocka_unit_test(devices_share_the_batch_by_their_speed),
        cmocka_unit_test(stages_are_priced_as_the_problem_says),
        cmocka_unit_test(gradients_go_round_a_ring),
        cmocka_unit_test(memory_is_kept_free),
        cmocka_unit_test(batches_are_shared_by_the_profiles_micro_batch),
        cmocka_unit_test(plans_score_as_they_were_found),
        cmocka_unit_test(too_many_groups_or_layers_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
