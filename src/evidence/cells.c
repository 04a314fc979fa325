#include "evidence/cells.h"

#include "core/doc.h"
#include "core/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool cells_refuse(struct cells *cells, const char *format, ...)
{
    char text[512];
    va_list args;
    if (*cells->reason)
        return false;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    *cells->reason = arena_string(cells->arena, text);
    cells->no_memory |= !*cells->reason;
    return false;
}

const char *cells_text(const struct cells *cells, const char *column)
{
    return csv_cell(cells->csv, cells->row, csv_column(cells->csv, column));
}

bool cells_is_empty(const char *text)
{
    static const char *const words[] = {"", "-", "n/a", "null"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* Returns whether all of the text is a number, except blanks after it. */
static bool read_number(const char *text, double *value)
{
    char *end;
    *value = text_number(text, &end);
    return end != text && isfinite(*value) && end[strspn(end, " ")] == '\0';
}

int64_t cells_whole(struct cells *cells, const char *column, int64_t min, int64_t max, int64_t missing)
{
    const char *text = cells_text(cells, column);
    double value;
    if (cells_is_empty(text))
        return missing;
    if (read_number(text, &value) && value == floor(value) && value >= (double)min && value <= (double)max)
        return (int64_t)value;
    cells_refuse(cells, "%s: expected a whole number from %" PRId64 " to %" PRId64 ", found '%s'", column,
                 min, max, text);
    return missing;
}

double cells_number(struct cells *cells, const char *column, double min, double max)
{
    const char *text = cells_text(cells, column);
    double value;
    if (cells_is_empty(text))
        return 0.0;
    if (read_number(text, &value) && value >= min && value <= max)
        return value;
    if (min == DOC_POSITIVE)
        cells_refuse(cells, "%s: expected a positive number, found '%s'", column, text);
    else
        cells_refuse(cells, "%s: expected a number from %g to %g, found '%s'", column, min, max, text);
    return 0.0;
}

bool cells_has_item(const char *list, const char *item)
{
    size_t length = strlen(item);
    for (const char *at = list; *at != '\0'; at += strcspn(at, ",;")) {
        at += strspn(at, ",; ");
        size_t found = strcspn(at, ",;");
        while (found > 0 && at[found - 1] == ' ')
            found--;
        if (found == length && strncasecmp(at, item, length) == 0)
            return true;
    }
    return false;
}
