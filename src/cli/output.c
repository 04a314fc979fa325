#include "cli/output.h"

#include "core/file_output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cannot_print(struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write to standard output: %s", strerror(errno));
}

#define LAYOUT "\n\t" /* control characters that texts are laid out with */

/* Forms with an escape of their own, such as JSON, are printable already; tables and other plain text are escaped here. */
static bool is_printable(const struct text *text)
{
    return text->length == 0 || text_printable(text->data, text->length, LAYOUT) == text->length;
}

bool output_text(const char *path, const struct text *text, struct error *err)
{
    if (text->failed)
        return error_memory(err);
    if (!is_printable(text)) {
        struct text escaped = {0};
        text_add_printable(&escaped, text->data, text->length, LAYOUT);
        return output_and_release(path, &escaped, err);
    }
    if (path && strcmp(path, "-") != 0)
        return file_write(path, text->data ? text->data : "", text->length, err);
    if (text->length > 0 && fwrite(text->data, 1, text->length, stdout) != text->length)
        return cannot_print(err);
    return true;
}

void output_say(const struct text *text)
{
    struct text escaped = {0};
    if (!is_printable(text))
        text_add_printable(&escaped, text->data, text->length, LAYOUT);
    const struct text *said = escaped.length > 0 ? &escaped : text;
    if (!text->failed && !escaped.failed && said->length > 0)
        fwrite(said->data, 1, said->length, stderr);
    text_release(&escaped);
}

void output_warn(const char *format, ...)
{
    bool colour = output_has_colour(stderr);
    struct error warning;
    va_list args;
    struct text text = {0};
    va_start(args, format);
    text_vformat(&text, format, args);
    va_end(args);
    error_set(&warning, ERROR_FAILED, "%s", text.failed ? format : text.data);
    fprintf(stderr, "rehearse: %swarning:%s %s\n", colour ? "\033[1;35m" : "", colour ? "\033[0m" : "",
            warning.text);
    text_release(&text);
}

bool output_and_release(const char *path, struct text *text, struct error *err)
{
    bool done = output_text(path, text, err);
    text_release(text);
    return done;
}

bool output_finish(struct error *err)
{
    /* an earlier failed write keeps the stream's error flag set even if this flush has nothing left to do */
    bool failed_before = ferror(stdout) != 0;
    if (fclose(stdout) != 0)
        return cannot_print(err);
    return failed_before ? error_set(err, ERROR_FAILED, "cannot write to standard output") : true;
}

bool output_has_colour(FILE *stream)
{
    const char *terminal = getenv("TERM");
    return isatty(fileno(stream)) && !getenv("NO_COLOR") && !(terminal && strcmp(terminal, "dumb") == 0);
}
