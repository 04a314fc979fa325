#include "devices/measured/lines.h"

#include <stdlib.h>
#include <string.h>

const char *line_end(const char *line)
{
    return line + strcspn(line, "\n");
}

const char *line_next(const char *line)
{
    const char *end = line_end(line);
    return *end ? end + 1 : end;
}

const char *line_behind(const char *line, const char *word)
{
    size_t length = strlen(word);
    return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

const char *line_copy(struct arena *arena, const char *text)
{
    return arena_copy(arena, text, (size_t)(line_end(text) - text));
}

int line_numbers(const char *text, int64_t *numbers, int room)
{
    int count = 0;
    while (count < room && *text >= '0' && *text <= '9') {
        char *end;
        numbers[count++] = strtoll(text, &end, 10);
        text = *end == ' ' ? end + 1 : end;
    }
    return count;
}
