/* `rehearse simulate --replay FOLDER`: each rank of a run played alone, one clock for all, and what is missing. */
#include "api/sim/replay_report.h"
#include "api/sim/simulate.h"
#include "core/fields.h"
#include "core/vector.h"
#include "sim/replay/ranks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FAULTS 20 /* shown to people */
#define MAX_ROWS   64

/* A rank's times, summed over its devices. */
struct row {
    int64_t rank, activities, span, compute, communication, overlap, copies, idle, offset, changed;
    const char *file, *host;
    int64_t devices, steps;
};

struct played_ranks {
    struct ranks run;
    struct row *rows;
    size_t count, capacity, files;
    int64_t *used; /* ranks in which a scale's pattern matches, by scale */
};

struct fault_row {
    const char *kind, *file, *text;
};

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

static double percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* --- playing -------------------------------------------------------------------------------------------- */

static void sum_row(struct row *row, const struct replay_result *result)
{
    row->span = result->span;
    row->devices = (int64_t)result->device_count;
    for (size_t i = 0; i < result->device_count; i++) {
        const struct replay_shares *shares = &result->shares[i];
        row->compute += shares->compute;
        row->communication += shares->communication;
        row->overlap += shares->overlap;
        row->copies += shares->memory;
        row->idle += shares->idle;
    }
}

static bool play(struct played_ranks *played, const struct replay *replay,
                 const struct replay_options *options, struct row *row, struct error *err)
{
    const struct replay_options recorded = {.scales = NULL};
    struct replay_graph graph = {0};
    struct replay_result result = {0}, changed = {0};
    bool done = replay_graph_make(&graph, replay, err) && replay_play(&graph, &recorded, &result, err) &&
                (options->scale_count == 0 || replay_play(&graph, options, &changed, err));
    if (done) {
        sum_row(row, &result);
        row->changed = options->scale_count > 0 ? changed.span : -1;
        for (int i = 0; i < options->scale_count; i++)
            played->used[i] += replay_matches(replay, &options->scales[i]);
    }
    replay_result_release(&result);
    replay_result_release(&changed);
    replay_graph_release(&graph);
    return done;
}

static bool play_rank(struct played_ranks *played, size_t i, const struct replay_options *options,
                      const struct kernel_classes *kernels, struct error *err)
{
    const struct ranks_member *member = &played->run.members[i];
    struct replay replay;
    struct ranks_step *steps = NULL;
    size_t step_count;
    struct row row = {.rank = member->rank, .file = member->path, .host = member->host};
    if (!ranks_load(&played->run, i, &replay, err))
        return false;
    row.activities = (int64_t)replay.count;
    bool done = (!kernels || replay_classify(&replay, kernels, err)) &&
                ranks_collect(&played->run, i, &replay, err) &&
                ranks_steps(&replay, &steps, &step_count, err) && play(played, &replay, options, &row, err);
    if (done) {
        row.steps = (int64_t)step_count;
        done = VECTOR_ADD(played->rows, played->count, played->capacity, row) || error_memory(err);
    }
    free(steps);
    replay_release(&replay);
    return done;
}

/* --- output --------------------------------------------------------------------------------------------- */

static void print(const struct played_ranks *played, const char *path, struct text *out)
{
    const struct ranks *run = &played->run;
    const struct ranks_clocks *clocks = &run->clocks;
    text_format(out, "%s: %zu ranks", path, played->count);
    if (run->world > (int64_t)played->count)
        text_format(out, " of %lld", (long long)run->world);
    text_format(out, ", each played alone\n\n%6s  %6s  %12s  %8s  %13s  %8s  %8s  %8s  %12s%s\n", "rank",
                "steps", "span (ms)", "compute", "communication", "both", "copies", "idle", "clock (ms)",
                played->count > 0 && played->rows[0].changed >= 0 ? "  what if (ms)" : "");
    for (size_t i = 0; i < played->count && i < MAX_ROWS; i++) {
        const struct row *row = &played->rows[i];
        int64_t span = row->span * (row->devices > 0 ? row->devices : 1);
        text_format(out, "%6lld  %6lld  %12.3f  %6.2f %%  %11.2f %%  %6.2f %%  %6.2f %%  %6.2f %%  %12.3f",
                    (long long)row->rank, (long long)row->steps, milliseconds(row->span),
                    percent(row->compute, span), percent(row->communication, span),
                    percent(row->overlap, span), percent(row->copies, span), percent(row->idle, span),
                    milliseconds(row->offset));
        if (row->changed >= 0)
            text_format(out, "  %12.3f", milliseconds(row->changed));
        text_add(out, "\n");
    }
    if (played->count > MAX_ROWS)
        text_format(out, "... and %zu more (--json has all)\n", played->count - MAX_ROWS);
    if (clocks->matched > 0)
        text_format(out, "\nclocks: ends of %zu collectives lie %.3f ms apart (median; 90 %%: %.3f ms)",
                    clocks->matched, milliseconds(clocks->median), milliseconds(clocks->p90));
    if (clocks->spread > 0)
        text_format(out, ", once clocks that are %.3f ms apart are aligned", milliseconds(clocks->spread));
    text_add(out, clocks->matched > 0 ? "\n" : "");
    for (size_t i = 0; i < run->fault_count && i < MAX_FAULTS; i++)
        text_format(out, "%s%s\n", i == 0 ? "\n" : "", run->faults[i].text);
    if (run->fault_count > MAX_FAULTS)
        text_format(out, "... and %zu more of such (--json has all)\n", run->fault_count - MAX_FAULTS);
}

