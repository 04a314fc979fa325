/* Every option, and every key of a cluster file, changes the answer, or the answer names it. They are those of the library's
 * tables and of docs/schema/cluster-1.json, so that a new one is met here. */
#include "keys.h"

#include "ask.h"
#include "core/doc.h"
#include "support/folder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char layers[] =
    "{\"format\": \"rehearse-profile/1\", \"microbatch_size\": 1, \"layers\": ["
    "{\"parameter_bytes\": 4000000, \"activation_bytes\": 90000, \"output_bytes\": 50000},"
    "{\"parameter_bytes\": 7000000, \"activation_bytes\": 80000, \"output_bytes\": 60000},"
    "{\"parameter_bytes\": 5000000, \"activation_bytes\": 70000, \"output_bytes\": 40000},"
    "{\"parameter_bytes\": 6000000, \"activation_bytes\": 60000, \"output_bytes\": 20000}],"
    " \"devices\": [{\"name\": \"a\", \"layers\": [{\"forward\": 0.003, \"backward\": 0.006},"
    "{\"forward\": 0.004, \"backward\": 0.008}, {\"forward\": 0.005, \"backward\": 0.009},"
    "{\"forward\": 0.004, \"backward\": 0.007}]}]}";

/* Every key once; `device` is %s. */
static const char cluster[] = "format: rehearse-cluster/1\n"
                              "name: lab\n"
                              "%s"
                              "groups: [{device: %s, %snodes: 2, devices_per_node: 2, memory: 16 GiB, "
                              "intra_node: {bandwidth: 10 GB/s, latency: 3 us}}]\n"
                              "inter_node: {bandwidth: 25 Gb/s, latency: 15 us}\n"
                              "network: [{nodes: 2, oversubscription: 2}]\n";

static const char machines[] = "format: rehearse-dapple/1\nmachines: [2, 2]\ninside: 4 GB/s\npoint_to_point: "
                               "1 GB/s\ncollective: 3 GB/s\n"
                               "memory: 16 GB\n";

static const char links[] = "inter: {}\n";

static const char script[] =
    "torchrun --nproc_per_node 8 --nnodes 2 pretrain_gpt.py --num-layers 12 --hidden-size 1024 "
    "--num-attention-heads 16 --seq-length 1024 --max-position-embeddings 1024 --micro-batch-size 1 "
    "--global-batch-size 64 --bf16 --tensor-model-parallel-size 2 --vocab-size 32000 --no-such-thing 3 "
    "${EXTRA:-}\n";

static const char *file(const char *name, const char *text)
{
    static char paths[16][256];
    static int next;
    next = (next + 1) % 16;
    snprintf(paths[next], sizeof *paths, "%s/%s", test_folder, name);
    FILE *out = text ? fopen(paths[next], "w") : NULL;
    if (out) {
        fputs(text, out);
        fclose(out);
    }
    return paths[next];
}

/* ---- questions ---- */

enum base {
    BASE_PIPELINE,
    BASE_OOBLECK,
    BASE_DAPPLE,
    BASE_JOB,
    BASE_FLEET,
    BASE_MODEL_CLUSTER,
    BASE_MODEL_PIPELINE,
    BASE_TEMPLATES,
    BASE_CHECK_PIPELINE,
    BASE_CHECK_JOB,
    BASE_PLAYED,
    BASE_SCHEDULE,
    BASE_SWEEP,
    BASE_PRICE,
    BASE_ELASTIC,
    BASE_LOSE,
    BASE_GOODPUT,
    BASE_COUNT
};

static const char *const base_names[] = {"pipeline",
                                         "oobleck",
                                         "dapple",
                                         "job",
                                         "fleet",
                                         "model on a cluster",
                                         "pipeline of a model",
                                         "templates",
                                         "check-plan",
                                         "check-plan of a job",
                                         "simulate PLAN",
                                         "simulate",
                                         "sweep",
                                         "price",
                                         "elastic",
                                         "elastic --lose",
                                         "elastic with failures"};

