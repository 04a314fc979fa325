#include "cli/output.h"
#include "core/clock.h"
#include "core/file_output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define QUIET_SECONDS 0.5

static bool cannot_print(struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write to standard output: %s", strerror(errno));
}

/* Returns whether the stream is a terminal and colours are wanted. */
static bool has_colour(FILE *stream)
{
    const char *terminal = getenv("TERM");
    return isatty(fileno(stream)) && !getenv("NO_COLOR") && !(terminal && strcmp(terminal, "dumb") == 0);
}

bool output_text(const char *path, const struct text *text, struct error *err)
{
    struct text room = {0};
    if (path && strcmp(path, "-") != 0)
        return file_write_text(path, text, err);
    const struct text *shown = text_shown(text, &room);
    bool done = shown->failed
                    ? error_memory(err)
                    : shown->length == 0 || fwrite(shown->data, 1, shown->length, stdout) == shown->length ||
                          cannot_print(err);
    text_release(&room);
    return done;
}

void output_warning(void *unused, const char *text)
{
    bool colour = has_colour(stderr);
    struct error warning;
    (void)unused;
    error_set(&warning, ERROR_FAILED, "%s", text);
    fprintf(stderr, "rehearse: %swarning:%s %s\n", colour ? "\033[1;35m" : "", colour ? "\033[0m" : "",
            warning.text);
}

static void show_progress(void *unused, const char *what, const char *detail)
{
    static double started;
    static bool shown;
    (void)unused;
    if (detail && !*detail)
        started = clock_now();
    if (detail && *detail && clock_now() - started >= QUIET_SECONDS) {
        fprintf(stderr, "\r\033[K%s  %s", what, detail);
        shown = true;
    } else if (!detail && shown) {
        fputs("\r\033[K", stderr);
        shown = false;
    }
    fflush(stderr);
}

output_progress *output_shows_progress(void)
{
    return isatty(STDERR_FILENO) ? show_progress : NULL;
}

bool output_check(const char *path, struct error *err)
{
    struct stat old;
    struct text folder = {0};
    const char *slash = path ? strrchr(path, '/') : NULL;
    bool is_there = path && strcmp(path, "-") != 0 && stat(path, &old) == 0;
    if (is_there && S_ISDIR(old.st_mode))
        return error_set(err, ERROR_FAILED, "%s: cannot write: it is a directory", path);
    if (!path || strcmp(path, "-") == 0 || (is_there && !S_ISREG(old.st_mode)))
        return true;
    if (slash)
        text_add_bytes(&folder, path, (size_t)(slash - path) + 1);
    else
        text_add(&folder, ".");
    bool done = folder.failed ? error_memory(err)
                : access(folder.data, W_OK | X_OK) == 0
                    ? true
                    : error_set(err, ERROR_FAILED, "%s: cannot write: %s", path, strerror(errno));
    text_release(&folder);
    return done;
}

bool output_and_release(const char *path, struct text *text, struct error *err)
{
    bool done = output_text(path, text, err);
    text_release(text);
    return done;
}

void output_error(const struct error *err)
{
    bool colour = has_colour(stderr);
    fprintf(stderr, "rehearse: %serror:%s %s\n", colour ? "\033[1;31m" : "", colour ? "\033[0m" : "",
            err->text);
}

bool output_finish(struct error *err)
{
    /* an earlier failed write keeps the stream's error flag set even if this flush has nothing left to do */
    bool failed_before = ferror(stdout) != 0;
    int closed = fclose(stdout);
    if (closed != 0)
        return cannot_print(err);
    return failed_before ? error_set(err, ERROR_FAILED, "cannot write to standard output") : true;
}
