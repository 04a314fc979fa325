/* Files that are streams of JSON objects: lists of MLLOG's, and TensorFlow's profiles. */
#include "trace/import/json.h"
#include "trace/import/stream.h"
#include "trace/steps/internal.h"

#include <string.h>

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
        taken = import_object_parse(&object, text);
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

bool steps_read_objects(struct steps_file *file, struct import_lines *lines, bool profile, struct error *err)
{
    struct objects objects = {
        .file = file, .lines = lines, .profile = profile, .wait_from = -1, .wait_to = -1, .copy = -1};
    bool good = import_stream(lines, take_object, &objects, err);
    file->line = lines->line + 1;
    return good && (!profile || take_step(file, &objects, err));
}
