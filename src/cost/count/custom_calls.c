#include "cost/count/custom_calls.h"

#include "core/doc.h"
#include "core/once.h"

#include <fnmatch.h>
#include <string.h>

#define FORMAT    "rehearse-custom-calls/1"
#define MAX_CALLS 100000

extern const char data_custom_calls[];
extern const size_t data_custom_calls_size;

static struct custom_calls built_in;

/* The rules and the keys that each takes besides `targets` and `rule`. */
static const struct {
    const char *name;
    const char *keys[6];
} rules[] = {
    [CUSTOM_CALL_FREE] = {"free", {0}},
    [CUSTOM_CALL_ELEMENTS] = {"elements",
                              {"flops", "transcendentals", "narrow", "arrays", "truths", "constants"}},
    [CUSTOM_CALL_GEMM] = {"gemm", {0}},
    [CUSTOM_CALL_CONVOLUTION] = {"convolution", {0}},
    [CUSTOM_CALL_ESTIMATE] = {"estimate", {0}},
    [CUSTOM_CALL_FACTORIZATION] = {"factorization", {"terms", "steps"}},
    [CUSTOM_CALL_TRIANGULAR] = {"triangular", {"steps"}},
    [CUSTOM_CALL_TOPK] = {"topk", {0}},
    [CUSTOM_CALL_ATTENTION] = {"attention", {0}},
    [CUSTOM_CALL_ATTENTION_BACKWARD] = {"attention-backward", {0}},
};

#define RULES (sizeof rules / sizeof *rules)

static bool read_rule(const struct doc *doc, const struct doc_node *node, enum custom_call_rule *rule,
                      struct error *err)
{
    const char *name;
    if (!doc_string(doc, node, &name, err))
        return false;
    for (size_t i = 0; i < RULES; i++)
        if (strcmp(name, rules[i].name) == 0) {
            *rule = (enum custom_call_rule)i;
            return true;
        }
    return doc_error(doc, node, err,
                     "expected free, elements, gemm, convolution, estimate, factorization, triangular, topk, "
                     "attention or attention-backward, found '%s'",
                     name);
}

static bool read_number(const struct doc *doc, const struct doc_node *map, const char *key, double *value,
                        struct error *err)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_number(doc, node, 0, 1e6, value, err);
}

static bool read_terms(const struct doc *doc, const struct doc_node *map, double terms[3], struct error *err)
{
    const struct doc_node *list = doc_need(doc, map, "terms", err);
    int count = 0;
    if (!list || !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *term = list->first_child; term; term = term->next)
        if (count == 3 || !doc_number(doc, term, -1e3, 1e3, &terms[count++], err))
            return count == 3 ? doc_error(doc, list, err, "expected three numbers") : false;
    return count == 3 || doc_error(doc, list, err, "expected three numbers");
}

static bool read_call(struct custom_call *call, const struct doc *doc, const struct doc_node *map,
                      struct error *err)
{
    const struct doc_node *rule = doc_need(doc, map, "rule", err);
    if (!rule || !read_rule(doc, rule, &call->rule, err))
        return false;
    const char *keys[8] = {"targets", "rule"};
    size_t count = 2;
    for (int i = 0; i < 6 && rules[call->rule].keys[i]; i++)
        keys[count++] = rules[call->rule].keys[i];
    return doc_only_keys(doc, map, keys, count, err) && read_number(doc, map, "flops", &call->flops, err) &&
           read_number(doc, map, "transcendentals", &call->transcendentals, err) &&
           read_number(doc, map, "narrow", &call->narrow, err) &&
           read_number(doc, map, "arrays", &call->arrays, err) &&
           read_number(doc, map, "truths", &call->truths, err) &&
           read_number(doc, map, "constants", &call->constants, err) &&
           read_number(doc, map, "steps", &call->steps, err) &&
           (call->rule != CUSTOM_CALL_FACTORIZATION || read_terms(doc, map, call->terms, err));
}

