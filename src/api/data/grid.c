/* rh_feed with `vary`: a run for each combination of numbers of accelerators, batches and other keys, and one table of
 * all.
 *
 *     DIR/a1-b4/result.json, 0_output.json, …    the files of each run, as `figure steps` reads them
 *     DIR/grid.json                              the table
 *
 * result.json is written last and names what was asked, by a digest: a point whose result is there is kept, and the
 * same command goes on where it was stopped. */
#include "api/data/feed.h"
#include "api/plan/range.h"
#include "api/sweep/sweep.h"
#include "core/doc.h"
#include "core/fields.h"
#include "core/file.h"
#include "plan/plan_digest.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BATCH (INT64_C(1) << 31) /* samples of an accelerator */

enum column {
    PASSED,
    VERDICT,
    TEXT,
    AU,
    SAMPLES,
    BYTES,
    STEP,
    COMPUTE,
    LOAD,
    BARRIER,
    LATE,
    FOLDER,
    KEPT,
    COLUMNS
};

static const struct sweep_column columns[COLUMNS] = {
    [PASSED] = {"passed", "passed", SWEEP_FLAG, NULL},
    [VERDICT] = {"verdict", "verdict", SWEEP_TEXT, NULL},
    [TEXT] = {"verdict_text", NULL, SWEEP_TEXT, NULL},
    [AU] = {"au", "AU", SWEEP_SHARE, NULL},
    [SAMPLES] = {"samples_per_second", "samples/s", SWEEP_NUMBER, NULL},
    [BYTES] = {"bytes_per_second", NULL, SWEEP_NUMBER, NULL},
    [STEP] = {"step_seconds", "step (p50)", SWEEP_TIME, NULL},
    [COMPUTE] = {"compute", "computing", SWEEP_SHARE, NULL},
    [LOAD] = {"load", "loading", SWEEP_SHARE, NULL},
    [BARRIER] = {"barrier", "barrier", SWEEP_SHARE, NULL},
    [LATE] = {"late", "late", SWEEP_SHARE, NULL},
    [FOLDER] = {"folder", "folder", SWEEP_TEXT, NULL},
    [KEPT] = {"kept", "kept", SWEEP_FLAG, NULL},
};

struct grid {
    const struct rh_feed_request *asked;
    const struct api_call *call;
    struct comm *comm;
    struct arena arena;
    int count;
    struct sweep_axis axes[SWEEP_MAX_AXES];
    struct error first; /* of a point without a result; its text is "" while there is none */
    int64_t points, ended, failed, not_passed;
};

/* ---- what varies ---- */

/* The short form of a key in the names of folders; NULL: it has none. */
static const char *letter_of(const char *key)
{
    return strcmp(key, "accelerators") == 0 ? "a" : strcmp(key, "batch") == 0 ? "b" : NULL;
}

static bool add_numbers(struct grid *grid, struct sweep_axis *axis, const char *list, struct error *err)
{
    struct range range;
    char option[40];
    int64_t max = strcmp(axis->key, "batch") == 0 ? MAX_BATCH : 1000000;
    snprintf(option, sizeof option, "vary %s", axis->key);
    if (!range_parse(option, list, *axis->key == 'b' ? DIMENSION_SAMPLES : DIMENSION_NUMBER, 1, max, &range,
                     err))
        return false;
    int64_t *values = ARENA_ARRAY(&grid->arena, (size_t)range.count, int64_t);
    if (values)
        memcpy(values, range.values, (size_t)range.count * sizeof *values);
    axis->values = values;
    axis->count = range.count;
    range_release(&range);
    return values || error_memory(err);
}

static bool add_words(struct grid *grid, struct sweep_axis *axis, const char *list, struct error *err)
{
    size_t count = 1, at = 0;
    for (const char *comma = strchr(list, ','); comma; comma = strchr(comma + 1, ','))
        count++;
    const char **words = ARENA_ARRAY(&grid->arena, count, const char *);
    char *copy = arena_string(&grid->arena, list);
    if (!words || !copy)
        return error_memory(err);
    for (char *word = copy, *next; word; word = next) {
        next = strchr(word, ',');
        if (next)
            *next++ = '\0';
        if (!*word || strchr(word, '/'))
            return error_set(err, ERROR_USAGE, "--vary %s: '%s' cannot be part of a folder's name", axis->key,
                             word);
        for (size_t i = 0; i < at; i++)
            if (strcmp(words[i], word) == 0)
                return error_set(err, ERROR_USAGE, "--vary %s: '%s' twice", axis->key, word);
        words[at++] = word;
    }
    axis->words = words;
    axis->count = (int)count;
    return true;
}

