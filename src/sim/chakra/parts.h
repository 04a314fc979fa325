/* Shared by the readers of execution traces. */
#ifndef REHEARSE_SIM_CHAKRA_PARTS_H
#define REHEARSE_SIM_CHAKRA_PARTS_H

#include "sim/chakra/chakra.h"
#include "trace/import/lines.h"

bool chakra_keep_name(struct chakra *chakra, const char *text, size_t length, const char **kept,
                      struct error *err);
bool chakra_keep_node(struct chakra *chakra, const struct chakra_node *node, struct error *err);
bool chakra_keep_dep(struct chakra *chakra, uint64_t id, struct error *err);

bool chakra_read_json(struct chakra *chakra, struct import_lines *lines, struct error *err);

#endif
