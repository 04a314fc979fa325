#include "api/sim/simulate.h"
#include "api/figure/options.h"
#include "api/plan/handle.h"
#include "core/fields.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "core/stop.h"
#include "figure/gnuplot.h"
#include "sim/replay/snapshot.h"
#include "sim/timeline.h"
#include "sim/timeline_order.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A file is written as it was read, unless another form is asked for. */
bool simulate_write_schedule(const struct pass_order *order, const struct schedule_csv *read,
                             const struct simulate_options *given, struct error *err)
{
    struct schedule_csv_form form = {
        .letters = (enum schedule_letters)option_index(schedule_letter_names, given->asked.letters),
        .with_sends = given->asked.with_sends};
    struct schedule_csv made;
    struct text text = {0};
    if (read != NULL && !simulate_is_given(given, "letters"))
        form.letters = read->letters;
    if (read != NULL && !given->asked.with_sends) {
        struct schedule_csv same = *read;
        same.letters = form.letters;
        schedule_csv_write(&same, &text);
    } else {
        if (!schedule_csv_of_order(&made, order, &form, err))
            return false;
        schedule_csv_write(&made, &text);
        schedule_csv_release(&made);
    }
    bool ok = file_write_exact(given->asked.write_schedule, &text, err);
    text_release(&text);
    return ok;
}

bool simulate_wants_tasks(const struct simulate_options *given)
{
    return given->asked.tasks != NULL || given->asked.figure != NULL || given->asked.trace != NULL ||
           given->asked.chakra != NULL || given->asked.page != NULL || given->asked.keep_tasks;
}

bool simulate_files_open(struct simulate_files *files, const struct simulate_options *given,
                         const struct simulate_look *look, const struct chrome_options *trace,
                         struct error *err)
{
    *files = (struct simulate_files){.gantt = NULL};
    if (given->asked.page != NULL) {
        const struct gantt_options *picture = &look->picture;
        const struct report_timeline_options options = {
            .label = "micro-batch",
            .depth = picture->depth,
            .memory_title =
                picture->memory_unit == FIGURE_BYTES ? picture->memory_title : "activations of a device",
            .memory_unit = picture->memory_unit == FIGURE_BYTES ? "B" : "micro-batches",
            .name = look->name,
            .context = look->context};
        files->timeline = report_timeline_new(&options, err);
        if (files->timeline == NULL)
            return false;
        timeline_add_sink(&files->sinks, report_timeline_sink(files->timeline));
    }
    if (given->asked.figure != NULL) {
        files->gantt = gantt_new(&look->picture, err);
        if (files->gantt == NULL)
            return false;
        timeline_add_sink(&files->sinks, gantt_sink(files->gantt));
    }
    if (given->asked.tasks != NULL) {
        if (!file_output_open(&files->csv, given->asked.tasks, err))
            return false;
        timeline_add_sink(&files->sinks, timeline_csv(files->csv.out));
    }
    if (given->asked.trace != NULL && text_ends_with(given->asked.trace, ".db")) {
        files->store = timeline_store_open(given->asked.trace, given->origin, err);
        if (files->store == NULL)
            return false;
        timeline_add_sink(&files->sinks, timeline_store_sink(files->store));
    } else if (given->asked.trace != NULL) {
        files->chrome = chrome_open(given->asked.trace, trace, err);
        if (files->chrome == NULL)
            return false;
        timeline_add_sink(&files->sinks, chrome_sink(files->chrome));
    }
    if (given->asked.keep_tasks) {
        timeline_add_sink(&files->sinks, simulate_tasks_sink(&files->tasks, err));
        if (files->tasks == NULL)
            return false;
    }
    if (given->asked.chakra != NULL) {
        files->chakra = chakra_open(given->asked.chakra, err);
        if (files->chakra == NULL)
            return false;
        timeline_add_sink(&files->sinks, chakra_sink(files->chakra));
    }
    return true;
}

