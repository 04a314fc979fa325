/* The searches over DAPPLE's objective against the planner that they reproduce: its CPU seconds are in the records of
 * the reference data (hybrid/golden), ours are measured here, of each search's thread. All profiles, two clusters and
 * nine batch sizes in one go; a chain of 1495 cuts; 128 devices. `bench_dapple [THREADS [fixed]]`: with a second word
 * those under fixed rules, too. */
#include "core/clock.h"
#include "measure.h"

#include "core/doc.h"
#include "core/file.h"
#include "model/graph.h"
#include "plan/dapple/dapple.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BATCHES    9
#define MAX_TASKS  1024
#define MAX_LAYERS 200 /* of HPGO's import; where it makes more, or none, our own chain is planned */

/* What HPGO's examples and tests run each profile with. */
static const struct model {
    const char *file;
    double profile_batch;
    int microbatch;
    double state_factor, sample_memory;
} models[] = {
    {"amoeba-18-pbs-8", 8, 1, 3, 376267728},
    {"amoeba-36-pbs-1", 1, 1, 4, 752535456},
    {"amoeba-6-pbs-8-complicated", 8, 1, 4, 250845152},
    {"amoeba-6-pbs-8-simplified", 8, 1, 4, 250845152},
    {"bert-24-pbs-6", 6, 1, 3, 1733171968},
    {"bert-48-pbs-2", 2, 1, 3, 3473379328},
    {"gnmt-16-pbs-64", 64, 64, 3, 100000000},
    {"gnmt-32-pbs-64", 64, 64, 3, 25230080},
    {"gnmt-32-pbs-64-simplified", 64, 64, 3, 25230080},
    {"vgg-19-pbs-32", 32, 32, 2, 70000000},
    {"vgg16", 32, 1, 1, 0},
    {"xlnet-24-pbs-1", 1, 1, 3, 3942774528},
    {"xlnet-36-pbs-1", 1, 1, 3, 5914161792},
};

enum { MODELS = sizeof models / sizeof models[0] };

static struct chain chains[MODELS];
static int ends[3][128];

static const struct dapple_cluster clusters[] = {
    {.machine_count = 16,
     .machine_end = ends[0],
     .point_to_point = 1e9,
     .collective = 3e9,
     .inside = 25e9,
     .memory = 16e9},
    {.machine_count = 2,
     .machine_end = ends[1],
     .point_to_point = 1e9,
     .collective = 3e9,
     .inside = 25e9,
     .memory = 16e9},
    {.machine_count = 16,
     .machine_end = ends[1],
     .point_to_point = 1e9,
     .collective = 3e9,
     .inside = 25e9,
     .memory = 16e9},
    {.machine_count = 128,
     .machine_end = ends[0],
     .point_to_point = 1e9,
     .collective = 3e9,
     .inside = 25e9,
     .memory = 16e9},
};
static const char *const cluster_names[] = {"flat 16", "2 x 8", "16 x 8", "flat 128"};

static const char *reference(void)
{
    const char *given = getenv("REHEARSE_REFERENCE");
    return given ? given : "../shared/reference";
}

/* As HPGO imports it, or as we do; false: HPGO's import has too many cuts. Ends the program where there is nothing to
 * read. */
