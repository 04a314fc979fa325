#include "api/choose.h"
#include "api/sim/simulate.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run/drills.h"
#include "cli/run/launched.h"
#include "comm/comm.h"
#include "core/clock.h"
#include "measure/host.h"
#include "run/compute.h"
#include "run/disk.h"
#include "run/run.h"

#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

struct run_given {
    struct rh_list plans;
    const char *link, *schedule;
    int64_t ranks, iterations, per_rank, chunks;
    double byte_share, jitter, timeout;
    const char *csv, *figure, *trace, *simulated, *chakra;
    const char *model, *software, *storage;
    int style, compute, type, save_waits;
    int64_t save_every, sequence;
    double copy_rate, save_rate;
    struct run_disk disk;
    struct drills_given drills;
    bool priority, pin, json;
    const char *output;
};

enum { COMPUTE_DEADLINE, COMPUTE_KERNELS };
#define AT_ONCE 1e18 /* a second, where no rate is given of what is really read or written */

static const char *const save_waits[] = {"copies", "writes", "nothing", NULL}; /* enum sim_save_waits */

enum { TYPE_OF_PLAN, TYPE_FP32, TYPE_BF16 };

static const char *const computes[] = {"deadline", "kernels", NULL};
static const char *const types[] = {"plan", "fp32", "bf16", NULL};

