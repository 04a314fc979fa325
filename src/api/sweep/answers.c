#include "api/sweep/inner.h"

#include <math.h>

void sweep_locate(const struct sweep *sweep, int64_t point, int *at)
{
    for (int i = sweep->axis_count - 1; i >= 0; i--) {
        at[i] = (int)(point % sweep->axes[i].count);
        point /= sweep->axes[i].count;
    }
}

struct sweep_cell *sweep_cells(const struct sweep_answers *answers, int64_t point)
{
    return &answers->cells[point * answers->sweep->column_count];
}

const char *sweep_text(const struct sweep_cell *cell)
{
    return cell->more.data ? cell->more.data : cell->text;
}

const char *sweep_value(const struct sweep_axis *axis, int at, char buffer[static 24])
{
    if (axis->words)
        return axis->words[at];
    snprintf(buffer, 24, "%lld", (long long)axis->values[at]);
    return buffer;
}

bool sweep_allocate(struct sweep_answers *answers, struct arena *arena, struct error *err)
{
    size_t count = (size_t)answers->count, cells = count * (size_t)answers->sweep->column_count;
    answers->cells = ARENA_ARRAY(arena, cells, struct sweep_cell);
    answers->states = ARENA_ARRAY(arena, count, unsigned char);
    answers->reasons = ARENA_ARRAY(arena, count, const char *);
    if (!answers->cells || !answers->states || !answers->reasons)
        return error_memory(err);
    for (size_t i = 0; i < cells; i++)
        answers->cells[i].number = NAN;
    return true;
}
