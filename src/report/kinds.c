/* All kinds of files that a report knows, and the search for the kind of a file. */
#include "core/text.h"
#include "names.h"
#include "report/parts.h"

#include <string.h>

const struct report_kind report_kinds[] = {ROWS_report_kind, {.name = NULL}};

/* Returns whether all of these words are keys of the map. */
static bool has_keys(const struct doc_node *map, const char *words)
{
    char key[64];
    while (*words) {
        size_t length = strcspn(words, " ");
        if (length >= sizeof key)
            return false;
        memcpy(key, words, length);
        key[length] = '\0';
        if (!doc_find(map, key))
            return false;
        words += length + (words[length] == ' ');
    }
    return true;
}

const struct report_kind *report_kind_of_doc(const struct doc *doc)
{
    const struct doc_node *map = doc->root->type == DOC_LIST ? doc->root->first_child : doc->root;
    if (!map || map->type != DOC_MAP)
        return NULL;
    const char *format = report_string(map, "format");
    if (!format)
        format = report_string(map, "schema");
    for (const struct report_kind *kind = report_kinds; format && kind->name; kind++)
        if (kind->format && strcmp(kind->format, format) == 0)
            return kind;
    if (format && strncmp(format, "rehearse-", 9) == 0)
        return NULL;
    for (const struct report_kind *kind = report_kinds; kind->name; kind++)
        if (kind->keys && has_keys(map, kind->keys))
            return kind;
    return NULL;
}

const struct report_kind *report_kind_of_ending(const char *path)
{
    size_t length = strlen(path);
    for (const struct report_kind *kind = report_kinds; kind->name; kind++) {
        if (!kind->ending)
            continue;
        bool more = *kind->ending == '.' || *kind->ending == '_'; /* alone these are no name of a file */
        if (length >= strlen(kind->ending) + more && text_ends_like(path, kind->ending))
            return kind;
    }
    return NULL;
}
