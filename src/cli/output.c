#include "cli/output.h"

#include "core/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool cannot_print(struct error *err)
{
    return error_set(err, ERROR_FAILED, "cannot write to standard output: %s", strerror(errno));
}

bool output_text(const char *path, const struct text *text, struct error *err)
{
    if (text->failed)
        return error_memory(err);
    if (path && strcmp(path, "-") != 0)
        return file_write(path, text->data ? text->data : "", text->length, err);
    if (text->length > 0 && fwrite(text->data, 1, text->length, stdout) != text->length)
        return cannot_print(err);
    return true;
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
