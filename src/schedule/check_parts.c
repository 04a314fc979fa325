#include "schedule/check_parts.h"

#include "core/text.h"

#include <stdarg.h>
#include <stdio.h>

int check_device_at(const struct checked *checked, size_t index)
{
    const size_t *first = checked->order->first;
    int low = 0, high = checked->order->devices - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (first[middle + 1] > index)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

unsigned check_cell_number(const struct checked *checked, size_t index)
{
    const struct pass_order *order = checked->order;
    unsigned number = 0;
    for (size_t i = order->first[check_device_at(checked, index)]; i < index; i++)
        number += order->passes[i].paired ? 0 : 1;
    return number;
}

struct action_name check_name(const struct checked *checked, size_t index)
{
    return action_name(&checked->order->passes[index], checked->source->letters);
}

/* Sets the file's name, `place` and the text. */
static bool set_fault(const struct checked *checked, const char *place, struct error *err, const char *format,
                      va_list args)
{
    struct text text = {0};
    const char *path = checked->source->path;
    text_format(&text, "%s%s%s", path != NULL ? path : "", path != NULL ? ": " : "", place);
    text_vformat(&text, format, args);
    if (text.failed)
        error_memory(err);
    else
        error_set(err, ERROR_INPUT, "%s", text.data);
    text_release(&text);
    return false;
}

bool check_fault(const struct checked *checked, size_t index, struct error *err, const char *format, ...)
{
    char place[80];
    va_list args;
    snprintf(place, sizeof place, "rank %d, cell %u: %s", check_device_at(checked, index),
             check_cell_number(checked, index), check_name(checked, index).text);
    va_start(args, format);
    set_fault(checked, place, err, format, args);
    va_end(args);
    return false;
}

bool check_fail(const struct checked *checked, struct error *err, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set_fault(checked, "", err, format, args);
    va_end(args);
    return false;
}
