/* The report of `rehearse cost --list`: the embedded tables. */
#ifndef REHEARSE_CLI_COST_LIST_H
#define REHEARSE_CLI_COST_LIST_H

#include "core/text.h"

void cost_list_print(struct text *out);
void cost_list_write(struct text *out); /* JSON */

#endif
