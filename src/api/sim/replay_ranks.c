/* `rehearse simulate --replay FOLDER`: the ranks of a run played together in one clock, over the network of the trace
 * or a described one, and what is missing. */
#include "api/sim/replay_report.h"
#include "api/sim/simulate.h"
#include "core/fields.h"
#include "core/vector.h"
#include "plan/parts.h"
#include "sim/network/network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROWS 64

/* A rank's times, summed over its devices. */
struct row {
    int64_t rank, activities, span, compute, communication, overlap, copies, idle, offset, changed;
    const char *file, *host;
    int64_t devices, steps;
};

/* A rank's training steps. */
struct step_list {
    struct ranks_step *steps;
    size_t count;
};

/* All ranks together. */
struct together {
    const char *what;
    int64_t span;
    double change, step_error; /* of the span; the largest one of a rank's step: shares of those recorded */
};

#define MAX_PLAYS 4

struct played_ranks {
    struct ranks run;
    struct row *rows;
    struct network_rank *ranks;
    struct step_list *steps;
    struct replay_result *results;
    size_t count, capacity, loaded;
    int64_t *used; /* ranks in which a scale's pattern matches, by scale */
    struct replay_network network;
    struct together plays[MAX_PLAYS];
    size_t play_count;
    int64_t recorded; /* ns, of all ranks */
    bool ruled;       /* a kernel has a rule of the user's */
    struct text asked;
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

static bool play_rank(struct played_ranks *played, size_t i, const struct replay_options *options,
                      const struct kernel_classes *kernels, struct error *err)
{
    const struct ranks_member *member = &played->run.members[i];
    const struct replay_options recorded = {.scales = NULL};
    struct network_rank *rank = &played->ranks[i];
    struct replay_result result = {0};
    struct row row = {.rank = member->rank, .file = member->path, .host = member->host, .changed = -1};
    if (!ranks_load(&played->run, i, &rank->replay, err))
        return false;
    played->loaded = i + 1;
    row.activities = (int64_t)rank->replay.count;
    bool done = (!kernels || replay_classify(&rank->replay, kernels, err)) &&
                ranks_collect(&played->run, i, &rank->replay, err) &&
                ranks_steps(&rank->replay, &played->steps[i].steps, &played->steps[i].count, err) &&
                replay_graph_make(&rank->graph, &rank->replay, err) &&
                replay_play(&rank->graph, &recorded, &result, err);
    if (done) {
        played->ruled |= kernels && replay_has_rule_of(&rank->replay, kernels);
        sum_row(&row, &result);
        for (int k = 0; k < options->scale_count; k++)
            played->used[k] += replay_matches(&rank->replay, &options->scales[k]);
        row.steps = (int64_t)played->steps[i].count;
        done = VECTOR_ADD(played->rows, played->count, played->capacity, row) || error_memory(err);
    }
    replay_result_release(&result);
    return done;
}

/* When the last activity of a step ends that began in its window; `starts` NULL: as recorded. */
static int64_t step_end(const struct replay *replay, const struct replay_result *result, size_t *at,
                        int64_t until, int64_t end)
{
    for (; *at < replay->count && replay->activities[*at].start < until; ++*at) {
        const struct replay_activity *one = &replay->activities[*at];
        int64_t own = result ? result->starts[*at] + result->durations[*at] : one->start + one->duration;
        end = own > end ? own : end;
    }
    return end;
}

/* The one of two changes that is further from 0. */
static double larger(double a, double b)
{
    return fabs(b) > fabs(a) ? b : a;
}

/* The largest change of a step of a rank, from the end of the step before to its own. */
static double step_error(const struct step_list *list, const struct replay *replay,
                         const struct replay_result *result)
{
    double worst = 0;
    size_t at = 0, other = 0;
    int64_t first = list->count > 0 ? list->steps[0].begin : INT64_MIN;
    if (list->count > 0 && list->steps[0].device_begin >= 0)
        first = list->steps[0].device_begin;
    int64_t end = step_end(replay, NULL, &at, first, 0), played = step_end(replay, result, &other, first, 0);
    for (size_t i = 0; i < list->count; i++) {
        const struct ranks_step *next = i + 1 < list->count ? &list->steps[i + 1] : NULL;
        int64_t until = !next ? INT64_MAX : next->device_begin >= 0 ? next->device_begin : next->begin;
        int64_t recorded_end = step_end(replay, NULL, &at, until, end),
                played_end = step_end(replay, result, &other, until, played);
        if (recorded_end > end)
            worst = larger(worst, (double)(played_end - played) / (double)(recorded_end - end) - 1);
        end = recorded_end;
        played = played_end;
    }
    return worst;
}

/* Do exchanges of an execution trace have no times? */
static bool untimed(const struct played_ranks *played)
{
    for (size_t i = 0; i < played->network.count; i++)
        if (played->network.exchanges[i].recorded > 1)
            return false;
    return played->ranks[0].replay.played;
}

/* Plays all ranks with the times that the network has now. `rows`: the spans of ranks are those asked for. */
static bool play_all(struct played_ranks *played, const char *what, const struct replay_options *options,
                     bool rows, struct error *err)
{
    struct together *row = &played->plays[played->play_count];
    bool done = network_play(&played->network, &played->run, played->ranks, options, played->results,
                             &row->span, err);
    row->what = what;
    for (size_t i = 0; done && i < played->run.count; i++) {
        row->step_error = larger(
            row->step_error, step_error(&played->steps[i], &played->ranks[i].replay, &played->results[i]));
        if (rows && untimed(played)) {
            struct row *own = &played->rows[i];
            own->compute = own->communication = own->overlap = own->copies = own->idle = 0;
            sum_row(own, &played->results[i]);
        } else if (rows)
            played->rows[i].changed = played->results[i].span;
    }
    for (size_t i = 0; i < played->run.count; i++)
        replay_result_release(&played->results[i]);
    row->change =
        played->recorded > 0 && !untimed(played) ? (double)row->span / (double)played->recorded - 1 : 0;
    played->play_count += done;
    return done;
}

/* On the trace's own network, as recorded and as fitted; on the cluster; and what was asked for, on the cluster if
 * there is one. */
static bool play_together(struct played_ranks *played, const struct replay_options *options, int64_t data,
                          const struct cluster *cluster, struct error *err)
{
    const struct replay_options plain = {.scales = NULL};
    struct replay_network *network = &played->network;
    bool asked = options->scale_count > 0 || data > 0;
    played->recorded = network_span(&played->run, played->ranks, NULL);
    if (cluster && untimed(played))
        return network_price(network, &played->run, cluster, data, err) &&
               play_all(played, asked ? played->asked.data : cluster->path, options, true, err);
    bool done = play_all(played, "as recorded", &plain, false, err) &&
                network_fit(network, &played->run, 0, err) &&
                play_all(played, "fitted", &plain, false, err) &&
                (!cluster || (network_price(network, &played->run, cluster, 0, err) &&
                              play_all(played, cluster->path, &plain, false, err)));
    if (!done || !asked)
        return done;
    if (data > 0)
        done = cluster ? network_price(network, &played->run, cluster, data, err)
                       : network_fit(network, &played->run, data, err);
    else if (!cluster)
        network_record(network);
    return done && play_all(played, played->asked.data, options, true, err);
}

/* --- output --------------------------------------------------------------------------------------------- */

static void print_together(const struct played_ranks *played, struct text *out)
{
    const struct replay_network *network = &played->network;
    text_format(out, "\n%zu collectives and %zu messages between them", network->collectives,
                network->messages);
    if (network->by_order > 0)
        text_format(out, ", %zu matched by their order (no Seq)", network->by_order);
    if (network->alone > 0)
        text_format(out, "; %zu kernels of communication have no partner and keep their times",
                    network->alone);
    text_format(out, "\n\n%-30s  %12s  %9s  %16s\n", "transfers", "span (ms)", "change", "change of a step");
    for (size_t i = 0; i < played->play_count; i++)
        text_format(out, "%-30s  %12.3f  %+7.2f %%  %+14.2f %%\n", played->plays[i].what,
                    milliseconds(played->plays[i].span), 100 * played->plays[i].change,
                    100 * played->plays[i].step_error);
    if (network->kept > 0)
        text_format(out, "%zu exchanges keep their recorded times: kind or bytes are not told\n",
                    network->kept);
    if (network->loosened > 0)
        text_format(out, "%zu exchanges did not await all of their ranks\n", network->loosened);
}

static void print(const struct played_ranks *played, const char *path, struct text *out)
{
    const struct ranks *run = &played->run;
    const struct ranks_clocks *clocks = &run->clocks;
    text_format(out, "%s: %zu ranks", path, played->count);
    if (run->world > (int64_t)played->count)
        text_format(out, " of %lld", (long long)run->world);
    text_format(out, ", %s\n\n%6s  %6s  %12s  %8s  %13s  %8s  %8s  %8s  %12s%s\n",
                played->network.count > 0 ? "played together" : "which share no exchange", "rank", "steps",
                "span (ms)", "compute", "communication", "both", "copies", "idle", "clock (ms)",
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
    if (played->network.count > 0)
        print_together(played, out);
    if (clocks->matched > 0)
        text_format(out, "\nclocks: ends of %zu collectives lie %.3f ms apart (median; 90 %%: %.3f ms)",
                    clocks->matched, milliseconds(clocks->median), milliseconds(clocks->p90));
    if (clocks->spread > 0)
        text_format(out, ", once clocks that are %.3f ms apart are aligned", milliseconds(clocks->spread));
    text_add(out, clocks->matched > 0 ? "\n" : "");
    text_add(out, run->fault_count > 0 ? "\n" : "");
    ranks_faults_tell(run, "", out);
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

static const struct field together_fields[] = {
    FIELD_OUT(struct together, "transfers", what, FIELD_TEXT),
    FIELD_OUT(struct together, "span", span, FIELD_NANOSECONDS),
    FIELD_OUT(struct together, "change", change, FIELD_DOUBLE),
    FIELD_OUT(struct together, "step_error", step_error, FIELD_DOUBLE),
};

static const struct field network_fields[] = {
    FIELD_OUT(struct replay_network, "collectives", collectives, FIELD_INT64),
    FIELD_OUT(struct replay_network, "messages", messages, FIELD_INT64),
    FIELD_OUT(struct replay_network, "by_order", by_order, FIELD_INT64),
    FIELD_OUT(struct replay_network, "without_partner", alone, FIELD_INT64),
    FIELD_OUT(struct replay_network, "kept", kept, FIELD_INT64),
    FIELD_OUT(struct replay_network, "loosened", loosened, FIELD_INT64),
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
    if (played->network.count > 0) {
        json_open(json, "network", '{');
        FIELDS_WRITE(&played->network, network_fields, json);
        FIELDS_LIST(played->plays, played->play_count, together_fields, json, "plays");
        json_close(json);
    }
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

bool simulate_is_degree(const char *pattern)
{
    static const char *const degrees[] = {"dp", "tp", "pp", "cp", "ep"};
    for (size_t i = 0; i < sizeof degrees / sizeof *degrees; i++)
        if (strcmp(pattern, degrees[i]) == 0)
            return true;
    return false;
}

/* Takes degrees out of what was asked for, and says it all in words. */
static bool read_asked(const struct replay_options *given, struct replay_scale *scales,
                       struct replay_options *options, int64_t *data, struct text *words, struct error *err)
{
    *options = (struct replay_options){.scales = scales};
    for (int i = 0; i < given->scale_count; i++) {
        const struct replay_scale *scale = &given->scales[i];
        bool degree = simulate_is_degree(scale->pattern);
        if (degree && strcmp(scale->pattern, "dp") != 0)
            return error_set(
                err, ERROR_USAGE,
                "--what-if %s=%g: another degree of '%s' has other kernels, of which the trace knows no "
                "times: only dp, the number of data-parallel replicas, can change",
                scale->pattern, scale->factor, scale->pattern);
        if (degree && *data > 0)
            return error_set(err, ERROR_USAGE, "--what-if dp=%g: dp=%lld is asked for, too: leave out one",
                             scale->factor, (long long)*data);
        if (degree && !(scale->factor >= 1 && scale->factor <= NETWORK_MAX_RANKS &&
                        scale->factor == floor(scale->factor)))
            return error_set(err, ERROR_USAGE, "--what-if dp=%g: expected a number of replicas from 1 to %d",
                             scale->factor, NETWORK_MAX_RANKS);
        if (degree)
            *data = (int64_t)scale->factor;
        else
            scales[options->scale_count++] = *scale;
        text_format(words, "%s%s %s %.6g", words->length > 0 ? ", " : "what if ", scale->pattern,
                    degree ? "=" : "x", scale->factor);
    }
    return !words->failed || error_memory(err);
}

static bool play_run(struct played_ranks *played, const struct replay_options *options, int64_t data,
                     const struct cluster *cluster, const struct kernel_classes *kernels, const char *path,
                     struct error *err)
{
    size_t count = played->run.count;
    played->ranks = calloc(count + 1, sizeof *played->ranks);
    played->steps = calloc(count + 1, sizeof *played->steps);
    played->results = calloc(count + 1, sizeof *played->results);
    if (!played->ranks || !played->steps || !played->results)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        if (!play_rank(played, i, options, kernels, err))
            return false;
    if (!check(played, options, path, err) || !ranks_align(&played->run, err) ||
        !network_make(&played->network, &played->run, played->ranks, err))
        return false;
    if ((cluster || data > 0) && played->network.count == 0)
        return error_set(err, ERROR_USAGE, "%s: %s: there is nothing to price", path,
                         count > 1 ? "no collective or message is found on two of its ranks"
                                   : "is one rank, give the folder of all");
    return play_together(played, options, data, cluster, err);
}

static void release(struct played_ranks *played)
{
    for (size_t i = 0; i < played->loaded; i++) {
        replay_graph_release(&played->ranks[i].graph);
        replay_release(&played->ranks[i].replay);
        free(played->steps[i].steps);
    }
    network_release(&played->network);
    ranks_release(&played->run);
    free(played->ranks);
    free(played->steps);
    free(played->results);
    free(played->rows);
}

bool simulate_replay_ranks(const struct simulate_options *given, const struct replay_options *asked,
                           const struct kernel_classes *kernels, struct error *err)
{
    const char *path = given->asked.replay;
    struct played_ranks played = {.count = 0};
    struct replay_scale scales[REPLAY_MAX_SCALES];
    struct replay_options options;
    struct cluster cluster;
    int64_t data = 0;
    if (given->asked.tasks || given->asked.trace || given->asked.page)
        return error_set(err, ERROR_USAGE, "%s of a run with several ranks: give the file of one rank",
                         given->asked.tasks   ? "--tasks"
                         : given->asked.trace ? "--trace"
                                              : "--page");
    bool described = false, opened = false;
    played.used = calloc((size_t)asked->scale_count + 1, sizeof *played.used);
    bool done =
        (played.used || error_memory(err)) && read_asked(asked, scales, &options, &data, &played.asked, err);
    if (done && given->asked.cluster)
        done = described = cluster_load(&cluster, given->asked.cluster, err);
    done = done && (!described || plan_resolve_cluster(&cluster, NULL, NULL, err));
    done = done && (opened = ranks_open(&played.run, &path, 1, err));
    played.run.priced = described;
    done = done && play_run(&played, &options, data, described ? &cluster : NULL, kernels, path, err);
    if (done) {
        for (size_t i = 0; i < played.count; i++)
            played.rows[i].offset = played.run.members[i].offset;
        write_json(&played, path, &given->report->json);
        print(&played, path, &given->report->text);
        if (kernels && !played.ruled)
            text_format(&given->report->text, SIMULATE_NO_RULE, given->asked.kernels);
    }
    if (opened)
        release(&played);
    if (described)
        cluster_release(&cluster);
    text_release(&played.asked);
    free(played.used);
    return done;
}
