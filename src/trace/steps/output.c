/* DLIO's R_output.json, which `rehearse feed` writes, too, and files beside it: result.json or DLIO's log
 * has the configuration, R_timeline.pfw the barriers. */
#include "core/file.h"
#include "core/vector.h"
#include "trace/import/json.h"
#include "trace/steps/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SECONDS 1e9

struct output {
    struct steps_file *file;
    bool copies; /* the rest of a step is the copy to the device; in DLIO's own, Python's time */
    struct steps_values barriers; /* of each step, in order; NAN: not known */
    size_t next;                  /* step */
};

static bool take_result(struct output *output, const char *path, struct error *err)
{
    struct steps_file *file = output->file;
    struct doc doc;
    if (!doc_load(&doc, path, err))
        return false;
    const struct doc_node *gpus = doc_find(doc.root, "accelerators");
    const struct doc_node *configuration = doc_find(doc.root, "configuration");
    const struct doc_node *batch = doc_find(doc_find(configuration, "reader"), "batch_size");
    if (gpus && batch && gpus->type == DOC_NUMBER && batch->type == DOC_NUMBER && gpus->number >= 1 &&
        gpus->number <= 1e9 && batch->number >= 1 && batch->number <= 1e12) {
        file->gpus = (int64_t)gpus->number;
        file->batch = (int64_t)batch->number;
        output->copies = true;
    }
    const struct doc_node *workload = doc_find(doc.root, "workload");
    if (!*file->workload && workload && workload->type == DOC_STRING)
        snprintf(file->workload, sizeof file->workload, "%s", workload->text);
    doc_release(&doc);
    return true;
}

static bool take_log(struct steps_file *file, const char *path, struct error *err)
{
    struct steps nothing = {0};
    struct steps_file log = {.steps = &nothing, .options = file->options, .path = path};
    struct import_lines lines;
    bool good = import_lines_open(&lines, path, NULL, 0, err) && (steps_file_begin(&log), true) &&
                steps_read_lines(&log, &lines, err);
    import_lines_close(&lines);
    file->gpus = log.gpus;
    file->batch = log.batch;
    free(log.entries);
    steps_release(&nothing);
    return good;
}

/* Returns the place of a step's barrier, after making all before it. */
static double *barrier_of(struct output *output, size_t step)
{
    struct steps_values *barriers = &output->barriers;
    if (!VECTOR_ROOM(barriers->items, barriers->capacity, step + 1))
        return NULL;
    while (barriers->count <= step)
        barriers->items[barriers->count++] = 0;
    return &barriers->items[step];
}

/* {"name": "barrier", "cat": "comm", "ts": …, "dur": US, "ph": "X", "args": {"step": 1}}; one of no length is
 * left out. */
static bool take_span(struct output *output, struct import_object *object, char *line, struct error *err)
{
    int64_t step, ns;
    if (!import_object_parse(object, line) || !import_object_integer(object, "args", "step", &step) ||
        step < 1 || step > (int64_t)STEPS_MAX_VALUES)
        return true;
    const struct import_member *name = import_object_find(object, NULL, "name");
    const struct import_member *category = import_object_find(object, NULL, "cat");
    double *barrier = barrier_of(output, (size_t)step - 1);
    if (!barrier)
        return error_memory(err);
    if (name && category && strcmp(name->value, "barrier") == 0 && strcmp(category->value, "comm") == 0 &&
        import_object_micros(object, "dur", &ns) && ns >= 0)
        *barrier = (double)ns / 1e9;
    return true;
}

static bool take_timeline(struct output *output, const char *path, struct error *err)
{
    struct import_lines lines;
    struct import_object *object = malloc(sizeof *object);
    bool good = (object || error_memory(err)) && import_lines_open(&lines, path, NULL, 0, err);
    if (!good) {
        free(object);
        return false;
    }
    for (;;) {
        const char *line, *end;
        enum import_line_kind kind = import_lines_next(&lines, &line, &end, err);
        good = kind != IMPORT_LINE_ERROR;
        if (!good || kind == IMPORT_LINE_END)
            break;
        /* the line lies in a buffer that may be written */
        good = kind != IMPORT_LINE || take_span(output, object, lines.buffer + (line - lines.buffer), err);
        if (!good)
            break;
    }
    import_lines_close(&lines);
    free(object);
    return good;
}

/* Reads the files beside DIR/3_output.json: DIR/result.json or DIR/dlio.log, and DIR/3_timeline.pfw. */
static bool look_beside(struct output *output, struct error *err)
{
    const char *whole = output->file->path, *slash = strrchr(whole, '/');
    int folder = slash ? (int)(slash + 1 - whole) : 0, rank = (int)strspn(whole + folder, "0123456789");
    char result[4096], log[4096], timeline[4096];
    if (snprintf(result, sizeof result, "%.*sresult.json", folder, whole) >= (int)sizeof result ||
        snprintf(log, sizeof log, "%.*sdlio.log", folder, whole) >= (int)sizeof log ||
        snprintf(timeline, sizeof timeline, "%.*s_timeline.pfw", folder + rank, whole) >=
            (int)sizeof timeline)
        return true;
    enum file_kind result_kind, log_kind, timeline_kind;
    if (!file_look(result, &result_kind, err) || !file_look(log, &log_kind, err) ||
        !file_look(timeline, &timeline_kind, err))
        return false;
    if (result_kind == FILE_REGULAR && !take_result(output, result, err))
        return false;
    if (output->file->gpus == 0 && log_kind == FILE_REGULAR && !take_log(output->file, log, err))
        return false;
    return timeline_kind != FILE_REGULAR || take_timeline(output, timeline, err);
}