static bool by_model(enum base base)
{
    return base == BASE_JOB || base == BASE_MODEL_CLUSTER || base == BASE_MODEL_PIPELINE;
}

static char cluster_text[1024];

/* A plan that is found, in a file. */
static const char *planned(enum base base);

static struct question question_of(enum base base)
{
    if (base == BASE_SCHEDULE) {
        struct question schedule = {.command = "simulate"};
        question_set(&schedule, "schedule", "interleaved");
        question_set(&schedule, "stages", "4");
        question_set(&schedule, "microbatches", "8");
        question_set(&schedule, "comm", "0.1");
        return schedule;
    }
    if (base == BASE_PRICE) {
        struct question price = {.command = "price"};
        question_set(&price, "file", "%s", file("start.sh", script));
        question_set(&price, "device", "h100");
        return price;
    }
    if (base == BASE_ELASTIC || base == BASE_LOSE || base == BASE_GOODPUT) {
        struct question elastic = {.command = "elastic"};
        question_set(&elastic, "plan", "%s", planned(BASE_TEMPLATES));
        question_set(&elastic, "cluster", "%s", file("c.yaml", NULL));
        if (base == BASE_LOSE)
            question_set(&elastic, "lose", "0");
        if (base == BASE_GOODPUT) {
            question_set(&elastic, "mtbf", "20d");
            question_set(&elastic, "seeds", "2");
            question_set(&elastic, "days", "30");
        }
        return elastic;
    }
    if (base == BASE_SWEEP) {
        struct question sweep = question_of(BASE_JOB);
        question_set(&sweep, "devices", "8..16");
        question_set(&sweep, "global-batch", "512"); /* more work than the host takes to launch it */
        return sweep;
    }
    if (base >= BASE_CHECK_PIPELINE) {
        struct question of_plan = {.command = base == BASE_PLAYED ? "simulate" : "check-plan"};
        question_set(&of_plan, "plan", "%s", planned(base == BASE_CHECK_PIPELINE ? BASE_PIPELINE : BASE_JOB));
        if (base == BASE_CHECK_PIPELINE) {
            question_set(&of_plan, "profile", "%s", file("p.json", NULL));
            question_set(&of_plan, "cluster", "%s", file("c.yaml", NULL));
            question_set(&of_plan, "allreduce", "model");
        }
        return of_plan;
    }
    struct question question = {.command = base == BASE_TEMPLATES ? "templates" : "plan"};
    if (base == BASE_DAPPLE)
        snprintf(cluster_text, sizeof cluster_text, "%s", machines);
    else
        snprintf(cluster_text, sizeof cluster_text, cluster,
                 by_model(base) ? "" : "profile: {device: a, speed: 2}\n", by_model(base) ? "h100" : "a",
                 by_model(base) ? "" : "speed: 3, ");
    if (by_model(base)) {
        question_set(&question, "model", "gpt2");
        question_set(&question, "sequence", "512");
        question_set(&question, "precision", "bf16");
    } else
        question_set(&question, "profile", "%s", file("p.json", layers));
    if (base != BASE_JOB)
        question_set(&question, "cluster", "%s", file("c.yaml", cluster_text));
    else {
        question_set(&question, "device", "h100");
        question_set(&question, "devices", "16");
    }
    if (base == BASE_PIPELINE || base == BASE_OOBLECK || base == BASE_MODEL_PIPELINE ||
        base == BASE_TEMPLATES) {
        question_set(&question, "objective", base == BASE_OOBLECK ? "oobleck" : "pipeline");
        question_set(&question, "microbatches", "6");
        question_set(&question, "allreduce", "model");
    } else
        question_set(&question, "global-batch", "32");
    if (base == BASE_FLEET)
        question_set(&question, "allreduce", "model");
    if (base == BASE_DAPPLE) {
        question_set(&question, "objective", "dapple");
        question_set(&question, "microbatch-size", "1");
        question_set(&question, "profile-batch", "1");
    }
    return question;
}

