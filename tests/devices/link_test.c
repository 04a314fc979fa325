/* The table of links, and descriptions of a user's own. */
#include "devices/link.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "devices/device.h"
#include "devices/tables.h"

static void links_are_found_by_name_and_alias(void **state)
{
    const struct table *table = tables_known(TABLE_LINKS);
    (void)state;
    assert_non_null(table);
    for (int i = 0; i < table->count; i++) {
        const struct cost_link *link = &table->links[i];
        assert_ptr_equal(tables_link(NULL, link->name), link);
        for (int a = 0; a < link->alias_count; a++)
            assert_ptr_equal(tables_link(NULL, link->aliases[a]), link);
    }
    assert_null(tables_link(NULL, "nvlink99"));
}

static void names_of_links_ignore_capitals(void **state)
{
    (void)state;
    assert_ptr_equal(tables_link(NULL, "NVLink4"), tables_link(NULL, "nvlink4"));
    assert_ptr_equal(tables_link(NULL, "DGX-H100"), tables_link(NULL, "nvlink4"));
}

static void every_device_has_a_link(void **state)
{
    const struct table *devices = tables_known(TABLE_DEVICES);
    (void)state;
    for (int i = 0; i < devices->count; i++)
        if (!tables_link(NULL, devices->devices[i].link))
            fail_msg("%s: no link '%s'", devices->devices[i].name, devices->devices[i].link);
}

/* Every number names its source, and none is a slip of a power of ten. */
static void the_table_is_plausible(void **state)
{
    const struct table *table = tables_known(TABLE_LINKS);
    (void)state;
    for (int i = 0; i < table->count; i++) {
        const struct cost_link *link = &table->links[i];
        assert_non_null(link->source);
        assert_true(link->bandwidth >= 1e9 && link->bandwidth <= 2e12);
        for (int k = 0; k < COLLECTIVE_KINDS; k++) {
            const struct link_protocol *simple = &link->transfers[k].protocols[LINK_SIMPLE];
            assert_true(simple->rate > 0.01 && simple->rate < 1.5);
            assert_true(simple->base + simple->hop > 1e-7 && simple->base + simple->hop < 1e-3);
            assert_true(link->transfers[k].own >= 0.0 && link->transfers[k].own < 5.0);
        }
    }
}

static void a_group_of_few_gets_its_share(void **state)
{
    const struct link_transfer *link = &tables_link(NULL, "nvlink2-4")->transfers[COLLECTIVE_ALL_REDUCE];
    (void)state;
    assert_true(link_transfer_share(link, 2) < link_transfer_share(link, 3));
    assert_true(link_transfer_share(link, 3) < link_transfer_share(link, 4));
    assert_true(link_transfer_share(link, 100) == 1.0);
}

static const char described[] = "format: rehearse-links/1\n"
                                "name: mine\n"
                                "title: My own\n"
                                "bandwidth: 100 Gb/s\n"
                                "devices: 4\n"
                                "share: [{devices: 2, of: 0.5}]\n"
                                "every:\n"
                                "  ll: {base: 5 us, hop: 1 us, rate: 0.1, upto: 64 KiB}\n"
                                "  simple: {base: 9 us, hop: 4 us, rate: 0.9}\n"
                                "  own: 0.25\n"
                                "all_reduce:\n"
                                "  simple: {rate: 0.8}\n"
                                "  nvls: {base: 20 us, rate: 1.1, from: 4}\n"
                                "barrier: 2 us\n"
                                "source: bench\n";

