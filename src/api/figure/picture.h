/* Pictures as results: written to a file, or returned if no file is given. */
#ifndef REHEARSE_API_FIGURE_PICTURE_H
#define REHEARSE_API_FIGURE_PICTURE_H

#include "api/handle.h"

typedef bool picture_fn(const void *context, const char *path, struct error *err);

/* Draws into `output`; the handle is a report of its name. NULL: the handle is a figure, whose form "svg" is the
 * picture. */
rh_handle *picture_draw(picture_fn *draw, const void *context, const char *output, struct error *err);

#endif
