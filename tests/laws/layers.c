/* Questions about layers whose times are known: single pipelines, fleets of them, templates, DAPPLE's hybrids. */
#include "laws.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_world(struct law_case *kase)
{
    const char *profile = law_path(kase, "p.json"), *cluster = law_path(kase, "c.json");
    world_write_profile(&kase->world, profile, NULL);
    world_write_cluster(&kase->world, cluster, NULL);
    question_set(&kase->question, "profile", "%s", profile);
    question_set(&kase->question, "cluster", "%s", cluster);
}

static void draw_allreduce(struct law_case *kase)
{
    static const char *const sources[] = {"none", "model", "profile"};
    int most = kase->world.has_allreduce ? 2 : 1;
    question_set(&kase->question, "allreduce", "%s", sources[random_range(&kase->random, 0, most)]);
}

static bool is(const struct law_case *kase, const char *option, const char *value)
{
    const char *given = question_value(&kase->question, option);
    return given && strcmp(given, value) == 0;
}

/* ---- laws of both ---- */

static bool doubled(struct law_case *kase)
{
    struct world other = kase->world;
    world_slow_down(&other, 2.0);
    return law_equal_in(kase, &other, 2.0, false);
}

static bool rearranged(struct law_case *kase)
{
    struct world other = kase->world;
    world_rearrange(&other, &kase->random);
    return law_equal_in(kase, &other, 1.0, true);
}

/* Oobleck's formula rewards light stages behind a slow one, and has no value with too many of them. */
static bool is_monotone(const struct law_case *kase)
{
    return !is(kase, "objective", "oobleck");
}

static bool more_memory(struct law_case *kase)
{
    struct world other = kase->world;
    world_add_memory(&other, random_range(&kase->random, 0, other.group_count - 1));
    return law_no_worse_in(kase, &other, "more memory");
}

static bool faster_devices(struct law_case *kase)
{
    struct world other = kase->world;
    world_speed_up(&other, random_range(&kase->random, 0, other.type_count - 1), 1.5);
    return !is_monotone(kase) || law_no_worse_in(kase, &other, "faster devices");
}

static bool better_type(struct law_case *kase)
{
    struct world other = kase->world;
    int group = random_range(&kase->random, 0, other.group_count - 1);
    double factor = random_one_in(&kase->random, 2) ? 1.0 : 1.25;
    if (!is_monotone(kase) || !world_replace_type(&other, group, factor))
        return true;
    world_add_memory(&other, group);
    return law_no_worse_in(kase, &other, "a better type in place of one");
}

static bool faster_links(struct law_case *kase)
{
    struct world other = kase->world;
    world_speed_up_links(&other, 2.0);
    return !is_monotone(kase) || law_no_worse_in(kase, &other, "faster links");
}

static bool more_nodes(struct law_case *kase)
{
    struct world other = kase->world;
    if (!is_monotone(kase) || is(kase, "microbatches", "0") || !world_add_nodes(&other, &kase->random))
        return true;
    return law_no_worse_in(kase, &other, "more nodes");
}

/* ---- a single pipeline ---- */

static void draw_pipeline(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    kase->question = (struct question){.command = "plan"};
    world_draw(&kase->world, source);
    write_world(kase);
    draw_allreduce(kase);
    question_set(&kase->question, "objective", random_one_in(source, 3) ? "oobleck" : "pipeline");
    question_set(&kase->question, "microbatches", "%d", random_range(source, 0, 12));
    question_set(&kase->question, "memory", random_one_in(source, 2) ? "in-flight" : "reference");
}

/* Returns whether an answer that is none, or is proven over fewer plans, says that every device has to be used. */
static bool says_all_devices(const struct answer *answer)
{
    struct rh_text text;
    if (!answer->handle)
        return strstr(answer->error, "none may be idle") || strstr(answer->error, "every device");
    if (!rh_write(answer->handle, "text", &text, NULL))
        return false;
    bool says = strstr(text.data, "use every device") != NULL;
    rh_text_free(&text);
    return says;
}

/* What another method finds is a plan of the same question, unless that asks for plans that use every device, node after node, and says
 * so. */
static bool other_method(struct law_case *kase)
{
    static const char *const methods[] = {"divide", "fold-greedy", "fold-dp"};
    struct question question = kase->question;
    if (!question_value(&question, "objective")) /* a fleet has one method */
        return true;
    const char *method = methods[random_range(&kase->random, 0, 2)];
    question_set(&question, "search", "%s", method);
    struct answer answer = law_ask(kase, &question, 1);
    bool holds = true;
    if (answer.handle && method[0] == 'f' && says_all_devices(&kase->answer))
        ; /* folding also leaves devices idle, and goes to and fro between nodes */
    else if (answer.handle && !kase->answer.handle)
        holds = law_broken(kase, "%s has a plan where exact has none", method);
    else if (answer.handle && answer.time < kase->answer.bound * (1 - LAWS_SAME))
        holds = law_broken(kase, "%s takes %.17g s, where no plan takes less than %.17g s", method,
                           answer.time, kase->answer.bound);
    answer_free(&answer);
    return holds;
}

