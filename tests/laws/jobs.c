/* Questions about models by name: training jobs on devices that are alike, and on those that are not. */
#include "laws.h"

#include "plan/plan.h"
#include "plan/split/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"gpt2",        "gpt2-xl",          "gpt2",          "gpt2-xl",
                                     "llama-3-8b",  "qwen3-8b",         "qwen3-30b-a3b", "mixtral-8x7b",
                                     "llama-2-13b", "deepseek-v2-lite", "gpt-oss-20b"};
static const char *const devices[] = {"a100-80gb", "h100", "l40s", "b200", "mi300x", "a100-40gb"};
static const char *const software[] = {"megatron-core", "fsdp", "deepspeed", "torchtitan",
                                       "megatron-core-2025"};
static const char *const lengths[] = {"1024", "2048", "4096"};

#define PICK(source, list) (list)[random_range(source, 0, (int)(sizeof(list) / sizeof *(list)) - 1)]

static void draw_model(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    question_set(&kase->question, "model", "%s", PICK(source, models));
    question_set(&kase->question, "global-batch", "%d", 1 << random_range(source, 2, 6));
    question_set(&kase->question, "sequence", "%s", PICK(source, lengths));
    question_set(&kase->question, "no-neighbours", "true");
    if (random_one_in(source, 2))
        question_set(&kase->question, "software", "%s", PICK(source, software));
    if (random_one_in(source, 4))
        question_set(&kase->question, "precision", "fp8");
}

static void draw_job(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    kase->question = (struct question){.command = "plan"};
    draw_model(kase);
    question_set(&kase->question, "device", "%s", PICK(source, devices));
    question_set(&kase->question, "devices", "%d",
                 random_one_in(source, 4) ? random_range(source, 1, 20) : 1 << random_range(source, 0, 5));
    if (random_one_in(source, 4))
        question_set(&kase->question, "devices-per-node", "%d", 1 << random_range(source, 0, 3));
}

/* ---- laws ---- */

static bool more_devices(struct law_case *kase)
{
    struct question other = kase->question;
    int count = atoi(question_value(&other, "devices"));
    question_set(&other, "devices", "%d", count + (1 << random_range(&kase->random, 0, 3)));
    return law_no_worse(kase, &other, "more devices");
}

static bool less_headroom(struct law_case *kase)
{
    struct question other = kase->question;
    question_set(&other, "headroom", "%d", random_range(&kase->random, 0, 4));
    return law_no_worse(kase, &other, "less headroom");
}

/* What a restriction leaves is no better. */
static bool fixed(struct law_case *kase)
{
    static const char *const restrictions[] = {"tp=1",           "tp=2",   "pp=1",  "pp=2",
                                               "pp=4",           "mbs=1",  "mbs=2", "zero=0",
                                               "zero=1",         "zero=3", "cp=1",  "cp=2",
                                               "vp=1",           "ep=1",   "ep=4",  "recompute=full",
                                               "recompute=none", "tp=4",   "ep=8",  "recompute=selective"};
    struct question other = kase->question;
    question_set(&other, "fix", "%s", PICK(&kase->random, restrictions));
    struct answer answer = law_ask(kase, &other, 1);
    bool holds = true;
    if (answer.handle && !kase->answer.handle)
        holds = law_broken(kase, "a restriction has a plan, and all plans have none");
    else if (answer.handle && answer.time < kase->answer.bound * (1 - LAWS_SAME))
        holds = law_broken(kase, "a restriction takes %.17g s, where no plan takes less than %.17g s",
                           answer.time, kase->answer.bound);
    answer_free(&answer);
    return holds;
}