static bool add_axis(struct grid *grid, const char *given, struct error *err)
{
    const char *equals = strchr(given, '=');
    if (!equals || equals == given || !equals[1])
        return error_set(err, ERROR_USAGE,
                         "--vary: expected KEY=LIST, such as accelerators=1,2,4, found '%s'", given);
    if (grid->count == SWEEP_MAX_AXES)
        return error_set(err, ERROR_USAGE, "--vary: more than %d keys", SWEEP_MAX_AXES);
    const char *key = arena_copy(&grid->arena, given, (size_t)(equals - given));
    if (!key)
        return error_memory(err);
    if (strcmp(key, "reader.batch_size") == 0)
        key = "batch";
    for (int i = 0; i < grid->count; i++)
        if (strcmp(grid->axes[i].key, key) == 0)
            return error_set(err, ERROR_USAGE, "--vary: '%s' twice", key);
    struct sweep_axis *axis = &grid->axes[grid->count++];
    *axis = (struct sweep_axis){.key = key, .title = key};
    return letter_of(key) ? add_numbers(grid, axis, equals + 1, err) : add_words(grid, axis, equals + 1, err);
}

static bool open_grid(struct grid *grid, struct error *err)
{
    const struct rh_feed_request *asked = grid->asked;
    if (asked->find_max_accelerators || asked->show || asked->as_planned || asked->keep_steps)
        return error_set(err, ERROR_USAGE, "--vary goes with no --%s",
                         asked->show                    ? "show"
                         : asked->as_planned            ? "as-planned"
                         : asked->find_max_accelerators ? "find-max-accelerators"
                                                        : "keep-steps");
    for (size_t i = 0; i < asked->vary.count; i++)
        if (!add_axis(grid, asked->vary.items[i], err))
            return false;
    for (int i = 0; i < grid->count; i++)
        if (strcmp(grid->axes[i].key, "accelerators") == 0 && grid->call->given[FEED_ACCELERATORS])
            return error_set(err, ERROR_USAGE, "--accelerators and --vary accelerators=… exclude each other");
    return true;
}

/* ---- the result of a point ---- */

static uint64_t digest_list(uint64_t digest, const struct rh_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        digest = plan_digest_text(digest, list->items[i]);
    return digest;
}

/* Goes on with the value of an option. */
static uint64_t digest_option(uint64_t digest, const struct option_spec *spec, const void *request)
{
    const char *at = (const char *)request + spec->at;
    int64_t whole = 0;
    double number;
    const char *text;
    switch (spec->kind) {
    case OPTION_FLAG:
        whole = *at != 0;
        return plan_digest_integers(digest, &whole, 1);
    case OPTION_INTEGER:
        memcpy(&whole, at, sizeof whole);
        return plan_digest_integers(digest, &whole, 1);
    case OPTION_NUMBER:
    case OPTION_QUANTITY:
        memcpy(&number, at, sizeof number);
        return plan_digest_numbers(digest, &number, 1);
    default:
        if (spec->repeats)
            return digest_list(digest, (const struct rh_list *)(const void *)at);
        memcpy(&text, at, sizeof text);
        return plan_digest_text(digest, text);
    }
}

