/* Fields of a plan's file that do not follow from its decisions. File and scored plan are compared as documents, so
 * that no field is left out but those that are named here. */
#include "plan/score/objective.h"

#include "core/json.h"
#include "devices/tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define NAMED     3    /* fields that are named; the others are counted */
#define TOLERANCE 1e-3 /* of numbers */

/* Of the search and of its time: neither decisions nor what follows from them. */
static const char *const history[] = {
    "made_by", "search",           "lower_bound", "proven_optimal", "proof_over",
    "gap",     "planning_seconds", "has_front",   "alternatives",   "sensitivity",
    "idle",    "budget",           "storage",     "figures",        NULL};
/* Of other decisions, others. */
static const char *const results[] = {"iteration_time", "memory",    "iteration", "seconds",
                                      "bytes",          "transfers", "digest",    NULL};

/* A job that was planned with other groups of devices has other terms of its time than one alone. */
static const char *const terms[] = {"parts", "bottleneck", NULL};

struct walk {
    bool same_time, same_terms;
    char path[256];
    struct text *out;
    int count;
};

static bool is_in(const char *key, const char *const *keys)
{
    while (*keys && strcmp(key, *keys) != 0)
        keys++;
    return *keys;
}

static bool is_left_out(const struct walk *walk, const char *key)
{
    return is_in(key, history) || (!walk->same_time && is_in(key, results)) ||
           (!walk->same_terms && is_in(key, terms));
}

/* Null and -1 say nothing, nor does "mixed" of a precision, which is that of each device type. */
static bool says_nothing(const struct doc_node *node)
{
    return node->type == DOC_NULL || (node->type == DOC_NUMBER && node->number == -1) ||
           (node->type == DOC_STRING && strcmp(node->text, "mixed") == 0);
}

/* Do both name one model? */
static bool is_model(const struct doc_node *a, const struct doc_node *b)
{
    const struct architecture *model = a->type == DOC_STRING ? architecture_find(a->text) : NULL;
    return model && b->type == DOC_STRING && model == architecture_find(b->text);
}

/* A name may stand for a number. */
static bool is_same(const struct doc_node *said, const struct doc_node *follows)
{
    if (says_nothing(said))
        return true;
    if (said->type != follows->type)
        return follows->type != DOC_NULL;
    if (said->type == DOC_NUMBER)
        return fabs(said->number - follows->number) <=
               TOLERANCE * fmax(fabs(said->number), fabs(follows->number));
    return strcmp(said->text, follows->text) == 0 || is_model(said, follows);
}

static void compare(struct walk *walk, const struct doc_node *said, const struct doc_node *follows)
{
    size_t length = strlen(walk->path);
    const struct doc_node *next = follows->first_child;
    if ((said->type != DOC_MAP && said->type != DOC_LIST) || said->type != follows->type) {
        if (!is_same(said, follows) && walk->count++ < NAMED)
            text_format(walk->out, "%s%s is %.60s (%.60s follows)", walk->count > 1 ? ", " : "", walk->path,
                        said->text, follows->text);
        return;
    }
    for (const struct doc_node *node = said->first_child; node; node = node->next) {
        const struct doc_node *other = node->key ? doc_find(follows, node->key) : next;
        next = next ? next->next : NULL;
        if (!other || (node->key && is_left_out(walk, node->key)))
            continue;
        if (node->key)
            snprintf(walk->path + length, sizeof walk->path - length, "%s%s", length ? "." : "", node->key);
        else
            snprintf(walk->path + length, sizeof walk->path - length, "[%u]", node->index);
        compare(walk, node, other);
        walk->path[length] = '\0';
    }
}

/* Do both times have the same first term? */
static bool has_terms_of(const struct doc_node *said, const struct doc_node *follows)
{
    const struct doc_node *a = doc_find(doc_find(said, "iteration"), "parts"),
                          *b = doc_find(doc_find(follows, "iteration"), "parts");
    return !a || !b || !a->first_child || !b->first_child || !a->first_child->key ||
           strcmp(a->first_child->key, b->first_child->key) == 0;
}

bool score_differ(const struct doc_node *said, const struct plan *scored, bool same_time, struct text *out,
                  struct error *err)
{
    struct walk walk = {.same_time = same_time, .out = out};
    struct text text = {0};
    struct json json = {.out = &text};
    struct doc follows;
    plan_write_json(scored, &json, NULL);
    bool ok =
        text.failed ? error_memory(err) : doc_parse(&follows, DOC_JSON, "plan", text.data, text.length, err);
    text_release(&text);
    if (!ok)
        return false;
    walk.same_terms = has_terms_of(said, follows.root);
    compare(&walk, said, follows.root);
    doc_release(&follows);
    if (walk.count > NAMED)
        text_format(out, " and %d more", walk.count - NAMED);
    return !out->failed || error_memory(err);
}
