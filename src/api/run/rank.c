/* One rank of a run: what was asked for is read, and its part played. */
#include "api/choose.h"
#include "api/figure/options.h"
#include "api/run/run.h"
#include "api/sim/simulate.h"
#include "core/clock.h"
#include "measure/host.h"
#include "run/compute.h"
#include "run/disk.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define AT_ONCE 1e18 /* a second, where no rate is given of what is really read or written */

/* Files with the tasks, as they were played or as they were simulated. */
struct shown_tasks {
    struct simulate_options names;
    struct simulate_files files;
    struct timeline_sink sink;
    bool wanted, written; /* written: by this rank */
};

static bool open_tasks(struct shown_tasks *shown, const struct plan *plan, const char *how, bool writes,
                       struct error *err)
{
    char title[120];
    int devices = (int)plan_devices_used(plan);
    shown->files = (struct simulate_files){.gantt = NULL};
    shown->wanted = simulate_wants_tasks(&shown->names);
    shown->written = shown->wanted && writes;
    snprintf(title, sizeof title, "%.80s, %s", plan->model ? plan->model : "plan", how);
    const struct simulate_look look = {.picture = {.style = figure_style_of(shown->names.asked.style),
                                                   .title = title,
                                                   .devices = devices,
                                                   .depth = devices,
                                                   .memory_title = "memory of a device",
                                                   .memory_unit = FIGURE_BYTES}};
    const struct chrome_options trace = {.device_name = plan->type_count == 1 ? plan->types[0].name : NULL,
                                         .world_size = devices};
    if (shown->written && !simulate_files_open(&shown->files, &shown->names, &look, &trace, err))
        return false;
    shown->sink = timeline_to_all(&shown->files.sinks);
    return true;
}

static bool close_tasks(struct shown_tasks *shown, bool done, struct error *err)
{
    struct error ignored;
    return !shown->written || simulate_files_close(&shown->files, &shown->names, done, done ? err : &ignored);
}

/* Opens the files of rank 0, and plays. */
static bool play(struct wire *wire, struct plan *plan, const struct run_options *asked,
                 const struct rh_play_request *given, struct run_result *result, struct error *err)
{
    static const struct timeline_sink none = {.context = NULL};
    int64_t now = clock_read(CLOCK_REALTIME);
    struct shown_tasks played = {.names = {.origin = now}}, simulated = played;
    option_copy_common(&played.names.asked, api_simulate_options, given, api_play_options);
    simulated.names.asked = (struct rh_simulate_request){.trace = given->simulated, .style = given->style};
    bool ok = open_tasks(&played, plan, "played", wire->rank == 0, err);
    bool both = ok && open_tasks(&simulated, plan, "simulated", wire->rank == 0, err);
    struct run_options options = *asked;
    options.sink = played.written ? &played.sink : played.wanted ? &none : NULL;
    options.simulated = simulated.written ? &simulated.sink : NULL;
    bool done = both && run_play(wire, plan, &options, result, err);
    bool closed = close_tasks(&played, done, err);
    closed = close_tasks(&simulated, done && closed, err) && closed;
    if (done && !closed)
        run_result_release(result);
    return done && closed;
}

/* Plays with deadlines, or finds the model and plays with its kernels. */
static bool play_kernels(struct wire *wire, struct plan *plan, const struct run_options *asked,
                         const struct rh_play_request *given, struct run_result *result, struct error *err)
{
    struct cost_chosen chosen = {0};
    bool of_plan = strcmp(given->type, "plan") == 0;
    struct run_kernels kernels = {.is_bf16 = strcmp(given->type, "bf16") == 0, .sequence = given->sequence};
    const char *name = given->model ? given->model : plan->model;
    if (strcmp(given->compute, "deadline") == 0)
        return play(wire, plan, asked, given, result, err);
    if (given->jitter > 0.0)
        return error_set(err, ERROR_USAGE,
                         "--jitter is for kernels that wait for deadlines, not for --compute kernels");
    if (!name)
        return error_set(err, ERROR_USAGE, "--compute kernels: the plan names no model: add --model");
    if (of_plan)
        kernels.is_bf16 = plan->precision && strcmp(plan->precision, "fp32") != 0;
    bool ok = tables_ready(err) && cost_choose_model(&chosen, name, err);
    kernels.model = chosen.model;
    kernels.software = ok ? cost_choose_software(&chosen, given->software, err) : NULL;
    struct run_options options = *asked;
    options.kernels = &kernels;
    ok = ok && kernels.software && play(wire, plan, &options, given, result, err);
    cost_chosen_release(&chosen);
    return ok;
}

