/* The text that a reader goes through, which may be a mapped file: what was read of one need not stay in memory.
 * Private to the readers. */
#ifndef REHEARSE_HLO_SOURCE_H
#define REHEARSE_HLO_SOURCE_H

#include "hlo/module.h"

#define HLO_WINDOW ((size_t)8 << 20) /* that much is given back at once */

struct hlo_source {
    const char *path, *text;
    size_t length;
    bool mapped;      /* read only: pages that are given back come again when they are looked at */
    const char *kept; /* what is before was given back once */
};

bool hlo_read_text(struct hlo_module *module, const struct hlo_source *source, struct error *err);
bool hlo_read_mlir(struct hlo_module *module, const struct hlo_source *source, struct error *err);

/* As memchr, from here to the end; NULL: it is not there. Windows passed over are given back. */
const char *hlo_seek(const struct hlo_source *source, const char *from, const char *end, char c);

/* All before this place has been read, its lines have been counted. */
void hlo_give_back(struct hlo_source *source, const char *at);

#endif
