#include "api/figure/options.h"
#include "api/sim/simulate.h"

#include "sim/timeline_csv.h"
#include "sim/timeline_order.h"
#include "sim/timeline_store.h"

#include <stdio.h>

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
           given->asked.chakra != NULL || given->asked.keep_tasks;
}

bool simulate_files_open(struct simulate_files *files, const struct simulate_options *given,
                         const struct gantt_options *look, const struct chrome_options *trace,
                         struct error *err)
{
    *files = (struct simulate_files){.gantt = NULL};
    if (given->asked.figure != NULL) {
        files->gantt = gantt_new(look, err);
        if (files->gantt == NULL)
            return false;
        const struct timeline_sink sink = gantt_sink(files->gantt);
        timeline_add_sink(&files->sinks, &sink);
    }
    if (given->asked.tasks != NULL) {
        if (!file_output_open(&files->csv, given->asked.tasks, err))
            return false;
        const struct timeline_sink sink = timeline_csv(files->csv.out);
        timeline_add_sink(&files->sinks, &sink);
    }
    if (given->asked.trace != NULL && text_ends_with(given->asked.trace, ".db")) {
        files->store = timeline_store_open(given->asked.trace, given->origin, err);
        if (files->store == NULL)
            return false;
        const struct timeline_sink sink = timeline_store_sink(files->store);
        timeline_add_sink(&files->sinks, &sink);
    } else if (given->asked.trace != NULL) {
        files->chrome = chrome_open(given->asked.trace, trace, err);
        if (files->chrome == NULL)
            return false;
        const struct timeline_sink sink = chrome_sink(files->chrome);
        timeline_add_sink(&files->sinks, &sink);
    }
    if (given->asked.keep_tasks) {
        const struct timeline_sink sink = simulate_tasks_sink(&files->tasks, err);
        if (files->tasks == NULL)
            return false;
        timeline_add_sink(&files->sinks, &sink);
    }
    if (given->asked.chakra != NULL) {
        files->chakra = chakra_open(given->asked.chakra, err);
        if (files->chakra == NULL)
            return false;
        const struct timeline_sink sink = chakra_sink(files->chakra);
        timeline_add_sink(&files->sinks, &sink);
    }
    return true;
}

bool simulate_files_close(struct simulate_files *files, const struct simulate_options *given, bool done,
                          struct error *err)
{
    bool ok = done && (files->gantt == NULL || gantt_draw(files->gantt, given->asked.figure, err));
    gantt_free(files->gantt);
    ok = chrome_close(files->chrome, ok, err);
    ok = timeline_store_close(files->store, ok, err) && ok;
    ok = chakra_close(files->chakra, ok, err);
    ok = simulate_tasks_end(files->tasks, given->report, ok, err);
    return file_output_close(&files->csv, ok, err);
}

static bool write_timeline(const struct trial *trial, const char *title, const struct simulate_options *given,
                           struct error *err)
{
    const struct gantt_options look = {.style = figure_style_of(given->asked.style),
                                       .title = title,
                                       .devices = trial->devices,
                                       .depth = trial->devices,
                                       .memory_title = "activations, micro-batches of a device",
                                       .memory_unit = FIGURE_COUNT};
    struct simulate_files files;
    const struct chrome_options trace = {.world_size = trial->devices};
    bool ok = simulate_files_open(&files, given, &look, &trace, err);
    const struct timeline_sink all = timeline_to_all(&files.sinks);
    ok = ok && timeline_of_order(&trial->order, &trial->options, &trial->timing, NULL, &all, err);
    return simulate_files_close(&files, given, ok, err);
}

bool simulate_deliver(const struct trial *trial, const struct simulate_source *source, const char *title,
                      const struct simulate_options *given, struct error *err)
{
    return (given->asked.write_schedule == NULL ||
            simulate_write_schedule(&trial->order, source->csv, given, err)) &&
           (!simulate_wants_tasks(given) || write_timeline(trial, title, given, err));
}

bool simulate_keep_entry(struct simulate_entry *entry, const struct simulate_options *given,
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

bool simulate_draw_entries(const struct simulate_entry *entries, int count,
                           const struct simulate_options *given, struct error *err)
{
    struct gantt *gantts[SIMULATE_MAX_ENTRIES];
    int drawn = 0;
    for (int i = 0; i < count; i++)
        if (entries[i].played && entries[i].gantt != NULL)
            gantts[drawn++] = entries[i].gantt;
    return gantt_draw_all(gantts, drawn, given->asked.figure, err);
}
