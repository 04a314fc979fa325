#include "cost/count/custom_calls.h"

#include "core/doc.h"
#include "core/once.h"

#include <fnmatch.h>
#include <string.h>

extern const char data_custom_calls[];
extern const size_t data_custom_calls_size;

static struct {
    struct arena arena;
    struct custom_call *calls;
    int count, room;
} built_in;

static const char *const rules[] = {"free",      "elements",          "gemm",       "convolution",
                                    "estimate",  "factorization",     "triangular", "topk",
                                    "attention", "attention-backward"};

static bool read_rule(const struct doc *doc, const struct doc_node *node, enum custom_call_rule *rule,
                      struct error *err)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (!strcmp(node->text, rules[i])) {
            *rule = (enum custom_call_rule)i;
            return true;
        }
    return doc_error(doc, node, err, "expected a rule");
}

static bool read_number(const struct doc *doc, const struct doc_node *map, const char *key, double *value,
                        struct error *err)
{
    const struct doc_node *node = doc_find(map, key);
    return !node || doc_number(doc, node, 0, 1e6, value, err);
}

static bool read_call(struct custom_call *call, const struct doc *doc, const struct doc_node *map,
                      struct error *err)
{
    const struct doc_node *rule = doc_need(doc, map, "rule", err), *terms = doc_find(map, "terms");
    if (!rule || !read_rule(doc, rule, &call->rule, err))
        return false;
    const struct doc_node *term = terms ? terms->first_child : NULL;
    for (int i = 0; i < 3 && term; i++, term = term->next)
        if (!doc_number(doc, term, -1e3, 1e3, &call->terms[i], err))
            return false;
    return read_number(doc, map, "flops", &call->flops, err) &&
           read_number(doc, map, "transcendentals", &call->transcendentals, err);
}

/* One entry for each of its patterns. */
static bool read_entry(const struct doc *doc, const struct doc_node *map, struct error *err)
{
    const struct doc_node *targets = doc_need(doc, map, "targets", err);
    struct custom_call call = {0};
    if (!targets || !doc_is_list(doc, targets, err) || !read_call(&call, doc, map, err))
        return false;
    for (const struct doc_node *target = targets->first_child; target; target = target->next) {
        call.pattern = arena_string(&built_in.arena, target->text);
        built_in.calls =
            arena_grow(&built_in.arena, built_in.calls, built_in.count, &built_in.room, sizeof call);
        if (!call.pattern || !built_in.calls)
            return error_memory(err);
        built_in.calls[built_in.count++] = call;
    }
    return true;
}

static bool read_built_in(struct error *err)
{
    struct doc doc;
    if (!doc_parse(&doc, DOC_YAML, "custom-calls.yaml", data_custom_calls, data_custom_calls_size, err))
        return false;
    bool done = true;
    for (const struct doc_node *map = doc.root->first_child; map && done; map = map->next)
        done = read_entry(&doc, map, err);
    doc_release(&doc);
    if (!done) {
        arena_release(&built_in.arena);
        memset(&built_in, 0, sizeof built_in);
    }
    return done;
}

static struct once once = ONCE_INIT;

bool custom_calls_read(struct error *err)
{
    return once_read(&once, read_built_in, err);
}

const struct custom_call *custom_call_find(const char *target)
{
    once_needed(&once, read_built_in);
    for (int i = 0; i < built_in.count; i++)
        if (fnmatch(built_in.calls[i].pattern, target, 0) == 0)
            return &built_in.calls[i];
    return NULL;
}
