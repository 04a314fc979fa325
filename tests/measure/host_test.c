#include "measure/host.h"

#include "core/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void cores_are_read_and_written(void **state)
{
    (void)state;
    cpu_set_t allowed, cores;
    struct error err;
    struct text text = {0};
    assert_true(host_cores(&allowed, &err));
    host_write_cores(&allowed, &text);
    assert_true(host_read_cores(&cores, text.data, &err));
    assert_true(CPU_EQUAL(&cores, &allowed));
    text_release(&text);

    CPU_ZERO(&cores);
    for (size_t core = 0; core < 8; core++)
        if (core != 4 && core != 6)
            CPU_SET(core, &cores);
    host_write_cores(&cores, &text);
    assert_string_equal(text.data, "0-3,5,7");
    text_release(&text);
}

static void wrong_cores_are_refused(void **state)
{
    (void)state;
    static const char *const lists[] = {"",    "x", "1,", "-1", "0-", "3-1", "0 1", "99999999999999999999",
                                        "1023"};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cpu_set_t cores;
        struct error err;
        assert_false(host_read_cores(&cores, lists[i], &err));
        assert_int_equal(err.kind, ERROR_USAGE);
        assert_non_null(strstr(err.text, "--cores: "));
    }
}

static void facts_name_the_machine(void **state)
{
    (void)state;
    struct host_facts facts;
    host_read_facts(&facts);
    assert_true(*facts.name && *facts.system);
    assert_int_equal(strlen(facts.date), 20);
}

static void own_work_is_no_other_load(void **state)
{
    (void)state;
    cpu_set_t cores;
    struct error err;
    struct host_watch watch;
    struct host_load load;
    assert_true(host_cores(&cores, &err));
    host_watch_begin(&watch, &cores);
    for (double end = clock_now() + 0.05; clock_now() < end;)
        ;
    host_watch_end(&watch, &load);
    assert_true(load.own > 0.0 && load.own <= 1.1);
    assert_true(load.other >= 0.0 && load.other <= 1.0);
}

static void loads_are_put_in_words(void **state)
{
    (void)state;
    struct text text = {0};
    host_load_print(&(struct host_load){.own = 0.9, .other = 0.04, .stolen = 0.01, .throttled = 0}, &text);
    assert_null(text.data);
    host_load_print(&(struct host_load){.own = 0.5, .other = 0.42, .stolen = 0.08, .throttled = 3}, &text);
    assert_string_equal(text.data,
                        "other processes took 42 % of the cores' time; other virtual machines took 8 %; the "
                        "processor was throttled 3 times");
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_read_and_written), cmocka_unit_test(wrong_cores_are_refused),
        cmocka_unit_test(facts_name_the_machine),     cmocka_unit_test(own_work_is_no_other_load),
        cmocka_unit_test(loads_are_put_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
