/* Prints a file as C source: its bytes as `const char NAME[]` and their number as `NAME_size`, so that the program needs no folder
 * of its own. YAML becomes JSON, which is read ten times as fast, with each value in its own line. A program of its own that
 * runs while rehearse is built:
 *
 *     embed NAME FILE */
#include "core/doc.h"
#include "core/file.h"
#include "core/text.h"

#include <stdio.h>
#include <stdlib.h>

static void add_json(struct text *out, const struct doc_node *node, uint32_t *line)
{
    for (; *line < node->line; ++*line)
        text_add(out, "\n");
    if (node->index > 0)
        text_add(out, ",");
    if (node->key) {
        text_add_quoted(out, node->key);
        text_add(out, ":");
    }
    bool map = node->type == DOC_MAP;
    if (map || node->type == DOC_LIST) {
        text_add(out, map ? "{" : "[");
        for (const struct doc_node *inner = node->first_child; inner; inner = inner->next)
            add_json(out, inner, line);
        text_add(out, map ? "}" : "]");
    } else if (node->type == DOC_STRING)
        text_add_quoted(out, node->text);
    else
        text_add(out, node->type == DOC_NULL     ? "null"
                      : node->type == DOC_NUMBER ? node->text
                      : node->boolean            ? "true"
                                                 : "false");
}

/* Makes JSON of *text, which must read back: "+1" or ".5" are no numbers there. */
static bool to_json(const char *path, char **data, size_t *length, struct error *err)
{
    struct doc doc, back;
    struct text out = {0};
    uint32_t line = 1;
    if (!doc_parse(&doc, DOC_YAML, path, *data, *length, err))
        return false;
    add_json(&out, doc.root, &line);
    doc_release(&doc);
    if (out.failed || !doc_parse(&back, DOC_JSON, path, out.data, out.length, err)) {
        bool failed = out.failed;
        text_release(&out);
        return failed ? error_memory(err) : false;
    }
    doc_release(&back);
    free(*data);
    *data = out.data;
    *length = out.length;
    return true;
}

static void print(const char *name, const char *data, size_t length)
{
    printf("#include <stddef.h>\nextern const char %s[];\nextern const size_t %s_size;\n", name, name);
    printf("const size_t %s_size = %zu;\nconst char %s[] = {", name, length, name);
    for (size_t i = 0; i < length; i++)
        printf("%s%d,", i % 20 == 0 ? "\n" : " ", (signed char)data[i]);
    printf("\n0};\n");
}

int main(int argc, char **argv)
{
    struct error err;
    char *data = NULL;
    size_t length;
    if (argc != 3)
        return 2;
    bool ok = file_read(argv[2], DOC_MAX_BYTES, &data, &length, &err) &&
              (!text_ends_with(argv[2], ".yaml") || to_json(argv[2], &data, &length, &err));
    if (ok)
        print(argv[1], data, length);
    else
        fprintf(stderr, "%s\n", err.text);
    free(data);
    return !ok || fflush(stdout) != 0;
}
