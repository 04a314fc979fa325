#include "evidence/search_report.h"

#include "core/doc.h"
#include "support/jobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* A question, and what was found for it. */
struct found {
    struct job_question question;
    struct job_search search;
    struct job_sensitivity sensitivity[JOB_RESOURCES];
};

static void find(struct found *found, const char *model, int devices, int top)
{
    struct error err;
    found->question = (struct job_question){.job = job_example(), .headroom = 0.05};
    found->question.job.model = architecture_find(model);
    found->question.job.devices = devices;
    found->question.job.batch = 128;
    if (!job_search(&found->search, &found->question, &(struct job_search_options){.top = top}, &err) ||
        !job_sensitivity(found->sensitivity, &found->question, &found->search.plans[0], 0.1, NULL, &err))
        fail_msg("%s", err.text);
}

/* ---- more of a resource ---- */

static void resources_have_names_of_their_own(void **state)
{
    (void)state;
    for (int a = 0; a < JOB_RESOURCES; a++) {
        assert_true(*job_resource_name((enum job_resource)a) != '\0');
        for (int b = 0; b < a; b++)
            assert_string_not_equal(job_resource_name((enum job_resource)a),
                                    job_resource_name((enum job_resource)b));
    }
}

static void more_is_never_slower(void **state)
{
    (void)state;
    static const int devices[] = {8, 16, 72};
    for (int i = 0; i < 3; i++) {
        struct found found;
        find(&found, "llama-3-8b", devices[i], 1);
        for (int r = 0; r < JOB_RESOURCES; r++) {
            assert_true(found.sensitivity[r].seconds <= found.search.plans[0].time.seconds);
            assert_true(found.sensitivity[r].seconds > 0.5 * found.search.plans[0].time.seconds);
        }
        job_search_release(&found.search);
    }
}

static void matrix_units_help_most_and_at_most_by_as_much_as_there_are_more(void **state)
{
    (void)state;
    struct found found;
    find(&found, "llama-3-8b", 8, 1);
    double now = found.search.plans[0].time.seconds;
    double then = found.sensitivity[JOB_MORE_COMPUTE].seconds;
    assert_true(then < 0.97 * now);
    assert_true(then >= now / 1.1);
    assert_true(then < found.sensitivity[JOB_MORE_BANDWIDTH].seconds);
    assert_true(found.sensitivity[JOB_MORE_ACROSS].seconds == now); /* there is one node */
    job_search_release(&found.search);
}

static void devices_come_in_whole_nodes(void **state)
{
    (void)state;
    static const struct {
        int devices, more;
    } cases[] = {{8, 9}, {16, 24}, {72, 80}, {160, 176}, {168, 192}};
    for (int i = 0; i < 5; i++) {
        struct found found;
        find(&found, "llama-3-8b", cases[i].devices, 1);
        assert_int_equal(found.sensitivity[JOB_MORE_DEVICES].devices, cases[i].more);
        assert_int_equal(found.sensitivity[JOB_MORE_COMPUTE].devices, cases[i].devices);
        job_search_release(&found.search);
    }
}

static void all_memory_is_as_good_as_some(void **state)
{
    (void)state;
    struct found found;
    find(&found, "llama-3-70b", 16, 1); /* fits, but barely */
    const struct job_sensitivity *all = &found.sensitivity[JOB_ALL_MEMORY];
    assert_true(all->seconds < found.search.plans[0].time.seconds);
    assert_true(all->seconds <= found.sensitivity[JOB_MORE_MEMORY].seconds);
    assert_true(all->differs);
    job_search_release(&found.search);
}

/* ---- for programs ---- */

static void parse(struct doc *doc, const struct found *found, bool with_sensitivity)
{
    struct text text = {0};
    struct json json = {.out = &text};
    struct error err;
    const struct job_search_report report = {
        .question = &found->question,
        .search = &found->search,
        .interval = {.low = 1.0, .high = 2.0},
        .sensitivity = with_sensitivity ? found->sensitivity : NULL,
        .more = 0.1,
    };
    job_search_write_json(&report, &json, NULL);
    if (!doc_parse(doc, DOC_JSON, "plan.json", text.data, text.length, &err))
        fail_msg("%s", err.text);
    text_release(&text);
}

static double number(const struct doc_node *map, const char *key)
{
    const struct doc_node *node = doc_find(map, key);
    bool found = node && node->type == DOC_NUMBER;
    if (!found)
        fail_msg("no number '%s'", key);
    return found ? node->number : 0.0;
}

