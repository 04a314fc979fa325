/* Files that are JSON: lists of MLLOG objects, TensorFlow's profiler, and DLIO's R_output.json. */
#include "trace/import.h"
#include "trace/import_json.h"
#include "trace/steps_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SECONDS 1e9

struct objects {
    char *text; /* of the object at hand */
    size_t length;
    int64_t depth, object_depth; /* object_depth: of the object at hand; 0: none */
    char before;                 /* the bracket around it */
    bool string, escaped, too_long;
    bool profile;
    int64_t taken; /* objects that were what they should be */
    /* The profiler's step, in ns: all operations, the wait for a batch, its copy. */
    int64_t first, last, wait_from, wait_to, copy;
    int64_t operations;
};

/* Operations ("cat": "Op") of one step: a batch is waited for from IteratorV2 to the end of IteratorGetNext, and then
 * copied. As with the study, the last ones of their names count, and a step ends when its last operation starts. */
static void take_operation(struct objects *objects, const struct import_object *object)
{
    const struct import_member *category = import_object_find(object, false, "cat");
    const struct import_member *name = import_object_find(object, false, "name");
    const struct import_member *argument = import_object_find(object, true, "name");
    int64_t start, duration = 0;
    if (!category || !name || strcmp(category->value, "Op") != 0 ||
        !import_object_micros(object, "ts", &start))
        return;
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
}

static bool take_object(struct steps_file *file, struct objects *objects, struct error *err)
{
    struct import_object *object;
    bool taken = false, good = true;
    objects->text[objects->length] = '\0';
    if (objects->too_long || strlen(objects->text) != objects->length)
        return steps_malformed(file, "an object that is too long, or no text");
    if (!objects->profile) {
        good = steps_take_mllog(file, objects->text, &taken, err);
    } else {
        object = malloc(sizeof *object);
        if (!object)
            return error_memory(err);
        taken = import_object_parse(object, objects->text);
        if (taken)
            take_operation(objects, object);
        free(object);
    }
    objects->taken += taken;
    return good && (taken || objects->taken == 0 || steps_malformed(file, "no object of the log"));
}

static void keep(struct objects *objects, char c)
{
    if (objects->length == TRACE_IMPORT_LINE_BYTES)
        objects->too_long = true;
    else
        objects->text[objects->length++] = c;
}

/* Objects are those right within a list. */
static bool take_bracket(struct steps_file *file, struct objects *objects, char c, struct error *err)
{
    if (c == '{' || c == '[') {
        bool begins = c == '{' && objects->object_depth == 0 && objects->before == '[';
        objects->depth++;
        if (begins) {
            objects->object_depth = objects->depth;
            objects->length = 0;
            objects->too_long = false;
        }
        objects->before = objects->object_depth ? objects->before : c;
        if (objects->object_depth)
            keep(objects, c);
        return true;
    }
    if (objects->object_depth)
        keep(objects, c);
    bool ends = objects->object_depth && objects->depth == objects->object_depth;
    objects->depth -= objects->depth > 0;
    if (!ends) {
        objects->before = objects->object_depth ? objects->before : '\0';
        return true;
    }
    objects->object_depth = 0;
    objects->before = '[';
    return take_object(file, objects, err);
}