static const struct option_spec options[] = {
    OPTION(run_given, ranks, OPTION_INTEGER, "ranks", .letter = 'r', .argument = "N", .initial = "1",
           .min = 1, .max = WIRE_MAX_RANKS,
           .help =
               "start N ranks on this host; under mpirun or srun there are as many as these have started"),
    OPTION(run_given, per_rank, OPTION_INTEGER, "devices-per-rank", .argument = "N", .min = 1, .max = 65536,
           .help = "devices that a rank plays; as many as needed if not given"),
    OPTION(run_given, iterations, OPTION_INTEGER, "iterations", .letter = 'i', .argument = "N",
           .initial = "3", .min = 1, .max = 10000, .help = "play so many iterations"),
    OPTION(run_given, schedule, OPTION_TEXT, "schedule", .argument = "NAME",
           .help = "play this schedule instead of the plan's"),
    OPTION(run_given, chunks, OPTION_INTEGER, "chunks", .argument = "N", .min = 1, .max = 1024,
           .help = "chunks of the model on each device, for the schedules that have them"),
    OPTION(run_given, link, OPTION_TEXT, "link", .argument = "LINK", .initial = "plan",
           .help = "what transfers take at least: what the plan says (plan); latency=20us,bandwidth=10GB/s; "
                   "or only what "
                   "the hosts' network takes (host)"),
    OPTION(run_given, byte_share, OPTION_NUMBER, "byte-share", .argument = "SHARE", .initial = "1", .max = 1,
           .help = "move this share of the plan's bytes, such as 0.01 on a laptop"),
    OPTION(run_given, compute, OPTION_CHOICE, "compute", .argument = "WAY", .words = computes,
           .initial = "deadline",
           .help =
               "kernels end when the plan says (deadline), or are computed by oneDNN, as 'rehearse measure "
               "layers' does (kernels)"),
    OPTION(run_given, model, OPTION_TEXT, "model", .letter = 'm', .argument = "MODEL", .topic = "kernels",
           .help = "the model whose layers the plan has; by default the plan's"),
    OPTION(
        run_given, sequence, OPTION_INTEGER, "sequence", .argument = "N", .max = 16777216, .topic = "kernels",
        .initial = "0",
        .help =
            "tokens of a sequence, as they were measured; 0: the plan's, and the model's if it names none"),
    OPTION(run_given, type, OPTION_CHOICE, "type", .argument = "TYPE", .words = types, .topic = "kernels",
           .initial = "plan", .help = "number format; 'plan': the plan's, and fp32 if it names none"),
    OPTION(run_given, software, OPTION_TEXT, "software", .argument = "NAME", .topic = "kernels",
           .initial = "fsdp", .help = "training software, whose kernels the layers have"),
    OPTION(run_given, pin, OPTION_FLAG, "pin",
           .help = "keep each rank on a processor of its own, in turn if there are fewer"),
    OPTION(run_given, jitter, OPTION_NUMBER, "jitter", .argument = "SHARE", .max = 10,
           .help = "standard deviation of the time of kernels, such as 0.02; simulated in the same way"),
    OPTION(run_given, drills.seed, OPTION_INTEGER, "seed", .argument = "N", .initial = "1",
           .max = 9007199254740992.0, .help = "seed of the jitter, and of random drills"),
    OPTION(run_given, timeout, OPTION_QUANTITY, "timeout", .argument = "TIME", .initial = "60s", .min = 0.1,
           .max = 1e6, .unit = UNIT_TIME, .help = "give up if nothing has happened for so long"),
    OPTION(run_given, priority, OPTION_FLAG, "priority",
           .help = "ask the system to run ranks before all others, so that deadlines are met on a busy host"),
    OPTION(run_given, disk.data, OPTION_FILE, "data", .topic = "hosts", .argument = "FOLDER",
           .help = "read the samples of each iteration from this data set of 'rehearse dataset generate'"),
    OPTION(run_given, storage, OPTION_FILE, "storage", .topic = "hosts", .argument = "FILE",
           .help = "load training data as fast as a storage run did (result.json of rehearse feed)"),
    OPTION(run_given, save_every, OPTION_INTEGER, "save-every", .topic = "hosts", .argument = "N",
           .max = 10000, .help = "save a checkpoint every N iterations, beside the next ones; 0: never"),
    OPTION(run_given, disk.checkpoints, OPTION_FILE, "checkpoints", .topic = "hosts", .argument = "FOLDER",
           .help =
               "--save-every: write them here; a drill loads the last one after losses that memory cannot "
               "heal"),
    OPTION(run_given, copy_rate, OPTION_QUANTITY, "copy-rate", .unit = UNIT_RATE, .topic = "hosts",
           .argument = "RATE", .max = 1e15,
           .help = "--save-every: how fast a device copies to its host; 0: at once"),
    OPTION(run_given, save_rate, OPTION_QUANTITY, "save-rate", .unit = UNIT_RATE, .topic = "hosts",
           .argument = "RATE", .max = 1e15,
           .help = "--save-every: how fast all hosts together write, as simulated, and played without "
                   "--checkpoints; 0: at once"),
    OPTION(run_given, save_waits, OPTION_CHOICE, "save-waits", .topic = "hosts", .argument = "WHAT",
           .words = save_waits, .initial = "copies",
           .help = "--save-every: passes wait until all devices have copied to their hosts; until all hosts "
                   "have written; or only the next optimizer waits for the copies of its device"),
    OPTION(run_given, csv, OPTION_FILE, "csv", .topic = "output", .argument = "FILE",
           .help = "also write all tasks as a table: device, kind, micro-batch, begin, end"),
    OPTION(run_given, trace, OPTION_FILE, "trace", .topic = "output", .argument = "FILE",
           .help = "also write the tasks as a Chrome trace, for Perfetto; a name that ends in / is a folder "
                   "with a file for each device, one that ends in .db a trace for 'rehearse compare'"),
    OPTION(run_given, simulated, OPTION_FILE, "simulated", .topic = "output", .argument = "FILE",
           .help = "also write the tasks as they are simulated, as --trace does"),
    OPTION(run_given, chakra, OPTION_FILE, "chakra", .topic = "output", .argument = "PREFIX",
           .help = "also write the tasks of device N as Chakra's execution trace PREFIX.N.et"),
    OPTION(run_given, figure, OPTION_FILE, "figure", .topic = "output", .argument = "FILE",
           .help = "also draw the timeline and the memory; the ending is .svg, .png or .pdf (needs gnuplot)"),
    {.name = "style",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct run_given, style),
     .topic = "output",
     .argument = "STYLE",
     .words = figure_style_names,
     .help = "look of the picture"},
    DRILLS_OPTIONS(run_given),
    OPTION_JSON(struct run_given),
    OPTION_OUTPUT(struct run_given),
    OPTION_END,
};

