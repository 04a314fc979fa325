/* Any JSON as a section of a report: whatever a document of a known kind holds, the section is made of the elements that its
 * writers know, each of them closed, and of escaped text. */
#include "report/parts.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MAX_OPEN 64

static const char *const elements[] = {"a",     "caption",    "code",   "dd",     "details", "div", "dl",
                                       "dt",    "figcaption", "figure", "h4",     "li",      "p",   "pre",
                                       "rect",  "section",    "span",   "strong", "summary", "svg", "table",
                                       "tbody", "td",         "th",     "thead",  "tr",      "ul"};

static const char *element_of(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof elements / sizeof *elements; i++)
        if (strlen(elements[i]) == length && memcmp(elements[i], name, length) == 0)
            return elements[i];
    abort();
}

/* Nothing but letters, digits and the like stands between the quotes of an attribute; then the bracket closes. */
static const char *skip_tag(const char *at)
{
    bool quoted = false;
    for (; *at && (quoted || *at != '>'); at++) {
        if (*at == '<')
            abort();
        quoted ^= *at == '"';
    }
    if (!*at)
        abort();
    return at;
}

static void check_section(const char *at)
{
    const char *open[MAX_OPEN];
    int depth = 0;
    while ((at = strchr(at, '<'))) {
        bool closes = at[1] == '/';
        const char *name = at + 1 + closes;
        const char *element = element_of(name, strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"));
        at = skip_tag(name);
        if (closes && (depth == 0 || open[--depth] != element))
            abort();
        if (closes || at[-1] == '/')
            continue;
        if (depth == MAX_OPEN)
            abort();
        open[depth++] = element;
    }
    if (depth > 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct doc doc;
    struct error err;
    static char nowhere[] = "PATH=/nowhere"; /* pictures are gnuplot's matter, and slow */
    putenv(nowhere);
    if (!doc_parse(&doc, DOC_JSON, "a.json", (const char *)data, size, &err))
        return 0;
    const struct report_kind *kind = report_kind_of_doc(&doc);
    struct report_part part = {.path = "a.json", .full = "a.json", .doc = &doc};
    if (kind && kind->write && kind->write(&part, &err)) {
        if (part.out.failed || part.says.failed)
            abort();
        if (part.out.data)
            check_section(part.out.data);
    }
    text_release(&part.out);
    text_release(&part.asked);
    text_release(&part.says);
    text_release(&part.sure);
    text_release(&part.next);
    text_release(&part.data);
    doc_release(&doc);
    return 0;
}
