#include "schedule/csv.h"
#include "core/file.h"
#include "core/stop.h"
#include "core/vector.h"

#include <stdlib.h>
#include <string.h>

#define MAX_SHOWN    40           /* bytes of a cell in messages */
#define BACKWARD_OLD ACTION_KINDS /* BW, until the generation of the letters is known */

const char *const schedule_letter_names[] = {"newer", "older", NULL};

/* ---- the form that is read ---- */

static bool schedule_csv_add_rank(struct schedule_csv *csv, struct error *err)
{
    if (csv->ranks == ORDER_MAX_DEVICES)
        return error_set(err, ERROR_INPUT, "%s: more than %d rows", csv->path, ORDER_MAX_DEVICES);
    if (!VECTOR_ROOM(csv->first, csv->first_capacity, (size_t)csv->ranks + 2))
        return error_memory(err);
    csv->first[csv->ranks++] = csv->count;
    csv->first[csv->ranks] = csv->count;
    return true;
}

/* Appends an action to the last rank, or a rank. */
static bool schedule_csv_add(struct schedule_csv *csv, const struct pass *action, struct error *err)
{
    if (csv->count == SCHEDULE_CSV_MAX_ACTIONS)
        return error_set(err, ERROR_INPUT, "%s: more than %d actions", csv->path, SCHEDULE_CSV_MAX_ACTIONS);
    if (!VECTOR_ADD(csv->actions, csv->count, csv->capacity, *action))
        return error_memory(err);
    csv->first[csv->ranks] = csv->count;
    return true;
}

void schedule_csv_release(struct schedule_csv *csv)
{
    free(csv->first);
    free(csv->actions);
    *csv = (struct schedule_csv){.ranks = 0};
}