/* check-plan's optimum for any plan of the job is plan's own, which may use the host if the plan does. */
static bool checked_restriction(struct law_case *kase)
{
    static const char *const restrictions[] = {"schedule=zb-h1", "schedule=zb-v", "schedule=dualpipev",
                                               "pp=2",           "replicate=2",   "offload=50",
                                               "recompute=full", "tp=2",          "zero=3",
                                               "zero=1",         "vp=2",          "mbs=1"};
    struct question other = kase->question, open = kase->question, check = {.command = "check-plan"};
    const char *path = law_path(kase, "fixed.json");
    struct rh_array list;
    bool holds = true;
    const char *restriction = PICK(&kase->random, restrictions);
    question_set(&other, "fix", "%s", restriction);
    if (strcmp(restriction, "offload=50") == 0)
        question_set(&open, "fix", "offload=0..100");
    struct answer answer = law_ask(kase, &other, 1), best = law_ask(kase, &open, 1);
    if (!answer.handle || !best.proven || !rh_save(answer.handle, "json", path, NULL)) {
        answer_free(&best);
        answer_free(&answer);
        return true;
    }
    question_set(&check, "plan", "%s", path);
    struct answer checked = law_ask(kase, &check, 1);
    double excess = NAN;
    if (checked.handle && rh_get(checked.handle, "excess", &list) && list.shape[0] == 1)
        excess = *(const double *)list.data;
    if (!checked.handle)
        holds = law_broken(kase, "check-plan refuses it: %s", checked.error);
    else if (!law_near(answer.time / (1.0 + excess), best.time))
        holds = law_broken(kase, "check-plan's optimum is %.17g s, plan's %.17g s",
                           answer.time / (1.0 + excess), best.time);
    answer_free(&checked);
    answer_free(&best);
    answer_free(&answer);
    return holds;
}

/* A text that says what the format has no option for is another job. */
static bool has_notes(const struct answer *answer)
{
    struct rh_text text;
    if (!rh_write(answer->handle, "emit", &text, NULL))
        return false;
    bool has = strstr(text.data, "# no option") || strstr(text.data, "# parameters are sharded over");
    rh_text_free(&text);
    return has;
}

static bool emitted_in(struct law_case *kase, const char *format, const char *launcher, const char *file)
{
    struct question question = kase->question, price = {.command = "price"};
    const char *path = law_path(kase, file);
    bool holds = true;
    struct rh_error error;
    question_set(&question, "emit", "%s", format);
    if (launcher)
        question_set(&question, "launcher", "%s", launcher);
    struct answer answer = law_ask(kase, &question, 1);
    if (!answer.handle)
        return true; /* it has no words for the plan */
    if (!rh_save(answer.handle, "emit", path, &error))
        holds = law_broken(kase, "%s", error.text);
    fprintf(kase->log, "    --emit is written to %s\n", path);
    static const char *const same[] = {"model", "device", "devices", "devices-per-node", "sequence"};
    question_set(&price, "file", "%s", path);
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (question_value(&question, same[i]) &&
            (strcmp(same[i], "model") != 0 || strcmp(format, "megatron") != 0))
            question_set(&price, same[i], "%s", question_value(&question, same[i]));
    question_set(&price, "software", "%s", rh_string(answer.handle, "software"));
    /* idle devices are no part of a script */
    question_set(&price, "devices", "%.0f", rh_number(answer.handle, "devices_used"));
    question_set(&price, "alone", "true");
    question_set(&price, "no-neighbours", "true");
    struct answer priced = law_ask(kase, &price, 1);
    if (holds && !priced.handle)
        holds = law_broken(kase, "price refuses what plan emits: %s", priced.error);
    else if (holds && !has_notes(&answer) && !law_near(priced.time, answer.time))
        holds =
            law_broken(kase, "plan says %.17g s, price of what it emits %.17g s", answer.time, priced.time);
    answer_free(&priced);
    answer_free(&answer);
    return holds;
}

static bool emitted(struct law_case *kase)
{
    static const char *const formats[] = {"megatron", "deepspeed", "torchtitan"};
    const char *format = PICK(&kase->random, formats);
    const char *file = strcmp(format, "megatron") == 0    ? "emitted.sh"
                       : strcmp(format, "deepspeed") == 0 ? "emitted.json"
                                                          : "emitted.toml";
    if (!kase->answer.handle)
        return true;
    if (random_one_in(&kase->random, 3))
        return emitted_in(kase, format, "kubernetes", "start.yaml");
    if (random_one_in(&kase->random, 2))
        return emitted_in(kase, format, random_one_in(&kase->random, 2) ? "torchrun" : "sbatch", "start.sh");
    return emitted_in(kase, format, NULL, file);
}