static double number_at(const struct doc_node *list, const struct doc_node **at)
{
    const struct doc_node *node = list ? *at : NULL;
    double value = node && node->type == DOC_NUMBER ? node->number : NAN;
    if (node)
        *at = node->next;
    return value;
}

/* Adds one step. `all` is loading, copying and computing, without the barrier. */
static bool take_step(struct output *output, const int events[3], double loading, double computing,
                      double all, struct error *err)
{
    struct steps_file *file = output->file;
    bool training = events[0] == STEPS_LOAD;
    double copy = all - loading - computing;
    double barrier = output->next < output->barriers.count ? output->barriers.items[output->next] : 0;
    if (training && output->copies && copy > 1e-9 &&
        !steps_add(file, STEPS_DLIO_OUTPUT, STEPS_COPY, copy, err))
        return false;
    if (training && output->barriers.count > 0 &&
        !steps_add(file, STEPS_DLIO_OUTPUT, STEPS_BARRIER, barrier, err))
        return false;
    return steps_add(file, STEPS_DLIO_OUTPUT, events[0], loading, err) &&
           steps_add(file, STEPS_DLIO_OUTPUT, events[1], all - loading, err) &&
           steps_add(file, STEPS_DLIO_OUTPUT, events[2], all + barrier, err);
}

/* Takes lists of seconds, one for each step. */
static bool take_lists(struct output *output, const struct doc_node *loads, const struct doc_node *procs,
                       const struct doc_node *computes, bool eval, struct error *err)
{
    struct steps_file *file = output->file;
    static const char *const eval_names[] = {"eval_load_batch_mem", "eval_all_compute", "eval_step_end"};
    int events[] = {STEPS_LOAD, STEPS_COMPUTE, STEPS_STEP};
    const struct doc_node *load = loads->first_child, *proc = procs->first_child;
    const struct doc_node *compute = computes ? computes->first_child : NULL;
    for (int i = 0; eval && i < 3; i++)
        events[i] = steps_event_of(file->steps, eval_names[i], strlen(eval_names[i]));
    for (; load && proc; output->next++) {
        file->line = load->line;
        double loading = number_at(loads, &load), all = number_at(procs, &proc);
        double computing = computes ? number_at(computes, &compute) : all - loading;
        if (!(loading >= 0 && all >= loading && computing >= 0 && all <= MAX_SECONDS)) {
            steps_malformed(file, "load, proc and compute of a step disagree");
            continue;
        }
        if (!take_step(output, events, loading, computing, all, err))
            return false;
    }
    return true;
}

static bool take_epoch(struct output *output, const struct doc_node *epoch, struct error *err)
{
    struct steps_file *file = output->file;
    const struct doc_node *load = doc_find(epoch, "load"), *proc = doc_find(epoch, "proc");
    const struct doc_node *compute = doc_find(epoch, "compute");
    if (!load || !proc || load->type != DOC_MAP || proc->type != DOC_MAP)
        return true;
    int64_t number;
    if (!text_whole(epoch->key, "", &number))
        return error_set(err, ERROR_INPUT, "%s: '%.40s' is no number of an epoch", file->path, epoch->key);
    if (!steps_begin_epoch(file, STEPS_DLIO_OUTPUT, number, err))
        return false;
    for (const struct doc_node *block = load->first_child; block; block = block->next) {
        const struct doc_node *procs = doc_find(proc, block->key);
        const struct doc_node *computes = compute ? doc_find(compute, block->key) : NULL;
        bool eval = strncmp(block->key, "eval", 4) == 0;
        if (block->type != DOC_LIST || !procs || procs->type != DOC_LIST ||
            (computes && computes->type != DOC_LIST))
            continue;
        if ((!eval && !steps_begin_block(file, err)) ||
            !take_lists(output, block, procs, computes, eval, err))
            return false;
    }
    return true;
}

bool steps_read_output(struct steps_file *file, const struct doc *doc, bool beside, struct error *err)
{
    struct output output = {.file = file};
    if (doc->root->type != DOC_MAP)
        return true;
    bool good = !beside || look_beside(&output, err);
    for (const struct doc_node *epoch = doc->root->first_child; good && epoch; epoch = epoch->next)
        if (epoch->type == DOC_MAP)
            good = take_epoch(&output, epoch, err);
    if (good && output.barriers.count > 0 && output.barriers.count != output.next)
        steps_malformed(file, "its R_timeline.pfw has another number of steps");
    free(output.barriers.items);
    return good;
}
