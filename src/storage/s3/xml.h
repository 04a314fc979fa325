/* Reads the XML of S3's answers: elements and text, comments and attributes (skipped), the five named
 * entities and those by number. No document types, so nothing can be declared or fetched. */
#ifndef REHEARSE_STORAGE_S3_XML_H
#define REHEARSE_STORAGE_S3_XML_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define S3_XML_MAX_PATH 256 /* bytes of the longest path of names */

/* Calls visit for each element where it ends, inner ones first. `path` is the names it lies in and its own,
 * "ListBucketResult/Contents/Key"; `text` is the text between its last inner element, or its start, and
 * its end. visit returns false, with *err set, to stop. */
typedef bool s3_xml_visit(void *context, const char *path, const char *text, struct error *err);
bool s3_xml_read(const char *data, size_t length, s3_xml_visit *visit, void *context, struct error *err);

#endif
