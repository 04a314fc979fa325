#include "api/figure/options.h"
#include "api/sim/simulate.h"

#include "core/unit.h"
#include "plan/storage.h"
#include "sim/play.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FACTOR 1e6

/* Options of the playground: a plan has these numbers itself. */
static const char *const playground_options[] = {
    "stages", "microbatches", "forward", "backward", "weight", "comm", "hidden", "comm-streams", NULL};

static bool check(const struct simulate_options *given, struct error *err)
{
    for (int i = 0; playground_options[i]; i++)
        if (simulate_is_given(given, playground_options[i]))
            return error_set(
                err, ERROR_USAGE,
                "simulate: '--%s' is for playing a schedule without a plan; '%s' has its own numbers",
                playground_options[i], given->asked.plan ? given->asked.plan : "the plan");
    return true;
}

/* The number of devices of a pipeline whose stages lie on one device each, before the next chunk begins. */
static int depth_of(const struct sim_result *result)
{
    int depth = 0;
    while (depth < result->device_count && result->devices[depth].pipeline == result->devices[0].pipeline)
        depth++;
    return depth > 0 ? depth : 1;
}

/* Plays the plan once more for the files that show its tasks: only now the number of devices is known. */
static bool write_files(struct plan *plan, const struct sim_options *options, const struct sim_result *result,
                        const struct simulate_options *given, struct error *err)
{
    char title[200], time[32];
    struct simulate_files files;
    int64_t world = 0;
    if (!simulate_wants_tasks(given))
        return true;
    for (int i = 0; i < result->device_count; i++)
        world += result->devices[i].members;
    snprintf(title, sizeof title, "%.80s, %.40s: iteration %s simulated, bubble %.3g %%",
             plan->model ? plan->model : "plan", result->schedule,
             unit_format(time, sizeof time, result->seconds, UNIT_TIME, 4), 100 * result->bubble);
    const struct report_played played = {plan, result};
    const struct simulate_look look = {.picture = {.style = figure_style_of(given->asked.style),
                                                   .title = title,
                                                   .devices = result->device_count,
                                                   .depth = depth_of(result),
                                                   .memory_title = "memory of a device",
                                                   .memory_unit = FIGURE_BYTES},
                                       .name = report_name_played,
                                       .context = &played};
    const struct chrome_options trace = {.device_name = plan->type_count == 1 ? plan->types[0].name : NULL,
                                         .device_memory =
                                             plan->type_count == 1 ? (double)plan->types[0].nodes.memory : 0,
                                         .world_size = world};
    bool ok = simulate_files_open(&files, given, &look, &trace, err);
    if (ok) {
        struct sim_result again;
        struct sim_options shown = *options;
        const struct timeline_sink sink = timeline_to_all(&files.sinks);
        shown.plain = true;
        shown.sink = &sink;
        ok = sim_play(plan, &shown, &again, err);
        if (ok)
            sim_result_release(&again);
    }
    return simulate_files_close(&files, given, ok, err);
}

static bool deliver(struct plan *plan, const struct sim_options *options,
                    const struct simulate_options *given, struct error *err)
{
    struct sim_result result;
    struct sim_options asked = *options;
    struct pass_order order = {.devices = 0};
    asked.order = given->asked.write_schedule != NULL ? &order : NULL;
    if (!sim_play(plan, &asked, &result, err))
        return false;
    bool ok = sim_play_seeds(plan, options, (int)given->asked.seeds, &result, err) &&
              write_files(plan, options, &result, given, err) &&
              (given->asked.write_schedule == NULL || simulate_write_schedule(&order, NULL, given, err));
    pass_order_release(&order);
    if (ok) {
        struct json *json = &given->report->json;
        sim_write_json(&result, plan, json);
        sim_print(&result, plan, &given->report->text);
    }
    sim_result_release(&result);
    return ok;
}

#define MAX_STRAGGLERS 64

/* Returns -1 if no device's number is there. */
static long device_at(const char *text, char **end)
{
    errno = 0;
    long device = strtol(text, end, 10);
    return text[0] >= '0' && text[0] <= '9' && errno == 0 && device < PLAN_MAX_DEVICES ? device : -1;
}

/* Reads "@0.5-2", if it is there. */
static bool read_while(char **end, struct sim_straggler *straggler)
{
    if (**end != '@')
        return true;
    straggler->from = text_number(*end + 1, end);
    if (**end != '-')
        return false;
    straggler->until = text_number(*end + 1, end);
    return straggler->from >= 0.0 && straggler->until > straggler->from;
}