static void a_link_is_described_in_a_few_lines(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    assert_true(tables_parse(&table, TABLE_LINKS, "mine.yaml", described, strlen(described), &err));
    assert_int_equal(table.count, 1);
    const struct cost_link *link = table.links;
    const struct link_transfer *reduce = &link->transfers[COLLECTIVE_ALL_REDUCE];
    assert_string_equal(link->title, "My own");
    assert_true(fabs(link->bandwidth - 12.5e9) < 1.0);
    assert_int_equal(link->devices, 4);
    assert_true(link_transfer_share(reduce, 2) == 0.5);
    assert_true(fabs(reduce->protocols[LINK_LL].base - 5e-6) < 1e-12);
    assert_true(reduce->protocols[LINK_LL].upto == 65536.0);
    assert_true(reduce->protocols[LINK_LL128].rate == 0.0);
    assert_true(reduce->protocols[LINK_SIMPLE].rate == 0.8);
    assert_true(fabs(reduce->protocols[LINK_SIMPLE].hop - 4e-6) < 1e-12);
    assert_true(isinf(reduce->protocols[LINK_SIMPLE].upto));
    assert_true(reduce->nvls.rate == 1.1 && reduce->nvls.from == 4.0);
    assert_true(link->transfers[COLLECTIVE_SEND].protocols[LINK_SIMPLE].rate == 0.9);
    assert_true(link->transfers[COLLECTIVE_SEND].own == 0.25);
    assert_true(fabs(link->barrier - 2e-6) < 1e-12);
    table_release(&table);
}

static void like_takes_what_is_not_said(void **state)
{
    static const char text[] = "links:\n"
                               "- {name: faster, like: nvlink4, bandwidth: 500 GB/s}\n"
                               "- {name: slower, like: faster, all_reduce: {simple: {rate: 0.5}}}\n";
    const struct cost_link *nvlink4 = tables_link(NULL, "nvlink4");
    struct table table;
    struct error err;
    (void)state;
    assert_true(tables_parse(&table, TABLE_LINKS, "two.yaml", text, strlen(text), &err));
    assert_int_equal(table.count, 2);
    const struct cost_link *faster = table_find(&table, "faster");
    const struct cost_link *slower = table_find(&table, "slower");
    assert_true(faster->bandwidth == 500e9);
    assert_memory_equal(faster->transfers, nvlink4->transfers, sizeof faster->transfers);
    assert_true(slower->bandwidth == 500e9);
    assert_true(slower->transfers[COLLECTIVE_ALL_REDUCE].protocols[LINK_SIMPLE].rate == 0.5);
    assert_memory_equal(&slower->transfers[COLLECTIVE_SEND], &nvlink4->transfers[COLLECTIVE_SEND],
                        sizeof(struct link_transfer));
    table_release(&table);
}

/* A file of this text; the caller unlinks it. */
static void write_file(char path[], const char *text)
{
    int descriptor = mkstemps(path, 5);
    assert_true(descriptor >= 0);
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
    close(descriptor);
}

/* Nothing is left of them elsewhere in the process. */
static void added_links_are_found_where_they_were_added(void **state)
{
    static const char first[] = "{name: NVLink4, like: nvlink4, bandwidth: 1 GB/s}\n";
    static const char second[] = "{name: other, like: nvlink4, bandwidth: 2 GB/s}\n";
    const struct cost_link *known = tables_link(NULL, "nvlink4");
    struct tables mine = {0}, yours = {0};
    char path[] = "/tmp/rehearse-link-XXXXXX.yaml", next[] = "/tmp/rehearse-link-XXXXXX.yaml";
    struct error err;
    (void)state;
    write_file(path, first);
    write_file(next, second);
    assert_true(tables_add(&mine, TABLE_LINKS, path, &err));
    assert_true(tables_link(&mine, "nvlink4")->bandwidth == 1e9);
    assert_ptr_equal(tables_link(&mine, "nvlink3"), tables_link(NULL, "nvlink3"));
    assert_ptr_equal(tables_link(&yours, "nvlink4"), known);
    assert_ptr_equal(tables_link(NULL, "nvlink4"), known);
    assert_false(tables_add(&mine, TABLE_LINKS, "nowhere.yaml", &err)); /* changes nothing */
    assert_true(tables_link(&mine, "nvlink4")->bandwidth == 1e9);
    assert_true(tables_add(&mine, TABLE_LINKS, next, &err)); /* takes the place of the first */
    assert_ptr_equal(tables_link(&mine, "nvlink4"), known);
    assert_non_null(tables_link(&mine, "other"));
    tables_release(&mine);
    assert_null(tables_link(&mine, "other"));
    unlink(path);
    unlink(next);
}

