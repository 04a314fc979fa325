#include "support/expect.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

void near(double found, double expected)
{
    if (!(fabs(found - expected) <= 1e-9 * fabs(expected) + 1e-12))
        fail_msg("expected %.12g, found %.12g", expected, found);
}

struct doc json_of(const char *text)
{
    struct doc doc;
    struct error err;
    if (!doc_parse(&doc, DOC_JSON, "output", text, strlen(text), &err))
        fail_msg("%s", err.text);
    return doc;
}