/* The printed plan is a job that can start. */
static bool startable(struct law_case *kase)
{
    struct rh_text json;
    struct error err;
    struct plan plan;
    struct job job;
    struct plan_parts given = {0};
    bool holds = true;
    if (!kase->answer.handle || !rh_write(kase->answer.handle, "json", &json, NULL))
        return true;
    if (!plan_parse(&plan, "plan.json", json.data, json.length, &err))
        holds = law_broken(kase, "%s", err.text);
    else {
        if (plan_is_job(&plan) && (!job_remake(&job, &plan, &given, &err) || !job_check(&job, &err)))
            holds = law_broken(kase, "it cannot start: %s", err.text);
        plan_release(&plan);
    }
    rh_text_free(&json);
    return holds;
}

/* A cluster of one group is the job of --device and --devices. */
static bool as_cluster(struct law_case *kase)
{
    struct question other = kase->question;
    const char *path = law_path(kase, "one.yaml");
    int per_node =
        question_value(&other, "devices-per-node") ? atoi(question_value(&other, "devices-per-node")) : 8;
    int count = atoi(question_value(&other, "devices"));
    if (count % per_node != 0)
        return true;
    FILE *file = fopen(path, "w");
    if (!file)
        return law_broken(kase, "cannot write %s", path);
    fprintf(file, "groups:\n");
    bool cut = count > per_node && random_one_in(&kase->random, 2);
    fprintf(file, "- {device: %s, nodes: %d, devices_per_node: %d}\n", question_value(&other, "device"),
            cut ? 1 : count / per_node, per_node);
    if (cut)
        fprintf(file, "- {devices_per_node: %d, nodes: %d, device: %s}\n", per_node, count / per_node - 1,
                question_value(&other, "device"));
    fclose(file);
    question_set(&other, "cluster", "%s", path);
    question_set(&other, "device", NULL);
    question_set(&other, "devices", NULL);
    question_set(&other, "devices-per-node", "%s", "8");
    question_set(&other, "devices-per-node", NULL);
    struct question same = kase->question;
    question_set(&same, "devices-per-node", "%d", per_node);
    struct answer one = law_ask(kase, &same, 1), answer = law_ask(kase, &other, 1);
    bool holds = true;
    if (answer.code != one.code)
        holds = law_broken(kase, "one has an answer, the other none");
    else if (!answer.code && !law_near(answer.time, one.time))
        holds = law_broken(kase, "%.17g s on a cluster of one group, %.17g s without the file", answer.time,
                           one.time);
    answer_free(&answer);
    answer_free(&one);
    return holds;
}

static const struct law job_laws[] = {LAWS_OF_PLANS,
                                      {"more devices", more_devices},
                                      {"less headroom", less_headroom},
                                      {"fix", fixed},
                                      {"check-plan of a restriction", checked_restriction},
                                      {"emit", emitted},
                                      {"startable", startable},
                                      {"as cluster", as_cluster},
                                      {0}};

/* ---- devices of several kinds ---- */

static const char *const mixable[] = {"a100-80gb", "a100-40gb", "h100", "l40s", "v100-32gb", "t4", "h200"};

struct mixed_group {
    const char *device;
    int nodes, per_node;
    double memory; /* GiB; 0: the device's own */
};

struct mixed {
    struct mixed_group groups[6];
    int count;
    double rate;    /* GB/s between nodes; 0: the usual one */
    double latency; /* us; 0: not given */
};

static struct mixed drawn; /* of the case */

static void write_groups(const struct mixed *mixed, const char *path)
{
    FILE *file = fopen(path, "w");
    if (!file)
        abort();
    fprintf(file, "groups:\n");
    for (const struct mixed_group *group = mixed->groups; group < mixed->groups + mixed->count; group++) {
        fprintf(file, "- {device: %s, nodes: %d, devices_per_node: %d", group->device, group->nodes,
                group->per_node);
        if (group->memory > 0)
            fprintf(file, ", memory: %g GiB", group->memory);
        fprintf(file, "}\n");
    }
    if (mixed->rate > 0)
        fprintf(file, "inter_node: {bandwidth: %g GB/s", mixed->rate);
    if (mixed->rate > 0 && mixed->latency > 0)
        fprintf(file, ", latency: %g us", mixed->latency);
    fputs(mixed->rate > 0 ? "}\n" : "", file);
    fclose(file);
}

