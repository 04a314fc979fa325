#include "schedule/check_parts.h"

#include "core/stop.h"
#include "core/text.h"

#include <stdlib.h>

#define MAX_NAMED 6 /* actions of a circle that a message names */

/* A cell of the search. */
struct step {
    uint32_t cell, first; /* the first cell of its device */
};

struct search {
    const struct checked *checked;
    uint8_t *state;    /* of the cell that begins with this pass */
    struct step *path; /* each cell waits for the next one */
    int *remote
        [2]; /* of each stage: the stage after or before it (back, forward) on another device; -1: none */
};

/* Of a cell. ON_PATH + k: it waits for a cell of the search, and k of its inputs were followed. */
enum { UNSEEN, ON_PATH, DONE = 100 };

static bool is_pair(const struct checked *checked, uint32_t cell)
{
    return checked->order->passes[cell].paired != 0;
}

/* Returns the first action of an action's cell, on a device that begins at `first`. */
static uint32_t cell_from(const struct checked *checked, uint32_t index, size_t first)
{
    return index > first && is_pair(checked, index - 1) ? index - 1 : index;
}

static size_t first_at(const struct checked *checked, uint32_t index)
{
    return checked->order->first[check_device_at(checked, index)];
}

static uint32_t cell_of(const struct checked *checked, uint32_t index)
{
    return cell_from(checked, index, first_at(checked, index));
}

/* Returns the action at the other end of a RECV. */
static uint32_t sender_of(const struct checked *checked, const struct pass *receive)
{
    bool forward = receive->kind == ACTION_RECEIVE_FORWARD;
    return *check_message_of(checked, forward ? receive->stage - 1 : receive->stage + 1, receive->microbatch,
                             forward ? ACTION_SEND_FORWARD : ACTION_SEND_BACKWARD);
}

/* Fills in what SEND or RECV waits for; returns how many. */
static int inputs_of_message(const struct checked *checked, const struct pass *message,
                             uint32_t inputs[static 2])
{
    const struct check_triple *own = check_triple_of(checked, message->stage, message->microbatch);
    if (message->kind == ACTION_SEND_FORWARD)
        inputs[0] = own->forward;
    else if (message->kind == ACTION_SEND_BACKWARD)
        inputs[0] = own->backward;
    else
        inputs[0] = sender_of(checked, message);
    return 1;
}

/* Fills in the actions that one waits for, apart from those before it on its device; returns how many. */
static int inputs_of(const struct checked *checked, uint32_t index, uint32_t inputs[static 2])
{
    const struct pass_order *order = checked->order;
    const struct pass *pass = &order->passes[index];
    int count = 0;
    if (!action_is_ordered(pass))
        return 0;
    if (!action_is_pass(pass))
        return inputs_of_message(checked, pass, inputs);
    const struct check_triple *own = check_triple_of(checked, pass->stage, pass->microbatch);
    if (pass->kind == PASS_WEIGHT) {
        inputs[count++] = own->backward;
        return count;
    }
    bool forward = pass->kind == PASS_FORWARD;
    int from = forward ? pass_order_before(order, pass->stage) : pass_order_after(order, pass->stage);
    if (!forward)
        inputs[count++] = own->forward;
    if (from >= 0 && checked->messages != NULL && order->device_of[from] != order->device_of[pass->stage]) {
        inputs[count++] = *check_message_of(checked, pass->stage, pass->microbatch,
                                            forward ? ACTION_RECEIVE_FORWARD : ACTION_RECEIVE_BACKWARD);
    } else if (from >= 0) {
        const struct check_triple *other = check_triple_of(checked, from, pass->microbatch);
        inputs[count++] = forward ? other->forward : other->backward;
    }
    return count;
}

/* Returns input number `which` of a cell as a pass, or CHECK_NONE: there are no more. Number 0 is the pass before the
 * cell on its device, if any. *waiting is the pass of the cell that needs it. */
static uint32_t input_at(const struct checked *checked, uint32_t cell, int which, uint32_t *waiting)
{
    uint32_t inputs[2];
    int passes = is_pair(checked, cell) ? 2 : 1;
    *waiting = cell;
    if (cell > first_at(checked, cell)) {
        if (which == 0)
            return cell - 1;
        which--;
    }
    for (int i = 0; i < passes; i++) {
        int count = inputs_of(checked, cell + (uint32_t)i, inputs);
        *waiting = cell + (uint32_t)i;
        if (which < count)
            return inputs[which];
        which -= count;
    }
    return CHECK_NONE;
}

