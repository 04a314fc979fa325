/* What a server of S3 says in XML: a page of a list, a failure. */
#ifndef REHEARSE_STORAGE_S3_PARSE_H
#define REHEARSE_STORAGE_S3_PARSE_H

#include "core/text.h"
#include "storage/storage.h"

/* Visits what a page of a list says. All keys must begin with `prefix`, which is left out of the names. `token` becomes
 * that of the next page, "": there is none. `ended`: visit wants no more. */
bool s3_parse_list(const char *prefix, const char *data, size_t length, storage_visit *visit, void *context,
                   struct text *token, bool *ended, struct error *err);

/* Adds a failure's code ("NoSuchKey") and message; nothing where the answer is something else, as a proxy's is. */
void s3_parse_failure(const char *data, size_t length, struct text *code, struct text *message);

#endif
