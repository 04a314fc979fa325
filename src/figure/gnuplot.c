#include "figure/gnuplot.h"

#include "core/file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIGURE_MAX_BYTES ((size_t)256 << 20)
#define NOT_FOUND        127 /* exit status of a child that could not start its program */

extern char **environ;

/* Letters of SVG are measured in pixels, those of the others in points. */
bool gnuplot_set_terminal(const char *path, int width, int height, const struct figure_style *style,
                          struct text *script, struct error *err)
{
    const char *ending = strrchr(path, '.');
    if (ending && strcasecmp(ending, ".svg") == 0)
        text_format(
            script,
            "set terminal svg size %d,%d dynamic font 'sans-serif,%d' background 'white' noenhanced\n", width,
            height, (int)(style->points * 96 / 72));
    else if (ending && strcasecmp(ending, ".png") == 0)
        text_format(script,
                    "set terminal pngcairo size %d,%d font 'sans-serif,%g' background 'white' noenhanced\n",
                    width, height, style->points);
    else if (ending && strcasecmp(ending, ".pdf") == 0)
        text_format(script,
                    "set terminal pdfcairo size %g,%g font 'sans-serif,%g' background 'white' noenhanced\n",
                    width / 96.0, height / 96.0, style->points);
    else
        return error_set(err, ERROR_USAGE, "'%s': a figure is a .svg, .png or .pdf file", path);
    return true;
}

bool figure_can_write(const char *path, struct error *err)
{
    struct text unused = {0};
    bool ok = gnuplot_set_terminal(path, 1, 1, &figure_screen, &unused, err);
    text_release(&unused);
    return ok;
}

/* In double quotes, with all that means something there by its number: in single quotes gnuplot cannot have a string that
 * is nothing but quotes. It takes any digits that follow for more of the number, so they are given by theirs. */
static void add_string(struct text *script, const char *string, const char *percent)
{
    bool by_number = false;
    struct text plain = {0};
    text_add_printable(&plain, string, strlen(string), "");
    text_add(script, "\"");
    for (const char *at = plain.data; at && *at; at++) {
        by_number = strchr("\"\\`@", *at) || (by_number && *at >= '0' && *at <= '9');
        if (by_number)
            text_format(script, "\\%03o", (unsigned)*at);
        else if (*at == '%')
            text_add(script, percent);
        else
            text_add_bytes(script, at, 1);
    }
    text_add(script, "\"");
    script->failed = script->failed || plain.failed;
    text_release(&plain);
}

void gnuplot_add_string(struct text *script, const char *string)
{
    add_string(script, string, "%");
}

void gnuplot_add_tic(struct text *script, const char *label, double at)
{
    add_string(script, label, "%%");
    text_format(script, " %.12g", at);
}

/* Where gnuplot reads and writes: files without names. */
struct ends {
    int script, drawing, complaints;
};

/* The last line that gnuplot said: the ones before show where, this one what. */
static bool gnuplot_failed(int complaints, struct error *err)
{
    char said[512];
    ssize_t length = pread(complaints, said, sizeof said - 1, 0);
    while (length > 0 && (said[length - 1] == '\n' || said[length - 1] == ' '))
        length--;
    said[length > 0 ? length : 0] = '\0';
    const char *line = strrchr(said, '\n');
    line = line ? line + 1 : said;
    return error_set(err, ERROR_FAILED, "gnuplot failed%s%s", *line ? ": " : "", line + strspn(line, " "));
}

/* gnuplot does not look at what its writes come to: a file over the size limit is to end it, even where we ignore that signal. */
static bool init_attributes(posix_spawnattr_t *attributes)
{
    sigset_t ending;
    sigemptyset(&ending);
    sigaddset(&ending, SIGXFSZ);
    if (posix_spawnattr_init(attributes) != 0)
        return false;
    posix_spawnattr_setsigdefault(attributes, &ending);
    posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGDEF);
    return true;
}

/* Runs gnuplot with the script on its standard input and a file as its standard output. */
static bool run_with_files(const struct ends *ends, struct error *err)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    /* -d: not what the user, or this folder, has set for other drawings. */
    char *const arguments[] = {"gnuplot", "-d", "-", NULL};
    pid_t child;
    int status = 0;
    if (!init_attributes(&attributes))
        return error_memory(err);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        posix_spawnattr_destroy(&attributes);
        return error_memory(err);
    }
    posix_spawn_file_actions_adddup2(&actions, ends->script, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends->drawing, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, ends->complaints, STDERR_FILENO);
    int failed = posix_spawnp(&child, "gnuplot", &actions, &attributes, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    while (!failed && waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            failed = errno;
    if (failed == ENOENT || (!failed && WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND))
        return error_set(err, ERROR_FAILED,
                         "figures need gnuplot, which is not installed (Debian: gnuplot-nox)");
    if (failed)
        return error_set(err, ERROR_FAILED, "cannot run gnuplot: %s", strerror(failed));
    return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || gnuplot_failed(ends->complaints, err);
}

/* A file without a name, for one of gnuplot's ends. */
static int open_scratch(struct error *err)
{
    FILE *file = tmpfile();
    int fd = file ? fcntl(fileno(file), F_DUPFD_CLOEXEC, 3) : -1;
    if (fd < 0)
        error_set(err, ERROR_FAILED, "cannot make a temporary file: %s", strerror(errno));
    if (file)
        fclose(file);
    return fd;
}

static bool put_script(int fd, const struct text *script, struct error *err)
{
    size_t done = 0;
    while (done < script->length) {
        ssize_t written = write(fd, script->data + done, script->length - done);
        if (written < 0 && errno != EINTR)
            return error_set(err, ERROR_FAILED, "cannot write a temporary file: %s", strerror(errno));
        done += written > 0 ? (size_t)written : 0;
    }
    return lseek(fd, 0, SEEK_SET) == 0 || error_set(err, ERROR_FAILED, "cannot rewind: %s", strerror(errno));
}

static bool fetch_drawing(int fd, const char *path, struct error *err)
{
    off_t size = lseek(fd, 0, SEEK_END);
    if (size <= 0 || (size_t)size > FIGURE_MAX_BYTES)
        return error_set(err, ERROR_FAILED, "gnuplot drew nothing");
    char *data = malloc((size_t)size);
    if (!data)
        return error_memory(err);
    ssize_t got = pread(fd, data, (size_t)size, 0);
    bool ok = got == size ? file_write(path, data, (size_t)size, err)
                          : error_set(err, ERROR_FAILED, "cannot read what gnuplot drew");
    free(data);
    return ok;
}

static void close_ends(const struct ends *ends)
{
    const int files[] = {ends->script, ends->drawing, ends->complaints};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] >= 0)
            close(files[i]);
}

bool gnuplot_run(const char *path, const struct text *script, struct error *err)
{
    if (script->failed)
        return error_memory(err);
    struct ends ends = {open_scratch(err), open_scratch(err), open_scratch(err)};
    bool ok = ends.script >= 0 && ends.drawing >= 0 && ends.complaints >= 0 &&
              put_script(ends.script, script, err) && run_with_files(&ends, err) &&
              fetch_drawing(ends.drawing, path, err);
    close_ends(&ends);
    return ok;
}
