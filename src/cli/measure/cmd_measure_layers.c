#include "cli/answer.h"
#include "cli/command.h"
#include "cli/output.h"

#include <stdio.h>
#include <string.h>

/* The command line, for the record. */
static bool read_command(struct text *command, struct error *err)
{
    char bytes[4096];
    struct text words = {0};
    FILE *file = fopen("/proc/self/cmdline", "re");
    for (size_t read; file && (read = fread(bytes, 1, sizeof bytes, file)) > 0;)
        text_add_bytes(&words, bytes, read);
    if (file)
        fclose(file);
    for (size_t at = 0; !words.failed && at < words.length; at += strlen(words.data + at) + 1) {
        const char *word = words.data + at;
        const char *slash = at == 0 ? strrchr(word, '/') : NULL;
        if (at > 0)
            text_add(command, " ");
        text_add(command, slash ? slash + 1 : word);
    }
    bool done = !words.failed && !command->failed;
    text_release(&words);
    return done || error_memory(err);
}

/* A profile that goes to standard output stands there alone. */
static bool measure(struct command_line *line, const struct rh_measure_layers_request *asked,
                    struct error *err)
{
    bool only_plugin = asked->pjrt && asked->files.count == 0;
    if (only_plugin && line->json)
        return error_set(err, ERROR_USAGE,
                         "expected files to measure (without files, only the plugin is shown)");
    if (!output_check(asked->output, err))
        return false;
    rh_report *report = answer_ask(line, err);
    bool alone = asked->output && strcmp(asked->output, "-") == 0;
    bool done = report && (alone || answer_write(report, line, err));
    rh_free(report);
    return done;
}

static bool run_measure_layers(void *context, struct error *err)
{
    struct rh_measure_layers_request *asked = context;
    struct text command = {0};
    bool done = read_command(&command, err);
    asked->command = command.data;
    done = done && measure(context, asked, err);
    text_release(&command);
    return done;
}

COMMAND(measure_layers, &api_measure_layers, .options = COMMAND_ROWS(LINE_JSON), .run = run_measure_layers);
