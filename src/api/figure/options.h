/* Options that requests for pictures share. */
#ifndef REHEARSE_API_FIGURE_OPTIONS_H
#define REHEARSE_API_FIGURE_OPTIONS_H

#include "api/option.h"
#include "figure/style.h"

static inline const struct figure_style *figure_style_of(const char *word)
{
    return figure_style_at(option_index(figure_style_names, word));
}

#endif