/* ---- one rank ---- */

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
    const struct gantt_options look = {.style = figure_style_at(shown->names.style),
                                       .title = title,
                                       .devices = devices,
                                       .depth = devices,
                                       .memory_title = "memory of a device",
                                       .memory_unit = FIGURE_BYTES};
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
static bool play(struct wire *wire, struct plan *plan, struct run_options *asked,
                 const struct run_given *given, struct run_result *result, struct error *err)
{
    static const struct timeline_sink none = {.context = NULL};
    int64_t now = clock_read(CLOCK_REALTIME);
    struct shown_tasks played = {.names = {.csv = given->csv,
                                           .figure = given->figure,
                                           .trace = given->trace,
                                           .chakra = given->chakra,
                                           .style = given->style,
                                           .origin = now}},
                       simulated = {.names = {.trace = given->simulated, .origin = now}};
    bool ok = open_tasks(&played, plan, "played", wire->rank == 0, err);
    bool both = ok && open_tasks(&simulated, plan, "simulated", wire->rank == 0, err);
    asked->sink = played.written ? &played.sink : played.wanted ? &none : NULL;
    asked->simulated = simulated.written ? &simulated.sink : NULL;
    bool done = both && run_play(wire, plan, asked, result, err);
    bool closed = close_tasks(&played, done, err);
    closed = close_tasks(&simulated, done && closed, err) && closed;
    if (done && !closed)
        run_result_release(result);
    return done && closed;
}

static bool report(const struct run_result *result, const struct plan *plan, const struct run_given *given,
                   struct error *err)
{
    struct text text = {0};
    struct json json = {.out = &text};
    if (given->json)
        run_write_json(result, plan, &json);
    else
        run_print(result, &text);
    return output_and_release(given->output, &text, err);
}

/* Plays with deadlines, or finds the model and plays with its kernels. */
static bool play_kernels(struct wire *wire, struct plan *plan, struct run_options *asked,
                         const struct run_given *given, struct run_result *result, struct error *err)
{
    struct cost_chosen chosen = {0};
    struct run_kernels kernels = {.is_bf16 = given->type == TYPE_BF16, .sequence = given->sequence};
    const char *name = given->model ? given->model : plan->model;
    if (given->compute == COMPUTE_DEADLINE &&
        (given->model || given->sequence > 0 || given->type != TYPE_OF_PLAN))
        return error_set(err, ERROR_USAGE, "--model, --sequence and --type are of --compute kernels");
    if (given->compute == COMPUTE_DEADLINE)
        return play(wire, plan, asked, given, result, err);
    if (given->jitter > 0.0)
        return error_set(err, ERROR_USAGE, "--jitter is of kernels that wait for deadlines");
    if (!name)
        return error_set(err, ERROR_USAGE, "--compute kernels: the plan names no model: expected --model");
    if (given->type == TYPE_OF_PLAN)
        kernels.is_bf16 = plan->precision && strcmp(plan->precision, "fp32") != 0;
    bool ok = tables_ready(err) && cost_choose_model(&chosen, name, err);
    kernels.model = chosen.model;
    kernels.software = ok ? software_find(given->software) : NULL;
    asked->kernels = &kernels;
    ok = ok && (kernels.software || software_unknown(given->software, err)) &&
         play(wire, plan, asked, given, result, err);
    cost_chosen_release(&chosen);
    return ok;
}

/* What hosts do beside the iterations. */
static bool set_hosts(struct sim_options *sim, struct run_options *asked, const struct run_given *given,
                      struct error *err)
{
    sim->save_every = given->save_every;
    sim->copy_rate = given->copy_rate;
    sim->save_rate = given->save_rate;
    sim->save_waits = (enum sim_save_waits)given->save_waits;
    if (given->disk.checkpoints && given->save_every == 0)
        return error_set(err, ERROR_USAGE, "--checkpoints: expected --save-every");
    if ((given->copy_rate > 0.0 || given->save_rate > 0.0) && given->save_every == 0)
        return error_set(err, ERROR_USAGE, "--copy-rate and --save-rate are of --save-every");
    if (given->storage && !simulate_storage_read(given->storage, sim, err))
        return false;
    if (given->disk.checkpoints && sim->save_rate <= 0.0)
        sim->save_rate = AT_ONCE;
    if (given->disk.data) {
        sim->load_bytes = disk_sample_bytes(given->disk.data, err);
        if (sim->load_rate <= 0.0)
            sim->load_rate = AT_ONCE;
        if (!(sim->load_bytes > 0.0))
            return false;
    }
    if (given->disk.data || given->disk.checkpoints)
        asked->disk = &given->disk;
    return true;
}

