#include "figure/gnuplot.h"

#include "core/child.h"
#include "core/file_output.h"
#include "core/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIGURE_MAX_BYTES ((size_t)256 << 20)

/* SVG measures letters in pixels, the other formats in points. */
bool gnuplot_set_terminal(const char *path, int width, int height, double points, struct text *script,
                          struct error *err)
{
    if (text_ends_like(path, ".svg"))
        text_format(
            script,
            "set terminal svg size %d,%d dynamic font 'sans-serif,%d' background 'white' noenhanced\n", width,
            height, (int)(points * 96 / 72));
    else if (text_ends_like(path, ".png"))
        text_format(script,
                    "set terminal pngcairo size %d,%d font 'sans-serif,%g' background 'white' noenhanced\n",
                    width, height, points);
    else if (text_ends_like(path, ".pdf"))
        text_format(script,
                    "set terminal pdfcairo size %g,%g font 'sans-serif,%g' background 'white' noenhanced\n",
                    width / 96.0, height / 96.0, points);
    else
        return error_set(err, ERROR_USAGE, "'%s': a figure is a .svg, .png or .pdf file", path);
    return true;
}

bool figure_can_write(const char *path, struct error *err)
{
    struct text unused = {0};
    bool ok = gnuplot_set_terminal(path, 1, 1, 1, &unused, err);
    text_release(&unused);
    return ok;
}

/* In double quotes, with all that means something there by its number: in single quotes gnuplot cannot have a string
 * that is nothing but quotes. It takes any digits that follow for more of the number, so they are given by theirs. */
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

/* Sets the error to the last line that gnuplot printed: earlier lines show the place, the last one the cause. */
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

/* Runs gnuplot with the script on its standard input and a file as its standard output. It does not
 * check its writes: a file over the size limit ends it, as the signal that we ignore is its own again. */
static bool run_with_files(const struct ends *ends, struct error *err)
{
    /* -d: without the settings of the user or of this folder */
    char *const arguments[] = {"gnuplot", "-d", "-", NULL};
    int status = 0;
    if (child_run(arguments, (const int[]){ends->script, ends->drawing, ends->complaints}, &status))
        return (WIFEXITED(status) && WEXITSTATUS(status) == 0) || gnuplot_failed(ends->complaints, err);
    if (errno == ENOENT)
        return error_set(err, ERROR_FAILED,
                         "figures need gnuplot, which is not installed (Debian: gnuplot-nox)");
    return error_set(err, ERROR_FAILED, "cannot run gnuplot: %s", strerror(errno));
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
    errno = 0;
    ssize_t got = pread(fd, data, (size_t)size, 0);
    bool ok = got == size ? file_write(path, data, (size_t)size, err)
                          : error_set(err, ERROR_FAILED, "cannot read what gnuplot drew: %s",
                                      errno ? strerror(errno) : "it is cut off");
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
