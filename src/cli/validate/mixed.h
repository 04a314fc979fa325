/* `rehearse validate` for plans whose stages run on devices of several kinds. */
#ifndef REHEARSE_CLI_VALIDATE_MIXED_H
#define REHEARSE_CLI_VALIDATE_MIXED_H

#include "core/error.h"

#include <stdbool.h>

struct validate_mixed {
    const char *plans, *layers, *setup; /* files */
    const char *output;                 /* NULL: standard output */
    bool rows, wide, json;
};

bool validate_mixed(const struct validate_mixed *given, struct error *err);

#endif
