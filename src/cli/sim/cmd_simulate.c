#include "cli/command.h"
#include "cli/figure/options.h"
#include "cli/output.h"
#include "cli/sim/simulate.h"
#include "core/parallel.h"
#include "figure/gnuplot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const levels[] = {"auto", "passes", "layers", NULL}; /* enum sim_level */

static const char *const save_waits[] = {"copies", "writes", "nothing", NULL}; /* enum sim_save_waits */

/* enum sim_reshard */
static const char *const reshards[] = {"planned", "forward", "backward", "iteration", NULL};

static const struct option_spec options[] = {
    OPTION(simulate_options, schedule, OPTION_TEXT, "schedule", .letter = 's', .argument = "NAME",
           .help =
               "the schedule by name; several, separated by commas, or 'all' are compared; or a FILE.csv of "
               "PyTorch"),
    OPTION(simulate_options, stages, OPTION_INTEGER, "stages", .letter = 'p', .argument = "N", .min = 1,
           .max = ORDER_MAX_DEVICES, .help = "devices of the pipeline"),
    OPTION(simulate_options, microbatches, OPTION_INTEGER, "microbatches", .letter = 'n', .argument = "N",
           .min = 1, .max = ORDER_MAX_MICROBATCHES, .help = "micro-batches of an iteration"),
    OPTION(simulate_options, chunks, OPTION_INTEGER, "chunks", .argument = "N", .min = 1,
           .max = ORDER_MAX_STAGES,
           .help = "parts of the model on each device, where the schedule leaves that open (2 if not given)"),
    OPTION(
        simulate_options, forward, OPTION_TEXT, "forward", .letter = 'f', .argument = "SECONDS",
        .initial = "1",
        .help =
            "forward pass of a micro-batch on a device; or a list for each device, or each stage: 1,1,1.5"),
    OPTION(simulate_options, backward, OPTION_TEXT, "backward", .letter = 'b', .argument = "SECONDS",
           .initial = "1", .help = "the part of the backward pass for the gradient of the inputs, likewise"),
    OPTION(simulate_options, weight, OPTION_TEXT, "weight", .letter = 'w', .argument = "SECONDS",
           .initial = "1",
           .help = "the part of the backward pass for the gradients of the weights, likewise"),
    OPTION(simulate_options, comm, OPTION_TEXT, "comm", .argument = "SECONDS", .initial = "0",
           .help = "sending a micro-batch's activations or gradients to the next device, likewise"),
    OPTION(simulate_options, send_blocks, OPTION_FLAG, "send-blocks",
           .help = "sends occupy both devices, as Megatron-LM's default does, instead of only taking time"),
    OPTION(simulate_options, hidden, OPTION_NUMBER, "hidden", .argument = "SHARE", .initial = "0", .max = 1,
           .help = "share of the shorter pass that the two passes of a DualPipe pair hide of each other"),
    OPTION(
        simulate_options, memory, OPTION_QUANTITY, "memory", .argument = "N", .unit = UNIT_BYTES,
        .initial = "0",
        .help =
            "limit for a device's activations, for schedules that fill it: in those of a micro-batch, of a "
            "plan in bytes (20 GiB); 0: as the schedule is defined"),
    OPTION(simulate_options, compare, OPTION_FLAG, "compare",
           .help = "a table of all schedules for this plan or shape, or of those that --schedule names"),
    OPTION(
        simulate_options, level, OPTION_CHOICE, "level", .topic = "plan", .argument = "LEVEL",
        .words = levels, .initial = "auto",
        .help =
            "passes: each pass is a task, with what its formula shows of communication; layers: a pass is "
            "its "
            "layers with their collectives on streams and shared links; auto: passes, unless another option "
            "needs layers"),
    OPTION(simulate_options, no_symmetry, OPTION_FLAG, "no-symmetry", .topic = "plan",
           .help = "play devices that are alike one by one, too, by layers; the result is the same"),
    OPTION(simulate_options, jitter, OPTION_NUMBER, "jitter", .topic = "plan", .argument = "SHARE",
           .initial = "0", .max = 1, .help = "standard deviation of the time of kernels, as a share of it"),
    OPTION(simulate_options, seed, OPTION_INTEGER, "seed", .topic = "plan", .argument = "N", .initial = "1",
           .help = "of the jitter: the same seed gives the same run"),
    OPTION(simulate_options, straggler, OPTION_TEXT, "straggler", .topic = "plan",
           .argument = "DEVICE=FACTOR",
           .help = "a device, by its number from 0, whose kernels take FACTOR times as long: 5=1.2"),
    OPTION(simulate_options, collective_share, OPTION_NUMBER, "collective-share", .topic = "plan",
           .argument = "SHARE", .initial = "0", .max = 0.99,
           .help =
               "share of a device that hidden collectives take from the kernels beside them (0.15: 20 of 132 "
               "multiprocessors)"),
    OPTION(simulate_options, prefetch, OPTION_INTEGER, "prefetch", .topic = "plan", .argument = "N",
           .initial = "-1", .min = -1, .max = PLAN_MAX_LAYERS,
           .help = "blocks whose sharded parameters are gathered ahead, by layers; -1: as planned"),
    {.name = "reshard",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct simulate_options, reshard),
     .topic = "plan",
     .words = reshards,
     .argument = "WHEN",
     .initial = "planned",
     .help =
         "gathered parameters are freed after each pass (forward), after the backward pass, or at the end of "
         "the iteration, by layers; planned: as the plan says"},
    OPTION(simulate_options, storage, OPTION_FILE, "storage", .topic = "plan", .argument = "FILE",
           .help = "load training data as fast as a storage run did (result.json of rehearse feed)"),
    OPTION(simulate_options, save_every, OPTION_INTEGER, "save-every", .topic = "plan", .argument = "N",
           .initial = "0", .help = "save a checkpoint every N iterations, beside the next ones; 0: never"),
    OPTION(simulate_options, copy_rate, OPTION_QUANTITY, "copy-rate", .topic = "plan", .argument = "RATE",
           .unit = UNIT_RATE, .initial = "0",
           .help = "--save-every: how fast a device copies to its host; 0: at once"),
    OPTION(simulate_options, save_rate, OPTION_QUANTITY, "save-rate", .topic = "plan", .argument = "RATE",
           .unit = UNIT_RATE, .initial = "0",
           .help = "--save-every: how fast all hosts together write; the next save waits for it; 0: at once"),
    {.name = "save-waits",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct simulate_options, save_waits),
     .topic = "plan",
     .words = save_waits,
     .argument = "WHAT",
     .initial = "copies",
     .help = "--save-every: passes wait until all devices have copied to their hosts; until all hosts have "
             "written; or only the next optimizer waits for the copies"},
    OPTION(simulate_options, host_rate, OPTION_QUANTITY, "host-rate", .topic = "plan", .argument = "RATE",
           .unit = UNIT_RATE, .initial = "0",
           .help =
               "the link of a device to its host in each direction: copies, loading and transfers between "
               "nodes share it; 0: nothing does"),
    OPTION(simulate_options, storage_network, OPTION_FLAG, "storage-network", .topic = "plan",
           .help = "loading and writing go over the links between nodes, and share them with collectives and "
                   "messages"),
    OPTION(simulate_options, write_schedule, OPTION_FILE, "write-schedule", .topic = "output",
           .argument = "FILE",
           .help =
               "also write the order of passes as PyTorch's schedule CSV; one that was read stays as it was"),
    OPTION(simulate_options, with_sends, OPTION_FLAG, "with-sends", .topic = "output",
           .help =
               "--write-schedule: with SEND and RECV, as PyTorch's runtime takes it; a weight gradient right "
               "after its input gradient becomes part of one backward pass"),
    OPTION(simulate_options, letters, OPTION_CHOICE, "letters", .topic = "output", .argument = "GENERATION",
           .initial = "newer", .words = schedule_letter_names,
           .help = "--write-schedule: I and B (PyTorch from 2025 on), or B and BW"),
    OPTION(simulate_options, csv, OPTION_FILE, "csv", .topic = "output", .argument = "FILE",
           .help = "also write all tasks as a table: device, kind, micro-batch, begin, end"),
    OPTION(simulate_options, trace, OPTION_FILE, "trace", .topic = "output", .argument = "FILE",
           .help = "also write the tasks as a Chrome trace, shaped as PyTorch's profiler does; a name that "
                   "ends in / "
                   "is a folder with a file for each device"),
    OPTION(simulate_options, chakra, OPTION_FILE, "chakra", .topic = "output", .argument = "PREFIX",
           .help = "also write the tasks of device N as Chakra's execution trace PREFIX.N.et, as ASTRA-sim "
                   "takes them"),
    OPTION(simulate_options, replay, OPTION_FILE, "replay", .topic = "replay", .argument = "FILE",
           .help = "play a recorded trace of GPUs: Kineto's JSON (PyTorch's profiler), a table of kernels "
                   "(.csv), or an execution trace of Chakra (.et); each may be packed by gzip"),
    OPTION(simulate_options, what_if, OPTION_TEXT, "what-if", .topic = "replay", .repeats = true,
           .argument = "PATTERN=FACTOR",
           .help = "kernels whose name matches the pattern (as a shell's) take FACTOR times as long: "
                   "nccl*=0.5; host=0.5: so does the host's work between and in its calls"),
    OPTION(
        simulate_options, figure, OPTION_FILE, "figure", .topic = "output", .argument = "FILE",
        .help =
            "also draw the timeline and the memory, the timelines of several schedules, or the streams of a "
            "recorded trace; the ending is .svg, .png or .pdf (needs gnuplot)"),
    {.name = "style",
     .kind = OPTION_CHOICE,
     .at = offsetof(struct simulate_options, style),
     .topic = "output",
     .words = figure_style_names,
     .argument = "STYLE",
     .initial = "screen",
     .help =
         "--figure: wide, with titles and legends; or 7 inches wide, without them, for the text of a paper"},
    OPTION_THREADS(struct simulate_options),
    OPTION_JSON(struct simulate_options),
    OPTION_OUTPUT(struct simulate_options),
    OPTION_END,
};