static bool be_rank(struct wire *wire, const struct run_given *given, struct error *err)
{
    struct plan plan;
    struct run_result result;
    struct sim_options sim = {.schedule = NULL,
                              .chunks = (int)given->chunks,
                              .jitter = given->jitter,
                              .seed = (uint64_t)given->drills.seed,
                              .straggler = -1};
    struct run_options asked = {.sim = &sim,
                                .iterations = (int)given->iterations,
                                .per_rank = (int)given->per_rank,
                                .byte_share = given->byte_share,
                                .timeout = given->timeout};
    if (!run_link_read(&asked.link, given->link, err) || !set_hosts(&sim, &asked, given, err))
        return false;
    if (given->schedule) {
        const struct schedule *schedule = schedule_find(given->schedule, &sim.chunks, err);
        if (!schedule)
            return simulate_as_usage(err);
        sim.schedule = schedule->name;
    }
    if (!plan_load(&plan, given->plans.items[0], err))
        return false;
    bool ok = play_kernels(wire, &plan, &asked, given, &result, err);
    if (ok && wire->rank == 0)
        ok = report(&result, &plan, given, err);
    if (ok)
        run_result_release(&result);
    plan_release(&plan);
    return ok;
}

/* Emulated devices are late where others have the processors. */
static bool set_priority(const struct run_given *given, struct error *err)
{
    const struct sched_param first = {.sched_priority = 1};
    if (!given->priority || sched_setscheduler(0, SCHED_FIFO, &first) == 0)
        return true;
    return error_set(err, ERROR_FAILED, "--priority: the system does not allow it: %s", strerror(errno));
}

/* Pins this process to the processor of its place among the host's ranks. */
static bool pin(const struct run_given *given, int place, struct error *err)
{
    cpu_set_t all, own;
    if (!given->pin)
        return true;
    if (!host_cores(&all, err))
        return false;
    int left = place % CPU_COUNT(&all), core = 0;
    while (!CPU_ISSET(core, &all) || left-- > 0)
        core++;
    CPU_ZERO(&own);
    CPU_SET(core, &own);
    return host_pin(&own, err);
}

static bool be_alone(const struct run_given *given, struct error *err)
{
    struct wire *wire = wire_alone(err);
    bool ok = wire && pin(given, 0, err) && be_rank(wire, given, err);
    wire_close(wire);
    return ok;
}

/* Of the ranks that fail, rank 0 says why; all know it. */
static bool end_rank(struct wire *wire, bool ok, struct error *err)
{
    if (wire->rank > 0)
        run_leave(wire, ok ? 0 : (int)err->kind);
    wire_close(wire);
    return ok;
}

static bool be_one_of_ours(const struct run_given *given, struct error *err)
{
    struct wire *wire;
    int status = 0;
    if (!run_start_ranks((int)given->ranks, 0.0, 5.0, &wire, &status, err))
        return false;
    if (wire)
        return end_rank(wire, pin(given, wire->rank, err) && be_rank(wire, given, err), err);
    if (status != 0) /* rank 0 has said why */
        run_leave(NULL, status);
    return true;
}

static bool be_one_of_mpi(const struct run_given *given, struct error *err)
{
    if (given->ranks > 1)
        return error_set(err, ERROR_USAGE, "--ranks: the launcher has started %d ranks already",
                         comm_launched());
    struct comm *comm = comm_open(given->timeout, err);
    struct wire *wire = comm ? wire_over_mpi(comm, 0.0, err) : NULL;
    if (!wire)
        return false;
    int rank = wire->rank;
    bool ok = pin(given, comm_local_rank(comm), err) && be_rank(wire, given, err);
    if (ok) {
        wire_close(wire);
        comm_close(comm);
    } else if (rank >
               0) { /* MPI would wait for what will never come, and the launcher ends the others at once */
        clock_sleep(CLOCK_SECOND / 2);
        run_leave(NULL, (int)err->kind);
    }
    return ok;
}

