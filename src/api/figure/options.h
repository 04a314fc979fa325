/* Options that requests for pictures share. */
#ifndef REHEARSE_API_FIGURE_OPTIONS_H
#define REHEARSE_API_FIGURE_OPTIONS_H

#include "api/option.h"
#include "figure/style.h"

/* Fields: const char *output, *style; */
#define OPTION_PICTURE(request)                                                                              \
    OPTION(request, output, OPTION_FILE, "output", .letter = 'o', .argument = "FILE", .required = true,      \
           .of_commands = true, .help = "the picture; its ending (.svg, .png, .pdf) selects the format")
#define OPTION_STYLE(request) OPTION_STYLE_OF(request, NULL)
#define OPTION_STYLE_OF(request, what)                                                                       \
    OPTION(request, style, OPTION_WORD, "style", .needs = (what), .words = figure_style_names,               \
           .argument = "STYLE", .initial = "screen",                                                         \
           .help = "wide, with titles and legends; or 7 inches wide, without them, for the text of a paper")

static inline const struct figure_style *figure_style_of(const char *word)
{
    return figure_style_at(option_index(figure_style_names, word));
}

#endif