static bool load_chain(int model, bool hpgo, struct chain *chain)
{
    char path[512];
    struct graph graph;
    struct error err;
    char *data = NULL;
    size_t length;
    snprintf(path, sizeof path, "%s/hybrid/profiles/%s.txt", reference(), models[model].file);
    if (!file_read(path, DOC_MAX_BYTES, &data, &length, &err) ||
        !graph_parse(&graph, path, data, length, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(0);
    }
    free(data);
    bool found = hpgo ? graph_chain_hpgo(&graph, chain, &err) : graph_chain(&graph, chain, &err);
    graph_release(&graph);
    return found;
}

static void load_profile(int model)
{
    bool found = load_chain(model, true, &chains[model]);
    if (found && chains[model].layer_count <= MAX_LAYERS)
        return;
    if (found)
        chain_release(&chains[model]);
    if (!load_chain(model, false, &chains[model])) {
        fprintf(stderr, "%s: no chain\n", models[model].file);
        exit(1);
    }
}

static struct dapple_problem problem_of(int model, int cluster, int64_t batch, enum dapple_rules rules)
{
    return (struct dapple_problem){.chain = &chains[model],
                                   .cluster = &clusters[cluster],
                                   .profile_batch = models[model].profile_batch,
                                   .global_batch = batch,
                                   .microbatch = models[model].microbatch,
                                   .state_factor = models[model].state_factor,
                                   .sample_memory = models[model].sample_memory,
                                   .rules = rules};
}

struct result {
    bool found;
    double speedup, gap, cpu;
};

struct sweep {
    enum dapple_rules rules;
    bool hpgo;
    struct result results[MAX_TASKS];
};

static void sweep_one(void *context, size_t first, size_t last, int thread)
{
    struct sweep *sweep = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        int model = (int)(i / BATCHES / 2), cluster = (int)(i / BATCHES % 2);
        struct dapple_problem problem = problem_of(model, cluster, INT64_C(16) << i % BATCHES, sweep->rules);
        struct dapple_options options = {.time_limit = 0};
        struct dapple_split plan;
        struct error err;
        double started = 1e-9 * (double)clock_read(CLOCK_THREAD_CPUTIME_ID);
        bool found = sweep->hpgo ? dapple_search_hpgo(&problem, &plan, &err)
                                 : dapple_search_exact(&problem, &options, &plan, &err);
        sweep->results[i] = (struct result){
            .found = found, .cpu = 1e-9 * (double)clock_read(CLOCK_THREAD_CPUTIME_ID) - started};
        if (!found)
            continue;
        sweep->results[i].speedup = plan.speedup;
        sweep->results[i].gap = 1 - plan.lower_bound / plan.latency;
        dapple_split_release(&plan);
    }
}

static double sweep_all(struct sweep *sweep, struct parallel *pool)
{
    double started = clock_now();
    parallel_for(pool, (size_t)(MODELS * 2) * BATCHES, 1, sweep_one, sweep);
    return clock_now() - started;
}

/* Does a record have one of the sweep's batches? */
static bool in_sweep(const struct doc_node *record)
{
    const struct doc_node *input = doc_find(record, "input");
    const struct doc_node *batch = input ? doc_find(input, "gbs") : NULL;
    for (int i = 0; batch && i < BATCHES; i++)
        if (batch->number == (double)(INT64_C(16) << i))
            return true;
    return false;
}

/* The planner's own CPU seconds for a profile on a cluster, of one record or of the sweep's batches; 0: not recorded. */
static double recorded_cpu(int model, int cluster, const char *kind)
{
    char path[512];
    struct doc doc;
    struct error err;
    double sum = 0;
    snprintf(path, sizeof path, "%s/hybrid/golden/%s.%s%s.json", reference(), models[model].file,
             cluster == 0 ? "flat16" : "hier8-16", kind);
    if (!doc_load(&doc, path, &err))
        return 0;
    bool several = !doc_find(doc.root, "cpu_seconds");
    for (const struct doc_node *record = several ? doc.root->first_child : doc.root; record;
         record = several ? record->next : NULL) {
        const struct doc_node *seconds = doc_find(record, "cpu_seconds");
        sum += seconds && (!several || kind[0] || in_sweep(record)) ? seconds->number : 0;
    }
    doc_release(&doc);
    return sum;
}

static void print_sweep(const struct sweep *hpgo, const struct sweep *exact, const struct sweep *fixed)
{
    printf("%-28s %-8s %7s %10s %10s %10s %8s %9s %9s %8s\n", "profile", "cluster", "layers", "reference",
           "hpgo", "exact", "faster", "better", "at most", "fixed");
    double all_recorded = 0, all_own = 0;
    for (int i = 0; i < MODELS * 2; i++) {
        int model = i / 2, cluster = i % 2;
        double own = 0, choice = 0, corrected = 0, better = 0, max = 0, gap = 0;
        int count = 0;
        for (int b = 0; b < BATCHES; b++) {
            const struct result *result = &exact->results[(size_t)i * BATCHES + (size_t)b];
            const struct result *other = &hpgo->results[(size_t)i * BATCHES + (size_t)b];
            own += result->cpu;
            choice += other->cpu;
            corrected += fixed->results[(size_t)i * BATCHES + (size_t)b].cpu;
            gap = fmax(gap, result->found ? result->gap : 0);
            gap = fmax(gap, fixed->results[(size_t)i * BATCHES + (size_t)b].found
                                ? fixed->results[(size_t)i * BATCHES + (size_t)b].gap
                                : 0);
            if (!result->found || !other->found)
                continue;
            better += log(result->speedup / other->speedup);
            max = fmax(max, result->speedup / other->speedup);
            count++;
        }
        double recorded = recorded_cpu(model, cluster, "");
        all_recorded += recorded;
        all_own += recorded > 0 ? own : 0;
        printf("%-28s %-8s %7d ", models[model].file, cluster_names[cluster], chains[model].layer_count);
        printf(recorded > 0 ? "%8.2f s " : "         - ", recorded);
        printf("%7.1f ms %7.1f ms ", 1e3 * choice, 1e3 * own);
        printf(recorded > 0 ? "%7.0fx " : "       - ", recorded / own);
        printf("%+8.1f%% %+8.1f%% %5.1f ms%s\n", 100 * (exp(better / (count > 0 ? count : 1)) - 1),
               100 * (max - 1), 1e3 * corrected, gap > 1e-9 ? "  not proven" : "");
    }
    if (all_recorded > 0)
        printf("%-45s %8.2f s %10s %7.1f ms %7.0fx\n", "all that are recorded", all_recorded, "",
               1e3 * all_own, all_recorded / all_own);
}

