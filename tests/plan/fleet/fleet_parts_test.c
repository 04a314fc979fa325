/* More devices are never worse, and no bound is above a plan: random measured clusters, and their parts. */
#include "plan/fleet/of_job.h"
#include "plan/fleet/small.h"

#define PART_LAYERS 8
#define PART_GROUPS 3

struct measured {
    double forward[PART_GROUPS][PART_LAYERS], backward[PART_GROUPS][PART_LAYERS],
        reduce[PART_GROUPS][3][PART_LAYERS];
    int64_t parameters[PART_LAYERS], activations[PART_LAYERS];
    struct profile_layer layers[PART_LAYERS];
    struct profile profile;
    struct cluster_group groups[PART_GROUPS];
    struct cluster cluster;
    struct plan_problem problem;
    struct fleet_profile_question question;
};

static struct cluster_link random_link(struct random_source *source)
{
    return (struct cluster_link){.bandwidth = exp((random_unit(source) - 0.5) * 4.0) * 4e3,
                                 .latency = 0.01 * random_unit(source)};
}

static void make_layers(struct measured *m, struct random_source *source)
{
    for (int l = 0; l < m->problem.layer_count; l++) {
        double size = 0.2 + random_unit(source);
        m->parameters[l] = random_one_in(source, 4) ? 0 : random_range(source, 0, 1000);
        m->activations[l] = random_range(source, 0, 1000);
        m->layers[l].output_bytes = random_range(source, 0, 1000);
        for (int g = 0; g < m->problem.group_count; g++) {
            m->forward[g][l] = size * (0.5 + random_unit(source)) * (g + 1);
            m->backward[g][l] = 2.0 * m->forward[g][l];
            for (int s = 1; s < 3; s++)
                m->reduce[g][s][l] = 0.2 * random_unit(source);
        }
    }
}

static void make_measured(struct measured *m, uint64_t seed)
{
    struct random_source source = {seed};
    *m = (struct measured){.question = {.microbatch = 1}};
    m->question.microbatches = random_range(&source, 1, random_one_in(&source, 3) ? 200 : 20);
    m->problem.layer_count = random_range(&source, 1, PART_LAYERS);
    m->problem.group_count = random_range(&source, 1, PART_GROUPS);
    m->problem.parameter_bytes = m->parameters;
    m->problem.activation_bytes = m->activations;
    make_layers(m, &source);
    m->profile = (struct profile){.layer_count = m->problem.layer_count, .layers = m->layers};
    m->cluster = (struct cluster){
        .group_count = m->problem.group_count, .groups = m->groups, .inter_node = random_link(&source)};
    bool full = random_one_in(&source, 3);
    for (int g = 0; g < m->problem.group_count; g++) {
        int split = random_range(&source, 0, 2), nodes = random_range(&source, 1, 2);
        m->groups[g] =
            (struct cluster_group){.nodes = {nodes, 1 << split, 0}, .intra_node = random_link(&source)};
        m->problem.groups[g] = (struct plan_group){
            .nodes = {nodes, 1 << split, full ? random_range(&source, 6000, 40000) : 0},
            .splits = split + 1,
            .forward = m->forward[g],
            .backward = m->backward[g],
            .allreduce = {NULL, m->reduce[g][1], m->reduce[g][2]},
        };
    }
    m->question.problem = &m->problem;
    m->question.profile = &m->profile;
    m->question.cluster = &m->cluster;
}

/* The seconds of the plan; INFINITY: nothing fits. */
static double plan(const struct measured *m, double *bound)
{
    struct fleet_answer answer;
    struct error err;
    *bound = INFINITY;
    if (!fleet_plan_profile(&answer, &m->question, &err)) {
        assert_int_equal(err.kind, ERROR_INFEASIBLE);
        return INFINITY;
    }
    double seconds = answer.time.seconds;
    *bound = answer.lower_bound;
    assert_true(*bound <= seconds);
    fleet_answer_release(&answer);
    return seconds;
}

/* Sets the nodes of a part: digits of `index`. A group without nodes is left out. */
static bool take_part(struct measured *part, const struct measured *whole, int index)
{
    *part = *whole;
    part->problem.group_count = 0;
    for (int g = 0; g < whole->problem.group_count; g++) {
        int max = whole->problem.groups[g].nodes.count + 1, nodes = index % max,
            at = part->problem.group_count;
        index /= max;
        if (nodes == 0)
            continue;
        part->problem.groups[at] = whole->problem.groups[g];
        part->groups[at] = whole->groups[g];
        part->problem.groups[at].nodes.count = part->groups[at].nodes.count = nodes;
        part->problem.group_count++;
    }
    part->cluster.group_count = part->problem.group_count;
    part->cluster.groups = part->groups;
    part->question.problem = &part->problem;
    part->question.profile = &part->profile;
    part->question.cluster = &part->cluster;
    return part->problem.group_count > 0;
}

static void more_devices_are_never_worse(void **state)
{
    (void)state;
    const char *many = getenv("REHEARSE_FLEET_CLUSTERS"); /* of a soak */
    int cases = many ? atoi(many) : random_cases(30), fitting = 0, proven = 0;
    static struct measured whole, part;
    for (int i = 0; i < cases; i++) {
        double bound, unused;
        int parts = 1;
        make_measured(&whole, (uint64_t)i + 1);
        double seconds = plan(&whole, &bound);
        for (int g = 0; g < whole.problem.group_count; g++)
            parts *= whole.problem.groups[g].nodes.count + 1;
        for (int p = 1; p < parts - 1; p++) {
            if (!take_part(&part, &whole, p))
                continue;
            double alone = plan(&part, &unused);
            if (seconds > alone)
                fail_msg("case %d: %.17g, but part %d takes %.17g", i, seconds, p, alone);
            if (bound > alone)
                fail_msg("case %d: bound %.17g, but part %d takes %.17g", i, bound, p, alone);
        }
        fitting += isfinite(seconds);
        proven += isfinite(seconds) && bound == seconds;
    }
    print_message("# %d fit, %d proven\n", fitting, proven);
    assert_in_range(fitting, cases / 2, cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(more_devices_are_never_worse),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