/* Identifies a run by the program's version, the workload with all its keys, the options and the plan. */
static bool set_digest(struct feed_job *job, struct error *err)
{
    static const char *const others[] = {"results", "vary", "force", "time-out", "plan"};
    struct text text = {0};
    struct json json = {.out = &text};
    int64_t processes = comm_size(job->comm);
    json_open(&json, NULL, '{');
    json_string(&json, "version", REHEARSE_VERSION);
    workload_write_json(&job->workload, &json, "workload");
    if (job->has_plan)
        plan_write_json(&job->plan, &json, "plan");
    json_close(&json);
    if (text.failed) {
        text_release(&text);
        return error_memory(err);
    }
    uint64_t digest = plan_digest_integers(plan_digest_text(PLAN_DIGEST_BEGIN, text.data), &processes, 1);
    text_release(&text);
    for (struct option_walk walk = option_begin(api_feed_options); option_next(&walk);) {
        bool counts = true;
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            counts = counts && strcmp(walk.spec->name, others[i]) != 0;
        digest = counts ? digest_option(digest, walk.spec, &job->asked) : digest;
    }
    const int64_t chosen = job->call->given[FEED_METHOD]; /* else the workload's own */
    digest = plan_digest_integers(digest, &chosen, 1);
    snprintf(job->digest, sizeof job->digest, "fnv1a:%016" PRIx64, digest);
    return true;
}

/* Opens the result in a folder. False: there is none (*doc holds nothing, err is not set), or it cannot be read. */
static bool open_result(const char *folder, struct doc *doc, bool *there, struct error *err)
{
    char path[4096];
    enum file_kind kind;
    int length = snprintf(path, sizeof path, "%s/result.json", folder);
    *there = true;
    if (length < 0 || (size_t)length >= sizeof path)
        return error_set(err, ERROR_USAGE, "%s: too long for a path", folder);
    if (!file_look(path, &kind, err))
        return false;
    *there = kind != FILE_NONE;
    return *there && doc_load(doc, path, err);
}

/* Returns the text of a key of a map; "": it has none. */
static const char *text_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->text ? node->text : "";
}

/* Returns whether a run was not stopped, by the check of its result. */
static bool ran_to_its_end(const struct doc_node *result)
{
    const struct doc_node *checks = doc_find(result, "checks");
    for (const struct doc_node *check = checks ? checks->first_child : NULL; check; check = check->next) {
        const struct doc_node *passed = doc_find(check, "passed");
        if (strcmp(text_of(check, "name"), SESSION_RAN) == 0)
            return passed && passed->boolean;
    }
    return false;
}

/* On rank 0: is the point's result there? */
static bool look(struct feed_job *job, bool *kept, struct error *err)
{
    const char *folder = job->point->folder;
    struct doc doc;
    bool there;
    *kept = false;
    if (!set_digest(job, err))
        return false;
    if (!open_result(folder, &doc, &there, err))
        return !there;
    bool same = strcmp(text_of(doc.root, "digest"), job->digest) == 0;
    *kept = same && ran_to_its_end(doc.root);
    doc_release(&doc);
    return same ||
           error_set(err, ERROR_FAILED,
                     "%s has the result of another run (other options, data or version): remove it, or give "
                     "another folder",
                     folder);
}

bool feed_grid_look(struct feed_job *job, bool *kept, struct error *err)
{
    bool fine = comm_rank(job->comm) > 0 || look(job, kept, err);
    unsigned char byte = *kept;
    if (!comm_agree(job->comm, fine, "the results of a point", err) ||
        !comm_broadcast(job->comm, &byte, 1, "the results of a point", err))
        return false;
    *kept = *job->point->kept = byte != 0;
    return true;
}

static double number_of(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    return node && node->type == DOC_NUMBER ? node->number : NAN;
}

static bool read_cells(const char *folder, struct sweep_cell *cells, struct error *err)
{
    struct doc doc;
    bool there;
    if (!open_result(folder, &doc, &there, err))
        return there ? false : error_set(err, ERROR_FAILED, "%s: its result.json is missing", folder);
    const struct doc_node *training = doc_find(doc.root, "training");
    const struct doc_node *shares = doc_find(training, "shares"), *passed = doc_find(doc.root, "passed");
    cells[PASSED].number = passed && passed->boolean;
    snprintf(cells[VERDICT].text, sizeof cells[VERDICT].text, "%s", text_of(doc.root, "verdict"));
    text_add(&cells[TEXT].more, text_of(doc.root, "verdict_text"));
    cells[AU].number = number_of(training, "au");
    cells[SAMPLES].number = number_of(training, "samples_per_second");
    cells[BYTES].number = number_of(training, "bytes_per_second");
    cells[STEP].number = number_of(doc_find(training, "step_seconds"), "p50");
    cells[COMPUTE].number = number_of(shares, "compute");
    cells[LOAD].number = number_of(shares, "load");
    cells[BARRIER].number = number_of(shares, "barrier");
    cells[LATE].number = number_of(shares, "late");
    doc_release(&doc);
    return !cells[TEXT].more.failed || error_memory(err);
}