bool simulate_is_given(const struct simulate_options *given, const char *name)
{
    for (const struct option_spec *spec = options; spec->name; spec++)
        if (strcmp(spec->name, name) == 0)
            return given->given[spec - options];
    return false;
}

static bool check_shape(const struct simulate_options *given, struct error *err)
{
    static const char *const needed[] = {"stages", "microbatches"};
    for (int i = 0; i < 2; i++)
        if (!simulate_is_given(given, needed[i]))
            return error_set(err, ERROR_USAGE, "simulate: --%s N is missing", needed[i]);
    return true;
}

static bool check_outputs(const struct simulate_options *given, struct error *err)
{
    static const char *const forms[] = {"with-sends", "letters"};
    for (int i = 0; i < 2; i++)
        if (given->write_schedule == NULL && simulate_is_given(given, forms[i]))
            return error_set(err, ERROR_USAGE, "--%s is for --write-schedule FILE", forms[i]);
    return given->figure == NULL || figure_can_write(given->figure, err);
}

/* ---- one schedule ---- */

static bool deliver_trial(const struct trial *trial, const struct simulate_source *source,
                          const struct simulate_numbers *numbers, const struct simulate_options *given,
                          struct error *err)
{
    char title[160];
    struct text text = {0};
    snprintf(title, sizeof title, "%.80s: %d devices, %d micro-batches, %.6g s, bubble %.3g %%",
             source->path != NULL ? source->path : trial->schedule->name, trial->devices, trial->microbatches,
             trial->timing.makespan, 100 * trial->bubble);
    if (!simulate_deliver(trial, source, title, given, err))
        return false;
    if (given->json)
        simulate_write_json(trial, source, numbers, &text);
    else
        simulate_print(trial, source, numbers, &text);
    return output_and_release(given->output, &text, err);
}

