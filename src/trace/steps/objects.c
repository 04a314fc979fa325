/* Files that are streams of JSON objects: lists of MLLOG's, and TensorFlow's profiles. */
#include "trace/import/import.h"
#include "trace/import/json.h"
#include "trace/steps/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    struct import_object object;
};

/* Operations ("cat": "Op") of one step: a batch is waited for from IteratorV2 to the end of IteratorGetNext, and then
 * copied. As with the study, the last ones of their names count, and a step ends when its last operation starts. */
static bool take_operation(struct objects *objects, const struct import_object *object)
{
    const struct import_member *category = import_object_find(object, false, "cat");
    const struct import_member *name = import_object_find(object, false, "name");
    const struct import_member *argument = import_object_find(object, true, "name");
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

/* In JSON of other kinds nothing is malformed. */
static bool take_object(struct steps_file *file, struct objects *objects, struct error *err)
{
    bool taken = false, good = true;
    objects->text[objects->length] = '\0';
    if (objects->too_long || strlen(objects->text) != objects->length)
        return objects->taken == 0 || steps_malformed(file, "an object that is too long, or no text");
    if (objects->profile) {
        taken = import_object_parse(&objects->object, objects->text);
        objects->taken += taken && take_operation(objects, &objects->object);
    } else {
        good = steps_take_mllog(file, objects->text, &taken, err);
        objects->taken += taken;
    }
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

static bool read_objects(struct steps_file *file, struct objects *objects, struct import_lines *lines,
                         struct error *err)
{
    const char *bytes;
    size_t length;
    file->line = 1;
    do {
        if (!import_lines_raw(lines, &bytes, &length, err))
            return false;
        for (size_t i = 0; i < length; i++)
            if (!take_byte(file, objects, bytes[i], err))
                return false;
    } while (length > 0);
    if (objects->object_depth > 0 && objects->taken > 0)
        steps_malformed(file, "the file ends within an object");
    return !objects->profile || take_step(file, objects, err);
}

bool steps_read_objects(struct steps_file *file, struct import_lines *lines, bool profile, struct error *err)
{
    struct objects *objects = calloc(1, sizeof *objects);
    char *text = malloc(TRACE_IMPORT_LINE_BYTES + 1);
    bool good = (objects && text) || error_memory(err);
    if (good) {
        objects->profile = profile;
        objects->text = text;
        objects->wait_from = objects->wait_to = objects->copy = -1;
        good = read_objects(file, objects, lines, err);
    }
    free(text);
    free(objects);
    return good;
}