#define TIME(key, member) FIELD_OUT(struct row, key, member, FIELD_NANOSECONDS)

static const struct field row_fields[] = {
    FIELD_OUT(struct row, "rank", rank, FIELD_INT64),
    FIELD_OUT(struct row, "file", file, FIELD_TEXT),
    FIELD_OUT(struct row, "host", host, FIELD_SOME_TEXT),
    FIELD_OUT(struct row, "devices", devices, FIELD_INT64),
    FIELD_OUT(struct row, "activities", activities, FIELD_INT64),
    FIELD_OUT(struct row, "steps", steps, FIELD_INT64),
    TIME("span", span),
    TIME("compute", compute),
    TIME("communication", communication),
    TIME("overlap", overlap),
    TIME("copies", copies),
    TIME("idle", idle),
    TIME("clock", offset),
    TIME("what_if", changed), /* the last one: only with --what-if */
};

static const struct field clock_fields[] = {
    FIELD_OUT(struct ranks_clocks, "collectives", matched, FIELD_INT64),
    FIELD_OUT(struct ranks_clocks, "median", median, FIELD_NANOSECONDS),
    FIELD_OUT(struct ranks_clocks, "p90", p90, FIELD_NANOSECONDS),
    FIELD_OUT(struct ranks_clocks, "spread", spread, FIELD_NANOSECONDS),
};

static const struct field fault_fields[] = {
    FIELD_OUT(struct fault_row, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct fault_row, "file", file, FIELD_SOME_TEXT),
    FIELD_OUT(struct fault_row, "text", text, FIELD_TEXT),
};

static void write_json(const struct played_ranks *played, const char *path, struct json *json)
{
    const struct ranks *run = &played->run;
    size_t fields = sizeof row_fields / sizeof *row_fields;
    json_open_document(json, "rehearse-replay-ranks/1");
    json_string(json, "path", path);
    if (run->world >= 0)
        json_integer(json, "world", run->world);
    json_open(json, "ranks", '[');
    for (size_t i = 0; i < played->count; i++) {
        json_open_flat(json, NULL, '{');
        fields_write(&played->rows[i], row_fields, fields - (played->rows[i].changed < 0), json);
        json_close(json);
    }
    json_close(json);
    FIELDS_MAP(&run->clocks, clock_fields, json, "clocks");
    json_open(json, "faults", '[');
    for (size_t i = 0; i < run->fault_count; i++) {
        const struct ranks_fault *fault = &run->faults[i];
        const struct fault_row row = {ranks_fault_names[fault->kind],
                                      fault->member >= 0 ? run->members[fault->member].path : NULL,
                                      fault->text};
        FIELDS_MAP(&row, fault_fields, json, NULL);
    }
    json_close(json);
    json_close(json);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

static bool check(const struct played_ranks *played, const struct replay_options *options, const char *path,
                  struct error *err)
{
    for (int i = 0; i < options->scale_count; i++)
        if (played->used[i] == 0)
            return error_set(err, ERROR_USAGE, "--what-if '%s': no kernel of a rank in '%s' has such a name",
                             options->scales[i].pattern, path);
    return true;
}

bool simulate_replay_ranks(const struct simulate_options *given, const struct replay_options *options,
                           const struct kernel_classes *kernels, struct error *err)
{
    const char *path = given->asked.replay;
    struct played_ranks played = {.count = 0};
    if (given->asked.tasks || given->asked.trace || given->asked.page)
        return error_set(err, ERROR_USAGE, "%s of a run with several ranks: give the file of one rank",
                         given->asked.tasks   ? "--tasks"
                         : given->asked.trace ? "--trace"
                                              : "--page");
    played.used = calloc((size_t)options->scale_count + 1, sizeof *played.used);
    if (!played.used)
        return error_memory(err);
    bool opened = ranks_open(&played.run, &path, 1, err), done = opened;
    for (size_t i = 0; done && i < played.run.count; i++)
        done = play_rank(&played, i, options, kernels, err);
    done = done && check(&played, options, path, err) && ranks_align(&played.run, err);
    if (done) {
        for (size_t i = 0; i < played.count; i++)
            played.rows[i].offset = played.run.members[i].offset;
        write_json(&played, path, &given->report->json);
        print(&played, path, &given->report->text);
    }
    if (opened)
        ranks_release(&played.run);
    free(played.rows);
    free(played.used);
    return done;
}