static bool play_file(const struct simulate_options *given, const struct simulate_numbers *numbers,
                      struct error *err)
{
    static const char *const shapes[] = {"stages", "microbatches", "chunks", "memory", "compare"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (simulate_is_given(given, shapes[i]))
            return error_set(err, ERROR_USAGE, "--%s: '%s' has an order of its own", shapes[i],
                             given->schedule);
    struct schedule_csv csv;
    struct trial trial;
    if (!schedule_csv_load(&csv, given->schedule, err))
        return false;
    const struct simulate_source source = {given->schedule, schedule_letter_names[csv.letters], &csv};
    bool ok = trial_by_csv(&csv, &numbers->options, &trial, err) &&
              deliver_trial(&trial, &source, numbers, given, err);
    trial_release(&trial);
    schedule_csv_release(&csv);
    return ok;
}

static bool play_one(const struct simulate_entry *entry, const struct simulate_options *given,
                     const struct simulate_numbers *numbers, struct error *err)
{
    struct trial_options shape = numbers->options;
    const struct simulate_source source = {NULL, NULL, NULL};
    struct trial trial;
    if (entry->chunks > 0)
        shape.chunks = entry->chunks;
    bool ok = trial_by_name(entry->schedule, &shape, &trial, err) || simulate_as_usage(err);
    ok = ok && deliver_trial(&trial, &source, numbers, given, err);
    trial_release(&trial);
    return ok;
}

/* ---- several ---- */

struct playing {
    struct simulate_entry *entries;
    const struct simulate_options *given;
    const struct simulate_numbers *numbers;
};

static void play_entries(void *context, size_t first, size_t last, int thread)
{
    const struct playing *playing = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        struct simulate_entry *entry = &playing->entries[i];
        struct trial_options shape = playing->numbers->options;
        if (entry->chunks > 0 || entry->schedule->chunks > 0)
            shape.chunks = entry->chunks; /* 0: as the schedule has them */
        entry->played = trial_by_name(entry->schedule, &shape, &entry->trial, &entry->reason);
        if (entry->played && playing->given->figure != NULL)
            entry->played = simulate_keep_entry(entry, playing->given, &entry->reason);
        trial_drop_passes(&entry->trial);
    }
}