int schedule_csv_rank_of(const struct schedule_csv *csv, size_t action)
{
    int low = 0, high = csv->ranks - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (csv->first[middle + 1] > action)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static size_t cell_of(const struct schedule_csv *csv, size_t action)
{
    size_t first = csv->first[schedule_csv_rank_of(csv, action)], cell = 0;
    for (size_t i = first; i < action; i++)
        cell += !csv->actions[i].paired;
    return cell;
}

/* ---- reading ---- */

struct reader {
    struct schedule_csv *csv;
    const char *cell, *cell_end; /* the cell that is being read */
    const char *at;
    size_t cell_number;
    size_t old_letter, new_letter, weight; /* the first action with BW, I, W; SIZE_MAX: none */
    struct error *err;
};

static bool refuse(const struct reader *r, const char *why)
{
    int length = (int)(r->cell_end - r->cell);
    return error_set(r->err, ERROR_INPUT, "%s: rank %d, cell %zu: '%.*s'%s %s", r->csv->path,
                     r->csv->ranks - 1, r->cell_number, length > MAX_SHOWN ? MAX_SHOWN : length, r->cell,
                     length > MAX_SHOWN ? "..." : "", why);
}

static bool is_digit(const struct reader *r)
{
    return r->at < r->cell_end && *r->at >= '0' && *r->at <= '9';
}

/* Reads digits; a leading zero is refused, so that every number has one way to be written. */
static bool read_number(struct reader *r, uint32_t max, uint32_t *number, const char *over)
{
    const char *first = r->at;
    uint64_t value = 0;
    for (; is_digit(r); r->at++) {
        value = value * 10 + (uint64_t)(*r->at - '0');
        if (value > max)
            return refuse(r, over);
    }
    if (*first == '0' && r->at - first > 1)
        return refuse(r, "has a number with a leading zero");
    *number = (uint32_t)value;
    return true;
}

static bool read_action(struct reader *r, struct pass *action)
{
    static const char form[] = "is not an action: expected stage, kind and micro-batch, such as 3F0";
    uint32_t stage = 0;
    if (!is_digit(r))
        return refuse(r, form);
    if (!read_number(r, ORDER_MAX_STAGES - 1, &stage, "has a stage above 65534"))
        return false;
    const char *word = r->at;
    while (r->at < r->cell_end && ((*r->at >= 'A' && *r->at <= 'Z') || *r->at == '_'))
        r->at++;
    size_t length = (size_t)(r->at - word);
    const struct action_word *known = action_words;
    while (known->word != NULL && (strlen(known->word) != length || memcmp(known->word, word, length) != 0))
        known++;
    if (known->word == NULL)
        return refuse(r, length == 0 ? form
                                     : "has an unknown kind (known: F, I, W, B, BW, SEND_F, RECV_F, SEND_B, "
                                       "RECV_B, UNSHARD, RESHARD, REDUCE_GRAD)");
    *action =
        (struct pass){.microbatch = ACTION_NO_MICROBATCH, .stage = (uint16_t)stage, .kind = known->kind};
    if (is_digit(r))
        return read_number(r, ORDER_MAX_MICROBATCHES - 1, &action->microbatch,
                           "has a micro-batch above 9999999");
    if (action->kind < ACTION_UNSHARD || action->kind == BACKWARD_OLD)
        return refuse(r, "has no micro-batch");
    return true;
}

static bool add_action(struct reader *r, const struct pass *action)
{
    size_t *seen = action->kind == BACKWARD_OLD    ? &r->old_letter
                   : action->kind == ACTION_INPUT  ? &r->new_letter
                   : action->kind == ACTION_WEIGHT ? &r->weight
                                                   : NULL;
    if (seen != NULL && *seen == SIZE_MAX)
        *seen = r->csv->count;
    return schedule_csv_add(r->csv, action, r->err);
}

static bool skip(struct reader *r, const char *text)
{
    size_t length = strlen(text);
    if ((size_t)(r->cell_end - r->at) < length || memcmp(r->at, text, length) != 0)
        return false;
    r->at += length;
    return true;
}

static bool is_backward(const struct pass *action)
{
    return action->kind == ACTION_BACKWARD || action->kind == ACTION_INPUT || action->kind == BACKWARD_OLD;
}

static bool read_pair(struct reader *r)
{
    static const char form[] =
        "is not a pair: expected a forward and a backward pass, such as (0F7;7B3)OVERLAP_F_B";
    struct pass first, second;
    r->at++;
    if (!read_action(r, &first))
        return false;
    if (!skip(r, ";"))
        return refuse(r, form);
    if (!read_action(r, &second))
        return false;
    if (!skip(r, ")OVERLAP_F_B") || r->at != r->cell_end)
        return refuse(r, form);
    bool passes = (first.kind == ACTION_FORWARD && is_backward(&second)) ||
                  (second.kind == ACTION_FORWARD && is_backward(&first));
    if (!passes)
        return refuse(r, form);
    first.paired = 1;
    return add_action(r, &first) && add_action(r, &second);
}

static bool read_cell(struct reader *r)
{
    r->at = r->cell;
    if (r->cell == r->cell_end)
        return add_action(r, &(struct pass){.kind = ACTION_NONE});
    if (*r->cell == '(')
        return read_pair(r);
    struct pass action;
    if (!read_action(r, &action))
        return false;
    return r->at == r->cell_end ? add_action(r, &action)
                                : refuse(r, "goes on after its action; cells are separated by commas");
}

/* An empty line is a rank without actions: the check names it. */
static bool read_row(struct reader *r, const char *line, const char *end)
{
    if (!schedule_csv_add_rank(r->csv, r->err))
        return false;
    r->cell_number = 0;
    for (const char *at = line; line < end && at <= end; at = r->cell_end + 1) {
        if (stop_obeyed_at(r->csv->count, r->err))
            return false;
        const char *comma = memchr(at, ',', (size_t)(end - at));
        r->cell = at;
        r->cell_end = comma != NULL ? comma : end;
        if (!read_cell(r))
            return false;
        r->cell_number++;
    }
    return true;
}

/* Takes the line end away from *end. All lines of a file end alike. */
static bool read_line_end(struct reader *r, const char *line, const char **end, bool last)
{
    bool returns = *end > line && (*end)[-1] == '\r';
    if (last) /* it has no end of its own */
        return true;
    if (r->csv->ranks == 0)
        r->csv->carriage_returns = returns;
    else if (r->csv->carriage_returns != returns)
        return error_set(r->err, ERROR_INPUT, "%s:%d: the line does not end as those before it (LF, CR LF)",
                         r->csv->path, r->csv->ranks + 1);
    *end -= returns;
    return true;
}

/* Gives B and BW their meaning. */
static bool decide_letters(struct reader *r)
{
    struct schedule_csv *csv = r->csv;
    if (r->old_letter != SIZE_MAX && r->new_letter != SIZE_MAX)
        return error_set(
            r->err, ERROR_INPUT,
            "%s: rank %d, cell %zu has BW, of PyTorch's older letters, but rank %d, cell %zu has I, "
            "of the newer ones",
            csv->path, schedule_csv_rank_of(csv, r->old_letter), cell_of(csv, r->old_letter),
            schedule_csv_rank_of(csv, r->new_letter), cell_of(csv, r->new_letter));
    bool older = r->old_letter != SIZE_MAX || (r->new_letter == SIZE_MAX && r->weight != SIZE_MAX);
    csv->letters = older ? LETTERS_OLDER : LETTERS_NEWER;
    for (size_t i = 0; older && i < csv->count; i++)
        if (csv->actions[i].kind == ACTION_BACKWARD)
            csv->actions[i].kind = ACTION_INPUT;
        else if (csv->actions[i].kind == BACKWARD_OLD)
            csv->actions[i].kind = ACTION_BACKWARD;
    return true;
}

static bool read_rows(struct reader *r, const char *data, size_t length)
{
    const char *end = data + length;
    for (const char *line = data; line < end;) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *line_end = newline != NULL ? newline : end;
        r->csv->unended = newline == NULL;
        if (!read_line_end(r, line, &line_end, newline == NULL) || !read_row(r, line, line_end))
            return false;
        line = newline != NULL ? newline + 1 : end;
    }
    if (r->csv->ranks == 0)
        return error_set(r->err, ERROR_INPUT, "%s: no rows: expected one for each rank", r->csv->path);
    return decide_letters(r);
}