/* Reads "5=1.2,8-15=1.1@0.5-2". */
static bool read_stragglers(const char *text, struct sim_straggler *stragglers, struct sim_options *options,
                            struct error *err)
{
    const char *at = text;
    options->stragglers = stragglers;
    for (char *end; options->straggler_count < MAX_STRAGGLERS; at = end + 1) {
        long first = device_at(at, &end), last = first;
        if (first >= 0 && *end == '-')
            last = device_at(end + 1, &end);
        double factor = *end == '=' ? text_number(end + 1, &end) : 0;
        struct sim_straggler straggler = {.first = (int)first, .last = (int)last, .factor = factor};
        if (first < 0 || last < first || !(factor > 0) || factor > MAX_FACTOR ||
            !read_while(&end, &straggler) || (*end != '\0' && *end != ','))
            return error_set(
                err, ERROR_USAGE,
                "--straggler: expected devices and a factor above 0, up to %g, such as 5=1.2 or "
                "5=1.2,8-15=1.1, or with seconds between which it holds, 5=1.2@0.5-2; found '%s'",
                MAX_FACTOR, text);
        stragglers[options->straggler_count++] = straggler;
        if (*end == '\0')
            return true;
    }
    return error_set(err, ERROR_USAGE, "--straggler: more than %d of them", MAX_STRAGGLERS);
}

bool simulate_storage_read(const char *path, struct sim_options *options, struct error *err)
{
    struct plan_storage storage;
    struct arena arena = {0};
    bool ok = storage_load(&storage, &arena, path, err);
    arena_release(&arena);
    options->load_rate = ok ? storage.samples_per_second : 0.0;
    options->load_bytes = ok && storage.sample_bytes > 0.0 ? storage.sample_bytes : 0.0;
    return ok && (options->load_rate > 0.0 || error_set(err, ERROR_INPUT, "%s: the run did not train", path));
}

/* Plays a plan in the order of a schedule CSV. */
static bool play_with_file(const struct sim_options *asked, const struct simulate_options *given,
                           struct error *err)
{
    struct sim_options options = *asked;
    struct schedule_csv csv;
    struct pass_order order;
    struct plan plan;
    if (given->asked.compare || options.chunks > 0 || options.memory > 0 ||
        given->asked.write_schedule != NULL)
        return error_set(
            err, ERROR_USAGE,
            "--compare, --chunks, --memory-limit and --write-schedule: '%s' defines its own order of passes",
            given->asked.schedule);
    if (!schedule_csv_load(&csv, given->asked.schedule, err))
        return false;
    bool ok = schedule_csv_order(&csv, &order, err);
    options.schedule = given->asked.schedule;
    options.given = &order;
    if (ok) {
        ok = simulate_load(given, &plan, err);
        if (ok) {
            ok = deliver(&plan, &options, given, err);
            plan_release(&plan);
        }
    }
    pass_order_release(&order);
    schedule_csv_release(&csv);
    return ok;
}

bool simulate_play_plan(const struct simulate_options *given, struct error *err)
{
    struct plan plan;
    struct sim_options options = {
        .level = (enum sim_level)option_index(simulate_levels, given->asked.level),
        .memory = given->asked.memory_limit,
        .chunks = (int)given->asked.chunks,
        .no_symmetry = given->asked.no_symmetry,
        .jitter = given->asked.jitter,
        .collective_share = given->asked.collective_share,
        .seed = (uint64_t)given->asked.seed,
        .prefetch = given->asked.prefetch == 0  ? -1
                    : given->asked.prefetch < 0 ? 0
                                                : (int)given->asked.prefetch,
        .reshard = (enum sim_reshard)option_index(simulate_reshards, given->asked.reshard),
        .save_every = given->asked.save_every,
        .copy_rate = given->asked.copy_rate,
        .save_rate = given->asked.save_rate,
        .save_waits = (enum sim_save_waits)option_index(simulate_save_waits, given->asked.save_waits),
        .host_rate = given->asked.host_rate,
        .storage_network = given->asked.storage_network};
    struct sim_straggler stragglers[MAX_STRAGGLERS];
    bool several =
        given->asked.compare || (given->asked.schedule != NULL && strcmp(given->asked.schedule, "all") == 0);
    if (!check(given, err) ||
        (given->asked.straggler != NULL &&
         !read_stragglers(given->asked.straggler, stragglers, &options, err)) ||
        (given->asked.storage != NULL && !simulate_storage_read(given->asked.storage, &options, err)))
        return false;
    if (given->asked.send_blocks)
        options.send_blocks = SIM_YES;
    if (given->asked.schedule != NULL && text_ends_like(given->asked.schedule, ".csv"))
        return play_with_file(&options, given, err);
    if (given->asked.schedule != NULL && !several) {
        struct error unknown;
        const struct schedule *schedule = schedule_find(given->asked.schedule, &options.chunks, &unknown);
        several = schedule == NULL && strchr(given->asked.schedule, ',') != NULL;
        if (schedule == NULL && !several) {
            *err = unknown;
            return simulate_as_usage(err);
        }
        options.schedule = schedule != NULL ? schedule->name : NULL;
    }
    if (several && given->asked.seeds > 1)
        return error_set(err, ERROR_USAGE, "--seeds is for one schedule");
    if (!simulate_load(given, &plan, err))
        return false;
    if (given->asked.write_schedule != NULL && (several || plan.pipeline_count > 1)) {
        plan_release(&plan);
        return error_set(err, ERROR_USAGE, "--write-schedule is for one schedule of one pipeline");
    }
    bool ok =
        several ? simulate_play_schedules(&plan, &options, given, err) : deliver(&plan, &options, given, err);
    plan_release(&plan);
    return ok;
}