/* Returns whether at least one was played, and none failed for lack of memory. */
static bool check_entries(const struct simulate_entry *entries, int count, struct error *err)
{
    int played = 0;
    for (int i = 0; i < count; i++) {
        if (!entries[i].played && error_is_memory(&entries[i].reason)) {
            *err = entries[i].reason;
            return false;
        }
        played += entries[i].played;
    }
    if (played > 0)
        return true;
    *err = entries[0].reason;
    return simulate_as_usage(err);
}

static bool play_all(struct simulate_entry *entries, int count, const struct simulate_options *given,
                     const struct simulate_numbers *numbers, struct error *err)
{
    static const char *const files[] = {"write-schedule", "csv", "trace", "chakra"};
    struct playing playing = {entries, given, numbers};
    struct text text = {0};
    for (int i = 0; i < 4; i++)
        if (simulate_is_given(given, files[i]))
            return error_set(err, ERROR_USAGE, "--%s is for one schedule", files[i]);
    struct parallel *pool = parallel_new((int)given->threads, err);
    if (pool == NULL)
        return false;
    parallel_for(pool, (size_t)count, 1, play_entries, &playing);
    parallel_free(pool);
    if (!check_entries(entries, count, err) ||
        (given->figure != NULL && !simulate_draw_entries(entries, count, given, err)))
        return false;
    if (given->json)
        simulate_write_all(entries, count, numbers, &text);
    else
        simulate_print_all(entries, count, numbers, &text);
    return output_and_release(given->output, &text, err);
}

static bool play_names(const struct simulate_options *given, const struct simulate_numbers *numbers,
                       struct error *err)
{
    struct simulate_entry *entries = calloc(SIMULATE_MAX_ENTRIES, sizeof *entries);
    if (entries == NULL)
        return error_memory(err);
    int count = simulate_entries_read(given, entries, err);
    bool ok = count > 0 && check_shape(given, err);
    bool one = count == 1 && !given->compare;
    if (ok)
        ok = one ? play_one(&entries[0], given, numbers, err) : play_all(entries, count, given, numbers, err);
    for (int i = 0; i < count; i++) {
        trial_release(&entries[i].trial);
        gantt_free(entries[i].gantt);
    }
    free(entries);
    return ok;
}

