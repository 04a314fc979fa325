#include "api/figure/picture.h"

#include "core/fields.h"
#include "core/file.h"
#include "figure/gnuplot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PICTURE ((size_t)256 << 20) /* bytes */

struct picture {
    rh_handle base;
    char *svg;
    size_t length;
};

static bool write_svg(const rh_handle *handle, struct text *out, struct error *err)
{
    const struct picture *picture = (const struct picture *)handle;
    (void)err;
    text_add_bytes(out, picture->svg, picture->length);
    return true;
}

static void release(rh_handle *handle)
{
    free(((struct picture *)handle)->svg);
}

static const struct api_form forms[] = {{.name = "svg", .write = write_svg}, {.name = NULL}};
static const struct api_kind kind = {.name = "figure", .forms = forms, .release = release};

/* gnuplot writes a file, which is read again: a pipe would have no ending that says what to draw. */
static bool draw_into(struct picture *picture, picture_fn *draw, const void *context, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char name[4096], path[sizeof name + 16];
    if (!folder || strlen(folder) > sizeof name - 32)
        folder = "/tmp";
    snprintf(name, sizeof name, "%s/rehearse-XXXXXX", folder);
    if (!mkdtemp(name))
        return error_set(err, ERROR_FAILED, "%s: cannot make a folder: %s", folder, strerror(errno));
    snprintf(path, sizeof path, "%s/picture.svg", name);
    bool done =
        draw(context, path, err) && file_read(path, MAX_PICTURE, &picture->svg, &picture->length, err);
    unlink(path);
    rmdir(name);
    return done;
}

static rh_handle *draw_here(picture_fn *draw, const void *context, struct error *err)
{
    struct picture *picture = api_new(&kind, sizeof *picture, err);
    return picture ? api_made(&picture->base, draw_into(picture, draw, context, err), err) : NULL;
}

static const struct field saved_fields[] = {{.key = "output", .type = FIELD_TEXT}};

rh_handle *picture_draw(picture_fn *draw, const void *context, const char *output, struct error *err)
{
    if (!output)
        return draw_here(draw, context, err);
    struct api_report *report = api_report_new(err);
    if (!report)
        return NULL;
    bool done = figure_can_write(output, err) && draw(context, output, err);
    API_VALUES(&report->base, &output, saved_fields);
    return api_made(&report->base, done, err);
}