bool schedule_csv_parse(struct schedule_csv *csv, const char *path, const char *data, size_t length,
                        struct error *err)
{
    *csv = (struct schedule_csv){.path = path};
    struct reader reader = {
        .csv = csv, .old_letter = SIZE_MAX, .new_letter = SIZE_MAX, .weight = SIZE_MAX, .err = err};
    bool ok = read_rows(&reader, data, length);
    if (!ok)
        schedule_csv_release(csv);
    return ok;
}

bool schedule_csv_load(struct schedule_csv *csv, const char *path, struct error *err)
{
    char *data;
    size_t length;
    *csv = (struct schedule_csv){.ranks = 0};
    if (!file_read(path, SCHEDULE_CSV_MAX_BYTES, &data, &length, err))
        return false;
    bool ok = schedule_csv_parse(csv, path, data, length, err);
    free(data);
    return ok;
}

/* ---- writing ---- */

void schedule_csv_write(const struct schedule_csv *csv, struct text *out)
{
    for (int rank = 0; rank < csv->ranks; rank++) {
        bool second = false;
        for (size_t i = csv->first[rank]; i < csv->first[rank + 1] && !stop_wanted_at(i); i++) {
            const struct pass *action = &csv->actions[i];
            if (i > csv->first[rank])
                text_add(out, second ? ";" : ",");
            if (action->paired)
                text_add(out, "(");
            text_add(out, action_name(action, csv->letters).text);
            if (second)
                text_add(out, ")OVERLAP_F_B");
            second = action->paired;
        }
        if (rank + 1 < csv->ranks || !csv->unended)
            text_add(out, csv->carriage_returns ? "\r\n" : "\n");
    }
}

/* ---- from actions to passes ---- */

bool schedule_csv_order(const struct schedule_csv *csv, struct pass_order *order, struct error *err)
{
    int stages = 0;
    uint32_t microbatches = 0;
    *order = (struct pass_order){.devices = 0};
    if (!schedule_csv_check(csv, err))
        return false;
    for (size_t i = 0; i < csv->count; i++)
        if (action_is_pass(&csv->actions[i])) {
            stages = csv->actions[i].stage >= stages ? csv->actions[i].stage + 1 : stages;
            microbatches =
                csv->actions[i].microbatch >= microbatches ? csv->actions[i].microbatch + 1 : microbatches;
        }
    if (!pass_order_init(order, csv->ranks, stages, 1, (int)microbatches, err))
        return false;
    for (int rank = 0; rank < csv->ranks; rank++) {
        for (size_t i = csv->first[rank]; i < csv->first[rank + 1]; i++) {
            const struct pass *action = &csv->actions[i];
            if (!action_is_pass(action))
                continue;
            order->device_of[action->stage] = (uint16_t)rank;
            if (!pass_order_add(order, (enum pass_kind)action->kind, action->stage, (int)action->microbatch,
                                action->paired, err))
                return false;
        }
        pass_order_next_device(order);
    }
    return true;
}

