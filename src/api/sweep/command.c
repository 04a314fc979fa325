/* rh_sweep_plans: plans are played for every combination of devices, batch, schedule and links. */
#include "api/command.h"
#include "api/plan/deliver.h"
#include "api/plan/handle.h"
#include "api/plan/planning.h"
#include "api/plan/split.h"
#include "api/sweep/sweep.h"
#include "core/file.h"
#include "core/text.h"
#include "devices/measured/kernels.h"
#include "evidence/neighbours.h"
#include "figure/gnuplot.h"
#include "plan/plan.h"
#include "plan/plan_digest.h"
#include "schedule/schedule.h"
#include "sim/play.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A plan, made by the first thread that needs it. */
struct sweep_base_plan {
    pthread_mutex_t lock;
    enum { BASE_OPEN, BASE_READY, BASE_FAILED } state;
    struct plan plan;
    struct error error;
};

struct sweep_base {
    struct split split; /* with a model: its question, and the values of both axes */
    bool is_given;
    struct plan given;  /* is_given: the plan as it was read */
    double utilisation; /* is_given: share of the devices' peak for one sample a second; NAN: unknown */
    int count;          /* batches x devices */
    struct sweep_base_plan *plans;
};

/* Returns the plan for a batch and a number of devices, by their indices; NULL: there is none, as *err says. */
const struct plan *sweep_base_plan(struct sweep_base *base, int batch, int devices, struct error *err);

#define MAX_BATCH (INT64_C(1) << 31) /* samples */

/* Plays the plan once, so that missing prices are filled in, and threads only read it. */
static bool open_given(struct sweep_base *base, const struct plan_options *given, struct error *err)
{
    const struct sim_options options = {.plain = true};
    const char *batches = given->asked.global_batch;
    struct sim_result result;
    if (given->asked.from ? !api_plan_copy(given->asked.from, &base->given, err)
                          : !plan_load(&base->given, given->asked.plan, err))
        return false;
    if (!sim_play(&base->given, &options, &result, err))
        return false;
    base->utilisation = result.utilisation / result.samples;
    sim_result_release(&result);
    if (!budget_read_prices(given->asked.price, &base->split.chosen.added, &base->split.prices, err))
        return false;
    char own[32];
    int64_t samples = plan_samples(&base->given);
    snprintf(own, sizeof own, "%" PRId64, samples > 0 ? samples : 1);
    if (batches && samples == 0)
        return error_set(err, ERROR_USAGE, "--global-batch: '%s' gives no number of samples for its batch",
                         given->asked.plan ? given->asked.plan : "from");
    return range_parse("global-batch", batches ? batches : own, DIMENSION_SAMPLES, 1, MAX_BATCH,
                       &base->split.batches, err);
}

/* Reads the plan of the options (`plan`, a file, or `from`), or makes their question. Then all plans are open. The
 * caller ends *base with sweep_base_release, also after a failure; *options must outlive it. */
static bool sweep_base_open(struct sweep_base *base, const struct plan_options *options, struct error *err)
{
    *base = (struct sweep_base){.split = {.options = options},
                                .is_given = options->asked.plan || options->asked.from};
    plan_init(&base->given);
    if (base->is_given ? !open_given(base, options, err) : !split_ask(&base->split, err))
        return false;
    base->count = base->split.batches.count * (base->is_given ? 1 : base->split.devices.count);
    base->plans = calloc((size_t)base->count, sizeof *base->plans);
    if (!base->plans) {
        base->count = 0;
        return error_memory(err);
    }
    for (int i = 0; i < base->count; i++)
        pthread_mutex_init(&base->plans[i].lock, NULL);
    return true;
}

static void sweep_base_release(struct sweep_base *base)
{
    for (int i = 0; i < base->count; i++) {
        if (base->plans[i].state == BASE_READY)
            plan_release(&base->plans[i].plan);
        pthread_mutex_destroy(&base->plans[i].lock);
    }
    free(base->plans);
    plan_release(&base->given);
    split_release(&base->split);
}