static void draw_mixed(struct law_case *kase)
{
    struct random_source *source = &kase->random;
    const char *path = law_path(kase, "c.yaml");
    kase->question = (struct question){.command = "plan"};
    drawn = (struct mixed){.count = random_range(source, 1, 2),
                           .rate = random_one_in(source, 2) ? random_range(source, 2, 50) : 0,
                           .latency = random_one_in(source, 2) ? random_range(source, 1, 200) : 0};
    for (int g = 0; g < drawn.count; g++)
        drawn.groups[g] = (struct mixed_group){PICK(source, mixable), random_range(source, 1, 2),
                                               1 << random_range(source, 0, 2), 0};
    write_groups(&drawn, path);
    question_set(&kase->question, "model", "%s", models[random_range(source, 0, 1)]);
    question_set(&kase->question, "global-batch", "%d", 1 << random_range(source, 3, 5));
    question_set(&kase->question, "no-neighbours", "true");
    question_set(&kase->question, "cluster", "%s", path);
}

static struct question question_with(struct law_case *kase, const struct mixed *mixed)
{
    struct question other = kase->question;
    const char *path = law_path(kase, "c2.yaml");
    write_groups(mixed, path);
    question_set(&other, "cluster", "%s", path);
    return other;
}

static bool no_worse_with(struct law_case *kase, const struct mixed *mixed, const char *what)
{
    struct question other = question_with(kase, mixed);
    return law_no_worse(kase, &other, what);
}

static bool more_of_them(struct law_case *kase)
{
    struct mixed mixed = drawn;
    if (random_one_in(&kase->random, 2))
        mixed.groups[random_range(&kase->random, 0, mixed.count - 1)].nodes++;
    else
        mixed.groups[mixed.count++] =
            (struct mixed_group){PICK(&kase->random, mixable), 1, 1 << random_range(&kase->random, 0, 2), 0};
    return no_worse_with(kase, &mixed, "more devices");
}

static bool more_memory_of_them(struct law_case *kase)
{
    struct mixed mixed = drawn;
    mixed.groups[random_range(&kase->random, 0, mixed.count - 1)].memory = 141;
    return no_worse_with(kase, &mixed, "more memory");
}

/* A node of a group on its own, behind the others. */
static void cut(struct mixed *mixed, int group)
{
    if (mixed->groups[group].nodes < 2)
        return;
    mixed->groups[mixed->count] = mixed->groups[group];
    mixed->groups[mixed->count++].nodes--;
    mixed->groups[group].nodes = 1;
}

/* The same devices with more memory, as another type. */
static bool better_of_them(struct law_case *kase)
{
    static const char *const better[][2] = {{"a100-40gb", "a100-80gb"}, {"h100", "h200"}};
    struct mixed mixed = drawn;
    for (int g = 0; g < drawn.count; g++)
        for (int b = 0; b < 2; b++)
            if (strcmp(mixed.groups[g].device, better[b][0]) == 0) {
                cut(&mixed, g);
                mixed.groups[g].device = better[b][1];
                return no_worse_with(kase, &mixed, "a better type in place of one");
            }
    return true;
}

static bool faster_network(struct law_case *kase)
{
    struct mixed mixed = drawn;
    mixed.rate *= 2;
    mixed.latency /= 2;
    return mixed.rate == 0 || no_worse_with(kase, &mixed, "a faster link between nodes");
}

/* Another order of groups, and groups cut in two. */
static bool rearranged_groups(struct law_case *kase)
{
    struct mixed mixed = drawn;
    for (int g = 0; g < drawn.count; g++)
        cut(&mixed, g);
    for (int g = 0; g < mixed.count / 2; g++) {
        struct mixed_group one = mixed.groups[g];
        mixed.groups[g] = mixed.groups[mixed.count - 1 - g];
        mixed.groups[mixed.count - 1 - g] = one;
    }
    struct question other = question_with(kase, &mixed);
    return law_equal(kase, &other, 1.0);
}

static const struct law mixed_laws[] = {LAWS_OF_PLANS,
                                        {"startable", startable},
                                        {"more devices", more_of_them},
                                        {"more memory", more_memory_of_them},
                                        {"better type", better_of_them},
                                        {"faster network", faster_network},
                                        {"rearranged", rearranged_groups},
                                        {0}};

const struct family family_job = {"job", 8, 1, draw_job, job_laws};
const struct family family_mixed = {"mixed", 2, 1, draw_mixed, mixed_laws};