/* ---- templates ---- */

static bool list_of(const rh_handle *handle, const char *name, struct rh_array *array)
{
    return rh_get(handle, name, array) && array->dimensions == 1;
}

static double value_at(const struct rh_array *array, int64_t at)
{
    const char *data = (const char *)array->data + at * array->stride[0];
    return array->type == 'd' ? *(const double *)(const void *)data : *(const int *)(const void *)data;
}

static void draw_templates(struct law_case *kase)
{
    draw_pipeline(kase);
    kase->question.command = "templates";
}

/* The last row is the plan of the whole cluster, and more nodes are never worse. */
static bool rows_fall(struct law_case *kase)
{
    struct rh_array times;
    double best = INFINITY;
    if (!is_monotone(kase) || is(kase, "microbatches", "0") || !kase->answer.handle ||
        !list_of(kase->answer.handle, "iteration_time", &times))
        return true;
    for (int64_t i = 0; i < times.shape[0]; i++) {
        double time = value_at(&times, i);
        if (isfinite(best) && !(time <= best * (1 + LAWS_SAME)))
            return law_broken(kase, "row %d: %.17g s, fewer nodes take %.17g s", (int)i, time, best);
        best = fmin(best, time);
    }
    return true;
}

static bool last_row(struct law_case *kase)
{
    struct rh_array times;
    struct question question = kase->question;
    question.command = "plan";
    struct answer plan = law_ask(kase, &question, 1);
    bool holds = true, listed = kase->answer.handle &&
                                list_of(kase->answer.handle, "iteration_time", &times) && times.shape[0] > 0;
    double last = listed ? value_at(&times, times.shape[0] - 1) : NAN;
    if (isfinite(last) != (plan.handle != NULL))
        holds = law_broken(kase, "one of plan and templates has a plan of all nodes");
    else if (plan.handle && plan.proven && !law_near(last, plan.time))
        holds = law_broken(kase, "templates: %.17g s with all nodes, plan %.17g s", last, plan.time);
    answer_free(&plan);
    return holds;
}

static bool templates_doubled(struct law_case *kase)
{
    struct world other = kase->world;
    const char *profile = law_path(kase, "p2.json"), *cluster = law_path(kase, "c2.json");
    struct question question = kase->question;
    struct rh_array times, doubles;
    world_slow_down(&other, 2.0);
    world_rearrange(&other, &kase->random);
    world_write_profile(&other, profile, &kase->random);
    world_write_cluster(&other, cluster, &kase->random);
    question_set(&question, "profile", "%s", profile);
    question_set(&question, "cluster", "%s", cluster);
    struct answer answer = law_ask(kase, &question, 1);
    bool holds = true;
    if (answer.code != kase->answer.code)
        holds = law_broken(kase, "one has an answer, the other none");
    else if (answer.handle && list_of(answer.handle, "iteration_time", &doubles) &&
             list_of(kase->answer.handle, "iteration_time", &times))
        for (int64_t i = 0; holds && i < times.shape[0]; i++) {
            double found = value_at(&doubles, i), wanted = 2 * value_at(&times, i);
            if (isfinite(found) != isfinite(wanted) || (isfinite(found) && !law_near(found, wanted)))
                holds = law_broken(kase, "row %d: %.17g s, and %.17g s were expected", (int)i, found, wanted);
        }
    answer_free(&answer);
    return holds;
}

/* ---- fleets of pipelines ---- */

static void draw_fleet(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    kase->question = (struct question){.command = "plan"};
    world_draw(&kase->world, source);
    kase->world.layer_count = random_range(source, 1, 5);
    kase->world.group_count = kase->world.group_count > 2 ? 2 : kase->world.group_count;
    for (int g = 0; g < kase->world.group_count; g++) {
        kase->world.groups[g].per_node = random_range(source, 1, 2);
        kase->world.groups[g].nodes = random_range(source, 1, 2);
    }
    write_world(kase);
    draw_allreduce(kase);
    question_set(&kase->question, "global-batch", "%d", random_range(source, 1, 24));
}

/* ---- DAPPLE's hybrids ---- */

static struct {
    int machines[4], count;
    double rates[3]; /* GB/s: inside, between two machines, of collectives */
} drawn;             /* of the case */

static void write_machines(const char *path, double rates, bool turned)
{
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fprintf(file, "machines: [");
    for (int i = 0; i < drawn.count; i++)
        fprintf(file, "%s%d", i > 0 ? ", " : "", drawn.machines[turned ? drawn.count - 1 - i : i]);
    fprintf(file, "]\nmemory: 16 GB\ninside: %g GB/s\npoint_to_point: %g GB/s\ncollective: %g GB/s\n",
            drawn.rates[0] * rates, drawn.rates[1] * rates, drawn.rates[2] * rates);
    fclose(file);
}

