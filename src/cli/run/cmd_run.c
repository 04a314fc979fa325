#include "api/sim/simulate.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/run/drills.h"
#include "comm/comm.h"
#include "core/clock.h"
#include "run/run.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

struct run_given {
    struct rh_list plans;
    const char *link, *schedule;
    int64_t ranks, iterations, per_rank, chunks;
    double byte_share, jitter, timeout;
    const char *csv, *figure, *trace, *chakra;
    int style;
    struct drills_given drills;
    bool priority, json;
    const char *output;
};

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
    OPTION(run_given, jitter, OPTION_NUMBER, "jitter", .argument = "SHARE", .max = 10,
           .help = "standard deviation of the time of kernels, such as 0.02; simulated in the same way"),
    OPTION(run_given, drills.seed, OPTION_INTEGER, "seed", .argument = "N", .initial = "1",
           .max = 9007199254740992.0, .help = "seed of the jitter, and of random drills"),
    OPTION(run_given, timeout, OPTION_QUANTITY, "timeout", .argument = "TIME", .initial = "60s", .min = 0.1,
           .max = 1e6, .unit = UNIT_TIME, .help = "give up if nothing has happened for so long"),
    OPTION(run_given, priority, OPTION_FLAG, "priority",
           .help = "ask the system to run ranks before all others, so that deadlines are met on a busy host"),
    OPTION(run_given, csv, OPTION_FILE, "csv", .topic = "output", .argument = "FILE",
           .help = "also write all tasks as a table: device, kind, micro-batch, begin, end"),
    OPTION(run_given, trace, OPTION_FILE, "trace", .topic = "output", .argument = "FILE",
           .help = "also write the tasks as a Chrome trace, for Perfetto; a name that ends in / is a folder "
                   "with a file "
                   "for each device"),
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

/* Opens the files of rank 0, and plays. */
static bool play(struct wire *wire, struct plan *plan, struct run_options *asked,
                 const struct run_given *given, struct run_result *result, struct error *err)
{
    const struct simulate_options names = {.csv = given->csv,
                                           .figure = given->figure,
                                           .trace = given->trace,
                                           .chakra = given->chakra,
                                           .style = given->style};
    char title[120];
    struct simulate_files files = {.gantt = NULL};
    bool wanted = simulate_wants_tasks(&names), writes = wanted && wire->rank == 0;
    int devices = (int)plan_devices_used(plan);
    snprintf(title, sizeof title, "%.80s, played", plan->model ? plan->model : "plan");
    const struct gantt_options look = {.style = figure_style_at(given->style),
                                       .title = title,
                                       .devices = devices,
                                       .depth = devices,
                                       .memory_title = "memory of a device",
                                       .memory_unit = FIGURE_BYTES};
    const struct chrome_options trace = {.device_name = plan->type_count == 1 ? plan->types[0].name : NULL,
                                         .world_size = devices};
    if (writes && !simulate_files_open(&files, &names, &look, &trace, err)) {
        struct error ignored;
        (void)simulate_files_close(&files, &names, false, &ignored);
        return false;
    }
    const struct timeline_sink sink = timeline_to_all(&files.sinks), none = {.context = NULL};
    asked->sink = writes ? &sink : wanted ? &none : NULL;
    bool ok = run_play(wire, plan, asked, result, err);
    return !writes || simulate_files_close(&files, &names, ok, err) ? ok : false;
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
    if (!run_link_read(&asked.link, given->link, err))
        return false;
    if (given->schedule) {
        const struct schedule *schedule = schedule_find(given->schedule, &sim.chunks, err);
        if (!schedule)
            return simulate_as_usage(err);
        sim.schedule = schedule->name;
    }
    if (!plan_load(&plan, given->plans.items[0], err))
        return false;
    bool ok = play(wire, &plan, &asked, given, &result, err);
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

static bool be_alone(const struct run_given *given, struct error *err)
{
    struct wire *wire = wire_alone(err);
    bool ok = wire && be_rank(wire, given, err);
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
        return end_rank(wire, be_rank(wire, given, err), err);
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
    struct wire *wire = comm ? wire_over_mpi(comm, err) : NULL;
    if (!wire)
        return false;
    int rank = wire->rank;
    bool ok = be_rank(wire, given, err);
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

static bool run(void *context, struct error *err)
{
    const struct run_given *given = context;
    const struct drills_more more = {given->plans, (int)given->iterations, given->byte_share, given->json,
                                     given->output};
    if (!set_priority(given, err))
        return false;
    if (drills_asked(&given->drills))
        return drills_run(&given->drills, &more, err);
    if (given->plans.count > 1)
        return error_set(err, ERROR_USAGE, "run: one plan is played; several are for drills");
    return comm_launched() > 1 ? be_one_of_mpi(given, err)
           : given->ranks > 1  ? be_one_of_ours(given, err)
                               : be_alone(given, err);
}

static const struct command_example examples[] = {
    {"rehearse run plan.json", "play the plan in one process"},
    {"rehearse run plan.json --ranks 8 --trace run.json", "by eight ranks, with a trace for Perfetto"},
    {"mpirun -n 4 rehearse run plan.json --link host", "over the hosts' network alone"},
    {NULL, NULL},
};

static const struct command_topic topics[] = {{DRILLS_TOPIC, "of nodes that are lost and return"},
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