/* Returns which input of a cell lies in another cell, as a pass; *waiting is the pass that needs it. */
static uint32_t input_in(const struct checked *checked, uint32_t cell, uint32_t other, uint32_t *waiting)
{
    uint32_t input;
    int which = 0;
    do
        input = input_at(checked, cell, which++, waiting);
    while (input != CHECK_NONE && cell_of(checked, input) != other);
    return input;
}

/* Whether a cell of a circle waits for the next one only because it comes after it on the device. */
static bool is_behind(const struct checked *checked, uint32_t cell, uint32_t next)
{
    uint32_t waiting, input = input_in(checked, cell, next, &waiting);
    return input != CHECK_NONE && waiting == cell && input + 1 == cell && cell > first_at(checked, cell);
}

/* Names a circle: cell i waits for cell i + 1, and the last one for the first one. It begins with an input that is
 * missing, and the first one that is missing because of the sequence of its device, if any. */
static bool name_circle(const struct checked *checked, const struct step *circle, size_t length,
                        struct error *err)
{
    size_t begin = length, passed = 0;
    for (size_t i = 0; i < length; i++)
        if (!is_behind(checked, circle[i].cell, circle[(i + 1) % length].cell) &&
            is_behind(checked, circle[(i + length - 1) % length].cell, circle[i].cell) &&
            (begin == length || circle[i].cell < circle[begin].cell))
            begin = i;
    begin %= length;
    const uint32_t first = circle[begin].cell;
    const int rank = check_device_at(checked, first);
    struct text text = {0};
    for (int named = 0; passed < length && named < MAX_NAMED; named++) {
        uint32_t cell = circle[(begin + passed) % length].cell,
                 next = circle[(begin + passed + 1) % length].cell, waiting;
        uint32_t input = input_in(checked, cell, next, &waiting);
        if (input == CHECK_NONE)
            break;
        int device = check_device_at(checked, input);
        if (passed > 0)
            text_format(&text, ", which waits for %s", check_name(checked, input).text);
        else
            text_format(&text, " waits for %s", check_name(checked, input).text);
        if (device != rank || passed > 0)
            text_format(&text, " (rank %d, cell %u)", device, check_cell_number(checked, input));
        passed++;
        size_t before = passed;
        while (passed < length && is_behind(checked, circle[(begin + passed) % length].cell,
                                            circle[(begin + passed + 1) % length].cell))
            passed++;
        uint32_t stop = circle[(begin + passed) % length].cell;
        if (passed == length)
            text_add(&text, before == passed ? ", in the same cell" : ", which comes later");
        else if (passed > before)
            text_format(&text, ", which comes after %s (cell %u)", check_name(checked, stop).text,
                        check_cell_number(checked, stop));
    }
    if (passed < length)
        text_add(&text, ", and so on, back to it");
    uint32_t waiting;
    input_in(checked, first, circle[(begin + 1) % length].cell, &waiting);
    if (text.failed)
        error_memory(err);
    else
        check_fault(checked, waiting, err, "%s", text.data);
    text_release(&text);
    return false;
}

/* Returns the action of another device that one waits for, or CHECK_NONE. */
static uint32_t remote_input(const struct search *search, const struct pass *pass)
{
    const struct checked *checked = search->checked;
    if (checked->messages != NULL)
        return pass->kind == ACTION_RECEIVE_FORWARD || pass->kind == ACTION_RECEIVE_BACKWARD
                   ? sender_of(checked, pass)
                   : CHECK_NONE;
    if (!action_is_pass(pass) || pass->kind == PASS_WEIGHT)
        return CHECK_NONE;
    int from = search->remote[pass->kind == PASS_FORWARD][pass->stage];
    if (from < 0)
        return CHECK_NONE;
    const struct check_triple *other = check_triple_of(checked, from, pass->microbatch);
    return pass->kind == PASS_FORWARD ? other->forward : other->backward;
}

/* Finds number `which` of the cells that the last cell of the search waits for. Returns false if there are no more.
 * Inputs that the same device makes are left out: that they come earlier is checked already, so the cell before stands
 * for them. */
