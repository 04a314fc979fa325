#include "support/random_problem.h"
#include "core/random.h"
#include "support/sanitizer.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_GROUPS 4

const struct random_shape random_tiny = {
    .least_layers = 1, .most_layers = 7, .most_groups = 3, .most_nodes = 5};
const struct random_shape random_tight = {.least_layers = 2,
                                          .most_layers = 7,
                                          .most_groups = 3,
                                          .most_nodes = 4,
                                          .only_powers_of_2 = true,
                                          .tight_memory = true};
const struct random_shape random_medium = {
    .least_layers = 12, .most_layers = 20, .most_groups = 4, .most_nodes = 8, .only_powers_of_2 = true};

uint64_t random_bits(struct random_source *source)
{
    return random_next(&source->state);
}

int random_range(struct random_source *source, int min, int max)
{
    return min + (int)(random_bits(source) % (uint64_t)(max - min + 1));
}

double random_unit(struct random_source *source)
{
    return random_uniform(&source->state);
}

bool random_one_in(struct random_source *source, int count)
{
    return random_range(source, 1, count) == 1;
}

int random_cases(int max)
{
    const char *text = getenv("REHEARSE_RANDOM_CASES");
    long cases = text ? strtol(text, NULL, 10) : max / (ADDRESS_SANITIZER || THREAD_SANITIZER ? 8 : 3) + 1;
    return cases > 0 && cases < max ? (int)cases : max;
}

/* Where times come from. Whole numbers give many ties; fractions of a millisecond give the same ties with
 * rounding errors, which must still count as ties. */
enum values { WHOLE_SECONDS, WHOLE_MILLISECONDS, HUNDREDTHS_OF_MILLISECONDS, UNIFORM, VALUES_COUNT };

static double draw(struct random_source *source, enum values values)
{
    switch (values) {
    case WHOLE_SECONDS:
        return random_range(source, 1, 9);
    case WHOLE_MILLISECONDS:
        return random_range(source, 1, 40) / 1e3;
    case HUNDREDTHS_OF_MILLISECONDS:
        return random_range(source, 1, 500) / 1e5;
    default:
        return 1e-3 + random_unit(source);
    }
}

/* Forward and backward of each layer on one kind of device. */
struct times {
    double *forward, *backward;
};

static bool times_new(struct times *times, struct plan_problem *problem)
{
    times->forward = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, double);
    times->backward = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, double);
    return times->forward && times->backward;
}

static void times_draw(struct times *times, int layers, struct random_source *source, enum values values)
{
    bool all_equal = random_one_in(source, 5);
    bool triple = random_one_in(source, 3); /* backward = 3 x forward, as Oobleck's profiles have it */
    for (int i = 0; i < layers; i++) {
        times->forward[i] = all_equal && i > 0 ? times->forward[0] : draw(source, values);
        times->backward[i] = all_equal && i > 0 ? times->backward[0] : draw(source, values);
        if (triple)
            times->backward[i] = 3 * times->forward[i];
    }
}

static double draw_speed(struct random_source *source)
{
    static const double speeds[] = {0.5, 0.6, 1.0, 1.5, 1.8, 2.0, 2.15, 2.94, 4.0, 4.41, 5.45};
    return speeds[random_range(source, 0, (int)(sizeof speeds / sizeof *speeds) - 1)];
}

static int draw_devices(struct random_source *source, const struct random_shape *shape)
{
    static const int devices[] = {1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 8};
    if (!shape->only_powers_of_2 && random_one_in(source, 40))
        return random_one_in(source, 2) ? 3 : 6;
    return devices[random_range(source, 0, (int)(sizeof devices / sizeof *devices) - 1)];
}

/* None, the same for each layer, or different for each; some larger than the layer itself. */
static bool draw_allreduce(struct plan_problem *problem, struct plan_group *group,
                           struct random_source *source, enum values values)
{
    enum { NONE, CONSTANT, RANDOM } kind = random_range(source, NONE, RANDOM);
    double weight = random_one_in(source, 2) ? 1 : 0.125;
    for (int split = 1; split < group->splits; split++) {
        double *seconds = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, double);
        if (!seconds)
            return false;
        double constant = kind == NONE ? 0 : weight * draw(source, values);
        for (int i = 0; i < problem->layer_count; i++)
            seconds[i] = kind == RANDOM ? weight * draw(source, values) : constant;
        group->allreduce[split] = seconds;
    }
    return true;
}

/* Each kind of device has times of its own, or those of the base divided by its speed. */
static bool draw_group(struct plan_problem *problem, struct plan_group *group,
                       const struct random_shape *shape, struct random_source *source,
                       const struct times *base, enum values values)
{
    static const char *const names[MAX_GROUPS] = {"a", "b", "c", "d"};
    struct times times;
    if (!times_new(&times, problem))
        return false;
    if (random_one_in(source, 3)) {
        times_draw(&times, problem->layer_count, source, values);
    } else {
        double speed = draw_speed(source);
        for (int i = 0; i < problem->layer_count; i++) {
            times.forward[i] = base->forward[i] / speed;
            times.backward[i] = base->backward[i] / speed;
        }
    }
    group->device = names[group - problem->groups];
    group->forward = times.forward;
    group->backward = times.backward;
    group->nodes.devices = draw_devices(source, shape);
    group->splits = 1;
    while (1 << group->splits <= group->nodes.devices)
        group->splits++;
    return draw_allreduce(problem, group, source, values);
}