/* A copy of the given plan whose pipelines have more or fewer micro-batches. Everything else lies in its arena. */
static bool with_batch(const struct plan *plan, int64_t batch, struct plan *copy, struct error *err)
{
    int64_t samples = plan_samples(plan);
    *copy = *plan;
    copy->arena = (struct arena){0};
    if (batch == samples || samples == 0)
        return true;
    copy->pipelines = ARENA_ARRAY(&copy->arena, (size_t)plan->pipeline_count, struct plan_pipeline);
    if (!copy->pipelines)
        return error_memory(err);
    for (int i = 0; i < plan->pipeline_count; i++) {
        int64_t microbatches = plan->pipelines[i].microbatches;
        copy->pipelines[i] = plan->pipelines[i];
        copy->pipelines[i].microbatches = microbatches * batch / samples;
        if (microbatches * batch % samples != 0) {
            arena_release(&copy->arena);
            return error_set(err, ERROR_INFEASIBLE,
                             "a batch of %" PRId64 " cannot be divided like that of %" PRId64
                             ", into %" PRId64 " micro-batches of pipeline %d",
                             batch, samples, microbatches, i);
        }
    }
    if (copy->global_batch > 0)
        copy->global_batch = batch;
    copy->iteration_time = 0.0; /* of another batch */
    copy->part_count = 0;
    return true;
}

const struct plan *sweep_base_plan(struct sweep_base *base, int batch, int devices, struct error *err)
{
    int device_count = base->is_given ? 1 : base->split.devices.count;
    struct sweep_base_plan *slot = &base->plans[batch * device_count + devices];
    pthread_mutex_lock(&slot->lock);
    if (slot->state == BASE_OPEN) {
        int64_t samples = base->split.batches.values[batch];
        bool made = base->is_given
                        ? with_batch(&base->given, samples, &slot->plan, &slot->error)
                        : split_plan(&base->split, samples, (int)base->split.devices.values[devices],
                                     &slot->plan, &slot->error);
        slot->state = made ? BASE_READY : BASE_FAILED;
    }
    pthread_mutex_unlock(&slot->lock);
    if (slot->state == BASE_READY)
        return &slot->plan;
    *err = slot->error;
    return NULL;
}

#define MAX_LINKS  3
#define MAX_VALUES 256 /* of an axis of words */

enum axis { DEVICES, BATCH, SCHEDULE, FIRST_LINK };

enum column { TIME, SAMPLES, TOKENS, UTILISATION, BUBBLE, MEMORY, FITS, FORMULA, SPLIT, COLUMNS };

static const struct sweep_column columns[COLUMNS] = {
    [TIME] = {"iteration_time", "iteration", SWEEP_TIME, NULL},
    [SAMPLES] = {"samples_per_second", "samples/s", SWEEP_NUMBER, "simulated"},
    [TOKENS] = {"tokens_per_second", NULL, SWEEP_NUMBER, NULL},
    [UTILISATION] = {"utilisation", "of peak", SWEEP_SHARE, NULL},
    [BUBBLE] = {"bubble", "bubble", SWEEP_SHARE, NULL},
    [MEMORY] = {"memory", "memory", SWEEP_BYTES, NULL},
    [FITS] = {"fits", "fits", SWEEP_FLAG, NULL},
    [FORMULA] = {"formula", NULL, SWEEP_TIME, NULL},
    [SPLIT] = {"split", "split", SWEEP_TEXT, NULL},
};

/* One --link: NAME=0.5,1,2. */
struct link_axis {
    const char *name;
    double factors[MAX_VALUES];
    const char *words[MAX_VALUES];
    int count;
};

struct asking {
    const struct rh_sweep_request *asked;
    struct plan_options options; /* of those of rh_plan_find, the ones in the table below */
    struct sweep_base *base;
    struct arena arena; /* words */
    const char *schedules[MAX_VALUES];
    int schedule_count;
    struct link_axis links[MAX_LINKS];
    int link_count;
};

/* ---- axes ---- */

/* Cuts a list at its commas. Returns the number of words; 0: an error. */
static int cut(struct asking *asking, const char *option, const char *list, const char **words,
               struct error *err)
{
    int count = 0;
    for (const char *at = list;; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || count == MAX_VALUES) {
            error_set(err, ERROR_USAGE, "--%s: expected 1 to %d values separated by commas, found '%s'",
                      option, MAX_VALUES, list);
            return 0;
        }
        words[count] = arena_copy(&asking->arena, at, length);
        if (words[count++] == NULL) {
            error_memory(err);
            return 0;
        }
        at += length;
        if (*at == '\0')
            return count;
    }
}