/* ---- a point ---- */

/* Adds what varies to the request: accelerators, and keys of the workload behind those that were set. */
static bool set_point(const struct grid *grid, const int *at, struct feed_job *job, struct text *folder,
                      struct error *err)
{
    struct arena *arena = &job->overrides.arena;
    const struct rh_list *set = &grid->asked->set;
    const char **items = ARENA_ARRAY(arena, set->count + SWEEP_MAX_AXES, const char *);
    size_t count = set->count;
    text_format(folder, "%s/", grid->asked->results);
    if (!items)
        return error_memory(err);
    for (size_t i = 0; i < count; i++)
        items[i] = set->items[i];
    for (int i = 0; i < grid->count; i++) {
        const struct sweep_axis *axis = &grid->axes[i];
        const char *letter = letter_of(axis->key), *key = axis->key;
        struct text line = {0};
        text_format(folder, "%s%s%s", i > 0 ? "-" : "", letter ? letter : key, letter ? "" : "=");
        if (axis->words)
            text_add(folder, axis->words[at[i]]);
        else
            text_format(folder, "%" PRId64, axis->values[at[i]]);
        if (letter && *letter == 'a') {
            job->asked.accelerators = axis->values[at[i]];
            continue;
        }
        if (strcmp(key, "depth") == 0) { /* an option that is no key of workloads */
            int64_t *depth = &job->asked.depth;
            if (!text_whole(axis->words[at[i]], "", depth) || *depth < 1 || *depth > STORAGE_MAX_QUEUE_DEPTH)
                return error_set(err, ERROR_USAGE, "--vary depth: expected 1 to %d, found '%s'",
                                 STORAGE_MAX_QUEUE_DEPTH, axis->words[at[i]]);
            continue;
        }
        if (axis->words)
            text_format(&line, "%s=%s", key, axis->words[at[i]]);
        else
            text_format(&line, "reader.batch_size=%" PRId64, axis->values[at[i]]);
        items[count++] = line.failed ? NULL : arena_string(arena, line.data);
        text_release(&line);
        if (!items[count - 1])
            return error_memory(err);
    }
    job->asked.set = (struct rh_list){.items = items, .count = count};
    job->asked.vary = (struct rh_list){0};
    job->asked.results = folder->data;
    return !folder->failed || error_memory(err);
}

/* Runs a point, or finds its result; kept NULL: looks at the workload alone. The job goes unless threads that wait for
 * storage still use it. */
static bool run_point(struct grid *grid, const int *at, struct text *folder, bool *kept, struct error *err)
{
    struct api_report *report = api_report_new(err);
    struct feed_job *job = report ? calloc(1, sizeof *job) : NULL;
    if (!job) {
        if (report)
            rh_free(&report->base);
        return error_memory(err);
    }
    *job = (struct feed_job){.asked = *grid->asked,
                             .call = grid->call,
                             .report = report,
                             .comm = grid->comm,
                             .quiet = grid->ended > 0 || !kept};
    bool done = set_point(grid, at, job, folder, err);
    const struct feed_point point = {.folder = folder->data, .kept = kept};
    job->point = &point;
    if (done)
        done = feed_together(job, err);
    else
        workload_overrides_release(&job->overrides);
    if (job->abandoned) {
        api_keep_stop(grid->call);
        return error_set(err, ERROR_STOPPED, "a thread still waits for the storage");
    }
    rh_free(&report->base);
    free(job);
    return done;
}

static bool answer_point(const void *context, const int *at, struct sweep_cell *cells, struct error *err)
{
    struct grid *grid = (struct grid *)(uintptr_t)context; /* one thread answers */
    struct text *folder = &cells[FOLDER].more;
    bool kept = false, done = !api_stopped(grid->call, err) && run_point(grid, at, folder, &kept, err);
    if (done && comm_rank(grid->comm) == 0)
        done = read_cells(folder->data, cells, err);
    if (api_stopped(grid->call, err))
        return false;
    cells[KEPT].number = kept;
    grid->ended++;
    grid->not_passed += !done || cells[PASSED].number == 0;
    if (done || err->kind == ERROR_USAGE || err->kind == ERROR_STOPPED || error_is_memory(err))
        return done;
    grid->failed++;
    if (!*grid->first.text)
        grid->first = *err;
    err->kind = ERROR_INFEASIBLE; /* a row of the table with this reason */
    return false;
}