static const char *planned(enum base base)
{
    struct question question = question_of(base);
    struct answer answer = ask(&question, 1);
    char name[64];
    snprintf(name, sizeof name, "%s.json", base_names[base]);
    const char *path = file(name, NULL);
    if (!answer.handle || !rh_save(answer.handle, "json", path, NULL))
        abort();
    answer_free(&answer);
    return path;
}

/* Text and JSON of the answer, or its error; without the seconds of the search. */
static char *answer_text(const struct question *question)
{
    struct answer answer = ask(question, 1);
    struct rh_text text = {0}, json = {0};
    char *all = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&all, &length);
    if (!out)
        abort();
    if (!answer.handle)
        fputs(answer.error, out);
    else if (rh_write(answer.handle, "text", &text, NULL) && rh_write(answer.handle, "json", &json, NULL)) {
        for (char *line = strtok(text.data, "\n"); line; line = strtok(NULL, "\n"))
            if (!strstr(line, "planned in") && strncmp(line, "proof", 5) != 0)
                fprintf(out, "%s\n", line);
        for (char *line = strtok(json.data, "\n"); line; line = strtok(NULL, "\n"))
            if (!strstr(line, "planning_seconds"))
                fprintf(out, "%s\n", line);
    }
    fclose(out);
    rh_text_free(&text);
    rh_text_free(&json);
    answer_free(&answer);
    return all;
}

static bool has_answer(const struct question *question)
{
    struct answer answer = ask(question, 1);
    bool has = answer.handle != NULL;
    answer_free(&answer);
    return has;
}

/* The answer that others are compared with, which must be one. */
static char *base_answer(enum base base, const struct question *question)
{
    struct answer answer = ask(question, 1);
    if (!answer.handle) {
        fprintf(stderr, "%s: %s\n", base_names[base], answer.error);
        abort();
    }
    answer_free(&answer);
    return answer_text(question);
}

/* ---- options ---- */

/* Values of options that are no number and no word; a file is written before. */
static const struct {
    const char *option, *values[3];
} texts[] = {
    {"model", {"gpt2-xl"}},
    {"device", {"a100", "a100-80gb"}},
    {"objective", {"oobleck", "iteration"}},
    {"global-batch", {"64"}},
    {"devices", {"8", "3"}},
    {"software", {"fsdp", "deepspeed"}},
    {"inside", {"pcie4"}},
    {"across", {"ib-100g"}},
    {"network", {"reference", "0.5"}},
    {"flags", {"no-such-file"}},
    {"links", {"no-such-file"}},
    {"calibration", {"no-such-file"}},
    {"profile", {"no-such-file"}},
    {"cluster", {"no-such-file"}},
    {"plan", {"no-such-folder/file"}},
    {"file", {"no-such-file"}},
    {"emit", {"megatron"}},
    {"launcher", {"torchrun"}},
    {"fix", {"mbs=2", "pp=2"}},
    {"price", {"2", "h100=2"}},
    {"nodes", {"1..1"}},
    {"schedule", {"gpipe", "zb-h1"}},
    {"forward", {"2"}},
    {"backward", {"2"}},
    {"weight", {"2"}},
    {"comm", {"0.5"}},
    {"straggler", {"1=2"}},
    {"storage", {"no-such-file"}},
    {"replay", {"no-such-file"}},
    {"kernels", {"no-such-file"}},
    {"what-if", {"no-such-class=2"}},
    {"style", {"no-such-style"}},
    {"import", {"hpgo"}},
    {"search", {"divide"}},
    {"root", {"/tmp", "no-such-folder"}},
    {"rules", {"dapple-fixed"}},
    {"tokens", {"2T"}},
    {"deadline", {"30d", "1d"}},
    {"state-factor", {"9"}},
    {"sample-memory", {"9 GB"}},
    {"imbalance", {"3"}},
    {"headroom", {"60", "89"}},
    {"set", {"EXTRA=--sequence-parallel"}},
    {"lose", {"1"}},
    {"return", {"1"}},
    {"failures", {"no-such-file"}},
    {"rate", {"rsc-1"}},
    {"policy", {"restart"}},
    {"save-interval", {"none"}},
    {"slow-policy", {"move"}},
    {"spares", {"1"}},
    {"timeline", {"no-such-folder/file"}},
};