bool simulate_files_close(struct simulate_files *files, const struct simulate_options *given, bool done,
                          struct error *err)
{
    bool ok = done && (files->gantt == NULL || gantt_draw(files->gantt, given->asked.figure, err));
    gantt_free(files->gantt);
    ok = ok && (files->timeline == NULL || report_timeline_draw(files->timeline, "Every pass on its device",
                                                                &given->report->drawing, err));
    report_timeline_free(files->timeline);
    ok = chrome_close(files->chrome, ok, err);
    ok = timeline_store_close(files->store, ok, err) && ok;
    ok = chakra_close(files->chakra, ok, err);
    ok = simulate_tasks_end(files->tasks, given->report, ok, err);
    return file_output_close(&files->csv, ok, err);
}

static bool write_timeline(const struct trial *trial, const char *title, const struct simulate_options *given,
                           struct error *err)
{
    const struct simulate_look look = {.picture = {.style = figure_style_of(given->asked.style),
                                                   .title = title,
                                                   .devices = trial->devices,
                                                   .depth = trial->devices,
                                                   .memory_title = "activations, micro-batches of a device",
                                                   .memory_unit = FIGURE_COUNT}};
    struct simulate_files files;
    const struct chrome_options trace = {.world_size = trial->devices};
    bool ok = simulate_files_open(&files, given, &look, &trace, err);
    const struct timeline_sink all = timeline_to_all(&files.sinks);
    ok = ok && timeline_of_order(&trial->order, &trial->options, &trial->timing, NULL, &all, err);
    return simulate_files_close(&files, given, ok, err);
}

/* Writes the files that are asked for. */
static bool simulate_deliver(const struct trial *trial, const struct simulate_source *source,
                             const char *title, const struct simulate_options *given, struct error *err)
{
    return (given->asked.write_schedule == NULL ||
            simulate_write_schedule(&trial->order, source->csv, given, err)) &&
           (!simulate_wants_tasks(given) || write_timeline(trial, title, given, err));
}

/* Keeps what is drawn of an entry that was played, and draws all entries. */
static bool simulate_keep_entry(struct simulate_entry *entry, const struct simulate_options *given,
                                struct error *err)
{
    const struct trial *trial = &entry->trial;
    snprintf(entry->title, sizeof entry->title, "%s: %.6g s, bubble %.3g %%, peak %.4g micro-batches",
             entry->schedule->name, trial->timing.extent.makespan, 100 * trial->bubble, trial->timing.peak);
    const struct gantt_options look = {.style = figure_style_of(given->asked.style),
                                       .title = "",
                                       .panel_title = entry->title,
                                       .devices = trial->devices,
                                       .depth = trial->devices};
    entry->gantt = gantt_new(&look, err);
    if (entry->gantt == NULL)
        return false;
    const struct timeline_sink sink = gantt_sink(entry->gantt);
    return timeline_of_order(&trial->order, &trial->options, &trial->timing, NULL, &sink, err);
}

static bool simulate_draw_entries(const struct simulate_entry *entries, int count,
                                  const struct simulate_options *given, struct error *err)
{
    struct gantt *gantts[SIMULATE_MAX_ENTRIES];
    int drawn = 0;
    for (int i = 0; i < count; i++)
        if (entries[i].played && entries[i].gantt != NULL)
            gantts[drawn++] = entries[i].gantt;
    return gantt_draw_all(gantts, drawn, given->asked.figure, err);
}

const char *const simulate_levels[] = {"auto", "passes", "layers", NULL};
const char *const simulate_save_waits[] = {"copies", "writes", "nothing", NULL};
const char *const simulate_reshards[] = {"planned", "forward", "backward", "iteration", NULL};

