#include "api/sim/simulate.h"

#include "core/fields.h"
#include "core/parallel.h"
#include "core/progress.h"
#include "core/stop.h"
#include "core/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What playing the plan with a schedule came to. */
struct played {
    bool done, fits;
    const char *level;
    double seconds, makespan, bubble, memory; /* memory: NAN, unknown */
    struct error reason;
};

/* The peak of the fullest device, and whether every device has that much. */
static void look_at_memory(const struct plan *plan, const struct sim_result *result, struct played *played)
{
    played->memory = NAN;
    played->fits = true;
    for (int i = 0; i < result->device_count; i++) {
        const struct sim_device *device = &result->devices[i];
        int64_t limit = plan->types[device->type].nodes.memory;
        if (isfinite(device->peak.total) && !(played->memory >= device->peak.total))
            played->memory = device->peak.total;
        if (limit > 0 && device->peak.total > (double)limit)
            played->fits = false;
    }
}

static void play(struct plan *plan, const struct sim_options *options, struct played *played)
{
    struct sim_options plain = *options;
    struct sim_result result;
    plain.plain = true;
    played->done = sim_play(plan, &plain, &result, &played->reason);
    if (!played->done)
        return;
    played->level = result.level;
    played->seconds = result.seconds;
    played->makespan = result.makespan;
    played->bubble = result.bubble;
    look_at_memory(plan, &result, played);
    sim_result_release(&result);
}

struct playing {
    struct plan *plan;
    const struct sim_options *options;
    const struct simulate_entry *entries;
    struct played *played;
};

static void play_entries(void *context, size_t first, size_t last, int thread)
{
    const struct playing *playing = context;
    (void)thread;
    for (size_t i = first; i < last; i++) {
        const struct simulate_entry *entry = &playing->entries[i];
        progress_tell("%s", entry->schedule->name);
        if (stop_obeyed(&playing->played[i].reason))
            continue;
        struct sim_options own = *playing->options;
        own.schedule = entry->schedule->name;
        if (entry->chunks > 0 || entry->schedule->chunks > 0)
            own.chunks = entry->chunks; /* 0: as the schedule has them */
        play(playing->plan, &own, &playing->played[i]);
    }
}

static void print_row(const char *name, const struct played *played, const struct played *planned,
                      struct text *out)
{
    struct unit_texts texts = {0};
    char against[32] = "";
    if (!played->done) {
        text_format(out, "%-14s  %s\n", name, played->reason.text);
        return;
    }
    if (planned->done && played != planned)
        snprintf(against, sizeof against, "%+.1f %%", 100 * (played->seconds / planned->seconds - 1));
    text_format(out, "%-14s  %10s  %8s  %10s  %6.2f %%  %11s%s\n", name,
                unit_text(&texts, played->seconds, UNIT_TIME), against,
                unit_text(&texts, played->makespan, UNIT_TIME), 100 * played->bubble,
                isfinite(played->memory) ? unit_text(&texts, played->memory, UNIT_BYTES) : "-",
                played->fits ? "" : "  does not fit");
}

static void print(const struct plan *plan, const struct played *planned, const struct simulate_entry *entries,
                  const struct played *played, int count, struct text *out)
{
    text_format(out, "%s, played by %s\n", plan->model ? plan->model : "a plan",
                planned->done ? planned->level : "passes");
    if (plan->iteration_time > 0.0) {
        text_add(out, "the plan: ");
        plan_add_time(plan, 4, out);
        text_add(out, "\n");
    }
    text_format(out, "\n%-14s  %10s  %8s  %10s  %8s  %11s\n", "schedule", "iteration", "", "alone", "bubble",
                "peak memory");
    print_row("as planned", planned, planned, out);
    for (int i = 0; i < count; i++)
        print_row(entries[i].schedule->name, &played[i], planned, out);
    text_add(
        out,
        "\niteration: in steady state, and relative to the plan's schedule; alone: with fill and drain\n");
}

static const struct field played_fields[] = {
    FIELD_OUT(struct played, "iteration_time", seconds, FIELD_DOUBLE),
    FIELD(struct played, makespan, FIELD_DOUBLE, 0, 0),
    FIELD(struct played, bubble, FIELD_DOUBLE, 0, 0),
    FIELD_OUT(struct played, "peak_memory", memory, FIELD_DOUBLE),
    FIELD(struct played, fits, FIELD_FLAG, 0, 0),
};

static void write(const struct plan *plan, const struct played *planned, const struct simulate_entry *entries,
                  const struct played *played, int count, struct json *json)
{
    json_open_document(json, "rehearse-played-schedules/1");
    json_string(json, "model", plan->model);
    json_number(json, "formula", plan->iteration_time > 0.0 ? plan->iteration_time : NAN);
    json_number(json, "expected", plan->expected);
    json_number(json, "planned", planned->done ? planned->seconds : NAN);
    json_open(json, "schedules", '[');
    for (int i = 0; i < count; i++) {
        json_open_flat(json, NULL, '{');
        json_string(json, "schedule", entries[i].schedule->name);
        if (played[i].done)
            FIELDS_WRITE(&played[i], played_fields, json);
        else
            json_string(json, "reason", played[i].reason.text);
        json_close(json);
    }
    json_close(json);
    json_close(json);
}

static bool report(const struct plan *plan, const struct played *planned,
                   const struct simulate_entry *entries, const struct played *played, int count,
                   const struct simulate_options *given, struct error *err)
{
    int done = 0;
    for (int i = 0; i < count; i++) {
        if (!played[i].done && error_is_memory(&played[i].reason)) {
            *err = played[i].reason;
            return false;
        }
        done += played[i].done;
    }
    if (done == 0) {
        *err = played[0].reason;
        return false;
    }
    write(plan, planned, entries, played, count, &given->report->json);
    print(plan, planned, entries, played, count, &given->report->text);
    return true;
}

/* Plays the plan with its own schedule, then with each of the others. Once it was played, the plan has all its prices
 * and is only read, so that several threads may play it. */
static bool play_all(struct plan *plan, const struct sim_options *options,
                     const struct simulate_entry *entries, int count, const struct simulate_options *given,
                     struct played *played, struct error *err)
{
    struct playing playing = {plan, options, entries, played};
    struct played planned = {.done = false};
    play(plan, options, &planned);
    if (!planned.done && error_is_memory(&planned.reason)) {
        *err = planned.reason;
        return false;
    }
    struct parallel *pool = parallel_new(planned.done ? given->call->how.threads : 1, err);
    if (pool == NULL)
        return false;
    parallel_for(pool, (size_t)count, 1, play_entries, &playing);
    parallel_free(pool);
    return report(plan, &planned, entries, played, count, given, err);
}

bool simulate_play_schedules(struct plan *plan, const struct sim_options *options,
                             const struct simulate_options *given, struct error *err)
{
    struct simulate_options others = *given;
    others.asked.page = NULL; /* which has a table then */
    if (simulate_wants_tasks(&others))
        return error_set(err, ERROR_USAGE, "--tasks, --figure and --trace are for one schedule");
    struct simulate_entry *entries = calloc(SIMULATE_MAX_ENTRIES, sizeof *entries);
    struct played *played = calloc(SIMULATE_MAX_ENTRIES, sizeof *played);
    if (entries == NULL || played == NULL) {
        free(entries);
        free(played);
        return error_memory(err);
    }
    int count = simulate_entries_read(given, entries, err);
    bool ok = count > 0 && play_all(plan, options, entries, count, given, played, err);
    free(entries);
    free(played);
    return ok;
}
