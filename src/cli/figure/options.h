/* Options that all commands of figures share; `type` is the command's options struct. */
#ifndef REHEARSE_CLI_FIGURE_OPTIONS_H
#define REHEARSE_CLI_FIGURE_OPTIONS_H

#include "api/option.h"
#include "figure/style.h"

/* Fields: const char *output; int style; */
#define OPTION_PICTURE(type)                                                                                 \
    {                                                                                                        \
        .name = "output", .letter = 'o', .kind = OPTION_FILE, .at = offsetof(type, output),                  \
        .argument = "FILE", .required = true,                                                                \
        .help = "the picture; its ending (.svg, .png, .pdf) selects the format"                              \
    }
#define OPTION_STYLE(type)                                                                                   \
    {                                                                                                        \
        .name = "style", .kind = OPTION_CHOICE, .at = offsetof(type, style), .words = figure_style_names,    \
        .argument = "STYLE", .initial = "screen",                                                            \
        .help = "wide, with titles and legends; or 7 inches wide, without them, for the text of a paper"     \
    }

#endif