static void a_file_is_read_like_text(void **state)
{
    char path[] = "/tmp/rehearse-link-XXXXXX.yaml";
    struct table table;
    struct error err;
    (void)state;
    write_file(path, described);
    bool loaded = tables_load(NULL, TABLE_LINKS, &table, path, &err);
    unlink(path);
    assert_true(loaded);
    assert_string_equal(table.links[0].name, "mine");
    table_release(&table);
}

static void a_name_is_loaded_from_the_table(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    assert_true(tables_load(NULL, TABLE_LINKS, &table, "nvlink3", &err));
    assert_string_equal(table.links[0].name, "nvlink3");
    table_release(&table);
    assert_false(tables_load(NULL, TABLE_LINKS, &table, "nvlnk3", &err));
    assert_non_null(strstr(err.text, "did you mean 'nvlink3'"));
    assert_int_equal(err.kind, ERROR_USAGE);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    static const struct {
        const char *text, *message;
    } cases[] = {
        {"bandwidth: 1 GB/s", "x.yaml:1:1: 'name' is missing"},
        {"{name: x}", "'bandwidth' is missing"},
        {"{name: x, bandwidth: 1 GB/s}", "'all_reduce' is missing"},
        {"{name: x, bandwidth: 1 GB/s, every: {own: 1}}", "every: 'simple' is missing"},
        {"{name: x, bandwidth: 1 GB/s, every: {simple: {base: 1 us}}}", "every.simple: 'rate' is missing"},
        {"{name: x, like: nvlink4, bandwidth: -1}", "bandwidth"},
        {"{name: x, like: nvlink4, bandwidth: 1}", "expected from 1000 to 1e+15 bytes per second"},
        {"{name: x, like: nvlink4, bandwith: 1 GB/s}", "bandwidth"},
        {"{name: x, like: nvlink44}", "did you mean"},
        {"{name: x, like: nvlink4, every: {simple: {rate: 0}}}", "every.simple.rate"},
        {"{name: x, like: nvlink4, every: {simple: {hop: 1 h}}}", "from 0 to 10 seconds"},
        {"{name: x, like: nvlink4, share: [{devices: 4, of: 1}, {devices: 2, of: 1}]}", "more devices"},
        {"{name: x, like: nvlink4, share: [{devices: 4}]}", "share[0]: 'of' is missing"},
        {"{name: x, like: nvlink4, barrier: fast}", "barrier"},
        {"{format: rehearse-links/2, name: x, like: nvlink4}", "expected 'rehearse-links/1'"},
        {"links: []", "expected from 1 to"},
        {"links: [{name: x, like: nvlink4}, {name: X, like: nvlink4}]", "another link above"},
        {"[1]", "x.yaml:1:1"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct table table;
        struct error err;
        assert_false(tables_parse(&table, TABLE_LINKS, "x.yaml", cases[i].text, strlen(cases[i].text), &err));
        assert_int_equal(err.kind, ERROR_INPUT);
        if (!strstr(err.text, cases[i].message))
            fail_msg("expected '%s' in '%s'", cases[i].message, err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(links_are_found_by_name_and_alias),
        cmocka_unit_test(names_of_links_ignore_capitals),
        cmocka_unit_test(every_device_has_a_link),
        cmocka_unit_test(the_table_is_plausible),
        cmocka_unit_test(a_group_of_few_gets_its_share),
        cmocka_unit_test(a_link_is_described_in_a_few_lines),
        cmocka_unit_test(like_takes_what_is_not_said),
        cmocka_unit_test(added_links_are_found_where_they_were_added),
        cmocka_unit_test(a_file_is_read_like_text),
        cmocka_unit_test(a_name_is_loaded_from_the_table),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
    };
    return cmocka_run_group_tests_name("link", tests, NULL, NULL);
}