static void draw_nodes(struct plan_problem *problem, const struct random_shape *shape,
                       struct random_source *source)
{
    for (int g = 0; g < problem->group_count; g++)
        problem->groups[g].nodes.count = 1;
    for (int more = random_range(source, 0, shape->most_nodes - problem->group_count); more > 0; more--)
        problem->groups[random_range(source, 0, problem->group_count - 1)].nodes.count++;
}

/* Small numbers of bytes, so that stages often fit exactly. */
static bool draw_memory(struct plan_problem *problem, const struct random_shape *shape,
                        struct random_source *source)
{
    int64_t *parameters = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, int64_t);
    int64_t *activations = ARENA_ARRAY(&problem->arena, (size_t)problem->layer_count, int64_t);
    if (!parameters || !activations)
        return false;
    int total = 0;
    for (int i = 0; i < problem->layer_count; i++) {
        parameters[i] = random_range(source, 0, 3);
        activations[i] = random_range(source, 0, 6);
        total += (int)(6 * parameters[i] + activations[i]);
    }
    problem->parameter_bytes = parameters;
    problem->activation_bytes = activations;
    if (shape->tight_memory) {
        int devices = plan_problem_devices(problem);
        for (int g = 0; g < problem->group_count; g++)
            problem->groups[g].nodes.memory =
                random_range(source, total / devices + 1, 3 * total / devices + 6);
        problem->memory = random_one_in(source, 4) ? MEMORY_REFERENCE : MEMORY_IN_FLIGHT;
    } else if (random_one_in(source, 4))
        for (int g = 0; g < problem->group_count; g++)
            if (!random_one_in(source, 4))
                problem->groups[g].nodes.memory = random_range(source, total / 6 + 1, total + 1);
    return true;
}

bool random_problem_init(struct plan_problem *problem, const struct random_shape *shape, uint64_t seed)
{
    static const int microbatches[] = {0, 0, 0, 1, 2, 3, 4, 8, 8, 16, 50, 50};
    struct random_source source = {seed};
    memset(problem, 0, sizeof *problem);
    problem->layer_count = random_range(&source, shape->least_layers, shape->most_layers);
    problem->group_count = random_range(&source, 1, shape->most_groups);
    problem->microbatches =
        microbatches[random_range(&source, 0, (int)(sizeof microbatches / sizeof *microbatches) - 1)];
    draw_nodes(problem, shape, &source);
    enum values values = random_range(&source, 0, VALUES_COUNT - 1);
    struct times base;
    bool ok = times_new(&base, problem);
    if (ok)
        times_draw(&base, problem->layer_count, &source, values);
    for (int g = 0; ok && g < problem->group_count; g++)
        ok = draw_group(problem, &problem->groups[g], shape, &source, &base, values);
    ok = ok && draw_memory(problem, shape, &source);
    if (!ok)
        plan_problem_release(problem);
    return ok;
}

static void print_seconds(const char *name, const double *seconds, int count, FILE *out)
{
    fprintf(out, "  %s:", name);
    for (int i = 0; i < count; i++)
        fprintf(out, " %.17g", seconds[i]);
    fputc('\n', out);
}

static void print_bytes(const char *name, const int64_t *bytes, int count, FILE *out)
{
    fprintf(out, "%s:", name);
    for (int i = 0; i < count; i++)
        fprintf(out, " %" PRId64, bytes[i]);
    fputc('\n', out);
}

void random_problem_print(const struct plan_problem *problem, FILE *out)
{
    int layers = problem->layer_count;
    fprintf(out, "%s objective, %d layers, %d micro-batches%s\n",
            problem->objective == OBJECTIVE_OOBLECK ? "oobleck" : "pipeline", layers, problem->microbatches,
            problem->memory == MEMORY_REFERENCE ? ", one in flight" : "");
    print_bytes("parameters", problem->parameter_bytes, layers, out);
    print_bytes("activations", problem->activation_bytes, layers, out);
    for (int g = 0; g < problem->group_count; g++) {
        const struct plan_group *group = &problem->groups[g];
        fprintf(out, "group %d: %d nodes x %d devices, %" PRId64 " bytes each\n", g, group->nodes.count,
                group->nodes.devices, group->nodes.memory);
        print_seconds("forward", group->forward, layers, out);
        print_seconds("backward", group->backward, layers, out);
        for (int split = 1; split < group->splits; split++) {
            char name[32];
            snprintf(name, sizeof name, "allreduce(%d)", 1 << split);
            print_seconds(name, group->allreduce[split], layers, out);
        }
    }
}