static bool take_byte(struct steps_file *file, struct objects *objects, char c, struct error *err)
{
    bool outside = !objects->string;
    file->line += c == '\n';
    if (objects->string) {
        objects->string = c != '"' || objects->escaped;
        objects->escaped = c == '\\' && !objects->escaped;
    } else if (c == '"') {
        objects->string = true;
    }
    if (outside && (c == '{' || c == '}' || c == '[' || c == ']'))
        return take_bracket(file, objects, c, err);
    if (objects->object_depth)
        keep(objects, c);
    return true;
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

bool steps_read_objects(struct steps_file *file, struct import_lines *lines, bool profile, struct error *err)
{
    struct objects objects = {.profile = profile,
                              .text = malloc(TRACE_IMPORT_LINE_BYTES + 1),
                              .wait_from = -1,
                              .wait_to = -1,
                              .copy = -1};
    bool good = objects.text || error_memory(err);
    const char *bytes;
    size_t length = 1;
    file->line = 1;
    while (good && length > 0) {
        good = import_lines_raw(lines, &bytes, &length, err);
        for (size_t i = 0; good && i < length; i++)
            good = take_byte(file, &objects, bytes[i], err);
    }
    if (good && objects.object_depth > 0)
        steps_malformed(file, "the file ends within an object");
    good = good && (!profile || take_step(file, &objects, err));
    free(objects.text);
    return good;
}

static double number_at(const struct doc_node *list, const struct doc_node **at)
{
    const struct doc_node *node = list ? *at : NULL;
    double value = node && node->type == DOC_NUMBER ? node->number : NAN;
    if (node)
        *at = node->next;
    return value;
}

/* Lists of seconds, one for each step. `proc` is loading, copying and computing, without the barrier; in DLIO's own
 * outputs, what is over is Python's. */
static bool take_lists(struct steps_file *file, const struct doc_node *loads, const struct doc_node *procs,
                       const struct doc_node *computes, bool eval, struct error *err)
{
    static const char *const eval_names[] = {"eval_load_batch_mem", "eval_all_compute", "eval_step_end"};
    int events[] = {STEPS_LOAD, STEPS_COMPUTE, STEPS_STEP};
    const struct doc_node *load = loads->first_child, *proc = procs->first_child;
    const struct doc_node *compute = computes ? computes->first_child : NULL;
    for (int i = 0; eval && i < 3; i++)
        events[i] = steps_event_of(file->steps, eval_names[i], strlen(eval_names[i]));
    while (load && proc) {
        file->line = load->line;
        double loading = number_at(loads, &load), all = number_at(procs, &proc);
        double computing = computes ? number_at(computes, &compute) : all - loading;
        if (!(loading >= 0 && all >= loading && computing >= 0 && all <= MOST_SECONDS)) {
            steps_malformed(file, "load, proc and compute of a step do not fit together");
            continue;
        }
        double copy = all - loading - computing;
        if ((file->copies && copy > 1e-9 && !eval &&
             !steps_add(file, STEPS_DLIO_OUTPUT, STEPS_COPY, copy, err)) ||
            !steps_add(file, STEPS_DLIO_OUTPUT, events[0], loading, err) ||
            !steps_add(file, STEPS_DLIO_OUTPUT, events[1], all - loading, err) ||
            !steps_add(file, STEPS_DLIO_OUTPUT, events[2], all, err))
            return false;
    }
    return true;
}

static bool take_epoch(struct steps_file *file, const struct doc_node *epoch, struct error *err)
{
    const struct doc_node *load = doc_find(epoch, "load"), *proc = doc_find(epoch, "proc");
    const struct doc_node *compute = doc_find(epoch, "compute");
    if (!load || !proc || load->type != DOC_MAP || proc->type != DOC_MAP)
        return true;
    if (!steps_begin_epoch(file, STEPS_DLIO_OUTPUT, strtol(epoch->key, NULL, 10), err))
        return false;
    for (const struct doc_node *block = load->first_child; block; block = block->next) {
        const struct doc_node *procs = doc_find(proc, block->key);
        const struct doc_node *computes = compute ? doc_find(compute, block->key) : NULL;
        bool eval = strncmp(block->key, "eval", 4) == 0;
        if (block->type != DOC_LIST || !procs || procs->type != DOC_LIST ||
            (computes && computes->type != DOC_LIST))
            continue;
        if ((!eval && !steps_begin_block(file, err)) || !take_lists(file, block, procs, computes, eval, err))
            return false;
    }
    return true;
}

bool steps_read_output(struct steps_file *file, const struct doc *doc, struct error *err)
{
    if (doc->root->type != DOC_MAP)
        return true;
    for (const struct doc_node *epoch = doc->root->first_child; epoch; epoch = epoch->next)
        if (epoch->type == DOC_MAP && !take_epoch(file, epoch, err))
            return false;
    return true;
}
