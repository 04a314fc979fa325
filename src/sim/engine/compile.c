/* Makes steps of tasks: what streams need of a task lies together, stream by stream, and waits for marks become numbers
 * of events. A pass makes the same events each time, numbered from its base on. A wait for a mark that an earlier task
 * of the template sets is a number within the pass; a wait for one of an earlier pass is looked up once for each order,
 * by going through it as its devices will. */
#include "core/stop.h"
#include "core/vector.h"
#include "sim/engine/inner.h"

#include <stdlib.h>
#include <string.h>

#define MAX_EVENTS 0x3fffffff /* of an order */

struct maker {
    const struct engine_system *system;
    struct compiled *compiled;
    struct error *err;
    uint32_t *last;   /* of each mark: a wait for the last event that set it; WAIT_NOTHING: none */
    uint8_t *setter;  /* the stream that set it */
    uint32_t *waited; /* [stream][mark]: the last event that the stream waited for */
};

static bool good(double number)
{
    return number >= 0.0 && number < 1e30;
}

static bool check_task(const struct maker *maker, int template, int place, const struct engine_task *task)
{
    struct error *err = maker->err;
    if (!good(task->seconds) || !good(task->latency) || !good(task->delay) || !good(task->bytes))
        return error_set(err, ERROR_INPUT, "template %d, task %d: a number is negative or not finite",
                         template, place);
    if (task->stream >= ENGINE_STREAMS || task->label >= maker->system->label_count || task->second > 1 ||
        task->mark > ENGINE_MARKS)
        return error_set(err, ERROR_INPUT, "template %d, task %d: no such stream, label or mark", template,
                         place);
    if (!(task->share >= 0.0 && task->share <= 0.99) || (task->stream == 0 && task->share > 0.0))
        return error_set(err, ERROR_INPUT,
                         "template %d, task %d: a share of %g is not between 0 and 0.99, or on stream 0",
                         template, place, task->share);
    if (task->receive < 0 || task->send < 0 || task->group < 0 || task->route < 0 ||
        (task->group > 0 && task->route > 0))
        return error_set(err, ERROR_INPUT, "template %d, task %d: a negative number, or a group and a route",
                         template, place);
    bool flows = task->latency < task->seconds && (task->route > 0 || task->group > 0);
    if (flows && (!good(task->rate) || (task->route > 0 && task->rate <= 0.0)))
        return error_set(err, ERROR_INPUT, "template %d, task %d: a flow at a rate of %g", template, place,
                         task->rate);
    if (task->send_at_begin && task->group > 0)
        return error_set(err, ERROR_INPUT, "template %d, task %d: a collective sends only when it ends",
                         template, place);
    for (int i = 0; i < ENGINE_WAITS; i++) {
        if (task->waits[i] > ENGINE_MARKS)
            return error_set(err, ERROR_INPUT, "template %d, task %d: no mark %d", template, place,
                             task->waits[i]);
    }
    return true;
}

static bool transfers(const struct maker *maker, const struct engine_task *task)
{
    switch (maker->system->labels[task->label].kind) {
    case TASK_SEND:
    case TASK_RECEIVE:
    case TASK_COLLECTIVE:
    case TASK_LOAD:
    case TASK_SAVE:
        return true;
    default:
        return false;
    }
}

static int higher(int a, int b)
{
    return a > b ? a : b;
}

/* Adds a step's waits. Those for marks of its own stream hold anyhow. */
static bool add_waits(struct maker *maker, struct plan_of_pass *plan, struct step *step)
{
    const struct engine_task *task = step->task;
    for (int i = 0; i < ENGINE_WAITS; i++) {
        uint16_t mark = task->waits[i];
        if (mark == 0)
            continue;
        if (maker->last[mark] != WAIT_NOTHING) {
            if (maker->setter[mark] != task->stream)
                step->waits[step->wait_count++] = maker->last[mark];
            continue;
        }
        struct look_back look = {.mark = mark, .stream = task->stream};
        if (!VECTOR_ADD(maker->compiled->looks, maker->compiled->look_count, maker->compiled->look_capacity,
                        look))
            return error_memory(maker->err);
        step->waits[step->wait_count++] = WAIT_EARLIER | plan->look_count++;
    }
    return true;
}