/* What hosts do beside the iterations. */
static bool set_hosts(struct sim_options *sim, struct run_disk *disk, struct run_options *asked,
                      const struct rh_play_request *given, struct error *err)
{
    sim->save_every = given->save_every;
    sim->copy_rate = given->copy_rate;
    sim->save_rate = given->save_rate;
    sim->save_waits = (enum sim_save_waits)option_index(simulate_save_waits, given->save_waits);
    if (given->storage && !simulate_storage_read(given->storage, sim, err))
        return false;
    if (given->checkpoints && sim->save_rate <= 0.0)
        sim->save_rate = AT_ONCE;
    if (given->data) {
        sim->load_bytes = disk_sample_bytes(given->data, err);
        if (sim->load_rate <= 0.0)
            sim->load_rate = AT_ONCE;
        if (!(sim->load_bytes > 0.0))
            return false;
    }
    *disk = (struct run_disk){.data = given->data, .checkpoints = given->checkpoints};
    if (given->data || given->checkpoints)
        asked->disk = disk;
    return true;
}

static bool play_part(struct wire *wire, const struct rh_play_request *given, struct run_result *result,
                      struct error *err)
{
    struct plan plan;
    struct run_disk disk;
    struct sim_options sim = {.schedule = NULL,
                              .chunks = (int)given->chunks,
                              .jitter = given->jitter,
                              .seed = (uint64_t)given->seed};
    struct run_options asked = {.sim = &sim,
                                .iterations = (int)given->iterations,
                                .per_rank = (int)given->devices_per_rank,
                                .byte_share = given->byte_share,
                                .timeout = given->timeout};
    if (!run_link_read(&asked.link, given->link, err) || !set_hosts(&sim, &disk, &asked, given, err))
        return false;
    if (given->schedule) {
        const struct schedule *schedule = schedule_find(given->schedule, &sim.chunks, err);
        if (!schedule)
            return simulate_as_usage(err);
        sim.schedule = schedule->name;
    }
    if (!plan_load(&plan, given->plans.items[0], err))
        return false;
    bool ok = play_kernels(wire, &plan, &asked, given, result, err);
    plan_release(&plan);
    return ok;
}

/* Emulated devices are late where others have the processors. */
bool play_set_priority(const struct rh_play_request *given, struct error *err)
{
    const struct sched_param first = {.sched_priority = 1};
    if (!given->priority || sched_setscheduler(0, SCHED_FIFO, &first) == 0)
        return true;
    return error_set(err, ERROR_FAILED, "--priority: the system refuses real-time priority: %s",
                     strerror(errno));
}

/* Pins this thread to the processor of its place among the host's ranks. */
static bool pin(int place, const cpu_set_t *all, struct error *err)
{
    cpu_set_t own;
    int left = place % CPU_COUNT(all), core = 0;
    while (!CPU_ISSET(core, all) || left-- > 0)
        core++;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    return host_pin(&own, err);
}

/* The caller's thread is afterwards as it was. */
bool play_rank(struct wire *wire, int place, const struct rh_play_request *given, struct run_result *result,
               struct error *err)
{
    cpu_set_t cores;
    struct sched_param turn;
    struct error ignored;
    int policy = sched_getscheduler(0);
    bool known = policy >= 0 && sched_getparam(0, &turn) == 0;
    if (!play_set_priority(given, err) || (given->pin && !host_cores(&cores, err)))
        return false;
    bool ok = (!given->pin || pin(place, &cores, err)) && play_part(wire, given, result, err);
    if (given->pin)
        (void)host_pin(&cores, &ignored);
    if (given->priority && known)
        (void)sched_setscheduler(0, policy, &turn);
    return ok;
}