static bool read_schedules(struct asking *asking, const char *list, struct error *err)
{
    int chunks;
    asking->schedule_count = cut(asking, "schedule", list, asking->schedules, err);
    for (int i = 0; i < asking->schedule_count; i++)
        if (strcmp(asking->schedules[i], "plan") != 0 && !schedule_find(asking->schedules[i], &chunks, err)) {
            err->kind = ERROR_USAGE;
            return false;
        }
    return asking->schedule_count > 0;
}

static bool read_link(struct asking *asking, const char *given, struct error *err)
{
    struct link_axis *axis = &asking->links[asking->link_count++];
    const char *equals = strchr(given, '=');
    if (!equals || equals == given)
        return error_set(err, ERROR_USAGE, "--link: expected NAME=FACTOR,…, found '%s'", given);
    axis->name = arena_copy(&asking->arena, given, (size_t)(equals - given));
    axis->count = cut(asking, "link", equals + 1, axis->words, err);
    for (int i = 0; i < axis->count; i++) {
        char *end;
        axis->factors[i] = strtod(axis->words[i], &end);
        if (*end != '\0' || !(axis->factors[i] > 0 && axis->factors[i] <= 1e6))
            return error_set(err, ERROR_USAGE, "--link: expected a factor above 0 and up to 1e6, found '%s'",
                             axis->words[i]);
    }
    return axis->name ? axis->count > 0 : error_memory(err);
}

/* ---- one point ---- */

/* Multiplies the bandwidth of a link, by its name or its place; a plan may have it for several device types. */
static bool speed_up(const struct plan *plan, const char *name, double factor, double *speeds,
                     struct error *err)
{
    bool found = false;
    for (int i = 0; i < plan->link_count; i++) {
        bool same = strcmp(plan->links[i].name, name) == 0;
        for (int j = 0; j < plan->type_count; j++)
            same |= (strcmp(name, "inside") == 0 && plan->types[j].inside == i) ||
                    (strcmp(name, "across") == 0 && plan->types[j].across == i);
        if (same)
            speeds[i] *= factor;
        found |= same;
    }
    return found || error_set(err, ERROR_USAGE,
                              "--link: the plan has no link '%s'; expected inside, across, or '%s'%s", name,
                              plan->link_count > 0 ? plan->links[0].name : "a name",
                              plan->link_count > 1 ? " and others" : "");
}

static void describe(const struct plan *plan, char *text, size_t size)
{
    const struct plan_alternative split = plan_as_alternative(plan);
    const struct {
        const char *name;
        int degree;
    } degrees[] = {{"tp", split.degrees.tensor},
                   {"cp", split.degrees.context},
                   {"ep", split.degrees.expert},
                   {"pp", split.degrees.pipeline}};
    size_t length = 0;
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (degrees[i].degree > 1)
            length +=
                (size_t)snprintf(text + length, size - length, "%s %d ", degrees[i].name, degrees[i].degree);
    snprintf(text + length, size - length, "dp %d", split.degrees.data);
}

static void fill(const struct plan *plan, const struct sim_result *result, struct sweep_cell *cells)
{
    cells[TIME].number = result->seconds;
    cells[SAMPLES].number = result->samples;
    cells[TOKENS].number = result->tokens;
    cells[UTILISATION].number = result->utilisation;
    cells[BUBBLE].number = result->bubble < 1e-9 ? 0.0 : result->bubble; /* a difference of sums */
    cells[FORMULA].number = result->formula;
    if (result->fullest >= 0) {
        const struct sim_device *fullest = &result->devices[result->fullest];
        int64_t limit = plan->types[fullest->type].nodes.memory;
        cells[MEMORY].number = fullest->peak.total;
        if (limit > 0)
            cells[FITS].number = fullest->peak.total <= (double)limit;
    }
    describe(plan, cells[SPLIT].text, sizeof cells[SPLIT].text);
}