/* Options that change nothing here, and why. `base` NULL: in all questions. */
static const struct {
    const char *base, *option, *reason;
} unmoved[] = {
    {NULL, "output", "writes a file"},
    {NULL, "figure", "draws a file"},
    {NULL, "page", "writes a file"},
    {NULL, "write-schedule", "writes a file"},
    {NULL, "tasks", "writes a file"},
    {NULL, "trace", "writes a file"},
    {NULL, "chakra", "writes a file"},
    {NULL, "keep-tasks", "of callers: further lists"},
    {NULL, "form", "refuses answers that have no such form, see csv"},
    {NULL, "no-neighbours", "of known runs: none is near where it changes nothing"},
    {"check-plan", "model", "several plans in a call: for those of jobs"},
    {"check-plan", "device", "several plans in a call: for those of jobs"},
    {"check-plan", "rules", "several plans in a call: for those of DAPPLE"},
    {"check-plan of a job", "allreduce", "several plans in a call: for those of pipelines"},
    {"check-plan of a job", "memory", "several plans in a call: for those of pipelines"},
    {"check-plan of a job", "rules", "several plans in a call: for those of DAPPLE"},
    {"simulate PLAN", "send-blocks", "Megatron's sends do so anyway"},
};

static bool moves(const struct question *base, const char *before, const char *option, const char *value)
{
    struct question other = *base;
    question_set(&other, option, "%s", value);
    char *after = answer_text(&other);
    bool moved = strcmp(before, after) != 0;
    free(after);
    return moved;
}

static bool option_moves(const struct question *base, const char *before, const struct rh_option *option)
{
    static const char *const numbers[] = {"2", "3", "4096", "1", "20", "0.5", "64 MiB", "3s"};
    if (option->type == '?')
        return moves(base, before, option->name, "true");
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        for (int v = 0; v < 3 && strcmp(texts[t].option, option->name) == 0 && texts[t].values[v]; v++)
            if (moves(base, before, option->name, texts[t].values[v]))
                return true;
    for (int w = 0; option->words && option->words[w]; w++)
        if (moves(base, before, option->name, option->words[w]))
            return true;
    for (size_t n = 0; (option->type == 'q' || option->type == 'd') && n < sizeof numbers / sizeof *numbers;
         n++)
        if (moves(base, before, option->name, numbers[n]))
            return true;
    return false;
}

static bool is_excused(enum base base, const struct rh_option *option)
{
    bool excused = option->type == 'h' || option->type == 'H';
    for (size_t u = 0; u < sizeof unmoved / sizeof *unmoved; u++)
        excused |= strcmp(unmoved[u].option, option->name) == 0 &&
                   (!unmoved[u].base || strcmp(unmoved[u].base, base_names[base]) == 0);
    return excused;
}

/* Options that change nothing in a question; `beside`: the flag that it has beyond its base, or NULL. */
static int count_idle(enum base base, const struct question *question, const char *beside)
{
    int idle = 0;
    char *before = answer_text(question);
    struct rh_option option = {.size = sizeof option};
    for (int i = 0; rh_option(question->command, i, &option); i++) {
        if (is_excused(base, &option) || (beside && strcmp(beside, option.name) == 0) ||
            option_moves(question, before, &option))
            continue;
        printf("# %s%s%s: --%s changes nothing, and nothing says so\n", base_names[base], beside ? " --" : "",
               beside ? beside : "", option.name);
        idle++;
    }
    free(before);
    return idle;
}

int keys_idle_options(bool beside_flags)
{
    int idle = 0;
    file("links.yaml", links);
    for (enum base base = 0; base < BASE_COUNT; base++) {
        struct question question = question_of(base);
        char *answer = base_answer(base, &question);
        idle += count_idle(base, &question, NULL);
        struct rh_option flag = {.size = sizeof flag};
        for (int i = 0; beside_flags && rh_option(question.command, i, &flag); i++) {
            struct question beside = question;
            if (flag.type != '?' || is_excused(base, &flag))
                continue;
            question_set(&beside, flag.name, "true");
            if (has_answer(&beside))
                idle += count_idle(base, &beside, flag.name);
        }
        free(answer);
    }
    return idle;
}

