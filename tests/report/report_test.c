#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/file_output.h"
#include "report/folder.h"
#include "report/parts.h"
#include "report/report.h"
#include "trace/store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A folder for one test; what is in it goes with it. */
static char folder[] = "/tmp/rehearse-report-XXXXXX";

static int set_up(void **state)
{
    (void)state;
    memcpy(folder + strlen(folder) - 6, "XXXXXX", sizeof "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_all(const char *path, bool self)
{
    DIR *stream = opendir(path);
    const struct dirent *entry;
    while (stream && (entry = readdir(stream))) {
        char below[4096];
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(below, sizeof below, "%s/%s", path, entry->d_name);
        struct stat facts;
        if (lstat(below, &facts) == 0 && S_ISDIR(facts.st_mode))
            remove_all(below, true);
        else
            unlink(below);
    }
    if (stream)
        closedir(stream);
    if (self)
        rmdir(path);
}

static int tear_down(void **state)
{
    (void)state;
    remove_all(folder, true);
    return 0;
}

static char *in_folder(const char *name)
{
    char *path = NULL;
    assert_true(asprintf(&path, "%s/%s", folder, name) > 0);
    return path;
}

static void put(const char *name, const char *content)
{
    char *path = in_folder(name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static struct report made(const char *output)
{
    struct report report;
    struct error err;
    const struct report_options options = {.folder = folder, .output = output, .title = "Test"};
    if (!report_make(&report, &options, &err))
        fail_msg("%s", err.text);
    return report;
}

static const struct report_entry *entry_of(const struct report *report, const char *path)
{
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->entries[i].path, path) == 0)
            return &report->entries[i];
    fail_msg("'%s' is not in the report", path);
    return NULL;
}

/* In the page before its own script, which stands at the end. */
static bool says(const struct report *report, const char *text)
{
    const char *script = strstr(report->page.data, "<script>");
    assert_non_null(script);
    assert_null(strstr(script + 1, "<script"));
    return memmem(report->page.data, (size_t)(script - report->page.data), text, strlen(text)) != NULL;
}

static const char comparison[] = "{\"format\": \"rehearse-comparison/1\", \"a\": \"a.db\", \"b\": \"b.db\", "
                                 "\"similarity\": 0.75, \"low\": 0.7, "
                                 "\"high\": 0.8, \"floor\": 0.9, \"within_noise\": false, \"differs_most\": "
                                 "{\"kind\": \"size\", \"name\": \"read.ks\"}, "
                                 "\"lost_a\": 3, \"lost_b\": 0, \"components\": [{\"kind\": \"size\", "
                                 "\"name\": \"read.ks\", \"weight\": 0.5, "
                                 "\"similarity\": 0.5, \"low\": 0.4, \"high\": 0.6, \"drawn\": false, "
                                 "\"floor\": 0.95, \"within_noise\": false}]}";

static const char pipeline[] =
    "{\"format\": \"rehearse-plan/2\", \"objective\": \"pipeline\", \"iteration_time\": 0.0849, \"gap\": "
    "0.05, \"lower_bound\": 0.080655, \"proven_optimal\": false, \"pipelines\": [{\"stages\": [{\"layers\": "
    "[0, 2], \"device_type\": \"fast\", \"tensor\": 2, \"seconds\": {\"forward\": 0.0031, \"backward\": "
    "0.0056}, \"bytes\": {\"total\": 20000000}}]}]}";

static void test_numbers_reach_the_page(void **state)
{
    (void)state;
    put("plan.json", pipeline);
    put("compare.json", comparison);
    struct report report = made(NULL);
    assert_int_equal(report.count, 2);
    assert_string_equal(report.entries[0].path, "plan.json"); /* plans first */
    assert_true(says(&report, "84.90 ms"));
    assert_true(says(&report, "No plan takes less than 80.66 ms (gap 5 %)"));
    assert_true(says(&report, "<td class=\"s\">0\u20132</td>"));
    assert_true(says(&report, "19.1 MiB"));
    assert_true(says(&report, ">similarity</dt><dd>0.75</dd>"));
    assert_true(says(&report, ">lost a</dt><dd>3</dd>"));
    assert_true(says(&report, "<td class=\"s\">read.ks</td><td class=\"n\">0.5</td>"));
    report_release(&report);
}

static void test_storage_runs_say_what_failed(void **state)
{
    (void)state;
    put("result.json",
        "{\"schema\": \"rehearse-feed-result/1\", \"version\": \"1.2\", \"workload\": \"unet3d\", "
        "\"accelerators\": 2, "
        "\"training\": {\"au\": 0.75, \"au_target\": 0.9, \"au_met\": false, \"bytes_per_second\": 2.5e9, "
        "\"shares\": {\"compute\": 0.75, \"load\": 0.25}, \"wait_seconds\": {\"p50\": 0.001, \"p99\": 0.5}, "
        "\"epochs\": [{\"epoch\": 1, \"au\": 0.7}]}, \"checkpoints\": {\"save\": {\"count\": 3, \"bytes\": "
        "1048576, "
        "\"duration_mean\": 1.5}, \"load\": null}, \"checks\": [{\"name\": \"ran\", \"passed\": true}, "
        "{\"name\": \"every sample once\", \"passed\": false, \"expected\": 42, \"found\": 41}], \"passed\": "
        "false, "
        "\"overrides\": [\"reader.batch_size=<2>\"]}");
    struct report report = made(NULL);
    assert_true(says(&report, "<td>AU 75.0 %, checks failed</td>"));
    assert_true(says(&report, "90 %, missed"));
    assert_true(says(&report, "2.500 GB/s"));
    assert_true(says(&report, "aria-label=\"compute 75.0 %, waiting for data 25.0 %\""));
    assert_true(
        says(&report,
             "<th scope=\"row\">wait for data</th><td class=\"n\">\u2013</td><td class=\"n\">1.000 ms</td>"));
    assert_true(
        says(&report, "<th scope=\"row\">saved</th><td class=\"n\">3</td><td class=\"n\">1.00 MiB</td>"));
    assert_true(says(&report, "<td class=\"bad\">failed</td><td>found 41, expected 42</td>"));
    assert_true(says(&report, "set reader.batch_size=&lt;2&gt;"));
    report_release(&report);
}

static void test_any_document_is_a_table(void **state)
{
    (void)state;
    put("steps.json",
        "{\"format\": \"rehearse-steps/1\", \"workload\": \"UNET3D\", \"malformed\": 2, \"configurations\": "
        "[{\"gpus\": 8, \"batch\": 4, \"seconds\": {\"step_end\": {\"count\": 3, \"mean\": 1}}}]}");
    put("matrix.json", "{\"format\": \"rehearse-comparison-matrix/1\", \"traces\": [{\"label\": \"<b>\"}], "
                       "\"similarity\": [[1, 0.5], [0.5, 1]]}");
    put("max.json", "{\"format\": \"rehearse-max-accelerators/1\", \"accelerators\": 2, \"au_target\": 0.9, "
                    "\"probes\": [{\"accelerators\": 1, \"au\": 0.957, \"met\": true}], \"steps\": "
                    "[{\"all\": [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}, {}]}]}");
    struct report report = made(NULL);
    assert_true(says(&report, ">malformed</dt><dd>2</dd>"));
    assert_true(says(&report, "<td class=\"n\">8</td><td class=\"n\">4</td><td class=\"s\">step end count 3, "
                              "mean 1</td>"));
    assert_true(says(&report, ">similarity</dt><dd>1, 0.5, 0.5, 1</dd>"));
    assert_true(says(&report, "<td class=\"s\">&lt;b&gt;</td>"));
    assert_true(says(&report, ">au target</dt><dd>90.00 %</dd>"));
    assert_true(says(&report, "<td class=\"n\">95.70 %</td><td class=\"s\">yes</td>"));
    assert_true(says(&report, "<td class=\"s\">13 values</td>"));
    report_release(&report);
}

/* A trace of 20 reads of 1000 bytes, every fifth not from the page cache, one failed write, a read of a pipe, cut off, and what was lost. */
static bool put_trace(const char *name)
{
    struct error err;
    char *path = in_folder(name);
    struct trace_writer *writer = trace_writer_new(path, TRACE_STORE_WHOLE, &err);
    free(path);
    if (!writer) {
        print_message("skipped: %s\n", err.text);
        return false;
    }
    int64_t file = trace_file(writer, 1, 2, "/data/<b>sample</b>.npz", 23),
            process = trace_process(writer, 42, 42, "loader", 6);
    int64_t call = trace_call(writer, "pread64", 7), disk = trace_disk(writer, "vda", 3);
    struct trace_event event = {.class = TRACE_READ,
                                .latency_ns = 2000000,
                                .process = process,
                                .file = file,
                                .call = call,
                                .fd = 3,
                                .size = 1000,
                                .result = 1000};
    for (int i = 0; i < 20; i++) {
        event.start_ns = 1000000000 + i * 100000000LL;
        event.cached = i % 5 != 0;
        assert_true(trace_add_event(writer, &event, &err));
    }
    event.class = TRACE_WRITE;
    event.result = -28;
    event.cached = -1;
    assert_true(trace_add_event(writer, &event, &err));
    event.class = TRACE_READ;
    event.result = 5;
    event.latency_ns = 1000;
    event.file = trace_file(writer, TRACE_NONE, TRACE_NONE, "pipe:[7]", 8);
    assert_true(trace_add_event(writer, &event, &err));
    trace_writer_cut(writer);
    const struct trace_block block = {.op = TRACE_OP_READ,
                                      .start_ns = 1000000000,
                                      .queue_ns = 1000,
                                      .service_ns = 3000000,
                                      .sector = 8,
                                      .bytes = 4096,
                                      .disk = disk,
                                      .process = process,
                                      .file = file};
    const struct trace_phase phase = {"TRAINING", 1000000000, 2000000000, "mllog"};
    assert_true(trace_add_block(writer, &block, &err) && trace_add_phase(writer, &phase, &err));
    assert_true(trace_add_lost(writer, "read", 7, TRACE_NONE, TRACE_NONE, &err) &&
                trace_set_meta(writer, "command", "python <train>.py", &err));
    if (!trace_writer_close(writer, &err))
        fail_msg("%s", err.text);
    return true;
}

static void test_traces_are_summed_up(void **state)
{
    (void)state;
    if (!put_trace("run.db"))
        skip();
    struct report report = made(NULL);
    assert_null(entry_of(&report, "run.db")->problem);
    assert_true(says(&report, "22 events in 1.902 s, 19.5 KiB read, cut off, 7 lost"));
    assert_true(says(&report, "Incomplete: unfinished: the recording ends 1.9"));
    assert_true(says(&report, "<th scope=\"row\">read, pipe</th><td class=\"n\">1</td>"));
    assert_true(says(&report, "python &lt;train&gt;.py"));
    assert_true(says(&report, "reads from the page cache</dt><dd>80.0 %"));
    assert_true(says(&report, "<th scope=\"row\">read</th><td class=\"n\">20</td><td class=\"n\">0</td>"
                              "<td class=\"n\">19.5 KiB</td><td class=\"n\">2.000 ms</td>"));
    assert_true(says(&report, "<th scope=\"row\">write</th><td class=\"n\">1</td><td class=\"n\">1</td>"
                              "<td class=\"n\">0 B</td>"));
    assert_true(says(
        &report, "<th scope=\"row\">vda</th><td>read</td><td class=\"n\">1</td><td class=\"n\">4.00 KiB</td>"
                 "<td class=\"n\">3.000 ms</td>"));
    assert_true(says(&report, "<th scope=\"row\">TRAINING</th>"));
    assert_true(says(&report, "/data/&lt;b&gt;sample&lt;/b&gt;.npz"));
    assert_true(says(&report, "Incomplete: lost: 7 read events."));
    report_release(&report);
}

static void test_nothing_from_outside_is_markup(void **state)
{
    static const char attack[] = "<script>alert(1)</script><img src=x onerror=alert(2)>\\\"'&";
    (void)state;
    struct text json = {0};
    text_format(&json,
                "{\"format\": \"rehearse-plan/2\", \"model\": {\"name\": \"%s\"}, \"objective\": \"%s\", "
                "\"iteration_time\": 1, \"pipelines\": [{\"stages\": [{\"device_type\": \"%s\", \"layers\": "
                "[0, 1]}]}], "
                "\"figures\": {\"%s\": 1}}",
                attack, attack, attack, attack);
    put("<script>alert(3)<\\script>.json", json.data);
    text_release(&json);
    text_format(&json,
                "{\"format\": \"rehearse-checkpoint/1\", \"%s\": \"%s\", \"list\": [{\"%s\": \"%s\"}]}",
                attack, attack, attack, attack);
    put("checkpoint.json", json.data);
    text_release(&json);
    text_format(&json, "{\"format\": \"rehearse-%s/1\"}", attack);
    put("unknown.json", json.data);
    text_release(&json);
    put("evil.svg", "<svg xmlns='http://www.w3.org/2000/svg' onload='alert(4)'><script>alert(5)</script>"
                    "<foreignObject><iframe src='http://example.org'/></foreignObject></svg>");
    put("javascript:alert(6).csv", "x");
    struct report report = made(NULL);
    assert_false(says(&report, "<script"));
    assert_false(says(&report, "<img src=x"));
    assert_false(says(&report, "onload"));
    assert_false(says(&report, "<foreignObject"));
    assert_false(says(&report, "\"javascript:"));
    assert_true(says(&report, "&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert_true(says(&report, "href=\"javascript%3Aalert%286%29.csv\""));
    report_release(&report);
}

/* Every address in the page is data, a place in it, or a file beside it. */
static void test_the_page_asks_for_nothing(void **state)
{
    (void)state;
    put("plan.json", pipeline);
    put("figure.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>");
    struct report report = made(NULL);
    static const char *const attributes[] = {"href=\"", "src=\""};
    int seen = 0;
    for (int i = 0; i < 2; i++)
        for (const char *at = report.page.data; (at = strstr(at, attributes[i])); seen++) {
            at += strlen(attributes[i]);
            size_t colon = strcspn(at, ":\"");
            assert_true(at[colon] == '"' || strncmp(at, "data:image/", 11) == 0);
        }
    assert_true(seen > 5);
    assert_false(says(&report, "url("));
    assert_false(says(&report, "@import"));
    assert_false(says(&report, "<link"));
    assert_true(says(&report, "default-src 'none'"));
    assert_true(says(&report, "script-src 'sha256-"));
    report_release(&report);
}

static void test_what_is_wrong_is_told_and_the_rest_is_shown(void **state)
{
    (void)state;
    put("a.json", "{\"format\": \"rehearse-plan/2\",");
    put("b.json", "{\"format\": \"rehearse-plan/1\"}");
    put("c.json", "{\"format\": \"rehearse-plan/77\"}");
    put("d.json", "{\"some\": 1}");
    put("e.db", "no database at all, but long enough to have been one, had it been meant to be one, which it "
                "was not");
    put("f.png", "GIF89a");
    put("g.json", comparison);
    put("h.xyz", "?");
    struct report report = made(NULL);
    assert_int_equal(report.count, 8);
    assert_non_null(strstr(entry_of(&report, "a.json")->problem, "a.json:1:"));
    assert_non_null(strstr(entry_of(&report, "b.json")->problem, "'rehearse-plan/1' is no longer read"));
    assert_non_null(strstr(entry_of(&report, "c.json")->problem, "unknown format 'rehearse-plan/77'"));
    assert_non_null(strstr(entry_of(&report, "d.json")->problem, "no 'format'"));
    assert_non_null(entry_of(&report, "e.db")->problem);
    assert_non_null(strstr(entry_of(&report, "f.png")->problem, "no PNG picture"));
    assert_null(entry_of(&report, "g.json")->problem);
    assert_null(entry_of(&report, "h.xyz")->problem);
    assert_null(entry_of(&report, "h.xyz")->kind);
    assert_true(says(&report, "id=\"problems\""));
    assert_true(says(&report, "h.xyz"));
    assert_false(says(&report, folder)); /* where the folder lies is not in the page */
    report_release(&report);
}

static void test_same_folder_same_bytes(void **state)
{
    struct error err;
    (void)state;
    put("plan.json", pipeline);
    put("b.json", comparison);
    char *output = in_folder("report.html");
    struct report first = made(output);
    assert_true(file_write(output, first.page.data, first.page.length, &err));
    struct report second = made(output); /* the page itself is not in it */
    assert_int_equal(first.page.length, second.page.length);
    assert_memory_equal(first.page.data, second.page.data, first.page.length);
    assert_int_equal(second.count, 2);
    report_release(&second);
    second = made(NULL);
    assert_string_equal(entry_of(&second, "report.html")->kind, "page");
    report_release(&second);
    report_release(&first);
    free(output);
}

static void test_links_lead_from_the_page_to_the_files(void **state)
{
    struct error err;
    (void)state;
    static const struct {
        const char *output, *link;
    } cases[] = {
        {"report.html", "href=\"a%20b.json\""},
        {"sub/report.html", "href=\"../a%20b.json\""},
        {"sub/deep/report.html", "href=\"../../a%20b.json\""},
    };
    char *path = in_folder("sub");
    assert_true(file_make_directory(path, &err));
    free(path);
    path = in_folder("sub/deep");
    assert_true(file_make_directory(path, &err));
    free(path);
    put("a b.json", comparison);
    put("sub/c.json", comparison);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *output = in_folder(cases[i].output);
        struct report report = made(output);
        assert_true(says(&report, cases[i].link));
        report_release(&report);
        free(output);
    }
    struct report report = made("/report-of-a-test.html");
    char link[128];
    snprintf(link, sizeof link, "href=\"%s/sub/c.json\"", folder + 1);
    assert_true(says(&report, link));
    assert_non_null(strstr(entry_of(&report, "sub/deep/")->problem, "not read"));
    report_release(&report);
}

static void test_limits_are_named(void **state)
{
    char name[64];
    struct error err;
    struct report report;
    (void)state;
    for (int i = 0; i < REPORT_MAX_SECTIONS + 1; i++) {
        snprintf(name, sizeof name, "%05d.json", i);
        put(name, "{\"format\": \"rehearse-checkpoint/1\", \"epoch\": 1}");
    }
    report = made(NULL);
    assert_null(entry_of(&report, "00999.json")->problem);
    assert_string_equal(entry_of(&report, "01000.json")->problem,
                        "not shown: the page has 1000 files already");
    report_release(&report);
    char *path = in_folder("many");
    assert_true(file_make_directory(path, &err));
    for (int i = 0; i <= REPORT_MAX_FILES; i++) {
        char file[128];
        snprintf(file, sizeof file, "%s/%d", path, i);
        int fd = open(file, O_CREAT | O_WRONLY, 0600);
        assert_true(fd >= 0);
        close(fd);
    }
    report = made(NULL);
    assert_non_null(strstr(entry_of(&report, "many/")->problem, "more than 16384 files"));
    report_release(&report);
    const struct report_options many = {.folder = path};
    assert_false(report_make(&report, &many, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "more than 16384 files"));
    free(path);
}

static void test_folders_without_anything_are_bad_input(void **state)
{
    struct error err;
    struct report report;
    const struct report_options options = {.folder = folder};
    const struct report_options nowhere = {.folder = "/tmp/rehearse-there-is-none"};
    (void)state;
    assert_false(report_make(&report, &nowhere, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_false(report_make(&report, &options, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "this folder contains nothing to report"));
    put("a.xyz", "");
    assert_false(report_make(&report, &options, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_non_null(strstr(err.text, "none of the 1 files can be reported"));
}

/* What has every key of a format, but all of the wrong type, is shown without numbers, not read wrongly. */
static void test_wrong_types_do_no_harm(void **state)
{
    static const char *const values[] = {"null", "true",   "-1e308",     "\"x\"", "[]",
                                         "{}",   "[1, 2]", "{\"a\": 1}", "[{}]"};
    static const char *const keys[] = {"plans",       "pipelines", "stages",     "points",      "training",
                                       "components",  "layers",    "devices",    "checkpoints", "storage",
                                       "hosts",       "checks",    "similarity", "memory",      "parts",
                                       "sensitivity", "front",     "templates"};
    (void)state;
    for (const struct report_kind *kind = report_kinds; kind->name; kind++)
        for (size_t v = 0; kind->format && v < sizeof values / sizeof *values; v++) {
            struct text json = {0};
            text_format(&json, "{\"format\": \"%s\"", kind->format);
            for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
                text_format(&json, ", \"%s\": %s", keys[k], values[v]);
            text_add(&json, "}");
            put("x.json", json.data);
            text_release(&json);
            struct report report = made(NULL);
            assert_string_equal(entry_of(&report, "x.json")->kind, kind->name);
            report_release(&report);
        }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_numbers_reach_the_page),
        TEST(test_storage_runs_say_what_failed),
        TEST(test_any_document_is_a_table),
        TEST(test_traces_are_summed_up),
        TEST(test_nothing_from_outside_is_markup),
        TEST(test_the_page_asks_for_nothing),
        TEST(test_what_is_wrong_is_told_and_the_rest_is_shown),
        TEST(test_same_folder_same_bytes),
        TEST(test_links_lead_from_the_page_to_the_files),
        TEST(test_limits_are_named),
        TEST(test_folders_without_anything_are_bad_input),
        TEST(test_wrong_types_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
