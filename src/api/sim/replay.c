#include "api/sim/replay_report.h"
#include "api/sim/simulate.h"
#include "core/fields.h"
#include "core/file.h"
#include "core/file_output.h"
#include "sim/replay/classes.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES      15 /* in the table for people */
#define MAX_JSON_NAMES 1000
#define MAX_STREAMS    16
#define MAX_CLASSES    12
#define MAX_UNKNOWN    3
#define NAME_WIDTH     70

static double milliseconds(int64_t ns)
{
    return (double)ns / 1e6;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static double share(int64_t part, int64_t whole)
{
    return whole > 0 ? (double)part / (double)whole : 0;
}

static int64_t overlap_of(const struct replay_result *result)
{
    int64_t sum = 0;
    for (size_t i = 0; i < result->device_count; i++)
        sum += result->shares[i].overlap;
    return sum;
}

static int64_t critical_work(const struct replay_result *result)
{
    int64_t sum = 0;
    for (size_t i = 0; i < result->name_count; i++)
        sum += result->names[i].critical;
    return sum;
}

/* The critical path may begin with the host, long before the first activity. */
static int64_t critical_length(const struct replay_result *result)
{
    int64_t sum = critical_work(result);
    for (int i = 0; i < CAUSE_KINDS; i++)
        sum += result->critical[i];
    return sum;
}

/* ---- for people ---- */

static void print_head(const struct replay_report *report, struct text *out)
{
    const struct replay *replay = report->replay;
    size_t devices = report->recorded->device_count;
    text_format(out,
                "%s: %zu activities on %zu stream%s of %zu device%s, %zu calls of the host, of %zu events\n",
                replay->path, replay->count, replay->stream_count, replay->stream_count > 1 ? "s" : "",
                devices, devices > 1 ? "s" : "", replay->call_count, replay->events);
    if (replay->played)
        text_add(out, "execution trace: dependencies and durations are recorded, starts are simulated\n");
    if (replay->host_only)
        text_add(out, "no activity of a device was recorded: these are operations of the host\n");
    if (replay->cut_at > 0)
        text_format(out, "the file ends early, after %lld bytes: all that follows is missing\n",
                    (long long)replay->cut_at);
    if (replay->no_launch > 0 && replay->call_count > 0)
        text_format(out, "no launch was recorded for %zu activities\n", replay->no_launch);
    if (replay->no_activity > 0)
        text_format(out, "no activity was recorded for %zu launches: the trace has gaps\n",
                    replay->no_activity);
    if (replay->skewed > 0)
        text_format(out, "%zu activities begin before their launch: the clocks differ\n", replay->skewed);
}

static int64_t left_out(const struct replay_result *result)
{
    int64_t sum = 0;
    for (int i = CAUSE_STALL + 1; i < CAUSE_KINDS; i++)
        sum += result->critical[i];
    return sum;
}

/* Waits for activities and calls that the trace shows to have left out, by name. */
static void print_left_out(const struct replay_result *result, struct text *out)
{
    static const char *const names[CAUSE_KINDS] = {
        [CAUSE_STALL_GRAPH] = "beside launched graphs of which only some activities are recorded",
        [CAUSE_STALL_SAMPLED] = "between calls that are only sampled",
        [CAUSE_STALL_LAUNCH] = "for a launch that was not recorded",
        [CAUSE_STALL_EVENT] = "for an event of a stream without records at that time",
    };
    int64_t sum = left_out(result), whole = critical_length(result);
    const char *before = ": ";
    if (sum == 0)
        return;
    text_format(out, "left out      %.3f ms (%.1f %%)", milliseconds(sum), 100 * share(sum, whole));
    for (int i = CAUSE_STALL + 1; i < CAUSE_KINDS; i++)
        if (result->critical[i] > 0) {
            text_format(out, "%s%.3f ms %s", before, milliseconds(result->critical[i]), names[i]);
            before = "; ";
        }
    text_add(out, "\n");
}

static void print_spans(const struct replay_report *report, struct text *out)
{
    const struct replay_result *recorded = report->recorded, *typical = report->typical;
    int64_t span = recorded->span, stalls = recorded->critical[CAUSE_STALL];
    bool played = report->replay->played;
    text_format(out, "\nspan          %.3f ms, %s\n", milliseconds(span),
                played ? "as played" : "as recorded");
    if (!played)
        text_format(out,
                    "typical lags  %.3f ms (%+.2f %%): from dependencies, durations and typical lags "
                    "alone\nunexplained   %.3f ms of the critical path (%.1f %%): waits whose cause is not "
                    "in the trace\n",
                    milliseconds(typical->span), 100 * share(typical->span - span, span),
                    milliseconds(stalls), 100 * share(stalls, critical_length(recorded)));
    print_left_out(recorded, out);
    if (!report->changed)
        return;
    text_add(out, "what if       ");
    for (int i = 0; i < report->scale_count; i++)
        text_format(out, "%s%s x %.6g", i > 0 ? ", " : "", report->scales[i].pattern,
                    report->scales[i].factor);
    text_format(out, ": %.3f ms (%+.2f %%)\n", milliseconds(report->changed->span),
                100 * share(report->changed->span - span, span));
}

static void print_shares(const struct replay_result *result, const char *title, struct text *out)
{
    text_format(out, "\n%s\n%6s  %12s  %8s  %13s  %8s  %8s  %8s\n", title, "device", "span (ms)", "compute",
                "communication", "both", "copies", "idle");
    for (size_t i = 0; i < result->device_count; i++) {
        const struct replay_shares *shares = &result->shares[i];
        char device[24] = "host"; /* threads, of an execution trace */
        if (shares->device >= 0)
            snprintf(device, sizeof device, "%lld", (long long)shares->device);
        text_format(out, "%6s  %12.3f  %6.2f %%  %11.2f %%  %6.2f %%  %6.2f %%  %6.2f %%\n", device,
                    milliseconds(shares->span), 100 * share(shares->compute, shares->span),
                    100 * share(shares->communication, shares->span),
                    100 * share(shares->overlap, shares->span), 100 * share(shares->memory, shares->span),
                    100 * share(shares->idle, shares->span));
    }
}

static void print_streams(const struct replay_result *result, struct text *out)
{
    text_format(out, "\n%6s  %6s  %10s  %10s  %8s\n", "device", "stream", "activities", "busy (ms)", "busy");
    for (size_t i = 0; i < result->stream_count && i < MAX_STREAMS; i++) {
        const struct replay_busy *busy = &result->busy[i];
        text_format(out, "%6" PRId64 "  %6" PRId64 "  %10zu  %10.3f  %6.2f %%\n", busy->device, busy->stream,
                    busy->count, milliseconds(busy->busy), 100 * share(busy->busy, result->span));
    }
    if (result->stream_count > MAX_STREAMS)
        text_format(out, "... and %zu more (--json has all)\n", result->stream_count - MAX_STREAMS);
}

/* Names that no rule knows, for the longest times. */
static void print_unknown(const struct replay_result *result, const struct replay_class_sum *sum,
                          struct text *out)
{
    int shown = 0;
    text_format(out, "unknown kernels take %.2f %% (rules for them: --kernels FILE):", 100 * sum->share);
    for (size_t i = 0; i < result->name_count && shown < MAX_UNKNOWN; i++)
        if (strcmp(result->names[i].kind, kernel_class_names[CLASS_UNKNOWN]) == 0)
            text_format(out, "%s %.*s", shown++ > 0 ? "," : "", NAME_WIDTH, result->names[i].name);
    text_add(out, "\n");
}

static void print_classes(const struct replay_report *report, struct text *out)
{
    text_format(out, "\n%-14s  %-18s  %10s  %8s  %8s\n", "class", "library", "total (ms)", "share", "count");
    for (size_t i = 0; i < report->class_count && i < MAX_CLASSES; i++) {
        const struct replay_class_sum *sum = &report->classes[i];
        text_format(out, "%-14s  %-18s  %10.3f  %6.2f %%  %8zu\n", kernel_class_names[sum->class],
                    sum->library, milliseconds(sum->total), 100 * sum->share, sum->count);
    }
    if (report->class_count > MAX_CLASSES)
        text_format(out, "... and %zu more (--json)\n", report->class_count - MAX_CLASSES);
    for (size_t i = 0; i < report->class_count; i++)
        if (report->classes[i].class == CLASS_UNKNOWN && !report->replay->typed)
            print_unknown(report->recorded, &report->classes[i], out);
}

/* Kernels are often templates with names of hundreds of characters. */
static void print_names(const struct replay_result *result, struct text *out)
{
    text_format(out, "\n%10s  %8s  %13s  %s\n", "total (ms)", "count", "critical (ms)", "activity");
    for (size_t i = 0; i < result->name_count && i < MAX_NAMES; i++) {
        const struct replay_named *named = &result->names[i];
        bool cut = strlen(named->name) > NAME_WIDTH;
        text_format(out, "%10.3f  %8zu  %13.3f  %.*s%s\n", milliseconds(named->total), named->count,
                    milliseconds(named->critical), cut ? NAME_WIDTH - 3 : NAME_WIDTH, named->name,
                    cut ? "..." : "");
    }
    if (result->name_count > MAX_NAMES)
        text_format(out, "... and %zu more (--json)\n", result->name_count - MAX_NAMES);
}

static void print_critical(const struct replay_result *result, struct text *out)
{
    text_format(out, "\ncritical path: %.3f ms of activities", milliseconds(critical_work(result)));
    for (int i = 0; i < CAUSE_KINDS; i++)
        if (result->critical[i] != 0)
            text_format(out, "; %s %.3f", replay_cause_names[i], milliseconds(result->critical[i]));
    text_add(out, "\n");
}

static void replay_report_print(const struct replay_report *report, struct text *out)
{
    print_head(report, out);
    print_spans(report, out);
    print_shares(report->recorded, report->replay->played ? "as played" : "as recorded", out);
    if (report->changed)
        print_shares(report->changed, "what if", out);
    print_streams(report->recorded, out);
    print_classes(report, out);
    print_names(report->recorded, out);
    print_critical(report->recorded, out);
}

/* ---- for programs ---- */

#define SHARE(key, member) FIELD_OUT(struct replay_shares, key, member, FIELD_NANOSECONDS)

static const struct field share_fields[] = {
    FIELD_OUT(struct replay_shares, "device", device, FIELD_INT64),
    SHARE("span", span),
    SHARE("compute", compute),
    SHARE("communication", communication),
    SHARE("overlap", overlap),
    SHARE("copies", memory),
    SHARE("idle", idle),
};

static const struct field name_fields[] = {
    FIELD_OUT(struct replay_named, "name", name, FIELD_TEXT),
    FIELD_OUT(struct replay_named, "class", class, FIELD_TEXT),
    FIELD_OUT(struct replay_named, "kind", kind, FIELD_TEXT),
    FIELD_OUT(struct replay_named, "count", count, FIELD_INT64),
    FIELD_OUT(struct replay_named, "seconds", total, FIELD_NANOSECONDS),
    FIELD_OUT(struct replay_named, "critical", critical, FIELD_NANOSECONDS),
};

static const struct field class_fields[] = {
    FIELD_WORDS(struct replay_class_sum, "kind", class, kernel_class_names),
    FIELD_WORDS(struct replay_class_sum, "class", group, replay_class_names),
    FIELD_OUT(struct replay_class_sum, "library", library, FIELD_TEXT),
    FIELD_OUT(struct replay_class_sum, "count", count, FIELD_INT64),
    FIELD_OUT(struct replay_class_sum, "seconds", total, FIELD_NANOSECONDS),
    FIELD_OUT(struct replay_class_sum, "share", share, FIELD_DOUBLE),
};

static const struct field stream_fields[] = {
    FIELD_OUT(struct replay_busy, "device", device, FIELD_INT64),
    FIELD_OUT(struct replay_busy, "stream", stream, FIELD_INT64),
    FIELD_OUT(struct replay_busy, "activities", count, FIELD_INT64),
    FIELD_OUT(struct replay_busy, "busy", busy, FIELD_NANOSECONDS),
};

static const char *const cause_keys[CAUSE_KINDS] = {
    "begin",  "stream",      "launch", "wait",    "inferred",        "host",          "sync",
    "thread", "unexplained", "graph",  "sampled", "launch_left_out", "event_left_out"};

static void write_critical(struct json *json, const struct replay_result *result)
{
    json_open_flat(json, "critical_path", '{');
    json_number(json, "activities", seconds(critical_work(result)));
    for (int i = 1; i < CAUSE_KINDS; i++)
        json_number(json, cause_keys[i], seconds(result->critical[i]));
    json_close(json);
}

static const struct field scale_fields[] = {
    FIELD_OUT(struct replay_scale, "pattern", pattern, FIELD_TEXT),
    FIELD_OUT(struct replay_scale, "factor", factor, FIELD_DOUBLE),
};

static const struct field changed_fields[] = {
    FIELD_OUT(struct replay_result, "activities", scaled, FIELD_INT64),
    FIELD_OUT(struct replay_result, "span", span, FIELD_NANOSECONDS),
    FIELD_ROWS(struct replay_result, "devices", shares, device_count, share_fields, FIELD_LIST),
};

static void write_changed(struct json *json, const struct replay_report *report)
{
    json_open(json, "what_if", '{');
    FIELDS_LIST(report->scales, report->scale_count, scale_fields, json, "scales");
    FIELDS_WRITE(report->changed, changed_fields, json);
    write_critical(json, report->changed);
    json_close(json);
}

static const struct field replay_fields[] = {
    FIELD_OUT(struct replay, "file", path, FIELD_TEXT),
    FIELD_OUT(struct replay, "activities", count, FIELD_INT64),
    FIELD_OUT(struct replay, "calls", call_count, FIELD_INT64),
    FIELD_OUT(struct replay, "events", events, FIELD_INT64),
    FIELD_OUT(struct replay, "without_launch", no_launch, FIELD_INT64),
    FIELD_OUT(struct replay, "without_activity", no_activity, FIELD_INT64),
    FIELD_OUT(struct replay, "before_launch", skewed, FIELD_INT64),
};

#define LAG_FIELDS(X, of)                                                                                    \
    X(of, DOUBLE, span) X(of, DOUBLE, span_error) X(of, DOUBLE, overlap) X(of, DOUBLE, overlap_error)
FIELDS_RECORD(lags, LAG_FIELDS);

/* Waits by their cause, of the whole trace, not only of its critical path. */
#define STALLS(waits, stalled_for, cause)                                                                    \
    FIELD_OUT(struct replay_graph, waits, causes[cause], FIELD_INT64),                                       \
        FIELD_OUT(struct replay_graph, stalled_for, stalled[cause], FIELD_NANOSECONDS)
#define LEFT_OUT(key, cause) FIELD_OPEN(key, FIELD_FLAT_MAP), STALLS("waits", "seconds", cause), FIELD_CLOSE

static const struct field graph_fields[] = {
    STALLS("unexplained_waits", "unexplained", CAUSE_STALL),
    FIELD_OPEN("left_out", FIELD_MAP),
    LEFT_OUT("graph", CAUSE_STALL_GRAPH),
    LEFT_OUT("sampled", CAUSE_STALL_SAMPLED),
    LEFT_OUT("launch_left_out", CAUSE_STALL_LAUNCH),
    LEFT_OUT("event_left_out", CAUSE_STALL_EVENT),
    FIELD_CLOSE,
};

static void replay_report_json(const struct replay_report *report, struct json *json)
{
    const struct replay_result *recorded = report->recorded, *typical = report->typical;
    int64_t overlap = overlap_of(recorded), other = overlap_of(typical);
    const struct lags lags = {seconds(typical->span), share(typical->span - recorded->span, recorded->span),
                              seconds(other), share(other - overlap, overlap)};
    json_open_document(json, "rehearse-replay/1");
    FIELDS_WRITE(report->replay, replay_fields, json);
    fields_write(recorded, changed_fields + 1, 2, json);
    FIELDS_MAP(&lags, lags_fields, json, "typical_lags");
    FIELDS_WRITE(report->graph, graph_fields, json);
    write_critical(json, recorded);
    FIELDS_LIST(recorded->busy, recorded->stream_count, stream_fields, json, "streams");
    FIELDS_LIST(report->classes, report->class_count, class_fields, json, "classes");
    FIELDS_LIST(recorded->names,
                recorded->name_count < MAX_JSON_NAMES ? recorded->name_count : MAX_JSON_NAMES, name_fields,
                json, "names");
    if (report->changed)
        write_changed(json, report);
    json_close(json);
}

struct playing {
    struct replay_scale scales[REPLAY_MAX_SCALES];
    char *texts[REPLAY_MAX_SCALES]; /* of the scales' patterns */
    int scale_count;
    struct kernel_classes kernels;
    struct replay_class_sum *classes;
    size_t class_count;
    struct replay replay;
    struct replay_graph graph;
    struct replay_result recorded, typical, changed;
};

static bool read_scales(struct playing *playing, const struct rh_list *given, struct error *err)
{
    if (given->count > REPLAY_MAX_SCALES)
        return error_set(err, ERROR_USAGE, "--what-if: more than %d patterns", REPLAY_MAX_SCALES);
    for (size_t i = 0; i < given->count; i++) {
        char *text = strdup(given->items[i]);
        if (!text)
            return error_memory(err);
        playing->texts[playing->scale_count] = text;
        if (!replay_scale_parse(&playing->scales[playing->scale_count++], text, err))
            return false;
    }
    return true;
}

/* A pattern that no kernel has is most likely a mistake. */
static bool check_scales(const struct playing *playing, struct error *err)
{
    const struct replay_named *longest = &playing->recorded.names[0];
    for (int i = 0; i < playing->scale_count; i++)
        if (!replay_matches(&playing->replay, &playing->scales[i]))
            return error_set(err, ERROR_USAGE,
                             "--what-if '%s': no kernel in '%s' has such a name (the longest are '%.80s')",
                             playing->scales[i].pattern, playing->replay.path, longest->name);
    return true;
}

static bool play(struct playing *playing, struct error *err)
{
    const struct replay_options recorded = {.scales = NULL}, typical = {.typical = true};
    const struct replay_options changed = {.scales = playing->scales, .scale_count = playing->scale_count};
    if (!replay_graph_make(&playing->graph, &playing->replay, err) ||
        !replay_play(&playing->graph, &recorded, &playing->recorded, err))
        return false;
    replay_result_forget_times(&playing->recorded); /* those of the activities */
    if (!check_scales(playing, err) || !replay_play(&playing->graph, &typical, &playing->typical, err))
        return false;
    replay_result_forget_times(&playing->typical);
    return (playing->scale_count == 0 || replay_play(&playing->graph, &changed, &playing->changed, err));
}

static bool write_table(const struct playing *playing, const struct replay_result *result, const char *path,
                        struct error *err)
{
    struct file_output output;
    struct text text = {0};
    if (!file_output_open(&output, path, err))
        return false;
    replay_write_csv(&playing->replay, result ? result->starts : NULL, result ? result->durations : NULL,
                     &text, output.out);
    bool done = !text.failed || error_memory(err);
    text_release(&text);
    return file_output_close(&output, done, err);
}

static bool write_files(const struct playing *playing, const struct simulate_options *given,
                        struct error *err)
{
    const struct replay_result *result = playing->scale_count > 0 ? &playing->changed : NULL;
    if (given->asked.tasks && !write_table(playing, result, given->asked.tasks, err))
        return false;
    if (!given->asked.trace)
        return true;
    const struct chrome_options options = {.recorded = true, .world_size = playing->replay.world};
    struct chrome *chrome = chrome_open(given->asked.trace, &options, err);
    if (!chrome)
        return false;
    const struct timeline_sink sink = chrome_sink(chrome);
    return chrome_close(chrome, replay_give(&playing->replay, result, &sink, err), err);
}

static bool deliver(const struct playing *playing, const struct simulate_options *given, struct error *err)
{
    const struct replay_report report = {
        .replay = &playing->replay,
        .graph = &playing->graph,
        .recorded = &playing->recorded,
        .typical = &playing->typical,
        .changed = playing->scale_count > 0 ? &playing->changed : NULL,
        .scales = playing->scales,
        .scale_count = playing->scale_count,
        .classes = playing->classes,
        .class_count = playing->class_count,
    };
    if (!write_files(playing, given, err) ||
        (given->asked.page &&
         !replay_draw_page(&playing->replay, report.changed, &given->report->drawing, err)))
        return false;
    replay_report_json(&report, &given->report->json);
    replay_report_print(&report, &given->report->text);
    if (given->asked.kernels && !replay_has_rule_of(&playing->replay, &playing->kernels))
        text_format(&given->report->text, SIMULATE_NO_RULE, given->asked.kernels);
    return true;
}

/* Reads the trace, and the user's rules for names. */
static bool read(struct playing *playing, const struct simulate_options *given, struct error *err)
{
    const char *kernels = given->asked.kernels;
    return replay_load(&playing->replay, given->asked.replay, err) &&
           (!kernels || replay_classify(&playing->replay, &playing->kernels, err)) &&
           replay_sum_classes(&playing->replay, NULL, &playing->classes, &playing->class_count, err);
}

/* Sets whether a path is a run of several files: a folder, or a pattern of names. */
static bool is_run(const char *path, bool *several, struct error *err)
{
    enum file_kind kind;
    if (!file_look(path, &kind, err))
        return false;
    *several = *several || kind == FILE_FOLDER || (kind == FILE_NONE && strpbrk(path, "*?["));
    return true;
}

bool simulate_replay(const struct simulate_options *given, struct error *err)
{
    struct playing playing = {.scale_count = 0};
    const char *kernels = given->asked.kernels;
    bool several = given->asked.cluster != NULL;
    bool done = read_scales(&playing, &given->asked.what_if, err) &&
                is_run(given->asked.replay, &several, err) &&
                (!kernels || kernel_classes_load(&playing.kernels, kernels, err));
    for (int i = 0; done && i < playing.scale_count; i++)
        several =
            several || simulate_is_degree(playing.scales[i].pattern); /* a file may hold several ranks */
    const struct replay_options options = {.scales = playing.scales, .scale_count = playing.scale_count};
    done = done &&
           (several ? simulate_replay_ranks(given, &options, kernels ? &playing.kernels : NULL, err)
                    : read(&playing, given, err) && play(&playing, err) && deliver(&playing, given, err));
    replay_result_release(&playing.recorded);
    replay_result_release(&playing.typical);
    replay_result_release(&playing.changed);
    replay_graph_release(&playing.graph);
    replay_release(&playing.replay);
    kernel_classes_release(&playing.kernels);
    free(playing.classes);
    for (int i = 0; i < playing.scale_count; i++)
        free(playing.texts[i]);
    return done;
}