/* Returns a rank's place among those of its host. */
static int place_on_host(const struct launch_seat *seat)
{
    int place = 0;
    for (int rank = 0; rank < seat->rank; rank++)
        place += seat->host_of[rank] == seat->host_of[seat->rank];
    return place;
}

/* A rank on one of the hosts of `rehearse launch`; the launcher says what went wrong. */
static bool be_one_of_launch(const struct run_given *given, struct error *err)
{
    struct launch_seat seat;
    struct wire *wire = launch_join(&seat, given->timeout, given->timeout, err);
    bool ok = wire && pin(given, place_on_host(&seat), err) && be_rank(wire, given, err);
    launch_hosts_release(&seat.hosts);
    if (ok && seat.rank == 0)
        return end_rank(wire, ok, err);
    if (!ok)
        launch_tell_failure(err);
    run_leave(wire, ok ? 0 : (int)err->kind);
}

static bool launch_ranks(const struct run_given *given, struct error *err)
{
    const struct launch *launch = launched_hosts();
    const struct launch_watch watch = {.limit = INFINITY};
    int host_of[WIRE_MAX_RANKS], slots = 0;
    struct launch_ranks all = {.host_of = host_of};
    for (size_t h = 0; h < launch->hosts.count; h++)
        slots += launch->hosts.hosts[h].slots > 0 ? launch->hosts.hosts[h].slots : 1;
    all.count = given->ranks > 1 ? (int)given->ranks : slots < WIRE_MAX_RANKS ? slots : WIRE_MAX_RANKS;
    return launch_place(&launch->hosts, all.count, host_of, err) && launch_run(launch, &all, &watch, err);
}

static bool run(void *context, struct error *err)
{
    const struct run_given *given = context;
    const struct drills_more more = {
        given->plans, (int)given->iterations, given->byte_share,       given->timeout,
        given->json,  given->output,          given->disk.checkpoints, (int)given->save_every};
    if (!set_priority(given, err))
        return false;
    if (drills_asked(&given->drills))
        return drills_run(&given->drills, &more, err);
    if (given->plans.count > 1)
        return error_set(err, ERROR_USAGE, "run: one plan is played; several are for drills");
    return launch_is_rank()      ? be_one_of_launch(given, err)
           : launched_hosts()    ? launch_ranks(given, err)
           : comm_launched() > 1 ? be_one_of_mpi(given, err)
           : given->ranks > 1    ? be_one_of_ours(given, err)
                                 : be_alone(given, err);
}

static const struct command_example examples[] = {
    {"rehearse run plan.json", "play the plan in one process"},
    {"rehearse run plan.json --ranks 8 --trace run.json", "by eight ranks, with a trace for Perfetto"},
    {"mpirun -n 4 rehearse run plan.json --link host", "over the hosts' network alone"},
    {NULL, NULL},
};

static const struct command_topic topics[] = {{DRILLS_TOPIC, "of nodes that are lost and return"},
                                              {"kernels", "of --compute kernels"},
                                              {"hosts", "of training data and checkpoints"},
                                              {"output", "of files that are written"},
                                              {NULL, NULL}};

const struct command command_run = {
    .name = "run",
    .summary = "play a plan with real messages between real ranks",
    .description =
        "Plays the tasks that 'rehearse simulate' computes: each rank emulates some devices of the plan, "
        "whose kernels "
        "end at "
        "a deadline and whose messages and collectives carry real bytes. Prints what an iteration takes by "
        "the plan's "
        "formula, simulated, and played.\n\n"
        "Every message, sum and activation is compared with the schedule; a difference is an error.",
    .options = options,
    .options_size = sizeof(struct run_given),
    .operands = {.name = "PLAN",
                 .help = "the plan to play; for drills also sets of templates",
                 .min = 1,
                 .at = offsetof(struct run_given, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