static bool answer_point(const void *context, const int *at, struct sweep_cell *cells, struct error *err)
{
    const struct asking *asking = context;
    const char *schedule = asking->schedules[at[SCHEDULE]];
    const struct plan *plan = sweep_base_plan(asking->base, at[BATCH], at[DEVICES], err);
    double *speeds = plan ? malloc(((size_t)plan->link_count + 1) * sizeof *speeds) : NULL;
    if (!speeds)
        return plan != NULL && error_memory(err);
    for (int i = 0; i < plan->link_count; i++)
        speeds[i] = 1.0;
    bool ok = true;
    for (int i = 0; ok && i < asking->link_count; i++) {
        const struct link_axis *axis = &asking->links[i];
        ok = speed_up(plan, axis->name, axis->factors[at[FIRST_LINK + i]], speeds, err);
    }
    const struct sim_options options = {
        .schedule = strcmp(schedule, "plan") == 0 ? NULL : schedule, .plain = true, .link_speeds = speeds};
    struct sim_result result;
    struct plan played = *plan; /* it has its prices: nothing is added to it */
    if (ok) {
        ok = sim_play(&played, &options, &result, err);
        if (ok) {
            fill(plan, &result, cells);
            played.iteration_time = result.seconds;
            ok = split_budget_cells(&asking->base->split, &played, &cells[COLUMNS], err);
            if (asking->base->is_given) /* the same work for each sample, whatever the batch */
                cells[UTILISATION].number = asking->base->utilisation * result.samples;
            sim_result_release(&result);
        } else if (err->kind == ERROR_INPUT) /* this plan has no such schedule */
            err->kind = ERROR_INFEASIBLE;
    }
    free(speeds);
    return ok;
}

/* ---- the inputs, for a sweep that goes on ---- */

/* Adds the content of a file, or the name of something that is built in. */
static bool add_input(const char *name, uint64_t *digest, struct error *err)
{
    char *data;
    size_t length;
    enum file_kind kind;
    *digest = plan_digest_text(*digest, name);
    if (!name || !file_look(name, &kind, err) || kind != FILE_REGULAR)
        return true;
    if (!file_read(name, (size_t)1 << 30, &data, &length, err))
        return false;
    *digest = plan_digest_text(*digest, data);
    free(data);
    return true;
}

static bool add_plan(const rh_plan *plan, uint64_t *digest, struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (!api_is(plan, &api_plan_kind, "from", err))
        return false;
    plan_write_json(&((const struct api_plan *)plan)->plan, &json, NULL);
    bool done = !text.failed || error_memory(err);
    if (done)
        *digest = plan_digest_text(*digest, text.data);
    text_release(&text);
    return done;
}

static bool digest_inputs(const struct rh_sweep_request *asked, const struct plan_options *plan, char *text,
                          size_t size, struct error *err)
{
    const char *const names[] = {asked->plan,   asked->model,  asked->software, asked->links,
                                 asked->device, asked->inside, asked->across,   asked->calibration};
    const int64_t numbers[] = {asked->sequence, plan->precision, asked->devices_per_node};
    uint64_t digest = PLAN_DIGEST_BEGIN;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!add_input(names[i], &digest, err))
            return false;
    if (asked->from && !add_plan(asked->from, &digest, err))
        return false;
    digest = plan_digest_integers(digest, numbers, sizeof numbers / sizeof *numbers);
    const double amounts[] = {asked->headroom, asked->tokens};
    digest = plan_digest_text(plan_digest_numbers(digest, amounts, 2), asked->price);
    for (size_t i = 0; i < asked->fix.count; i++)
        digest = plan_digest_text(digest, asked->fix.items[i]);
    snprintf(text, size, "%016llx", (unsigned long long)digest);
    return true;
}

/* ---- the command ---- */

static void write_head(const void *context, struct json *json)
{
    const struct asking *asking = context;
    const struct plan *plan = asking->base->is_given ? &asking->base->given : NULL;
    const struct job *job = &asking->base->split.question.job;
    json_string(json, "plan", asking->asked->plan);
    json_string(json, "model", plan ? plan->model : job->model->name);
    json_string(json, "device_type", plan ? plan->types[0].name : job->device->name);
}

