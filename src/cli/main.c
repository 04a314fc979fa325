/* rehearse: finds the command, runs it, and turns an error into one line and an exit code. */
#include "cli/command.h"
#include "cli/output.h"
#include "cli/stop.h"
#include "core/caller.h"
#include "core/child.h"

#include <signal.h>
#include <string.h>
#include <sys/resource.h>

static bool is_any(const char *word, const char *one, const char *other)
{
    return strcmp(word, one) == 0 || strcmp(word, other) == 0;
}

static bool run_command(int argc, char **argv, struct error *err)
{
    if (argc < 2)
        return error_set(err, ERROR_USAGE, "which command? see 'rehearse help'");
    if (is_any(argv[1], "--help", "-h"))
        argv[1] = "help";
    else if (is_any(argv[1], "--version", "-V"))
        argv[1] = "version";
    struct caller terminal = {.progress = output_shows_progress(), .warning = output_warning};
    caller_set(&terminal);
    bool done = command_execute(argc - 1, argv + 1, err);
    caller_set(NULL);
    return atomic_load(&terminal.starved) ? error_memory(err) : done;
}

/* A file that grows over the limit of its size is a failed write, with a message, and not the end by a signal. As many
 * files may be open as the administrator allows: some hundred threads that read hold several each, and the usual limit
 * of 1024 is one that programs are expected to raise (it is for select(), which is not used here). */
static void set_limits(void)
{
    struct rlimit files;
    signal(SIGXFSZ, SIG_IGN);
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= files.rlim_max)
        return;
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
}

int main(int argc, char **argv)
{
    child_note_start();
    set_limits();
    clean_on_signals();
    struct error err = {.kind = ERROR_FAILED};
    bool done = run_command(argc, argv, &err);
    struct error lost;
    if (!output_finish(&lost) && done) {
        err = lost;
        done = false;
    }
    if (!done)
        output_error(&err);
    return done ? 0 : (int)err.kind;
}