/* A recorded run has an order and times of its own. */
static bool check_replay(const struct simulate_options *given, struct error *err)
{
    static const char *const taken[] = {"replay", "what-if", "csv",  "trace",
                                        "figure", "style",   "json", "output"};
    if (given->plans.count > 0)
        return error_set(err, ERROR_USAGE, "--replay plays a recorded trace: there is no plan '%s' to play",
                         given->plans.items[0]);
    for (const struct option_spec *spec = options; spec->name; spec++) {
        bool fits = !given->given[spec - options];
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            fits = fits || strcmp(spec->name, taken[i]) == 0;
        if (!fits)
            return error_set(err, ERROR_USAGE, "--%s is not for --replay, which has recorded times",
                             spec->name);
    }
    return true;
}

static bool run(void *context, struct error *err)
{
    const struct simulate_options *given = context;
    struct simulate_numbers numbers;
    if (given->replay != NULL)
        return check_replay(given, err) && simulate_replay(given, err);
    if (given->what_if.count > 0)
        return error_set(err, ERROR_USAGE, "--what-if is for --replay FILE");
    if (given->plans.count > 0)
        return check_outputs(given, err) && simulate_play_plan(given->plans.items[0], given, err);
    static const char *const of_plans[] = {"level",     "no-symmetry",      "jitter",  "seed",
                                           "straggler", "collective-share", "storage", "save-every",
                                           "copy-rate", "save-rate"};
    for (size_t i = 0; i < sizeof of_plans / sizeof *of_plans; i++)
        if (simulate_is_given(given, of_plans[i]))
            return error_set(err, ERROR_USAGE, "--%s is for playing a plan", of_plans[i]);
    if (given->schedule == NULL && !given->compare)
        return error_set(err, ERROR_USAGE, "simulate: a plan is missing, or --schedule NAME, or --compare");
    bool is_file = given->schedule != NULL &&
                   (text_ends_like(given->schedule, ".csv") || strchr(given->schedule, '/') != NULL);
    if (!check_outputs(given, err))
        return false;
    bool ok = simulate_numbers_read(given, &numbers, err) &&
              (is_file ? play_file(given, &numbers, err) : play_names(given, &numbers, err));
    simulate_numbers_release(&numbers);
    return ok;
}

static const struct command_example examples[] = {
    {"rehearse simulate plan.json", "what an iteration of a plan does, and what limits it"},
    {"rehearse simulate plan.json --schedule zb-h1 --figure run.svg",
     "the same with another schedule, drawn"},
    {"rehearse simulate --schedule interleaved --stages 8 --microbatches 32",
     "time, bubble and memory of a schedule"},
    {"rehearse simulate --compare --stages 8 --microbatches 32 --comm 0.05", "all schedules, in a table"},
    {"rehearse simulate --schedule 1f1b -p 4 -n 8 --figure 1f1b.svg", "a picture of it"},
    {"rehearse simulate --schedule mine.csv --forward 1,1,1.5,1",
     "a schedule of PyTorch, with unequal stages"},
    {"rehearse simulate --replay trace.json.gz --what-if 'nccl*=0.5'",
     "a recorded run, if its exchanges took half the time"},
    {NULL, NULL},
};

static const struct command_topic topics[] = {
    {"plan", "of playing plans"},
    {"output", "of files that are written"},
    {"replay", "of recorded traces of GPUs"},
    {NULL, NULL},
};

const struct command command_simulate = {
    .name = "simulate",
    .summary = "play a plan, or a pipeline schedule: time, bubbles, memory",
    .description =
        "Plays the passes of a pipeline schedule, by name or from PyTorch's schedule CSV, with "
        "the given times of "
        "passes and sends: makespan, idle time and memory of each device, and a closed formula "
        "beside it where "
        "one holds.\n\n"
        "These times and memory are those of a device for one micro-batch. Where a device holds several "
        "chunks of the "
        "model, each takes its part.",
    .options = options,
    .options_size = sizeof(struct simulate_options),
    .given_at = offsetof(struct simulate_options, given),
    .operands = {.name = "PLAN",
                 .help = "the plan to play; without one, the schedule",
                 .max = 1,
                 .at = offsetof(struct simulate_options, plans)},
    .topics = topics,
    .examples = examples,
    .run = run,
};