/* ---- from passes to actions ---- */

static bool add_passes(struct schedule_csv *csv, const struct pass_order *order, struct error *err)
{
    for (int device = 0; device < order->devices; device++) {
        if (!schedule_csv_add_rank(csv, err))
            return false;
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++)
            if (!schedule_csv_add(csv, &order->passes[i], err))
                return false;
    }
    return true;
}

/* Communication is placed as PyTorch places it: in rounds, in which every rank whose next cell has its inputs takes it
 * and sends at once; the RECV goes to the end of what the other rank has so far. Two ranks then have their messages in
 * the same sequence. */
struct sender {
    const struct pass_order *order;
    struct pass *passes; /* joined: those of device d are passes[next[d]] .. passes[end[d] - 1] */
    size_t *next, *end;
    uint8_t *arrived; /* of each stage and micro-batch: ARRIVED_… */
    struct pass *made;
    uint16_t *made_for; /* the rank of each action made */
    size_t made_count, made_capacity, for_count, for_capacity;
    struct error *err;
};

enum { ARRIVED_FORWARD = 1, ARRIVED_BACKWARD = 2 };

static uint8_t *arrived_at(const struct sender *s, int stage, uint32_t microbatch)
{
    return &s->arrived[(size_t)stage * (size_t)s->order->microbatches + microbatch];
}

/* Joins an input gradient and the weight gradient after it. */
static void join_passes(struct sender *s)
{
    const struct pass_order *order = s->order;
    size_t count = 0;
    for (int device = 0; device < order->devices; device++) {
        s->next[device] = count;
        for (size_t i = order->first[device]; i < order->first[device + 1]; i++) {
            struct pass *last = &s->passes[count - (count > s->next[device])];
            const struct pass *pass = &order->passes[i];
            bool joins = pass->kind == PASS_WEIGHT && count > s->next[device] && last->kind == PASS_INPUT &&
                         last->stage == pass->stage && last->microbatch == pass->microbatch &&
                         !pass->paired && (count < s->next[device] + 2 || !last[-1].paired);
            if (joins)
                last->kind = PASS_BACKWARD;
            else
                s->passes[count++] = *pass;
        }
        s->end[device] = count;
    }
}

static bool make_action(struct sender *s, int rank, const struct pass *action)
{
    return (VECTOR_ADD(s->made, s->made_count, s->made_capacity, *action) &&
            VECTOR_ADD(s->made_for, s->for_count, s->for_capacity, (uint16_t)rank)) ||
           error_memory(s->err);
}

static bool has_input(const struct sender *s, const struct pass *pass)
{
    if (pass->kind == PASS_WEIGHT)
        return true;
    bool forward = pass->kind == PASS_FORWARD;
    int from = forward ? pass_order_before(s->order, pass->stage) : pass_order_after(s->order, pass->stage);
    return from < 0 ||
           (*arrived_at(s, pass->stage, pass->microbatch) & (forward ? ARRIVED_FORWARD : ARRIVED_BACKWARD));
}

/* Hands the result of a pass on, with SEND and RECV if it goes to another device. */
static bool send_result(struct sender *s, int device, const struct pass *pass)
{
    bool forward = pass->kind == PASS_FORWARD;
    int to = forward ? pass_order_after(s->order, pass->stage) : pass_order_before(s->order, pass->stage);
    if (pass->kind == PASS_WEIGHT || to < 0)
        return true;
    *arrived_at(s, to, pass->microbatch) |= forward ? ARRIVED_FORWARD : ARRIVED_BACKWARD;
    if (s->order->device_of[to] == device)
        return true;
    const struct pass send = {.kind = forward ? ACTION_SEND_FORWARD : ACTION_SEND_BACKWARD,
                              .stage = pass->stage,
                              .microbatch = pass->microbatch};
    const struct pass receive = {.kind = forward ? ACTION_RECEIVE_FORWARD : ACTION_RECEIVE_BACKWARD,
                                 .stage = (uint16_t)to,
                                 .microbatch = pass->microbatch};
    return make_action(s, device, &send) && make_action(s, s->order->device_of[to], &receive);
}

