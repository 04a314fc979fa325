/* Options that requests for pictures share. */
#ifndef REHEARSE_API_FIGURE_OPTIONS_H
#define REHEARSE_API_FIGURE_OPTIONS_H

#include "api/option.h"
#include "figure/style.h"

/* Fields: const char *output, *style; */
#define OPTION_PICTURE(request)                                                                              \
    OPTION_SHARED(request, output, OPTION_FILE, "output", .required = true, .of_commands = true)
#define OPTION_STYLE(request) OPTION_STYLE_OF(request, NULL)
#define OPTION_STYLE_OF(request, what)                                                                       \
    OPTION_SHARED(request, style, OPTION_WORD, "style", .needs = (what), .words = figure_style_names)

static inline const struct figure_style *figure_style_of(const char *word)
{
    return figure_style_at(option_index(figure_style_names, word));
}

#endif
