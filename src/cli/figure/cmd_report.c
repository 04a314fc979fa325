#include "cli/command.h"
#include "cli/output.h"
#include "core/file.h"
#include "core/json.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report_command {
    struct rh_list folders;
    const char *output, *title;
    bool json;
};

static const struct option_spec table[] = {
    OPTION(report_command, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE",
           .help = "the page; '-' is standard output (default: report.html in the folder)"),
    OPTION(report_command, title, OPTION_TEXT, "title", .argument = "TEXT",
           .help = "title of the page; by default the folder's name"),
    OPTION(report_command, json, OPTION_FLAG, "json",
           .help = "print as JSON, on standard output, the detected kind of each file"),
    OPTION_END,
};

static void print_json(const char *output, const struct report *report, struct text *out)
{
    struct json json = {.out = out};
    json_open_document(&json, "rehearse-report/1");
    json_string(&json, "report", output);
    json_open(&json, "files", '[');
    for (size_t i = 0; i < report->count; i++) {
        json_open_flat(&json, NULL, '{');
        json_string(&json, "path", report->entries[i].path);
        json_string(&json, "kind", report->entries[i].kind);
        json_string(&json, "problem", report->entries[i].problem);
        json_string(&json, "undrawn", report->entries[i].undrawn);
        json_close(&json);
    }
    json_close(&json);
    json_close(&json);
}

static bool deliver(const struct report_command *given, const char *output, struct report *report,
                    struct error *err)
{
    struct text text = {0};
    size_t undrawn = 0;
    if (!output_text(output, &report->page, err))
        return false;
    for (size_t i = 0; i < report->count; i++)
        if (report->entries[i].problem)
            output_warn("not in the report: %s: %s", report->entries[i].path, report->entries[i].problem);
    for (size_t i = 0; i < report->count; i++)
        if (report->entries[i].undrawn) {
            undrawn++;
            output_warn("without its picture: %s: %s", report->entries[i].path, report->entries[i].undrawn);
        }
    if (given->json) {
        print_json(output, report, &text);
        if (!output_and_release(NULL, &text, err))
            return false;
    }
    return undrawn == 0 ||
           error_set(err, ERROR_FAILED, "%s: written, but pictures of %zu file%s could not be drawn", output,
                     undrawn, undrawn == 1 ? "" : "s");
}

static bool run(void *context, struct error *err)
{
    const struct report_command *given = context;
    const char *folder = given->folders.items[0];
    struct report report;
    char *output = NULL;
    enum file_kind kind;
    if (!file_look(folder, &kind, err))
        return false;
    if (kind != FILE_FOLDER)
        return error_set(err, ERROR_INPUT, "%s: %s", folder,
                         kind != FILE_NONE ? "expected a folder, found a file" : "there is no such folder");
    if (given->json && given->output && strcmp(given->output, "-") == 0)
        return error_set(err, ERROR_USAGE, "--json and the page cannot both go to standard output");
    if ((given->output ? asprintf(&output, "%s", given->output)
                       : asprintf(&output, "%s/report.html", folder)) < 0)
        return error_memory(err);
    const struct report_options options = {.folder = folder, .output = output, .title = given->title};
    bool done = report_make(&report, &options, err);
    if (done) {
        done = deliver(given, output, &report, err);
        report_release(&report);
    }
    free(output);
    return done;
}

static const struct command_example examples[] = {
    {"rehearse report runs/", "runs/report.html: all files of the folder on one page"},
    {"rehearse report runs/ -o report.html --title 'UNET3D on the new array'",
     "the page elsewhere, with a title"},
    {NULL, NULL},
};

const struct command command_report = {
    .name = "report",
    .summary = "put all files of a folder on one HTML page",
    .description =
        "Makes one page of the plans, sweeps, profiles, storage runs, traces, comparisons and pictures in a "
        "folder and the folders in it: tables, figures and links to the files. The page needs no network, "
        "and "
        "can be printed.\n\n"
        "The page lists files that it does not understand or cannot read, and a warning names each. A "
        "picture "
        "that cannot be drawn is a warning, too, and makes the exit status 1; the page is written all the "
        "same.",
    .options = table,
    .options_size = sizeof(struct report_command),
    .operands = {.name = "DIR",
                 .help = "the folder",
                 .min = 1,
                 .max = 1,
                 .at = offsetof(struct report_command, folders)},
    .examples = examples,
    .run = run,
};
