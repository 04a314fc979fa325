/* Numbers with units. The first byte is the kind; what reads is also written for people, and that reads
 * too. */
#include "core/unit.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, enum unit_kind kind)
{
    char shown[512];
    double value, again;
    if (!unit_parse(text, kind, &value))
        return;
    if (!isfinite(value))
        abort();
    if (strlen(unit_format(shown, sizeof shown, value, kind, 17)) >= sizeof shown - 1)
        abort();
    bool tiny = kind == UNIT_BYTES ? fabs(value) < 1 : fabs(value) < 1e-9; /* shown with few digits */
    if (!unit_parse(shown, kind, &again) || (!tiny && fabs(again - value) > 1e-9 * fabs(value) + 0.5))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char small[4];
    if (size == 0)
        return 0;
    char *text = malloc(size);
    if (!text)
        return 0;
    memcpy(text, data + 1, size - 1);
    text[size - 1] = 0;
    check(text, (enum unit_kind)(data[0] % 4));
    double value;
    if (size > sizeof value) { /* any double at all, any number of digits */
        memcpy(&value, data + 1, sizeof value);
        unit_format(small, sizeof small, value, (enum unit_kind)(data[0] % 4), data[size - 1] % 40 - 10);
        if (!memchr(small, 0, sizeof small))
            abort();
    }
    free(text);
    return 0;
}