static void draw_dapple(struct law_case *kase)
{
    static const double rates[] = {0.25, 1, 4, 32};
    struct random_source *source = &kase->random;
    const char *profile = law_path(kase, "p.json"), *cluster = law_path(kase, "d.yaml");
    kase->question = (struct question){.command = "plan"};
    world_draw(&kase->world, source);
    kase->world.type_count = 1;
    kase->world.has_allreduce = false;
    drawn.count = random_range(source, 1, 4);
    for (int i = 0; i < drawn.count; i++)
        drawn.machines[i] =
            i > 0 && random_one_in(source, 2) ? drawn.machines[0] : random_range(source, 1, 3);
    for (int i = 0; i < 3; i++)
        drawn.rates[i] = rates[random_range(source, 0, 3)];
    world_write_profile(&kase->world, profile, NULL);
    write_machines(cluster, 1.0, false);
    question_set(&kase->question, "profile", "%s", profile);
    question_set(&kase->question, "cluster", "%s", cluster);
    question_set(&kase->question, "objective", "dapple");
    question_set(&kase->question, "rules", random_one_in(source, 2) ? "dapple" : "dapple-fixed");
    question_set(&kase->question, "global-batch", "%d", 1 << random_range(source, 1, 6));
    question_set(&kase->question, "microbatch-size", "1");
    question_set(&kase->question, "profile-batch", "1");
}

static bool dapple_doubled(struct law_case *kase)
{
    struct world other = kase->world;
    struct question question = kase->question;
    const char *profile = law_path(kase, "p2.json"), *cluster = law_path(kase, "d2.yaml");
    world_slow_down(&other, 2.0);
    world_write_profile(&other, profile, &kase->random);
    write_machines(cluster, 0.5, false);
    question_set(&question, "profile", "%s", profile);
    question_set(&question, "cluster", "%s", cluster);
    return law_equal(kase, &question, 2.0);
}

static bool turned_machines(struct law_case *kase)
{
    struct question question = kase->question;
    const char *cluster = law_path(kase, "d2.yaml");
    write_machines(cluster, 1.0, true);
    question_set(&question, "cluster", "%s", cluster);
    return law_equal(kase, &question, 1.0);
}

static bool dapple_faster_links(struct law_case *kase)
{
    struct question question = kase->question;
    const char *cluster = law_path(kase, "d2.yaml");
    write_machines(cluster, 2.0, false);
    question_set(&question, "cluster", "%s", cluster);
    return law_no_worse(kase, &question, "faster links");
}

static bool dapple_more_devices(struct law_case *kase)
{
    struct question fewer = kase->question, all = kase->question;
    int count = 0;
    for (int i = 0; i < drawn.count; i++)
        count += drawn.machines[i];
    if (count == 1)
        return true;
    question_set(&fewer, "devices", "%d", random_range(&kase->random, 1, count - 1));
    struct answer few = law_ask(kase, &fewer, 1);
    struct law_case smaller = *kase;
    smaller.answer = few;
    bool holds = law_no_worse(&smaller, &all, "more devices");
    memcpy(kase->why, smaller.why, sizeof kase->why);
    answer_free(&few);
    return holds;
}

static bool hpgo(struct law_case *kase)
{
    struct question question = kase->question;
    question_set(&question, "search", "hpgo");
    struct answer answer = law_ask(kase, &question, 1);
    bool holds = true;
    if (answer.handle && kase->answer.handle && answer.time < kase->answer.bound * (1 - LAWS_SAME))
        holds = law_broken(kase, "hpgo takes %.17g s, where no plan takes less than %.17g s", answer.time,
                           kase->answer.bound);
    answer_free(&answer);
    return holds;
}

static const struct law dapple_laws[] = {LAWS_OF_PLANS,
                                         {"doubled", dapple_doubled},
                                         {"turned machines", turned_machines},
                                         {"faster links", dapple_faster_links},
                                         {"more devices", dapple_more_devices},
                                         {"other method", hpgo},
                                         {0}};
/* Of fleets, too. */
static const struct law pipeline_laws[] = {LAWS_OF_PLANS,
                                           {"doubled", doubled},
                                           {"rearranged", rearranged},
                                           {"more memory", more_memory},
                                           {"faster devices", faster_devices},
                                           {"better type", better_type},
                                           {"faster links", faster_links},
                                           {"more nodes", more_nodes},
                                           {"other method", other_method},
                                           {0}};
static const struct law templates_laws[] = {{"threads", law_threads},
                                            {"doubled", templates_doubled},
                                            {"rows fall", rows_fall},
                                            {"last row", last_row},
                                            {0}};

const struct family family_pipeline = {"pipeline", 44, 4, draw_pipeline, pipeline_laws};
const struct family family_templates = {"templates", 8, 2, draw_templates, templates_laws};
const struct family family_dapple = {"dapple", 8, 4, draw_dapple, dapple_laws};
const struct family family_fleet = {"fleet", 16, 2, draw_fleet, pipeline_laws};
