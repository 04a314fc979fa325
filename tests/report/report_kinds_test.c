/* What files a report knows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/file.h"
#include "report/parts.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Does the text have the shape of a format, "rehearse-plan/1"? Its length, or 0. */
static size_t format_length(const char *text)
{
    size_t name = strspn(text + 9, "abcdefghijklmnopqrstuvwxyz-");
    size_t digits = text[9 + name] == '/' ? strspn(text + 10 + name, "0123456789") : 0;
    return name > 0 && digits > 0 ? 10 + name + digits : 0;
}

static bool is_known(const char *format)
{
    for (const struct report_kind *kind = report_kinds; kind->name; kind++)
        if (kind->format && strcmp(kind->format, format) == 0)
            return true;
    return false;
}

static int look_into(const char *path)
{
    char *data;
    size_t length;
    struct error err;
    int found = 0;
    if (!file_read(path, 1 << 24, &data, &length, &err))
        fail_msg("%s", err.text);
    for (const char *at = data; (at = strstr(at, "rehearse-")); at++) {
        char format[128];
        size_t size = format_length(at);
        if (size == 0 || size >= sizeof format)
            continue;
        memcpy(format, at, size);
        format[size] = '\0';
        if (!is_known(format))
            fail_msg("%s has the format '%s', which no section of a report knows", path, format);
        found++;
    }
    free(data);
    return found;
}

static int look_below(const char *path)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    int found = 0;
    assert_non_null(stream);
    while ((entry = readdir(stream))) {
        char below[4096];
        const char *ending = strrchr(entry->d_name, '.');
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        enum file_kind kind = FILE_NONE;
        struct error err;
        assert_true(file_look(below, &kind, &err));
        if (entry->d_name[0] != '.' && kind == FILE_FOLDER)
            found += look_below(below);
        else if (ending && (strcmp(ending, ".c") == 0 || strcmp(ending, ".h") == 0))
            found += look_into(below);
    }
    closedir(stream);
    return found;
}

/* A new format has to be given a section, or a line that says it is only linked. */
static void test_every_format_of_the_source_is_known(void **state)
{
    char path[4096];
    const char *root = getenv("REHEARSE_SOURCE_ROOT");
    (void)state;
    snprintf(path, sizeof path, "%s/src", root ? root : ".");
    assert_true(look_below(path) > 30);
    assert_false(is_known("rehearse-nothing/1"));
}

static void test_kinds_are_found_by_format_keys_and_ending(void **state)
{
    static const struct {
        const char *json, *name;
    } cases[] = {
        {"{\"format\": \"rehearse-plan/2\"}", "plan"},
        {"{\"format\": \"rehearse-templates/2\"}", "pipeline templates"},
        {"{\"schema\": \"rehearse-feed-result/1\"}", "storage run"},
        {"{\"format\": \"rehearse-plan/9\", \"groups\": []}", NULL},
        {"{\"groups\": []}", "cluster"},
        {"{\"format\": \"rehearse-validation/1\"}", "validation"},
        {"{\"format\": \"npz\", \"folder\": \"d\", \"files_train\": 1}",
         "generated data set"}, /* an older file */
        {"[{\"format\": \"rehearse-plan-check/1\"}]", "checked plan"},
        {"[{\"module\": \"m\", \"rules\": \"xla\", \"flops\": 1, \"instructions\": []}]", "counts"},
        {"{\"traceEvents\": []}", "timeline (Chrome, Perfetto)"},
        {"{\"traceEvent\": []}", NULL},
        {"[]", NULL},
        {"3", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct doc doc;
        struct error err;
        assert_true(doc_parse(&doc, DOC_JSON, "x.json", cases[i].json, strlen(cases[i].json), &err));
        const struct report_kind *kind = report_kind_of_doc(&doc);
        if (cases[i].name)
            assert_string_equal(kind ? kind->name : "(none)", cases[i].name);
        else
            assert_null(kind);
        doc_release(&doc);
    }
    assert_string_equal(report_kind_of_ending("a/run.db")->name, "trace");
    assert_string_equal(report_kind_of_ending("a.PFW.GZ")->name, "trace (DFTracer)");
    assert_null(report_kind_of_ending("a.xyz"));
    assert_null(report_kind_of_ending(".db"));
    assert_non_null(report_kind_of_ending("feed/dlio_config/"));
    assert_non_null(report_kind_of_ending("dlio_config/hydra.yaml"));
    assert_null(report_kind_of_ending("hydra.yaml"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_format_of_the_source_is_known),
        cmocka_unit_test(test_kinds_are_found_by_format_keys_and_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
