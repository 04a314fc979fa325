/* rehearse: finds the command, runs it, and turns what went wrong into one line and an exit code. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/usage.h"

#include <stdio.h>
#include <string.h>

static bool is_any(const char *word, const char *one, const char *other)
{
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static bool run(int argc, char **argv, struct error *err)
{
    if (argc < 2)
        return error_set(err, ERROR_USAGE, "which command? see 'rehearse help'");
    if (is_any(argv[1], "--help", "-h"))
        argv[1] = "help";
    else if (is_any(argv[1], "--version", "-V"))
        argv[1] = "version";
    return command_run(argc - 1, argv + 1, err);
}

int main(int argc, char **argv)
{
    struct error err = {.kind = ERROR_FAILED};
    bool done = run(argc, argv, &err);
    struct error lost;
    if (!output_finish(&lost) && done) {
        err = lost;
        done = false;
    }
    if (!done) {
        bool colour = output_has_colour(stderr);
        fprintf(stderr, "rehearse: %serror:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "",
                err.text);
    }
    return done ? 0 : (int)err.kind;
}
