/* `rehearse plan --objective dapple`: hybrids of data and pipeline parallelism by the DAPPLE planner's objective. */
#include "plan/dapple/dapple.h"
#include "api/plan/command.h"
#include "api/plan/deliver.h"
#include "api/plan/range.h"
#include "api/sweep/sweep.h"
#include "core/clock.h"
#include "plan/dapple/report.h"

#include <math.h>
#include <stdio.h>

#define MAX_BATCH (INT64_C(1) << 31) /* samples */

/* The question, and what its answers are made from. */
struct dapple_request {
    const struct plan_options *options;
    bool hpgo_chain; /* imported HPGO's way */
    struct chain chain;
    struct dapple_cluster cluster; /* all of it */
    double profile_batch;
    struct range batches, devices;
};

static const char *import_name(const struct dapple_request *asking)
{
    return asking->hpgo_chain ? "hpgo" : "rehearse";
}

/* ---- input ---- */

static bool load_model(struct dapple_request *asking, struct error *err)
{
    const struct plan_options *options = asking->options;
    bool exact = options->search == PLAN_EXACT && options->rules == DAPPLE_FIXED;
    asking->hpgo_chain = options->import == PLAN_IMPORT_AUTO ? !exact : options->import == PLAN_IMPORT_HPGO;
    return dapple_input_load(&asking->chain, &asking->profile_batch, options->planning.profile,
                             asking->hpgo_chain, options->asked.profile_batch, err);
}

/* All devices of the cluster where nothing is said. */
static bool read_devices(struct dapple_request *asking, struct error *err)
{
    char all[16];
    snprintf(all, sizeof all, "%d", dapple_devices(&asking->cluster));
    return range_parse("devices", asking->options->asked.devices ? asking->options->asked.devices : all,
                       DIMENSION_NUMBER, 1, DAPPLE_MAX_DEVICES, &asking->devices, err);
}

static bool check_microbatch(const struct plan_options *options, struct error *err)
{
    if (plan_is_given(options, "microbatch-size") && options->planning.microbatch_size == 0)
        return error_set(err, ERROR_USAGE,
                         "--microbatch-size: expected at least 1 sample for --objective dapple, found '0'");
    return true;
}

static void close_asking(struct dapple_request *asking)
{
    range_release(&asking->devices);
    range_release(&asking->batches);
    dapple_cluster_release(&asking->cluster);
    chain_release(&asking->chain);
}

/* What is not there yet is all zero, so that one function ends it. */
static bool open_asking(struct dapple_request *asking, const struct plan_options *options, struct error *err)
{
    *asking = (struct dapple_request){.options = options};
    bool done = check_microbatch(options, err) &&
                range_parse("global-batch", options->asked.global_batch, DIMENSION_SAMPLES, 1, MAX_BATCH,
                            &asking->batches, err) &&
                dapple_cluster_load(&asking->cluster, options->planning.cluster, err) &&
                read_devices(asking, err) && load_model(asking, err);
    if (!done)
        close_asking(asking);
    return done;
}

/* ---- one answer ---- */

struct answer {
    struct dapple_cluster cluster; /* the devices that may be used */
    struct dapple_problem problem;
    struct dapple_split plan;
    struct dapple_report report;
};

static void release_answer(struct answer *answer)
{
    dapple_split_release(&answer->plan);
    dapple_cluster_release(&answer->cluster);
}

static bool search(const struct dapple_request *asking, struct answer *answer, struct parallel *pool,
                   struct error *err)
{
    const struct dapple_options how = {.time_limit = asking->options->planning.time_limit, .pool = pool};
    if (asking->options->search == PLAN_HPGO)
        return dapple_search_hpgo(&answer->problem, &answer->plan, err);
    return dapple_search_exact(&answer->problem, &how, &answer->plan, err);
}

/* The pool is for this search alone. */
static bool find_answer(const struct dapple_request *asking, int64_t batch, int64_t devices,
                        struct parallel *pool, struct answer *answer, struct error *err)
{
    const struct plan_options *options = asking->options;
    int64_t microbatch = options->planning.microbatch_size;
    *answer = (struct answer){.plan = {.stage_count = 0}};
    if (!dapple_cluster_take(&asking->cluster, (int)devices, &answer->cluster, err))
        return false;
    answer->problem = (struct dapple_problem){
        .chain = &asking->chain,
        .cluster = &answer->cluster,
        .profile_batch = asking->profile_batch,
        .global_batch = batch,
        .microbatch = microbatch > 0 ? microbatch : 1,
        .state_factor = options->asked.state_factor,
        .sample_memory = options->asked.sample_memory,
        .rules = (enum dapple_rules)options->rules,
    };
    double started = clock_now();
    if (!search(asking, answer, pool, err)) {
        dapple_cluster_release(&answer->cluster);
        return false;
    }
    answer->report = (struct dapple_report){
        .problem = &answer->problem,
        .plan = &answer->plan,
        .data = dapple_data_parallel(&answer->problem, false),
        .import = import_name(asking),
        .seconds = clock_now() - started,
    };
    return true;
}

static void print(const void *context, struct text *out)
{
    dapple_print(context, out);
}

static bool deliver(const struct plan_options *options, const struct dapple_report *report, struct error *err)
{
    struct plan plan;
    const struct plan_delivery delivery = {.plan = &plan, .print = print, .context = report};
    plan_init(&plan);
    if (!plan_of_dapple(&plan, report, err))
        return false;
    bool ok = plan_deliver(options, &delivery, err);
    plan_release(&plan);
    return ok;
}

