/* Files and folders of logs. The first bytes of a file tell its format. */
#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"
#include "core/vector.h"
#include "trace/import/json.h"
#include "trace/import/paths.h"
#include "trace/import/stream.h"
#include "trace/steps/internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* DLIO's R_output.json, which `rehearse feed` writes, too, and files beside it: result.json or DLIO's log
 * has the configuration, R_timeline.pfw the barriers. */

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
    if (!import_object_parse(object, line, err))
        return !error_is_memory(err);
    if (!import_object_integer(object, "args", "step", &step) || step < 1 || step > (int64_t)STEPS_MAX_VALUES)
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
static bool add_step(struct output *output, const int events[3], double loading, double computing, double all,
                     struct error *err)
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
        if (!add_step(output, events, loading, computing, all, err))
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

/* beside: it is a file, whose neighbours may hold more. */
static bool steps_read_output(struct steps_file *file, const struct doc *doc, bool beside, struct error *err)
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

/* Files that are streams of JSON objects: lists of MLLOG's, and TensorFlow's profiles. */

struct objects {
    struct steps_file *file;
    const struct import_lines *lines;
    bool profile;
    int64_t taken; /* objects of the expected kind */
    /* The profiler's step, in ns: all operations, the wait for a batch, its copy. */
    int64_t first, last, wait_from, wait_to, copy;
    int64_t operations;
};

/* Takes operations ("cat": "Op") of one step: it waits for a batch from IteratorV2 to the end of
 * IteratorGetNext, then copies it. As in the study, the last operation of each name counts, and a step
 * ends when its last operation starts. */
static bool take_operation(struct objects *objects, const struct import_object *object)
{
    const struct import_member *category = import_object_find(object, NULL, "cat");
    const struct import_member *name = import_object_find(object, NULL, "name");
    const struct import_member *argument = import_object_find(object, "args", "name");
    int64_t start, duration = 0;
    if (!category || !name || strcmp(category->value, "Op") != 0 ||
        !import_object_micros(object, "ts", &start))
        return false;
    import_object_micros(object, "dur", &duration);
    objects->first = objects->operations == 0 || start < objects->first ? start : objects->first;
    objects->last = objects->operations == 0 || start > objects->last ? start : objects->last;
    objects->operations++;
    if (strcmp(name->value, "IteratorV2") == 0)
        objects->wait_from = start;
    else if (strcmp(name->value, "IteratorGetNext") == 0)
        objects->wait_to = start + duration;
    else if (strstr(argument ? argument->value : name->value, "IteratorGetNext@@MemcpyHtoD"))
        objects->copy = start;
    return true;
}

/* Before the first object of the expected kind, the file may hold JSON of another kind, which is not
 * malformed. */
static bool take_object(void *context, char *text, const char *problem, struct error *err)
{
    struct objects *objects = context;
    struct steps_file *file = objects->file;
    struct import_object object;
    bool taken = false, good = true;
    file->line = objects->lines->line + 1;
    if (text && objects->profile) {
        taken = import_object_parse(&object, text, err);
        good = taken || !error_is_memory(err);
        objects->taken += taken && take_operation(objects, &object);
    } else if (text) {
        good = steps_take_mllog(file, text, &taken, err);
        objects->taken += taken;
    }
    return good && (taken || objects->taken == 0 || steps_malformed(file, problem));
}

/* One file is one step. */
static bool take_step(struct steps_file *file, const struct objects *objects, struct error *err)
{
    if (objects->operations == 0)
        return true; /* JSON of another kind */
    if (objects->wait_from < 0 || objects->wait_to <= objects->wait_from || objects->copy < 0 ||
        objects->last <= objects->copy)
        return steps_malformed(file, "a profile without IteratorV2, IteratorGetNext or its MemcpyHtoD");
    return steps_add(file, STEPS_PROFILER, STEPS_LOAD, (double)(objects->wait_to - objects->wait_from) / 1e9,
                     err) &&
           steps_add(file, STEPS_PROFILER, STEPS_COMPUTE, (double)(objects->last - objects->copy) / 1e9,
                     err) &&
           steps_add(file, STEPS_PROFILER, STEPS_STEP, (double)(objects->last - objects->first) / 1e9, err);
}

static bool steps_read_objects(struct steps_file *file, struct import_lines *lines, bool profile,
                               struct error *err)
{
    struct objects objects = {
        .file = file, .lines = lines, .profile = profile, .wait_from = -1, .wait_to = -1, .copy = -1};
    bool good = import_stream(lines, take_object, &objects, err);
    file->line = lines->line + 1;
    return good && (!profile || take_step(file, &objects, err));
}

#define MAX_DEPTH 16 /* of folders */

/* Returns whether a file is output of DLIO or `rehearse feed`. */
static bool is_output(const char *path)
{
    return text_ends_like(path, "_output.json") || text_ends_like(path, "_load_and_proc_times.json");
}

