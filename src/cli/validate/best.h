/* `rehearse validate --best`: what was used against the best plan for it. */
#ifndef REHEARSE_CLI_VALIDATE_BEST_H
#define REHEARSE_CLI_VALIDATE_BEST_H

#include "core/json.h"
#include "core/text.h"
#include "evidence/better.h"

void validate_best_print(const struct validation *validation, const struct better *betters, bool rows,
                         struct text *out);

/* A flat map; nothing where there is no plan. */
void validate_best_write(const struct better *better, struct json *json, const char *key);

#endif