/* Looks at each value once, before the first run: a word that is none ends the grid now and not after hours. */
static bool check_values(struct grid *grid, struct error *err)
{
    for (int i = 0; i < grid->count; i++)
        for (int j = 0; j < grid->axes[i].count; j++) {
            int at[SWEEP_MAX_AXES] = {[0] = 0};
            struct text folder = {0};
            at[i] = j;
            bool fine = !api_stopped(grid->call, err) && run_point(grid, at, &folder, NULL, err);
            text_release(&folder);
            if (!fine && (err->kind == ERROR_USAGE || err->kind == ERROR_STOPPED || error_is_memory(err)))
                return false;
        }
    return true;
}

/* ---- the table ---- */

static void write_head(const void *context, struct json *json)
{
    const struct grid *grid = context;
    json_string(json, "folder", grid->asked->results);
}

static const struct field grid_fields[] = {
    FIELD_OUT(struct grid, "points", points, FIELD_INT64),
    FIELD_OUT(struct grid, "points_failed", failed, FIELD_INT64),
    FIELD_OUT(struct grid, "points_not_passed", not_passed, FIELD_INT64),
};

static rh_handle *answer(struct grid *grid, struct error *err)
{
    const struct rh_feed_request *asked = grid->asked;
    bool first = comm_rank(grid->comm) == 0;
    struct text title = {0}, file = {0};
    rh_handle *made = NULL;
    const char *name = asked->workload.count > 0 ? asked->workload.items[0] : "";
    struct sweep sweep = {.format = "rehearse-feed-grid/1",
                          .doing = "grid",
                          .axis_count = grid->count,
                          .axes = grid->axes,
                          .column_count = COLUMNS,
                          .columns = columns,
                          .answer = answer_point,
                          .head = write_head,
                          .repeats = "train.seed",
                          .best = BYTES,
                          .context = grid};
    text_format(&title, "%s: %" PRId64 " runs below %s", name, sweep_points(&sweep), asked->results);
    if (comm_size(grid->comm) > 1)
        text_format(&title, ", accelerators of each of %d processes", comm_size(grid->comm));
    text_format(&file, "%s/grid.json", asked->results);
    sweep.title = title.data;
    const struct sweep_output output = {.file = first ? file.data : NULL, .threads = 1};
    if (title.failed || file.failed)
        error_memory(err);
    else if (comm_agree(grid->comm, file_make_folders(asked->results, err), "the results' folder", err))
        made = sweep_answer(&sweep, &output, err);
    if (!made && err->kind == ERROR_INFEASIBLE && *grid->first.text)
        *err = grid->first; /* no point has a result */
    if (!made && err->kind == ERROR_STOPPED)
        error_set(err, ERROR_STOPPED,
                  "stopped: %" PRId64 " of %" PRId64
                  " runs are below %s, and the same command goes on with the others",
                  grid->ended - grid->failed, sweep_points(&sweep), asked->results);
    grid->points = sweep_points(&sweep);
    if (made)
        API_VALUES(made, grid, grid_fields);
    text_release(&title);
    text_release(&file);
    return made;
}

rh_handle *feed_grid(const struct rh_feed_request *asked, const struct api_call *call, struct comm *comm,
                     struct error *err)
{
    struct grid grid = {.asked = asked, .call = call, .comm = comm, .first = {.text = ""}};
    bool fine = comm_agree(comm, open_grid(&grid, err), "the grid", err) && check_values(&grid, err);
    rh_handle *made = fine ? answer(&grid, err) : NULL;
    arena_release(&grid.arena);
    if (!made || comm_rank(comm) == 0)
        return made;
    rh_free(made); /* rank 0 has the figures */
    struct api_report *report = api_report_new(err);
    return report ? api_made(&report->base, true, err) : NULL;
}
