/* Each field of a plan's document that follows from its decisions is named where it says something else. */
#include "core/doc.h"
#include "plan/score/objective.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* Of the search and of those who made the plan: they are not asked. */
static const char *const history[] = {
    "made_by",   "search",  "lower_bound",  "proven_optimal", "proof_over", "gap",    "planning_seconds",
    "has_front", "figures", "alternatives", "sensitivity",    "idle",       "budget", "storage",
    "parts",     NULL};

static int flipped;

static const char *difference(const struct doc *doc, const struct plan *plan, struct text *out)
{
    struct error err;
    text_release(out);
    assert_true(score_differ(doc->root, plan, true, out, &err));
    return out->length ? out->data : "";
}

static void flip(struct doc *doc, struct doc_node *node, const struct plan *plan, struct text *out)
{
    const struct doc_node before = *node;
    for (const char *const *name = history; node->key && *name; name++)
        if (strcmp(node->key, *name) == 0)
            return;
    if (node->type == DOC_NULL)
        return;
    for (struct doc_node *child = node->first_child; child; child = child->next)
        flip(doc, child, plan, out);
    if (node->type == DOC_MAP || node->type == DOC_LIST)
        return;
    node->number = 3 * node->number * node->number + 1;
    node->text = node->type == DOC_BOOL && node->boolean ? "false"
                 : node->type == DOC_BOOL                ? "true"
                                                         : "other";
    if (!strstr(difference(doc, plan, out), " is other (") &&
        !strstr(out->length ? out->data : "", node->text))
        fail_msg("%s:%u: %s", doc->path, node->line, node->key ? node->key : "?");
    *node = before;
    flipped++;
}

static void each_field_is_named(void **state)
{
    static const char *const names[] = {"pipeline", "job", "dapple", "fleet", "interleaved", "oobleck"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[512];
        struct doc doc;
        struct plan plan;
        struct error err;
        struct text out = {0};
        snprintf(path, sizeof path, "tests/data/plans/%s.json", names[i]);
        assert_true(doc_load(&doc, path, &err) && plan_read(&plan, &doc, doc.root, &err));
        assert_string_equal(difference(&doc, &plan, &out), "");
        flip(&doc, doc.root, &plan, &out);
        text_release(&out);
        plan_release(&plan);
        doc_release(&doc);
    }
    assert_true(flipped > 700);
}

/* Of other decisions other seconds and bytes follow, which nobody is told; of devices he is. */
static void results_of_other_decisions_are_not_named(void **state)
{
    struct doc doc;
    struct plan plan;
    struct error err;
    struct text out = {0};
    (void)state;
    assert_true(doc_load(&doc, "tests/data/plans/job.json", &err) && plan_read(&plan, &doc, doc.root, &err));
    plan.memory *= 2;
    plan.pipelines[0].stages[0].seconds.forward *= 2;
    plan.pipelines[0].stages[0].runs[0].count++;
    assert_true(score_differ(doc.root, &plan, false, &out, &err));
    assert_non_null(strstr(out.data, "pipelines[0].stages[0].devices[0].count is "));
    assert_null(strstr(out.data, ", "));
    text_release(&out);
    plan_release(&plan);
    doc_release(&doc);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_is_named),
        cmocka_unit_test(results_of_other_decisions_are_not_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