static bool plan_once(const struct dapple_request *asking, struct error *err)
{
    struct answer answer;
    struct parallel *pool = parallel_new((int)asking->options->planning.threads, err);
    if (!pool)
        return false;
    bool done = find_answer(asking, asking->batches.values[0], asking->devices.values[0], pool, &answer, err);
    parallel_free(pool);
    if (!done)
        return false;
    done = deliver(asking->options, &answer.report, err);
    release_answer(&answer);
    return done;
}

/* ---- sweeps ---- */

enum column {
    SPEEDUP,
    ITERATION,
    SHAPE,
    REPLICAS,
    USED,
    MEMORY,
    FITS,
    GAP,
    PLAIN,
    OVERLAP,
    PRIORITY,
    LAYERS,
    PLACES,
    COLUMNS
};

static const struct sweep_column columns[COLUMNS] = {
    [SPEEDUP] = {"speedup", "speedup", SWEEP_NUMBER, "plan"},
    [ITERATION] = {"iteration_time", "iteration", SWEEP_TIME, NULL},
    [SHAPE] = {"stages", "devices of stages", SWEEP_TEXT, NULL},
    [REPLICAS] = {"replicas", "replicas", SWEEP_INTEGER, NULL},
    [USED] = {"devices_used", "used", SWEEP_INTEGER, NULL},
    [MEMORY] = {"memory", "memory", SWEEP_BYTES, NULL},
    [FITS] = {"fits", "fits", SWEEP_FLAG, NULL},
    [GAP] = {"gap", "gap", SWEEP_SHARE, NULL},
    [PLAIN] = {"data_parallel", "data parallel", SWEEP_NUMBER, "data parallel"},
    [OVERLAP] = {"data_parallel_overlap", "overlapped", SWEEP_NUMBER, "data parallel, overlapped"},
    [PRIORITY] = {"data_parallel_priority", "P3", SWEEP_NUMBER, "data parallel, P3"},
    [LAYERS] = {"stage_layers", "layers of stages", SWEEP_TEXT, NULL},
    [PLACES] = {"stage_devices", "on devices", SWEEP_TEXT, NULL},
};

static bool answer_point(const void *context, const int *at, struct sweep_cell *cells, struct error *err)
{
    const struct dapple_request *asking = context;
    struct answer answer;
    if (!find_answer(asking, asking->batches.values[at[0]], asking->devices.values[at[1]], NULL, &answer,
                     err))
        return false;
    const struct dapple_split *plan = &answer.plan;
    double memory = dapple_max_memory(&answer.problem, plan);
    cells[SPEEDUP].number = plan->speedup;
    cells[ITERATION].number = plan->latency;
    dapple_add_shape(plan, &cells[SHAPE].more);
    cells[REPLICAS].number = plan->replicas;
    cells[USED].number = plan->device_count - dapple_idle(plan);
    cells[MEMORY].number = memory;
    cells[FITS].number = memory <= answer.cluster.memory;
    cells[GAP].number = plan->lower_bound > 0 ? plan_gap_of(plan->latency, plan->lower_bound) : NAN;
    cells[PLAIN].number = answer.report.data.plain;
    cells[OVERLAP].number = answer.report.data.overlap;
    cells[PRIORITY].number = answer.report.data.priority;
    dapple_add_layers(plan, &cells[LAYERS].more);
    dapple_add_devices(plan, &cells[PLACES].more);
    bool whole = !cells[SHAPE].more.failed && !cells[LAYERS].more.failed && !cells[PLACES].more.failed;
    release_answer(&answer);
    return whole || error_memory(err);
}

static const char *search_name(const struct dapple_request *asking)
{
    return asking->options->search == PLAN_HPGO ? "hpgo" : "exact";
}

static void write_head(const void *context, struct json *json)
{
    const struct dapple_request *asking = context;
    const struct plan_options *options = asking->options;
    json_string(json, "objective", "dapple");
    json_string(json, "rules", dapple_rules_name((enum dapple_rules)options->rules));
    json_string(json, "search", search_name(asking));
    json_string(json, "import", import_name(asking));
    json_integer(json, "microbatch_size",
                 options->planning.microbatch_size > 0 ? options->planning.microbatch_size : 1);
}

static bool plan_sweep(const struct dapple_request *asking, struct error *err)
{
    const struct plan_options *options = asking->options;
    char title[128];
    snprintf(title, sizeof title, "objective dapple, rules %s, search %s, import %s",
             dapple_rules_name((enum dapple_rules)options->rules), search_name(asking), import_name(asking));
    const struct sweep_axis axes[] = {
        {.key = "global_batch",
         .title = "global batch",
         .count = asking->batches.count,
         .values = asking->batches.values},
        {.key = "devices",
         .title = "devices",
         .count = asking->devices.count,
         .values = asking->devices.values,
         .scaling = true},
    };
    const struct sweep sweep = {.format = "rehearse-sweep/1",
                                .title = title,
                                .doing = "planning",
                                .axis_count = 2,
                                .axes = axes,
                                .column_count = COLUMNS,
                                .columns = columns,
                                .answer = answer_point,
                                .head = write_head,
                                .context = asking,
                                .drawn = "speedup against one device"};
    return plan_deliver_sweep(options, &sweep, err);
}

bool plan_by_dapple(const struct plan_options *options, struct error *err)
{
    struct dapple_request asking;
    if (!open_asking(&asking, options, err))
        return false;
    bool sweep = asking.batches.count > 1 || asking.devices.count > 1;
    bool done;
    if (sweep && options->dot)
        done = error_set(err, ERROR_USAGE, "--dot is for one plan, not for a sweep");
    else if (!sweep && options->csv)
        done = error_set(err, ERROR_USAGE,
                         "--csv is for sweeps: give --global-batch or --devices several values");
    else
        done = sweep ? plan_sweep(&asking, err) : plan_once(&asking, err);
    close_asking(&asking);
    return done;
}