static bool answer(struct asking *asking, rh_handle **made, struct error *err)
{
    const struct rh_sweep_request *asked = asking->asked;
    const struct split *split = &asking->base->split;
    bool given = asking->base->is_given;
    int64_t own_devices = given ? plan_devices_used(&asking->base->given) : 0;
    struct sweep_axis axes[FIRST_LINK + MAX_LINKS] = {
        [DEVICES] = {"devices", "devices", given ? 1 : split->devices.count,
                     given ? &own_devices : split->devices.values, NULL, NULL, false},
        [BATCH] = {"global_batch", "batch", split->batches.count, split->batches.values, NULL, NULL, false},
        [SCHEDULE] = {"schedule", "schedule", asking->schedule_count, NULL, asking->schedules, NULL, false},
    };
    for (int i = 0; i < asking->link_count; i++)
        axes[FIRST_LINK + i] = (struct sweep_axis){asking->links[i].name,
                                                   asking->links[i].name,
                                                   asking->links[i].count,
                                                   NULL,
                                                   asking->links[i].words,
                                                   asking->links[i].factors,
                                                   false};
    char inputs[32], title[256];
    const struct cost_device *device = split->question.job.device;
    bool sheet = !given && device_is_sheet(device);
    if (!digest_inputs(asked, &asking->options, inputs, sizeof inputs, err))
        return false;
    if (given)
        snprintf(title, sizeof title, "%.200s, simulated", asked->plan ? asked->plan : "the plan");
    else
        snprintf(title, sizeof title, "%.80s on %.80s, %ssimulated", split->question.job.model->name,
                 device->name,
                 sheet && residuals_on(device) == 0 ? "extrapolated from its data sheet, " : "");
    struct sweep_column shown[COLUMNS + SPLIT_BUDGET_COLUMNS];
    memcpy(shown, columns, sizeof columns);
    const struct sweep sweep = {
        .format = "rehearse-simulation-sweep/1",
        .title = title,
        .doing = "simulating",
        .inputs = inputs,
        .axes = axes,
        .axis_count = FIRST_LINK + asking->link_count,
        .columns = shown,
        .column_count = COLUMNS + split_budget_columns(&asking->options, shown + COLUMNS),
        .head = write_head,
        .answer = answer_point,
        .context = asking,
        .drawn = "samples per second",
    };
    struct plan_options how = asking->options;
    how.made = made;
    return plan_deliver_sweep(&how, &sweep, err);
}

/* A plan has its model, its devices and its degrees. */
static bool check(const struct rh_sweep_request *asked, struct error *err)
{
    bool given = asked->plan || asked->from;
    if (!given && !asked->model)
        return error_set(err, ERROR_USAGE, "sweep: expected a PLAN or --model NAME");
    if (given && (asked->model || asked->device || asked->devices || asked->fix.count > 0))
        return error_set(err, ERROR_USAGE,
                         "sweep: --model, --device, --devices and --fix are for sweeps without a PLAN");
    if (!given && !asked->device)
        return error_set(err, ERROR_USAGE, "sweep: '--device NAME' is missing, which --model needs");
    if (!given && !asked->devices)
        return error_set(err, ERROR_USAGE, "sweep: '--devices RANGE' is missing, which --model needs");
    if (!given && !asked->global_batch)
        return error_set(err, ERROR_USAGE, "sweep: '--global-batch RANGE' is missing, which --model needs");
    if (asked->link.count > MAX_LINKS)
        return error_set(err, ERROR_USAGE, "--link: at most %d links can be varied", MAX_LINKS);
    return !asked->figure || figure_can_write(asked->figure, err);
}

static struct plan_options options_of(const struct rh_sweep_request *asked, const struct api_call *call)
{
    struct plan_options options = {
        .planning = {.threads = call->how.threads, .time_limit = call->how.time_limit},
        .precision = option_index(model_precisions, asked->precision),
    };
    option_copy_common(&options.asked, api_plan_options, asked, api_sweep_options);
    return options;
}

static rh_handle *make_sweep(const void *request, const struct api_call *call, struct error *err)
{
    const struct rh_sweep_request *asked = request;
    struct sweep_base base;
    rh_handle *made = NULL;
    if (!check(asked, err))
        return NULL;
    struct asking *asking = calloc(1, sizeof *asking);
    if (!asking)
        return error_memory_null(err);
    asking->asked = asked;
    asking->base = &base;
    asking->options = options_of(asked, call);
    bool ok = read_schedules(asking, asked->schedule, err);
    for (size_t i = 0; ok && i < asked->link.count; i++)
        ok = read_link(asking, asked->link.items[i], err);
    if (ok && sweep_base_open(asking->base, &asking->options, err))
        answer(asking, &made, err);
    if (ok)
        sweep_base_release(&base);
    arena_release(&asking->arena);
    free(asking);
    return made;
}

API_WHOLE_COMMAND(sweep, "sweep", rh_sweep_request, .make = make_sweep);