/* Reads one entry for each of its patterns. */
static bool read_entry(struct custom_calls *calls, const struct doc *doc, const struct doc_node *map,
                       struct error *err)
{
    const struct doc_node *targets = doc_need(doc, map, "targets", err);
    struct custom_call call = {0};
    if (!targets || !doc_is_list(doc, targets, err) || !read_call(&call, doc, map, err))
        return false;
    if (!targets->first_child)
        return doc_error(doc, targets, err, "expected at least one target");
    for (const struct doc_node *target = targets->first_child; target; target = target->next) {
        const char *pattern;
        if (!doc_string(doc, target, &pattern, err))
            return false;
        if (calls->count == MAX_CALLS)
            return doc_error(doc, target, err, "more than %d targets", MAX_CALLS);
        call.pattern = arena_string(&calls->arena, pattern);
        calls->calls = arena_grow(&calls->arena, calls->calls, calls->count, &calls->room, sizeof call);
        if (!call.pattern || !calls->calls)
            return error_memory(err);
        calls->calls[calls->count++] = call;
    }
    return true;
}

static bool read_entries(struct custom_calls *calls, const struct doc *doc, struct error *err)
{
    static const char *const keys[] = {"format", "custom_calls"};
    const struct doc_node *list;
    if (!doc_is_map(doc, doc->root, err) || !doc_is_format(doc, doc->root, FORMAT, err) ||
        !doc_only_keys(doc, doc->root, keys, 2, err) ||
        !(list = doc_need(doc, doc->root, "custom_calls", err)) || !doc_is_list(doc, list, err))
        return false;
    for (const struct doc_node *map = list->first_child; map; map = map->next)
        if (!doc_is_map(doc, map, err) || !read_entry(calls, doc, map, err))
            return false;
    return calls->count > 0 || doc_error(doc, list, err, "expected at least one custom call");
}

static bool read_doc(struct custom_calls *calls, struct doc *doc, struct error *err)
{
    memset(calls, 0, sizeof *calls);
    bool done = read_entries(calls, doc, err);
    doc_release(doc);
    if (!done)
        custom_calls_release(calls);
    return done;
}

bool custom_calls_load(struct custom_calls *calls, const char *path, struct error *err)
{
    struct doc doc;
    memset(calls, 0, sizeof *calls);
    return doc_load(&doc, path, err) && read_doc(calls, &doc, err);
}

bool custom_calls_parse(struct custom_calls *calls, const char *path, const char *data, size_t length,
                        struct error *err)
{
    struct doc doc;
    memset(calls, 0, sizeof *calls);
    return doc_parse(&doc, doc_syntax_of(path), path, data, length, err) && read_doc(calls, &doc, err);
}

void custom_calls_release(struct custom_calls *calls)
{
    arena_release(&calls->arena);
    memset(calls, 0, sizeof *calls);
}

static bool read_built_in(struct error *err)
{
    return custom_calls_parse(&built_in, "custom-calls.json", data_custom_calls, data_custom_calls_size, err);
}

static struct once once = ONCE_INIT;

bool custom_calls_read(struct error *err)
{
    return once_read(&once, read_built_in, err);
}

static const struct custom_call *find_in(const struct custom_calls *calls, const char *target)
{
    for (int i = 0; i < calls->count; i++)
        if (fnmatch(calls->calls[i].pattern, target, 0) == 0)
            return &calls->calls[i];
    return NULL;
}

const struct custom_call *custom_call_find(const struct custom_calls *added, const char *target)
{
    once_needed(&once, read_built_in);
    const struct custom_call *found = added ? find_in(added, target) : NULL;
    return found ? found : find_in(&built_in, target);
}

bool custom_call_is_rough(const struct custom_call *call)
{
    return call->rule == CUSTOM_CALL_FACTORIZATION || call->rule == CUSTOM_CALL_TRIANGULAR ||
           call->rule == CUSTOM_CALL_ESTIMATE;
}