/* Makes the steps of all streams in the order of the template, and then sorts them by stream. */
static bool compile_template(struct maker *maker, int number)
{
    const struct engine_template *template = &maker->system->templates[number];
    struct compiled *compiled = maker->compiled;
    struct plan_of_pass *plan = &compiled->templates[number];
    size_t first = compiled->step_count;
    *plan = (struct plan_of_pass){.looks = (uint32_t)compiled->look_count,
                                  .setters = (uint32_t)compiled->setter_count};
    memset(maker->last, 0xff, (ENGINE_MARKS + 1) * sizeof *maker->last);
    if (template->count < 0 || first + (size_t) template->count > INT32_MAX)
        return error_set(maker->err, ERROR_INPUT, "template %d has too many tasks", number);
    if (!VECTOR_ROOM(compiled->steps, compiled->step_capacity, first + (size_t) template->count))
        return error_memory(maker->err);
    struct step *unsorted = malloc(((size_t) template->count + 1) * sizeof *unsorted);
    if (unsorted == NULL)
        return error_memory(maker->err);
    bool done = true;
    for (int i = 0; i < template->count && done; i++) {
        const struct engine_task *task = &template->tasks[i];
        struct step *step = &unsorted[i];
        uint8_t bit = (uint8_t)(1u << (task->stream % ENGINE_STREAMS));
        bool plain = task->group == 0 && task->route == 0;
        if (!check_task(maker, number, i, task)) {
            done = false;
            break;
        }
        *step = (struct step){.seconds = task->seconds,
                              .task = task,
                              .event = -1,
                              .place = i,
                              .label = task->label,
                              .second = task->second};
        done = add_waits(maker, plan, step);
        step->flags =
            (uint8_t)((task->group > 0 ? STEP_MEETS : 0) | (task->receive > 0 ? STEP_RECEIVES : 0) |
                      (task->route > 0 && task->latency < task->seconds ? STEP_FLOWS : 0) |
                      (task->send > 0 ? STEP_SENDS : 0) |
                      (task->send > 0 && task->send_at_begin ? STEP_SENDS_AT_BEGIN : 0) |
                      (task->change_count > 0 ? STEP_CHANGES : 0) | (task->share > 0.0 ? STEP_SHARE : 0) |
                      (plain && task->stream == 0 && !transfers(maker, task) ? STEP_KERNEL : 0));
        plan->streams |= bit;
        plan->share_streams |= task->share > 0.0 ? bit : 0;
        plan->memory_streams |= task->change_count > 0 ? bit : 0;
        plan->ports = higher(plan->ports, higher(task->receive, task->send));
        plan->groups = higher(plan->groups, task->group);
        plan->routes = higher(plan->routes, task->route);
        if (task->mark > 0 && done) {
            maker->last[task->mark] = plan->events << 1 | (task->stream == 0 ? WAIT_BY_KERNEL : 0);
            maker->setter[task->mark] = task->stream;
            step->event = (int32_t)plan->events++;
        }
    }
    for (unsigned stream = 0; stream < ENGINE_STREAMS && done; stream++) {
        plan->tracks[stream].first = (uint32_t)compiled->step_count;
        for (int i = 0; i < template->count; i++) {
            if (unsorted[i].task->stream == stream)
                compiled->steps[compiled->step_count++] = unsorted[i];
        }
        plan->tracks[stream].last = (uint32_t)compiled->step_count;
    }
    for (int i = 0; i < template->count && done; i++) {
        uint16_t mark = template->tasks[i].mark;
        struct setter setter = {mark, template->tasks[i].stream, (uint32_t)unsorted[i].event << 1};
        if (mark == 0 || (maker->last[mark] | WAIT_BY_KERNEL) != (setter.event | WAIT_BY_KERNEL))
            continue;
        plan->setter_count++;
        done = VECTOR_ADD(compiled->setters, compiled->setter_count, compiled->setter_capacity, setter) ||
               error_memory(maker->err);
    }
    free(unsorted);
    return done;
}

/* Finds the event of a wait for a mark of an earlier pass. */
static uint32_t look(struct maker *maker, const struct look_back *look)
{
    uint32_t *waited = &maker->waited[(size_t)look->stream * (ENGINE_MARKS + 1) + look->mark];
    uint32_t event = maker->last[look->mark];
    if (event == WAIT_NOTHING || maker->setter[look->mark] == look->stream || *waited == event)
        return WAIT_NOTHING;
    return *waited = event;
}