/* Puts NaN and infinities, which Python writes but JSON lacks, into quotes; the words keep their length,
 * and are no numbers. */
static void quote_words(char *text, size_t length)
{
    static const char *const words[] = {"NaN", "-Infinity", "Infinity"};
    bool string = false;
    for (size_t i = 0; i < length; i++) {
        if (string && text[i] == '\\')
            i++;
        else if (text[i] == '"')
            string = !string;
        for (size_t j = 0; j < sizeof words / sizeof *words && !string; j++) {
            size_t n = strlen(words[j]);
            if (length - i < n || memcmp(text + i, words[j], n) != 0)
                continue;
            text[i] = text[i + n - 1] = '"';
            i += n - 1;
            break;
        }
    }
}

static bool read_doc(struct steps_file *file, const char *text, size_t length, struct error *err)
{
    struct doc doc;
    char *data = NULL;
    bool beside = !text;
    if (text) {
        data = malloc(length + 1);
        if (!data)
            return error_memory(err);
        memcpy(data, text, length);
        data[length] = '\0';
    } else if (!file_read(file->path, DOC_MAX_BYTES, &data, &length, err)) {
        return false;
    }
    quote_words(data, length);
    bool good = doc_parse(&doc, DOC_JSON, file->path, data, length, err);
    free(data);
    if (!good)
        return false;
    good = steps_read_output(file, &doc, beside, err);
    doc_release(&doc);
    return good;
}

/* "[{" begins a list of objects, "{" one object with such a list in it; "[INFO]" and all else are lines. */
static bool read_stream(struct steps_file *file, const char *text, size_t length, struct error *err)
{
    struct import_lines lines;
    const char *head = "";
    size_t head_length = 0;
    bool good = import_lines_open(&lines, file->path, text, length, err) &&
                import_lines_peek(&lines, &head, &head_length, err);
    if (good) {
        size_t at = strspn(head, " \t\r\n"), next = at + (at < head_length);
        next += strspn(head + next, " \t\r\n");
        bool list = head[at] == '[' && head[next] == '{';
        good = list || head[at] == '{' ? steps_read_objects(file, &lines, !list, err)
                                       : steps_read_lines(file, &lines, err);
        if (lines.truncated)
            steps_malformed(file, "the gzip file is truncated");
        file->steps->lines += file->line;
    }
    import_lines_close(&lines);
    return good;
}

static bool read_one(struct steps *steps, const char *path, const char *text, size_t length,
                     const struct steps_options *options, int64_t *durations, struct error *err)
{
    struct steps_file file = {.steps = steps, .options = options, .path = path};
    steps_file_begin(&file);
    bool good = is_output(path) ? read_doc(&file, text, length, err) : read_stream(&file, text, length, err);
    good = good && steps_file_end(&file, err);
    *durations += file.durations;
    free(file.entries);
    return good;
}

bool steps_read_text(struct steps *steps, const char *path, const char *text, size_t length,
                     const struct steps_options *options, struct error *err)
{
    int64_t durations = 0;
    return read_one(steps, path, text, length, options, &durations, err);
}

/* ---- folders ---- */

static bool is_log(const char *name)
{
    static const char *const endings[] = {".log", ".log.gz", ".txt", ".txt.gz", ".json", ".json.gz"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_like(name, endings[i]))
            return true;
    return false;
}

/* Reads logs and, without durations in them, outputs: a log has more than the output of the same run. */
static bool read_all(struct steps *steps, const struct import_paths *paths,
                     const struct steps_options *options, int64_t *durations, struct error *err)
{
    for (int outputs = 0; outputs < 2 && *durations == 0; outputs++)
        for (size_t i = 0; i < paths->count; i++)
            if (is_output(paths->items[i]) == outputs &&
                !read_one(steps, paths->items[i], NULL, 0, options, durations, err))
                return false;
    return true;
}

bool steps_read(struct steps *steps, const char *path, const struct steps_options *options, struct error *err)
{
    struct stat state;
    struct import_paths paths = {0};
    int64_t durations = 0;
    bool good;
    if (stat(path, &state) != 0)
        return error_set(err, error_of_input(errno), "cannot read '%s': %s", path, strerror(errno));
    if (S_ISDIR(state.st_mode)) {
        static const struct import_paths_rules rules = {
            .wanted = is_log, .max_count = STEPS_MAX_FILES, .max_depth = MAX_DEPTH};
        good =
            import_paths_list(&paths, path, &rules, err) && read_all(steps, &paths, options, &durations, err);
        import_paths_release(&paths);
    } else {
        good = read_one(steps, path, NULL, 0, options, &durations, err);
    }
    if (good && durations == 0)
        return error_set(err, ERROR_INPUT,
                         "'%s': no times of steps: expected lines of MLLOG with \"duration\", lines "
                         "'[INFO] EVENT NS', R_output.json, or JSON of TensorFlow's profiler",
                         path);
    return good;
}