static bool next_of(const struct search *search, const struct step *step, int which, struct step *next)
{
    const struct checked *checked = search->checked;
    const struct pass *passes = checked->order->passes;
    uint32_t cell = step->cell;
    if (cell > step->first && which-- == 0) {
        *next = (struct step){cell_from(checked, cell - 1, step->first), step->first};
        return true;
    }
    for (uint32_t i = cell; i <= cell + passes[cell].paired; i++) {
        uint32_t input = remote_input(search, &passes[i]);
        if (input == CHECK_NONE || which-- > 0)
            continue;
        size_t first = checked->order->first[checked->order->device_of[passes[input].stage]];
        *next = (struct step){cell_from(checked, input, first), (uint32_t)first};
        return true;
    }
    return false;
}

/* Looks for circles among the cells from which the last one of a device can be reached. */
static bool search_from(const struct search *search, int device, struct error *err)
{
    const struct checked *checked = search->checked;
    const size_t *first = checked->order->first;
    uint8_t *state = search->state;
    struct step *path = search->path, next;
    size_t length = 1, steps = 0;
    path[0] = (struct step){cell_from(checked, (uint32_t)first[device + 1] - 1, first[device]),
                            (uint32_t)first[device]};
    if (state[path[0].cell] == DONE)
        return true;
    state[path[0].cell] = ON_PATH;
    while (length > 0) {
        const struct step *last = &path[length - 1];
        if (stop_obeyed_at(steps++, err))
            return false;
        if (!next_of(search, last, state[last->cell] - ON_PATH, &next)) {
            state[last->cell] = DONE;
            length--;
            continue;
        }
        state[last->cell]++;
        if (state[next.cell] == UNSEEN) {
            state[next.cell] = ON_PATH;
            path[length++] = next;
        } else if (state[next.cell] != DONE) {
            size_t begin = length - 1;
            while (begin > 0 && path[begin].cell != next.cell)
                begin--;
            return name_circle(checked, path + begin, length - begin, err);
        }
    }
    return true;
}

/* The plain fault is said plainly: an input that the same device makes later. */
static bool check_sequence(const struct checked *checked, int device, uint32_t index, struct error *err)
{
    const size_t *first = &checked->order->first[device];
    uint32_t inputs[2];
    int count = inputs_of(checked, index, inputs);
    for (int i = 0; i < count; i++) {
        if (inputs[i] < first[0] || inputs[i] >= first[1])
            continue;
        if (cell_from(checked, inputs[i], first[0]) == cell_from(checked, index, first[0]))
            return check_fault(checked, index, err, " waits for %s, with which it overlaps",
                               check_name(checked, inputs[i]).text);
        if (inputs[i] > index)
            return check_fault(checked, index, err, " waits for %s, which comes later",
                               check_name(checked, inputs[i]).text);
    }
    return true;
}

static bool prepare(struct search *search, struct error *err)
{
    const struct pass_order *order = search->checked->order;
    size_t count = pass_order_count(order), stages = (size_t)order->stages;
    search->state = calloc(count, sizeof *search->state);
    search->path = malloc(count * sizeof *search->path);
    search->remote[0] = malloc(2 * stages * sizeof *search->remote[0]);
    if (search->state == NULL || search->path == NULL || search->remote[0] == NULL)
        return error_memory(err);
    search->remote[1] = search->remote[0] + stages;
    for (int stage = 0; stage < order->stages; stage++) {
        int from[2] = {pass_order_after(order, stage), pass_order_before(order, stage)};
        for (int k = 0; k < 2; k++)
            search->remote[k][stage] =
                from[k] >= 0 && order->device_of[from[k]] != order->device_of[stage] ? from[k] : -1;
    }
    return true;
}

bool check_circles(const struct checked *checked, struct error *err)
{
    const struct pass_order *order = checked->order;
    struct search search = {.checked = checked};
    for (int device = 0; device < order->devices; device++)
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++)
            if (!check_sequence(checked, device, (uint32_t)i, err))
                return false;
    bool right = prepare(&search, err);
    for (int device = 0; right && device < order->devices; device++)
        right = order->first[device] == order->first[device + 1] || search_from(&search, device, err);
    free(search.state);
    free(search.path);
    free(search.remote[0]);
    return right;
}