bool simulate_is_given(const struct simulate_options *given, const char *name)
{
    for (const struct option_spec *spec = api_simulate_options; spec->name; spec++)
        if (strcmp(spec->name, name) == 0)
            return given->call->given[spec - api_simulate_options];
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

static bool can_draw(const struct simulate_options *given, struct error *err)
{
    return given->asked.figure == NULL || figure_can_write(given->asked.figure, err);
}

/* ---- one schedule ---- */

static const struct field name_fields[] = {{.key = "schedule", .type = FIELD_TEXT}},
                          trial_fields[] = {FIELD_OUT(struct trial, "devices", devices, FIELD_INT)};

static bool deliver_trial(const struct trial *trial, const struct simulate_source *source,
                          const struct simulate_numbers *numbers, const struct simulate_options *given,
                          struct error *err)
{
    char title[160];
    const char *name = source->path != NULL ? source->path : trial->schedule->name;
    snprintf(title, sizeof title, "%.80s: %d devices, %d micro-batches, %.6g s, bubble %.3g %%", name,
             trial->devices, trial->microbatches, trial->timing.extent.makespan, 100 * trial->bubble);
    if (!simulate_deliver(trial, source, title, given, err))
        return false;
    API_VALUES(&given->report->base, &name, name_fields);
    API_VALUES(&given->report->base, trial, trial_fields);
    simulate_write_json(trial, source, numbers, &given->report->json);
    simulate_print(trial, source, numbers, &given->report->text);
    return true;
}

static bool play_file(const struct simulate_options *given, const struct simulate_numbers *numbers,
                      struct error *err)
{
    static const char *const shapes[] = {"stages", "microbatches", "chunks", "memory-limit", "compare"};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (simulate_is_given(given, shapes[i]))
            return error_set(err, ERROR_USAGE, "--%s: '%s' defines its own order of passes", shapes[i],
                             given->asked.schedule);
    struct schedule_csv csv;
    struct trial trial;
    if (!schedule_csv_load(&csv, given->asked.schedule, err))
        return false;
    const struct simulate_source source = {given->asked.schedule, schedule_letter_names[csv.letters], &csv};
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
        progress_tell("%s", entry->schedule->name);
        if (stop_obeyed(&entry->reason))
            continue;
        struct trial_options shape = playing->numbers->options;
        if (entry->chunks > 0 || entry->schedule->chunks > 0)
            shape.chunks = entry->chunks; /* 0: as the schedule has them */
        entry->played = trial_by_name(entry->schedule, &shape, &entry->trial, &entry->reason);
        if (entry->played && playing->given->asked.figure != NULL)
            entry->played = simulate_keep_entry(entry, playing->given, &entry->reason);
        if (playing->given->asked.page == NULL)
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

/* The schedules of one timeline, whose devices follow one another. */
struct together {
    const struct simulate_entry *of[SIMULATE_MAX_ENTRIES];
    int first[SIMULATE_MAX_ENTRIES + 1], count;
};

static void name_together(const void *context, int device, struct report_lane *lane)
{
    const struct together *all = context;
    int i = 0;
    while (i + 1 < all->count && device >= all->first[i + 1])
        i++;
    snprintf(lane->name, sizeof lane->name, "device %d", device - all->first[i]);
    snprintf(lane->group, sizeof lane->group, "%s", all->of[i]->schedule->name);
}

/* Draws each schedule that was played as a group of lanes, all on one scale of time. */
static bool draw_together(const struct simulate_entry *entries, int count, const struct playing *playing,
                          struct error *err)
{
    struct together all = {.count = 0};
    const struct report_timeline_options options = {.label = "micro-batch",
                                                    .depth = playing->numbers->options.devices,
                                                    .memory_title = "activations of a device",
                                                    .memory_unit = "micro-batches",
                                                    .apart = true,
                                                    .name = name_together,
                                                    .context = &all};
    struct report_timeline *timeline = report_timeline_new(&options, err);
    if (timeline == NULL)
        return false;
    const struct timeline_sink sink = report_timeline_sink(timeline);
    bool ok = true;
    for (int i = 0; ok && i < count; i++) {
        const struct trial *trial = &entries[i].trial;
        struct timeline_part part = {.device = all.first[all.count]};
        if (!entries[i].played)
            continue;
        all.of[all.count++] = &entries[i];
        all.first[all.count] = part.device + trial->devices;
        ok = timeline_of_order(&trial->order, &trial->options, &trial->timing, &part, &sink, err);
    }
    ok = ok && report_timeline_draw(timeline, "Every pass of each schedule, on one scale of time",
                                    &playing->given->report->drawing, err);
    report_timeline_free(timeline);
    return ok;
}

static bool play_all(struct simulate_entry *entries, int count, const struct simulate_options *given,
                     const struct simulate_numbers *numbers, struct error *err)
{
    static const char *const files[] = {"write-schedule", "tasks", "trace", "chakra"};
    struct playing playing = {entries, given, numbers};
    for (int i = 0; i < 4; i++)
        if (simulate_is_given(given, files[i]))
            return error_set(err, ERROR_USAGE, "--%s is for one schedule", files[i]);
    struct parallel *pool = parallel_new(given->call->how.threads, err);
    if (pool == NULL)
        return false;
    parallel_for(pool, (size_t)count, 1, play_entries, &playing);
    parallel_free(pool);
    if (!check_entries(entries, count, err) ||
        (given->asked.page != NULL && !draw_together(entries, count, &playing, err)) ||
        (given->asked.figure != NULL && !simulate_draw_entries(entries, count, given, err)))
        return false;
    simulate_write_all(entries, count, numbers, &given->report->json);
    simulate_print_all(entries, count, numbers, &given->report->text);
    return true;
}

static bool play_names(const struct simulate_options *given, const struct simulate_numbers *numbers,
                       struct error *err)
{
    if (simulate_is_given(given, "comm-streams"))
        return error_set(err, ERROR_USAGE,
                         "--comm-streams is for a file with SEND and RECV, such as --write-schedule FILE.csv "
                         "--with-sends makes: a schedule by name has none");
    struct simulate_entry *entries = calloc(SIMULATE_MAX_ENTRIES, sizeof *entries);
    if (entries == NULL)
        return error_memory(err);
    int count = simulate_entries_read(given, entries, err);
    bool ok = count > 0 && check_shape(given, err);
    bool one = count == 1 && !given->asked.compare;
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
    static const char *const taken[] = {"replay", "what-if", "kernels", "tasks", "trace", "page", "cluster"};
    if (given->asked.plan || given->asked.from)
        return error_set(err, ERROR_USAGE, "--replay plays a recorded trace: leave out the plan '%s'",
                         given->asked.plan ? given->asked.plan : "from");
    for (const struct option_spec *spec = api_simulate_options; spec->name; spec++) {
        bool fits = !given->call->given[spec - api_simulate_options];
        for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
            fits = fits || strcmp(spec->name, taken[i]) == 0;
        if (!fits)
            return error_set(err, ERROR_USAGE, "--%s is not for --replay, which has recorded times",
                             spec->name);
    }
    return true;
}

static bool simulate(const struct simulate_options *given, struct error *err)
{
    struct simulate_numbers numbers;
    if (given->asked.replay != NULL)
        return check_replay(given, err) && (snapshot_is(given->asked.replay) ? simulate_snapshot(given, err)
                                                                             : simulate_replay(given, err));
    if (given->asked.plan || given->asked.from)
        return can_draw(given, err) && simulate_play_plan(given, err);
    if (given->asked.schedule == NULL && !given->asked.compare)
        return error_set(err, ERROR_USAGE, "simulate: a plan is missing, or --schedule NAME, or --compare");
    bool is_file = given->asked.schedule != NULL && (text_ends_like(given->asked.schedule, ".csv") ||
                                                     strchr(given->asked.schedule, '/') != NULL);
    if (!can_draw(given, err))
        return false;
    bool ok = simulate_numbers_read(given, &numbers, err) &&
              (is_file ? play_file(given, &numbers, err) : play_names(given, &numbers, err));
    simulate_numbers_release(&numbers);
    return ok;
}

bool simulate_load(const struct simulate_options *given, struct plan *plan, struct error *err)
{
    return given->asked.from ? api_plan_copy(given->asked.from, plan, err)
                             : plan_load(plan, given->asked.plan, err);
}

static bool answer(const void *request, const struct api_call *call, struct api_report *report,
                   struct error *err)
{
    const struct simulate_options given = {
        .asked = *(const struct rh_simulate_request *)request, .report = report, .call = call};
    struct progress progress;
    progress_start_open(&progress, given.asked.replay ? "replaying" : "simulating");
    bool done = simulate(&given, err);
    progress_end(&progress);
    return done;
}

API_WHOLE_COMMAND(simulate, "simulate", rh_simulate_request, .answer = answer);