static void json_says_what_was_asked(void **state)
{
    (void)state;
    static const char *const texts[][2] = {
        {"format", "rehearse-plan/1"}, {"objective", "iteration"}, {"model", "llama-3-70b"},
        {"device_type", "h100-sxm"},   {"across", "ib-400g"},      {"software", "megatron-core"},
        {"precision", "bf16"},
    };
    struct found found;
    struct doc doc;
    find(&found, "llama-3-70b", 16, 1);
    parse(&doc, &found, false);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(doc_find(doc.root, texts[i][0])->text, texts[i][1]);
    assert_true(number(doc.root, "devices") == 16.0);
    assert_true(number(doc.root, "devices_per_node") == 8.0);
    assert_true(number(doc.root, "global_batch") == 128.0);
    assert_true(number(doc.root, "sequence") == 4096.0);
    assert_true(number(doc.root, "headroom") == 0.05);
    assert_true(number(doc.root, "iteration_time_low") == 1.0);
    assert_true(number(doc.root, "iteration_time_high") == 2.0);
    assert_true(number(doc.root, "gap") == 0.0);
    assert_true(number(doc.root, "lower_bound") == number(doc.root, "iteration_time"));
    assert_true(doc_find(doc.root, "proven_optimal")->boolean);
    assert_null(doc_find(doc.root, "sensitivity"));
    doc_release(&doc);
    job_search_release(&found.search);
}

static double sum_of(const struct doc_node *list)
{
    double sum = 0.0;
    for (const struct doc_node *child = list->first_child; child; child = child->next)
        sum += child->number;
    return sum;
}

static void json_plans_add_up(void **state)
{
    (void)state;
    struct found found;
    struct doc doc;
    find(&found, "llama-3-70b", 32, 8);
    parse(&doc, &found, false);
    const struct doc_node *plans = doc_find(doc.root, "plans");
    assert_int_equal(plans->count, 8);
    double before = number(doc.root, "iteration_time");
    assert_true(number(plans->first_child, "iteration_time") == before);
    for (const struct doc_node *plan = plans->first_child; plan; plan = plan->next) {
        double seconds = number(plan, "iteration_time"), used = number(plan, "devices");
        const struct doc_node *memory = doc_find(plan, "memory");
        assert_true(seconds >= before);
        before = seconds;
        assert_true(number(plan, "tp") * number(plan, "pp") * number(plan, "dp") * number(plan, "cp") ==
                    used);
        assert_true(number(plan, "microbatches") * number(plan, "mbs") * number(plan, "dp") == 128.0);
        assert_true(fabs(sum_of(doc_find(plan, "parts")) / seconds - 1.0) < 1e-9);
        assert_true(fabs(sum_of(memory) / number(memory, "total") - 2.0) < 1e-9);
        assert_int_equal(doc_find(plan, "stage_blocks")->count, (uint32_t)number(plan, "pp"));
        assert_true(sum_of(doc_find(plan, "stage_blocks")) == 80.0);
        assert_true(number(plan, "utilisation") > 0.0 && number(plan, "utilisation") < 1.0);
        assert_non_null(doc_find(plan, "recompute"));
        assert_non_null(doc_find(plan, "on_front"));
    }
    assert_true(doc_find(plans->first_child, "on_front")->boolean); /* nothing is faster */
    doc_release(&doc);
    job_search_release(&found.search);
}

static void json_lists_resources(void **state)
{
    (void)state;
    struct found found;
    struct doc doc;
    find(&found, "llama-3-8b", 16, 1);
    parse(&doc, &found, true);
    const struct doc_node *list = doc_find(doc.root, "sensitivity"), *entry = list->first_child;
    assert_int_equal(list->count, JOB_RESOURCES);
    for (int r = 0; r < JOB_RESOURCES; r++, entry = entry->next) {
        assert_string_equal(doc_find(entry, "resource")->text, job_resource_name((enum job_resource)r));
        assert_true(number(entry, "iteration_time") == found.sensitivity[r].seconds);
        assert_int_equal(doc_find(entry, "split_differs")->boolean, found.sensitivity[r].differs);
        assert_int_equal(doc_find(entry, "more") != NULL, r != JOB_ALL_MEMORY);
    }
    doc_release(&doc);
    job_search_release(&found.search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resources_have_names_of_their_own),
        cmocka_unit_test(more_is_never_slower),
        cmocka_unit_test(matrix_units_help_most_and_at_most_by_as_much_as_there_are_more),
        cmocka_unit_test(devices_come_in_whole_nodes),
        cmocka_unit_test(all_memory_is_as_good_as_some),
        cmocka_unit_test(json_says_what_was_asked),
        cmocka_unit_test(json_plans_add_up),
        cmocka_unit_test(json_lists_resources),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