static bool walk(struct maker *maker, struct plan_of_order *plan, int number)
{
    const struct compiled *compiled = maker->compiled;
    uint64_t base = 0;
    uint32_t most = 1;
    for (uint32_t pass = 0; pass < plan->count; pass++) {
        uint32_t which = plan->passes[pass].template;
        if (stop_obeyed_at(pass, maker->err))
            return false;
        if (which >= (uint32_t)maker->system->template_count)
            return error_set(maker->err, ERROR_INPUT, "order %d, pass %u: no template %u", number, pass,
                             which);
        const struct plan_of_pass *template = &compiled->templates[which];
        plan->places[pass] = (struct place_in_order){
            .base = (uint32_t)base, .lowest = (uint32_t)base, .earlier = (uint32_t)plan->earlier_count};
        for (uint32_t i = 0; i < template->look_count; i++) {
            uint32_t event = look(maker, &compiled->looks[template->looks + i]);
            if (!VECTOR_ADD(plan->earlier, plan->earlier_count, plan->earlier_capacity, event))
                return error_memory(maker->err);
            if (event != WAIT_NOTHING && event >> 1 < plan->places[pass].lowest)
                plan->places[pass].lowest = event >> 1;
        }
        for (uint32_t i = 0; i < template->setter_count; i++) {
            const struct setter *setter = &compiled->setters[template->setters + i];
            maker->last[setter->mark] =
                ((uint32_t)base << 1) + (setter->event | (setter->stream == 0 ? WAIT_BY_KERNEL : 0));
            maker->setter[setter->mark] = setter->stream;
        }
        base += template->events;
        plan->has_marks |= template->events > 0;
        if (base > MAX_EVENTS || plan->earlier_count > MAX_EVENTS)
            return error_set(maker->err, ERROR_INPUT, "order %d sets more than %d marks", number, MAX_EVENTS);
        most = template->events > most ? template->events : most;
        plan->streams |= template->streams;
        plan->share_streams |= template->share_streams;
        plan->memory_streams |= template->memory_streams;
        plan->ports = higher(plan->ports, template->ports);
        plan->groups = higher(plan->groups, template->groups);
        plan->routes = higher(plan->routes, template->routes);
    }
    plan->places[plan->count] = (struct place_in_order){.base = (uint32_t)base, .lowest = (uint32_t)base};
    for (uint32_t pass = plan->count; pass-- > 0;) {
        if (plan->places[pass + 1].lowest < plan->places[pass].lowest)
            plan->places[pass].lowest = plan->places[pass + 1].lowest;
    }
    for (plan->room = 8; plan->room < 4 * most;)
        plan->room *= 2;
    return true;
}

/* Notes which of its devices' groups the tasks of an order use. */
static bool find_groups(struct maker *maker, struct plan_of_order *plan)
{
    bool *seen = calloc((size_t)maker->system->template_count + 1, sizeof *seen);
    plan->uses_group = calloc((size_t)plan->groups + 1, sizeof *plan->uses_group);
    if (seen == NULL || plan->uses_group == NULL) {
        free(seen);
        return error_memory(maker->err);
    }
    for (uint32_t pass = 0; pass < plan->count; pass++) {
        uint32_t which = plan->passes[pass].template;
        const struct engine_template *template = &maker->system->templates[which];
        for (int i = 0; i < template->count && !seen[which]; i++)
            plan->uses_group[template->tasks[i].group] = true;
        seen[which] = true;
    }
    free(seen);
    return true;
}

static bool compile_order(struct maker *maker, int number)
{
    const struct engine_order *order = &maker->system->orders[number];
    struct plan_of_order *plan = &maker->compiled->orders[number];
    if (order->count > INT32_MAX)
        return error_set(maker->err, ERROR_INPUT, "order %d has %zu passes", number, order->count);
    *plan = (struct plan_of_order){.passes = order->passes, .count = (uint32_t)order->count};
    plan->places = malloc((order->count + 1) * sizeof *plan->places);
    if (plan->places == NULL)
        return error_memory(maker->err);
    memset(maker->last, 0xff, (ENGINE_MARKS + 1) * sizeof *maker->last);
    memset(maker->waited, 0xff, (size_t)ENGINE_STREAMS * (ENGINE_MARKS + 1) * sizeof *maker->waited);
    return walk(maker, plan, number) && find_groups(maker, plan);
}

bool engine_compile(const struct engine_system *system, struct compiled *compiled, struct error *err)
{
    struct maker maker = {.system = system, .compiled = compiled, .err = err};
    *compiled = (struct compiled){.order_count = system->order_count};
    compiled->templates = calloc((size_t)system->template_count + 1, sizeof *compiled->templates);
    compiled->orders = calloc((size_t)system->order_count + 1, sizeof *compiled->orders);
    maker.last = malloc((ENGINE_MARKS + 1) * sizeof *maker.last);
    maker.setter = malloc((ENGINE_MARKS + 1) * sizeof *maker.setter);
    maker.waited = malloc((size_t)ENGINE_STREAMS * (ENGINE_MARKS + 1) * sizeof *maker.waited);
    bool made = compiled->templates != NULL && compiled->orders != NULL && maker.last != NULL &&
                maker.setter != NULL && maker.waited != NULL;
    if (!made)
        error_memory(err);
    for (int i = 0; made && i < system->template_count; i++)
        made = compile_template(&maker, i);
    for (int i = 0; made && i < system->order_count; i++)
        made = compile_order(&maker, i);
    free(maker.last);
    free(maker.setter);
    free(maker.waited);
    if (!made)
        engine_compiled_release(compiled);
    return made;
}

void engine_compiled_release(struct compiled *compiled)
{
    free(compiled->steps);
    free(compiled->templates);
    free(compiled->setters);
    free(compiled->looks);
    for (int i = 0; compiled->orders != NULL && i < compiled->order_count; i++) {
        free(compiled->orders[i].places);
        free(compiled->orders[i].earlier);
        free(compiled->orders[i].uses_group);
    }
    free(compiled->orders);
    *compiled = (struct compiled){.steps = NULL};
}
