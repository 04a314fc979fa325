/* The laws of laws.h on random cases. */
#include "keys.h"
#include "laws.h"
#include "support/folder.h"
#include "support/sanitizer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#define CASES_USUAL 300

#define MAX_REPORTED 12

static const struct family *const families[] = {&family_pipeline, &family_fleet, &family_templates,
                                                &family_dapple,   &family_job,   &family_mixed,
                                                &family_schedule};

#define FAMILIES (sizeof families / sizeof *families)

/* Laws that do not hold yet. A case that breaks one is counted and told, but fails nothing. */
static const struct exception {
    const char *family, *law, *reason;
} exceptions[] = {
    {NULL, NULL, NULL},
};

static size_t exceptional[sizeof exceptions / sizeof *exceptions];

static const struct family *draw_family(struct random_source *source)
{
    int sum = 0, drawn;
    for (size_t f = 0; f < FAMILIES; f++)
        sum += families[f]->share;
    drawn = random_range(source, 0, sum - 1);
    for (size_t f = 0; f < FAMILIES; drawn -= families[f++]->share)
        if (drawn < families[f]->share)
            return families[f];
    return families[0];
}

static int count_laws(const struct law *laws)
{
    int count = 0;
    while (laws[count].name)
        count++;
    return count;
}

static bool is_exceptional(const struct family *family, const struct law *law)
{
    for (size_t e = 0; exceptions[e].family; e++)
        if (strcmp(exceptions[e].family, family->name) == 0 && strcmp(exceptions[e].law, law->name) == 0) {
            exceptional[e]++;
            return true;
        }
    return false;
}

static int failures, answered[FAMILIES], asked[FAMILIES];

static void report(const struct law_case *kase, const struct family *family, const struct law *law,
                   unsigned long seed, const char *log)
{
    if (is_exceptional(family, law) && !getenv("REHEARSE_LAWS_SEED"))
        return;
    if (failures++ < MAX_REPORTED)
        print_message("seed %lu: %s, %s: %s\n%s  alone: REHEARSE_LAWS_SEED=%lu REHEARSE_LAWS_KEEP=FOLDER "
                      "build/tests/laws/laws\n",
                      seed, family->name, law->name, kase->why, log, seed);
}

/* Each law has random numbers of its own, so that it asks the same whichever others were looked at. */
static void try_laws(struct law_case *kase, const struct family *family, unsigned long seed)
{
    int count = count_laws(family->laws), from = random_range(&kase->random, 0, count - 1);
    for (int i = 0; i < count && i < family->laws_per_case; i++) {
        const struct law *law = &family->laws[(from + i) % count];
        char *log = NULL;
        size_t length = 0;
        kase->log = open_memstream(&log, &length);
        if (!kase->log)
            abort();
        kase->random.state = seed * 1000 + (unsigned long)i;
        fputs("  ", kase->log);
        question_print(&kase->question, kase->log);
        fprintf(kase->log, "\n    %.17g s%s%s\n", kase->answer.time, kase->answer.proven ? ", proven" : " ",
                kase->answer.error);
        bool holds = law->holds(kase);
        fclose(kase->log);
        if (!holds)
            report(kase, family, law, seed, log);
        free(log);
    }
}

static void try_case(unsigned long seed, const char *folder)
{
    static struct law_case kase;
    kase = (struct law_case){.random = {seed}, .folder = folder};
    const struct family *family = draw_family(&kase.random);
    const char *only = getenv("REHEARSE_LAWS_FAMILY");
    if (only && strcmp(only, family->name) != 0)
        return;
    family->draw(&kase);
    kase.answer = ask(&kase.question, 1);
    for (size_t f = 0; f < FAMILIES; f++)
        if (families[f] == family) {
            asked[f]++;
            answered[f] += kase.answer.handle != NULL;
        }
    try_laws(&kase, family, seed);
    answer_free(&kase.answer);
}

static unsigned long number_of(const char *name, unsigned long usual)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 10) : usual;
}

static void laws_hold(void **state)
{
    (void)state;
    unsigned long cases = number_of("REHEARSE_LAWS_CASES", CASES_USUAL) / SEARCH_STEP,
                  one = number_of("REHEARSE_LAWS_SEED", 0);
    const char *keep = getenv("REHEARSE_LAWS_KEEP");
    if (keep)
        mkdir(keep, 0777);
    for (unsigned long seed = one ? one : 1; seed <= (one ? one : cases); seed++)
        try_case(seed, keep ? keep : test_folder);
    for (size_t f = 0; f < FAMILIES; f++)
        print_message("%s: %d cases, %d with an answer\n", families[f]->name, asked[f], answered[f]);
    for (size_t f = 0; f < FAMILIES; f++) /* else the laws say nothing */
        assert_true(asked[f] < 50 || answered[f] * 3 > asked[f]);
    for (size_t e = 0; exceptions[e].family; e++)
        print_message("%s, %s: broken in %zu cases: %s\n", exceptions[e].family, exceptions[e].law,
                      exceptional[e], exceptions[e].reason);
    if (failures > 0)
        fail_msg("%d laws are broken", failures);
}

static void each_option_counts_or_is_named(void **state)
{
    (void)state;
    unsigned long cases = number_of("REHEARSE_LAWS_CASES", CASES_USUAL);
    assert_int_equal(keys_idle_options(cases > CASES_USUAL), 0);
}

static void each_key_counts_or_is_named(void **state)
{
    (void)state;
    assert_int_equal(keys_idle_in_cluster(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold),
        cmocka_unit_test(each_option_counts_or_is_named),
        cmocka_unit_test(each_key_counts_or_is_named),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
