#include "trace/kernels.h"

#include "core/doc.h"
#include "core/once.h"
#include "core/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT    "rehearse-kernel-classes/1"
#define MAX_RULES 100000
#define MAX_NAME  1024 /* bytes of a name that count */

extern const char data_kernel_classes[];
extern const size_t data_kernel_classes_size;

static struct kernel_classes built_in;

const char *const kernel_class_names[KERNEL_CLASSES] = {
    "unknown",        "matmul",     "convolution", "attention", "recurrence",   "norm",        "softmax",
    "loss",           "embedding",  "routing",     "optimizer", "quantization", "elementwise", "reduction",
    "sort",           "index",      "layout",      "random",    "pass",         "other",       "all-reduce",
    "reduce-scatter", "all-gather", "all-to-all",  "broadcast", "reduce",       "send-recv",   "barrier",
    "exchange",       "copy",       "fill"};

enum kernel_group kernel_class_group(enum kernel_class class)
{
    return class >= CLASS_COPY         ? KERNEL_MEMORY
           : class >= CLASS_ALL_REDUCE ? KERNEL_COMMUNICATION
                                       : KERNEL_COMPUTE;
}

/* --- the table ------------------------------------------------------------------------------------------ */

static bool read_class(const struct doc *doc, const struct doc_node *map, enum kernel_class *class,
                       struct error *err)
{
    const struct doc_node *node = doc_need(doc, map, "class", err);
    const char *name;
    int found = CLASS_UNKNOWN + 1;
    if (!node || !doc_string(doc, node, &name, err))
        return false;
    while (found < KERNEL_CLASSES && strcmp(kernel_class_names[found], name) != 0)
        found++;
    *class = (enum kernel_class)found;
    if (found < KERNEL_CLASSES)
        return true;
    struct text_hint hint;
    return doc_error(doc, node, err, "unknown class '%s'%s", name,
                     text_suggest(&hint, text_nearest(name, kernel_class_names + 1, KERNEL_CLASSES - 1),
                                  ": docs/schema/kernel-classes-1.json lists all"));
}

static bool add_rule(struct kernel_classes *classes, const struct doc *doc, const struct doc_node *node,
                     struct kernel_rule rule, struct error *err)
{
    const char *pattern;
    if (!doc_string(doc, node, &pattern, err))
        return false;
    if (classes->count == MAX_RULES)
        return doc_error(doc, node, err, "more than %d names", MAX_RULES);
    char *pieces = arena_string(&classes->arena, pattern + (strncmp(pattern, "void ", 5) == 0 ? 5 : 0));
    classes->rules = arena_grow(&classes->arena, classes->rules, classes->count, &classes->room, sizeof rule);
    if (!pieces || !classes->rules)
        return error_memory(err);
    rule.pieces = pieces;
    rule.piece_count = 1;
    for (; *pieces; pieces++) {
        bool star = *pieces == '*';
        rule.piece_count += star;
        *pieces = star ? '\0' : (char)tolower((unsigned char)*pieces);
    }
    classes->rules[classes->count++] = rule;
    return true;
}

/* Reads one rule for each of an entry's names. */
static bool read_entry(struct kernel_classes *classes, const struct doc *doc, const struct doc_node *map,
                       struct error *err)
{
    static const char *const keys[] = {"names", "class", "library", "source"};
    const struct doc_node *names = doc_need(doc, map, "names", err), *library = doc_find(map, "library");
    struct kernel_rule rule = {.library = ""};
    if (!names || !doc_is_list(doc, names, err) || !doc_only_keys(doc, map, keys, 4, err) ||
        !read_class(doc, map, &rule.class, err))
        return false;
    if (!names->first_child)
        return doc_error(doc, names, err, "expected at least one name");
    if (library && library->type == DOC_STRING && library->length > 0)
        rule.library = arena_string(&classes->arena, library->text);
    if (!rule.library)
        return error_memory(err);
    for (const struct doc_node *name = names->first_child; name; name = name->next)
        if (!add_rule(classes, doc, name, rule, err))
            return false;
    return true;
}

static bool read_entries(struct kernel_classes *classes, const struct doc *doc, struct error *err)
{
    static const char *const keys[] = {"format", "kernels"};
    const struct doc_node *list;
    if (!doc_is_map(doc, doc->root, err) || !doc_is_format(doc, doc->root, FORMAT, err) ||
        !doc_only_keys(doc, doc->root, keys, 2, err) || !(list = doc_need(doc, doc->root, "kernels", err)) ||
        !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *map = list->first_child; map; map = map->next)
        if (!doc_is_map(doc, map, err) || !read_entry(classes, doc, map, err))
            return false;
    return classes->count > 0 || doc_error(doc, list, err, "expected at least one kernel");
}

static bool read_doc(struct kernel_classes *classes, struct doc *doc, struct error *err)
{
    bool done = read_entries(classes, doc, err);
    doc_release(doc);
    if (!done)
        kernel_classes_release(classes);
    return done;
}

bool kernel_classes_load(struct kernel_classes *classes, const char *path, struct error *err)
{
    struct doc doc;
    *classes = (struct kernel_classes){0};
    return doc_load(&doc, path, err) && read_doc(classes, &doc, err);
}

bool kernel_classes_parse(struct kernel_classes *classes, const char *path, const char *data, size_t length,
                          struct error *err)
{
    struct doc doc;
    *classes = (struct kernel_classes){0};
    return doc_parse(&doc, doc_syntax_of(path), path, data, length, err) && read_doc(classes, &doc, err);
}

void kernel_classes_release(struct kernel_classes *classes)
{
    arena_release(&classes->arena);
    *classes = (struct kernel_classes){0};
}

static bool read_built_in(struct error *err)
{
    return kernel_classes_parse(&built_in, "kernel-classes.json", data_kernel_classes,
                                data_kernel_classes_size, err);
}

static struct once once = ONCE_INIT;

bool kernel_classes_read(struct error *err)
{
    return once_read(&once, read_built_in, err);
}

/* --- names ---------------------------------------------------------------------------------------------- */

static bool matches(const struct kernel_rule *rule, const char *name, const char *end)
{
    const char *piece = rule->pieces, *at = name;
    size_t length = strlen(piece);
    if (strncmp(at, piece, length) != 0)
        return false;
    at += length;
    for (uint32_t i = 1; i < rule->piece_count; i++) {
        piece += length + 1;
        length = strlen(piece);
        if (i + 1 == rule->piece_count)
            return (size_t)(end - at) >= length && memcmp(end - length, piece, length) == 0;
        at = strstr(at, piece);
        if (!at)
            return false;
        at += length;
    }
    return at == end;
}

static const struct kernel_rule *find_in(const struct kernel_classes *classes, const char *name,
                                         const char *end)
{
    for (int i = 0; i < classes->count; i++)
        if (matches(&classes->rules[i], name, end))
            return &classes->rules[i];
    return NULL;
}

const struct kernel_rule *kernel_class_of(const struct kernel_classes *added, const char *name)
{
    static const struct kernel_rule unknown = {.pieces = "", .class = CLASS_UNKNOWN, .library = ""};
    char lower[MAX_NAME + 1];
    size_t length = 0;
    once_needed(&once, read_built_in);
    if (strncmp(name, "void ", 5) == 0)
        name += 5;
    for (; length < MAX_NAME && name[length]; length++)
        lower[length] = (char)tolower((unsigned char)name[length]);
    lower[length] = '\0';
    const struct kernel_rule *found = added ? find_in(added, lower, lower + length) : NULL;
    found = found ? found : find_in(&built_in, lower, lower + length);
    return found ? found : &unknown;
}