static void plan_one(const char *name, const struct dapple_problem *problem, const char *cluster,
                     double recorded, struct parallel *pool)
{
    struct dapple_options options = {.pool = pool};
    struct dapple_split plan;
    struct error err;
    double started = clock_now(), cpu = clock_processor();
    if (!dapple_search_exact(problem, &options, &plan, &err)) {
        printf("%-28s %-9s %s\n", name, cluster, err.text);
        return;
    }
    printf("%-28s %-9s %-7s %6lld %9.2f %8.3f%% %9.3f s %8.3f s %8lld", name, cluster,
           problem->rules == DAPPLE_FIXED ? "fixed" : "dapple", (long long)problem->global_batch,
           plan.speedup, 100 * (1 - plan.lower_bound / plan.latency), clock_now() - started,
           clock_processor() - cpu, (long long)plan.programs);
    printf(recorded > 0 ? "  reference %.1f s CPU\n" : "\n", recorded);
    fflush(stdout);
    dapple_split_release(&plan);
}

/* HPGO's import of a profile with many branches: 1495 cuts. */
static void plan_long(int model, struct parallel *pool)
{
    struct chain chain;
    if (!load_chain(model, true, &chain))
        return;
    for (int cluster = 0; cluster < 2; cluster++) {
        struct dapple_problem problem = problem_of(model, cluster, 1024, DAPPLE_ORIGINAL);
        problem.chain = &chain;
        plan_one("gnmt-16, 1495 cuts", &problem, cluster_names[cluster],
                 recorded_cpu(model, cluster, ".full"), pool);
    }
    chain_release(&chain);
}

int main(int argc, char **argv)
{
    static struct sweep hpgo = {.hpgo = true}, exact, fixed = {.rules = DAPPLE_FIXED};
    struct parallel *pool = parallel_new(argc > 1 ? atoi(argv[1]) : 2, &(struct error){0});
    for (int i = 0; i < 128; i++) {
        ends[0][i] = i + 1;
        ends[1][i] = 8 * (i + 1);
    }
    for (int i = 0; i < MODELS; i++)
        load_profile(i);
    double choice_time = sweep_all(&hpgo, pool), cpu = clock_processor();
    double exact_time = sweep_all(&exact, pool);
    cpu = clock_processor() - cpu;
    double fixed_time = sweep_all(&fixed, pool);
    printf("DAPPLE's objective, batches 16 to 4096; the reference's CPU seconds are from its records\n\n");
    print_sweep(&hpgo, &exact, &fixed);
    printf("\n%d problems: hpgo %.3f s, exact %.3f s (%.3f s CPU), exact under fixed rules %.3f s; %d "
           "threads\n\n",
           MODELS * 2 * BATCHES, choice_time, exact_time, cpu, fixed_time, parallel_threads(pool));
    printf("%-28s %-9s %-7s %6s %9s %9s %11s %10s %8s\n", "large", "cluster", "rules", "batch", "speedup",
           "gap", "time", "CPU", "programs");
    for (int i = 0; i < MODELS; i++)
        if (strcmp(models[i].file, "gnmt-16-pbs-64") == 0)
            plan_long(i, pool);
    for (int i = 0; i < MODELS; i++)
        for (int cluster = 2; cluster < 4; cluster++)
            for (int rules = 0; rules < (argc > 2 ? 2 : 1); rules++) {
                struct dapple_problem problem =
                    problem_of(i, cluster, 1024, rules ? DAPPLE_FIXED : DAPPLE_ORIGINAL);
                plan_one(models[i].file, &problem, cluster_names[cluster], 0, pool);
            }
    printf("\npeak memory %.0f MiB\n", measure_peak_mib());
    parallel_free(pool);
    return 0;
}
