/* Readers of a server's XML: a page of a list, a failure. */
#ifndef REHEARSE_STORAGE_S3_PARSE_H
#define REHEARSE_STORAGE_S3_PARSE_H

#include "core/text.h"
#include "storage/storage.h"

/* Visits the names on a page of a list. All keys must begin with `prefix`, which is left out of the names.
 * Sets `token` to that of the next page ("": there is none) and `ended` if visit wants no more. */
bool s3_parse_list(const char *prefix, const char *data, size_t length, storage_visit *visit, void *context,
                   struct text *token, bool *ended, struct error *err);

/* Adds a failure's code ("NoSuchKey") and message; nothing if the answer is something else, such as a proxy's
 * page. */
void s3_parse_failure(const char *data, size_t length, struct text *code, struct text *message);

#endif