/* Takes the next cell of a device if its inputs are there. */
static bool take_cell(struct sender *s, int device, bool *taken)
{
    const struct pass *passes = &s->passes[s->next[device]];
    int count = passes[0].paired && s->next[device] + 1 < s->end[device] ? 2 : 1;
    *taken = has_input(s, &passes[0]) && (count == 1 || has_input(s, &passes[1]));
    for (int i = 0; *taken && i < count; i++)
        if (!make_action(s, device, &passes[i]))
            return false;
    for (int i = 0; *taken && i < count; i++)
        if (!send_result(s, device, &passes[i]))
            return false;
    s->next[device] += *taken ? (size_t)count : 0;
    return true;
}

static bool take_rounds(struct sender *s)
{
    bool progress = true, left = true;
    while (left) {
        if (!progress)
            return error_set(s->err, ERROR_INPUT, "the passes of this order wait for each other");
        progress = left = false;
        for (int device = 0; device < s->order->devices; device++) {
            bool taken = false;
            if (s->next[device] < s->end[device] && !take_cell(s, device, &taken))
                return false;
            progress |= taken;
            left |= s->next[device] < s->end[device];
        }
    }
    return true;
}

/* Sorts what was made by rank. */
static bool collect(const struct sender *s, struct schedule_csv *csv)
{
    size_t ranks = (size_t)s->order->devices;
    for (size_t rank = 0; rank < ranks; rank++)
        if (!schedule_csv_add_rank(csv, s->err))
            return false;
    for (size_t i = 0; i < s->made_count; i++)
        if (!schedule_csv_add(csv, &s->made[i], s->err))
            return false;
    memset(csv->first, 0, (ranks + 1) * sizeof *csv->first);
    for (size_t i = 0; i < s->made_count; i++)
        csv->first[s->made_for[i] + 1]++;
    for (size_t rank = 0; rank < ranks; rank++)
        csv->first[rank + 1] += csv->first[rank];
    for (size_t i = 0; i < s->made_count; i++)
        csv->actions[csv->first[s->made_for[i]]++] = s->made[i];
    for (size_t rank = ranks; rank > 0; rank--)
        csv->first[rank] = csv->first[rank - 1];
    csv->first[0] = 0;
    return true;
}

static bool add_with_sends(struct schedule_csv *csv, const struct pass_order *order, struct error *err)
{
    size_t devices = (size_t)order->devices;
    struct sender sender = {.order = order, .err = err};
    sender.passes = malloc((pass_order_count(order) + 1) * sizeof *sender.passes);
    sender.next = malloc(devices * sizeof *sender.next);
    sender.end = malloc(devices * sizeof *sender.end);
    sender.arrived = calloc((size_t)order->stages, (size_t)order->microbatches);
    bool ok = sender.passes != NULL && sender.next != NULL && sender.end != NULL && sender.arrived != NULL;
    if (ok) {
        join_passes(&sender);
        ok = take_rounds(&sender) && collect(&sender, csv);
    } else {
        error_memory(err);
    }
    free(sender.passes);
    free(sender.next);
    free(sender.end);
    free(sender.arrived);
    free(sender.made);
    free(sender.made_for);
    return ok;
}

bool schedule_csv_of_order(struct schedule_csv *csv, const struct pass_order *order,
                           const struct schedule_csv_form *form, struct error *err)
{
    *csv = (struct schedule_csv){.path = "schedule", .letters = form->letters};
    if (order->chains != 1)
        return error_set(
            err, ERROR_INPUT,
            "a schedule with %d chains of stages cannot be written: PyTorch's schedules have one",
            order->chains);
    if (order->slices > 1)
        return error_set(err, ERROR_INPUT,
                         "a schedule that cuts the sequence cannot be written: PyTorch's passes are of whole "
                         "micro-batches");
    bool ok = add_passes(csv, order, err) && schedule_csv_check(csv, err);
    if (ok && form->with_sends) {
        schedule_csv_release(csv);
        *csv = (struct schedule_csv){.path = "schedule", .letters = form->letters};
        ok = add_with_sends(csv, order, err);
    }
    if (!ok)
        schedule_csv_release(csv);
    return ok;
}