/* ---- keys of the cluster file ---- */

/* Changes the number or word behind a key, which is looked for behind its parent: "10 GB/s" becomes "210 GB/s". False: the text has
 * no such key. */
static bool change_key(const char *text, const char *parent, const char *key, char out[1100])
{
    char pattern[64];
    const char *from = text;
    if (parent) {
        snprintf(pattern, sizeof pattern, "%s: ", parent);
        from = strstr(text, pattern);
    }
    snprintf(pattern, sizeof pattern, "%s: ", key);
    const char *at = from ? strstr(from + (parent ? strlen(parent) + 2 : 0), pattern) : NULL;
    if (!at)
        return false;
    size_t before = (size_t)(at - text) + strlen(pattern);
    snprintf(out, 1100, "%.*s2%s", (int)before, text, text + before);
    return true;
}

static int try_key(enum base base, const struct question *question, const char *before, const char *parent,
                   const char *key)
{
    char changed[1100];
    const char *top = parent && strcmp(parent, "groups") != 0 ? parent : key,
               *named = strstr(before, "not counted: ");
    if (strcmp(key, "$schema") == 0) /* of editors */
        return 0;
    if (!change_key(cluster_text, parent, key, changed)) {
        bool expected = by_model(base) && strstr("speed profile device", key);
        if (!expected)
            printf("# %s: the cluster of this test has no %s.%s\n", base_names[base], parent ? parent : "",
                   key);
        return !expected;
    }
    struct question other = *question;
    file("c2.yaml", changed);
    question_set(&other, "cluster", "%s", file("c2.yaml", NULL));
    char *after = answer_text(&other);
    /* links and errors hold the name of the file */
    bool moved = strcmp(before, after) != 0,
         says = named && strstr(named, top) && strstr(named, top) < strchr(named, '\n');
    free(after);
    if (moved || says || strcmp(key, "name") == 0) /* a name is for people */
        return 0;
    printf("# %s: %s%s%s of the cluster file changes nothing, and nothing says so\n", base_names[base],
           parent ? parent : "", parent ? "." : "", key);
    return 1;
}

/* The properties of a schema, and of those within. */
static int try_properties(enum base base, const struct question *question, const char *before,
                          const struct doc_node *root, const struct doc_node *schema, const char *parent)
{
    const struct doc_node *properties = doc_find(schema, "properties");
    int idle = 0;
    for (const struct doc_node *node = properties ? properties->first_child : NULL; node; node = node->next) {
        const struct doc_node *within =
            doc_find(node, "$ref") ? doc_find(doc_find(root, "$defs"), "link") : node;
        within = doc_find(within, "items") ? doc_find(within, "items") : within;
        if (doc_find(within, "properties"))
            idle += try_properties(base, question, before, root, within, node->key);
        else
            idle += try_key(base, question, before, parent, node->key);
    }
    return idle;
}

int keys_idle_in_cluster(void)
{
    static const enum base bases[] = {BASE_PIPELINE,      BASE_OOBLECK,        BASE_FLEET,
                                      BASE_MODEL_CLUSTER, BASE_MODEL_PIPELINE, BASE_TEMPLATES};
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    char path[512];
    struct doc schema;
    struct error err;
    int idle = 0;
    snprintf(path, sizeof path, "%s/docs/schema/cluster-1.json", root ? root : ".");
    if (!doc_load(&schema, path, &err)) {
        printf("# %s\n", err.text);
        return 1;
    }
    for (size_t b = 0; b < sizeof bases / sizeof *bases; b++) {
        struct question question = question_of(bases[b]);
        char *before = base_answer(bases[b], &question);
        idle += try_properties(bases[b], &question, before, schema.root, schema.root, NULL);
        free(before);
    }
    doc_release(&schema);
    return idle;
}
