/* Declarations shared by the two readers. Private to doc.c and doc/. */
#ifndef REHEARSE_CORE_DOC_READER_H
#define REHEARSE_CORE_DOC_READER_H

#include "core/doc.h"

/* Builds the tree from lists, maps and scalars in the order of the text. */
struct doc_builder {
    struct doc *doc;
    struct doc_node *open; /* the innermost list or map */
    struct doc_node *last; /* its last child so far */
    const char *key;       /* of the next value, in a map */
    int depth;
    size_t nodes; /* so far */
    bool
        keeps_twins; /* keys that a map has twice are no error, nor are NaN and Infinity, nor YAML's anchors */
    struct anchors *anchors; /* of YAML */
    struct error *err;
};

struct doc_place {
    uint32_t line, column;
};

/* Sets a syntax error: "FILE:LINE:COLUMN: message". Returns false. */
bool doc_syntax_error(struct doc_builder *builder, struct doc_place place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Returns a new value, linked into the tree; NULL: out of memory. */
struct doc_node *doc_add(struct doc_builder *builder, enum doc_type type, struct doc_place place);

bool doc_open(struct doc_builder *builder, enum doc_type type, struct doc_place place);
bool doc_close(struct doc_builder *builder); /* also refuses duplicate keys */

/* Returns the place of a byte in a text. Columns count characters. */
struct doc_place doc_place_of(const char *text, size_t offset);

/* Reads a number of JSON or YAML's core schema, all of `text`. The next byte must not continue a number, such
 * as NUL. Infinite if too large. */
bool doc_scan_number(const char *text, size_t length, double *value);

/* Strings of the document stay in place in `text` and get a final NUL; text[-1] and text[length], which is
 * NUL, belong to the reader, too. */
bool doc_read_json(struct doc_builder *builder, char *text, size_t length);
bool doc_read_yaml(struct doc_builder *builder, const char *text, size_t length);
bool doc_read_toml(struct doc_builder *builder, const char *text, size_t length);

#endif
