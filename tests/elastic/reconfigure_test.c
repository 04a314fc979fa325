/* Reconfigurations: every layer has a place and comes from a device that held it, bytes are conserved,
 * sources are nearly the best, and Oobleck's cases give Oobleck's instances. */
#include "elastic/reconfigure.h"
#include "support/random_kit.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES     3000
#define MAX_NODES 24
#define DEVICES   2
#define LAYERS    6
#define UNITS     2

/* What every device holds, cell by cell. */
struct held {
    bool cells[MAX_NODES * DEVICES][LAYERS * UNITS];
};

static void held_by(const struct elastic_state *state, struct held *held)
{
    memset(held, 0, sizeof *held);
    for (int i = 0; i < state->instance_count; i++) {
        const struct elastic_shape *shape = &state->kit->shapes[state->instances[i].shape];
        for (int s = 0; s < shape->slot_count; s++) {
            const struct elastic_slot *slot = &shape->slots[s];
            int device = state->instances[i].nodes[slot->position] * DEVICES + slot->device;
            for (int l = slot->first; l <= slot->last; l++)
                for (int u = slot->from; u < slot->until; u++)
                    held->cells[device][l * UNITS + u] = true;
        }
    }
}

static double cell_bytes(const struct elastic_kit *kit, int cell)
{
    return elastic_unit_bytes(kit, cell / UNITS, cell / UNITS);
}

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (1 + fmax(fabs(a), fabs(b)));
}

/* Instances are on live nodes of the right kinds, each once, and the owners say so. */
static void check_state(const struct elastic_state *state, const bool *gone)
{
    int used[MAX_NODES] = {0};
    for (int i = 0; i < state->instance_count; i++) {
        const struct elastic_shape *shape = &state->kit->shapes[state->instances[i].shape];
        for (int p = 0; p < shape->nodes; p++) {
            int node = state->instances[i].nodes[p];
            assert_in_range(node, 0, state->node_count - 1);
            assert_false(gone[node]);
            assert_int_equal(used[node]++, 0);
            assert_int_equal(elastic_kind_of(state->kit, node), shape->kinds[p]);
            assert_int_equal(state->owner[node], i);
        }
    }
    for (int n = 0; n < state->node_count; n++)
        if (!used[n])
            assert_int_equal(state->owner[n], gone[n] ? ELASTIC_GONE : ELASTIC_SPARE);
}

/* Copies give each device exactly the cells that it needs and did not hold, from live devices that held them.
 */
static void check_copies(const struct elastic_state *from, const struct elastic_transition *way,
                         const bool *gone)
{
    static struct held before, after, got;
    double bytes = 0;
    held_by(from, &before);
    held_by(&way->after, &after);
    memset(&got, 0, sizeof got);
    for (int i = 0; i < way->copy_count; i++) {
        const struct elastic_copy *copy = &way->copies[i];
        double own = 0;
        assert_false(gone[copy->from_node]);
        for (int l = copy->first; l <= copy->last; l++)
            for (int u = copy->from; u < copy->until; u++) {
                int cell = l * UNITS + u;
                assert_true(before.cells[copy->from_node * DEVICES + copy->from_device][cell]);
                assert_false(got.cells[copy->to_node * DEVICES + copy->to_device][cell]);
                got.cells[copy->to_node * DEVICES + copy->to_device][cell] = true;
                own += cell_bytes(from->kit, cell);
            }
        assert_true(near(copy->bytes, own));
        bytes += own;
    }
    assert_true(near(bytes, way->outcome.bytes_across + way->bytes_inside));
    for (int d = 0; d < from->node_count * DEVICES; d++)
        for (int c = 0; c < LAYERS * UNITS; c++)
            assert_int_equal(got.cells[d][c], after.cells[d][c] && !before.cells[d][c]);
}

/* Whether some cell has no live device that held it. */
static bool is_lost(const struct elastic_state *from, const bool *gone)
{
    static struct held before;
    held_by(from, &before);
    for (int c = 0; c < LAYERS * UNITS; c++) {
        bool any = false;
        for (int d = 0; d < from->node_count * DEVICES; d++)
            any |= !gone[d / DEVICES] && before.cells[d][c];
        if (!any)
            return true;
    }
    return false;
}

static bool start(struct elastic_state *state, struct elastic_kit *kit, uint64_t seed, int faults)
{
    struct elastic_set set;
    struct error err;
    int nodes[ELASTIC_MAX_KINDS];
    random_kit(kit, &(struct random_kit_spec){2, 5, 5, 40, true}, seed);
    for (int k = 0; k < kit->kind_count; k++)
        nodes[k] = kit->kinds[k].nodes.count *= 2;
    if (!elastic_instances(&set, kit, nodes, faults, &err)) {
        elastic_kit_release(kit);
        return false;
    }
    assert_true(elastic_state_start(state, kit, &set, &err));
    elastic_set_release(&set);
    return true;
}

static void losses_keep_every_layer(void **unused)
{
    (void)unused;
    int cases = random_cases(CASES), ways = 0, checkpoints = 0, moved = 0;
    for (int i = 0; i < cases; i++) {
        struct elastic_kit kit;
        struct elastic_state state;
        struct elastic_transition way;
        struct error err;
        uint64_t draw = (uint64_t)i;
        if (!start(&state, &kit, (uint64_t)i, 1))
            continue;
        bool gone[MAX_NODES] = {false};
        int lost[MAX_NODES], lost_count = 0, want = (int)random_between(&draw, 1, 3);
        for (int n = 0; n < state.node_count && lost_count < want; n++)
            if (random_between(&draw, 0, state.node_count / 2) == 0)
                gone[lost[lost_count++] = n] = true;
        struct elastic_change change = {.lost = lost,
                                        .lost_count = lost_count,
                                        .faults = 1,
                                        .method = i % 3 ? ELASTIC_LOCAL : ELASTIC_FASTEST};
        if (elastic_reconfigure(&way, &state, &change, &err)) {
            ways++;
            check_state(&way.after, gone);
            assert_int_equal(way.outcome.checkpoint, is_lost(&state, gone));
            assert_int_equal(way.outcome.checkpoint, way.missing.length > 0);
            if (lost_count < 2)
                assert_false(way.outcome.checkpoint);
            if (!way.outcome.checkpoint) {
                check_copies(&state, &way, gone);
                assert_true(way.outcome.seconds >= way.bound * (1 - 1e-12));
                moved += way.copy_count > 0;
            } else {
                checkpoints++;
                assert_int_equal(way.copy_count, 0);
            }
            elastic_transition_release(&way);
        } else
            assert_int_equal(err.kind, ERROR_INFEASIBLE);
        elastic_state_release(&state);
        elastic_kit_release(&kit);
    }
    assert_true(ways > cases / 6 && checkpoints > cases / 300 && moved > cases / 10);
}

/* ---- sources ---- */

struct choice {
    const struct elastic_state *from;
    const struct held *before;
    const bool *gone;
    int devices[64], cells[64], count; /* needs */
    double out[MAX_NODES * DEVICES], best;
};

/* The fullest device out to other nodes, over all choices; a holder in the same node always serves. */
static void try_sources(struct choice *c, int at)
{
    if (at == c->count) {
        double most = 0;
        for (int d = 0; d < c->from->node_count * DEVICES; d++)
            most = fmax(most, c->out[d]);
        c->best = fmin(c->best, most);
        return;
    }
    int to = c->devices[at];
    for (int d = to / DEVICES * DEVICES; d < to / DEVICES * DEVICES + DEVICES; d++)
        if (!c->gone[d / DEVICES] && c->before->cells[d][c->cells[at]]) {
            try_sources(c, at + 1);
            return;
        }
    for (int d = 0; d < c->from->node_count * DEVICES; d++) {
        if (c->gone[d / DEVICES] || !c->before->cells[d][c->cells[at]])
            continue;
        double seconds = cell_bytes(c->from->kit, c->cells[at]) /
                         c->from->kit->kinds[elastic_kind_of(c->from->kit, d / DEVICES)].across;
        c->out[d] += seconds;
        try_sources(c, at + 1);
        c->out[d] -= seconds;
    }
}

/* Seconds of the ports in: they do not depend on sources, but on whether the node has one of its own. */
static double seconds_in(const struct choice *c)
{
    double across[MAX_NODES * DEVICES] = {0}, inside[MAX_NODES * DEVICES] = {0}, most = 0;
    for (int i = 0; i < c->count; i++) {
        int to = c->devices[i], node = to / DEVICES;
        const struct elastic_kind *kind = &c->from->kit->kinds[elastic_kind_of(c->from->kit, node)];
        bool own = false;
        for (int d = node * DEVICES; d < node * DEVICES + DEVICES; d++)
            own |= c->before->cells[d][c->cells[i]];
        if (own)
            inside[to] += cell_bytes(c->from->kit, c->cells[i]) / kind->inside;
        else
            across[to] += cell_bytes(c->from->kit, c->cells[i]) / kind->across;
        most = fmax(most, fmax(inside[to], across[to]));
    }
    return most;
}

static void sources_are_nearly_the_best(void **unused)
{
    (void)unused;
    static struct held before, after;
    int cases = random_cases(CASES), compared = 0, best = 0;
    for (int i = 0; i < cases; i++) {
        struct elastic_kit kit;
        struct elastic_state state;
        struct elastic_transition way;
        struct error err;
        if (!start(&state, &kit, (uint64_t)i + 5000, 2))
            continue;
        bool gone[MAX_NODES] = {false};
        int lost = i % state.node_count;
        struct elastic_change change = {.lost = &lost, .lost_count = 1};
        gone[lost] = true;
        if (!elastic_reconfigure(&way, &state, &change, &err)) {
            elastic_state_release(&state);
            elastic_kit_release(&kit);
            continue;
        }
        held_by(&state, &before);
        held_by(&way.after, &after);
        struct choice choice = {.from = &state, .before = &before, .gone = gone, .best = INFINITY};
        double choices = 1;
        for (int d = 0; d < state.node_count * DEVICES; d++)
            for (int c = 0; c < LAYERS * UNITS; c++)
                if (after.cells[d][c] && !before.cells[d][c] && choice.count < 64) {
                    int holders = 0;
                    for (int h = 0; h < state.node_count * DEVICES; h++)
                        holders += !gone[h / DEVICES] && before.cells[h][c];
                    choices *= holders;
                    choice.devices[choice.count] = d;
                    choice.cells[choice.count++] = c;
                }
        if (!way.outcome.checkpoint && choice.count > 0 && choices < 20000) {
            try_sources(&choice, 0);
            double least = fmax(choice.best, seconds_in(&choice));
            double latency = way.outcome.bytes_across > 0 ? 0.01 : 0;
            assert_true(way.bound <= least + latency + 1e-9);
            assert_true(way.outcome.seconds >= least - 1e-9);
            assert_true(way.outcome.seconds <= 1.5 * least + latency + 1e-9);
            compared++;
            best += near(way.outcome.seconds, least + latency) || near(way.outcome.seconds, least);
        }
        elastic_transition_release(&way);
        elastic_state_release(&state);
        elastic_kit_release(&kit);
    }
    assert_true(compared > cases / 30);
    assert_true(best > compared * 8 / 10);
}

/* ---- Oobleck's cases ---- */

enum { MOST = 14 };

/* Templates of 2 to 14 nodes, a layer each at least. */
static void make_templates(struct elastic_kit *kit)
{
    memset(kit, 0, sizeof *kit);
    kit->kind_count = 1;
    kit->kinds[0] = (struct elastic_kind){.name = "gpu", .nodes = {MOST, 1, 0}, .across = 1e9};
    kit->layer_count = kit->segment_count = MOST;
    kit->units = 1;
    kit->segment_from = ARENA_ARRAY(&kit->arena, MOST + 1, int);
    kit->segment_until = ARENA_ARRAY(&kit->arena, MOST + 1, double);
    for (int i = 0; i <= MOST; i++) {
        kit->segment_from[i] = i;
        kit->segment_until[i] = 1e6 * i;
    }
    kit->batch = 64;
    kit->shapes = calloc(MOST, sizeof *kit->shapes);
    for (int n = 2; n <= MOST; n++) {
        struct elastic_shape *shape = &kit->shapes[kit->shape_count++];
        *shape = (struct elastic_shape){.name = "template",
                                        .need = {n},
                                        .nodes = n,
                                        .pipelines = 1,
                                        .copies = 1,
                                        .line_count = 1,
                                        .bandwidth = 1e9};
        shape->kinds = ARENA_ARRAY(&kit->arena, MOST, int);
        shape->lines = ARENA_NEW(&kit->arena, struct elastic_line);
        *shape->lines = (struct elastic_line){1, 1, 14.0 / n, 1};
        shape->slots = ARENA_ARRAY(&kit->arena, MOST, struct elastic_slot);
        for (int p = 0; p < n; p++)
            shape->slots[shape->slot_count++] = (struct elastic_slot){
                .position = p, .first = MOST * p / n, .last = MOST * (p + 1) / n - 1, .until = 1, .ways = 1};
    }
}

static void expect_instances(const struct elastic_state *state, const char *expected)
{
    char found[256] = "";
    size_t used = 0;
    for (int i = 0; i < state->instance_count; i++) {
        bool mine[MOST] = {false};
        const char *comma = "";
        for (int p = 0; p < state->kit->shapes[state->instances[i].shape].nodes; p++)
            mine[state->instances[i].nodes[p]] = true;
        used += (size_t)snprintf(found + used, sizeof found - used, "[");
        for (int n = 0; n < MOST; n++)
            if (mine[n]) {
                used += (size_t)snprintf(found + used, sizeof found - used, "%s%d", comma, n);
                comma = ",";
            }
        used += (size_t)snprintf(found + used, sizeof found - used, "]");
    }
    assert_string_equal(found, expected);
}

/* Pipelines of 2, 3, 4 and 5 nodes, and the cases of Oobleck's own test of its reconfiguration (the facts are
 * those of shared/reference/planning/NOTES.md, section 7). */
static void ooblecks_cases_give_its_instances(void **unused)
{
    (void)unused;
    static const struct {
        int lost[MOST], count;
        const char *expected;
    } cases[] = {
        {{2}, 1, "[0,1][3,4][5,6,7,8][9,10,11,12,13]"},
        {{1, 3, 4}, 3, "[0,13][2,12][9,10,11][5,6,7,8]"},
        {{2, 4, 6, 7, 8}, 5, "[0,1][3,13][5,12][9,10,11]"},
        {{1, 2, 3, 5, 6, 7, 9, 10, 11}, 9, "[0,4][8,12,13]"},
        {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, 11, "[0,12,13]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct elastic_kit kit;
        struct elastic_state state;
        struct elastic_transition way;
        struct error err;
        int counts[MOST] = {1, 1, 1, 1};
        make_templates(&kit);
        struct elastic_set set = {.counts = counts, .instances = 4};
        assert_true(elastic_state_start(&state, &kit, &set, &err));
        struct elastic_change change = {.lost = cases[i].lost, .lost_count = cases[i].count};
        assert_true(elastic_reconfigure(&way, &state, &change, &err));
        expect_instances(&way.after, cases[i].expected);
        elastic_transition_release(&way);
        elastic_state_release(&state);
        elastic_kit_release(&kit);
    }
}

static void returned_nodes_are_used(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct elastic_state state;
    struct elastic_transition away, back, none;
    struct error err;
    int counts[MOST] = {1, 1, 1, 1}, lost[] = {2, 7}, stranger = 5;
    bool gone[MAX_NODES] = {false};
    make_templates(&kit);
    struct elastic_set set = {.counts = counts, .instances = 4};
    assert_true(elastic_state_start(&state, &kit, &set, &err));
    struct elastic_change change = {.lost = lost, .lost_count = 2};
    assert_true(elastic_reconfigure(&away, &state, &change, &err));
    change = (struct elastic_change){.returned = lost, .returned_count = 2};
    assert_true(elastic_reconfigure(&back, &away.after, &change, &err));
    check_state(&back.after, gone);
    assert_true(back.outcome.iteration < away.outcome.iteration);
    assert_false(back.outcome.checkpoint);
    assert_true(back.outcome.bytes_across > 0);
    change = (struct elastic_change){.returned = &stranger, .returned_count = 1};
    assert_false(elastic_reconfigure(&none, &away.after, &change, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    change = (struct elastic_change){.lost = lost, .lost_count = 1};
    assert_false(elastic_reconfigure(&none, &away.after, &change, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    elastic_transition_release(&away);
    elastic_transition_release(&back);
    elastic_state_release(&state);
    elastic_kit_release(&kit);
}

/* A pipeline of 14 nodes with a layer each. */
static void missing_layers_are_named(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct elastic_state state;
    struct elastic_transition way;
    struct error err;
    int counts[MOST] = {[MOST - 2] = 1}, lost[] = {3, 4, 9, 13};
    make_templates(&kit);
    struct elastic_set set = {.counts = counts, .instances = 1};
    assert_true(elastic_state_start(&state, &kit, &set, &err));
    struct elastic_change change = {.lost = lost, .lost_count = 4};
    assert_true(elastic_reconfigure(&way, &state, &change, &err));
    assert_true(way.outcome.checkpoint);
    assert_non_null(way.reason);
    assert_string_equal(way.missing.data, "3-4, 9, 13");
    assert_int_equal(way.kept, 1);
    elastic_transition_release(&way);
    elastic_state_release(&state);
    elastic_kit_release(&kit);
}

/* The spare gets the layers of the lost node in one piece, and nothing else moves. */
static void spares_get_what_was_lost(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct elastic_state state;
    struct elastic_transition way;
    struct error err;
    int counts[MOST] = {[3] = 2}, lost = 2;
    make_templates(&kit);
    struct elastic_set set = {.counts = counts, .instances = 2};
    assert_true(elastic_state_start(&state, &kit, &set, &err));
    struct elastic_change change = {.lost = &lost, .lost_count = 1};
    assert_true(elastic_reconfigure(&way, &state, &change, &err));
    assert_int_equal(way.outcome.replaced, 1);
    assert_int_equal(
        way.outcome.reinstantiated + way.outcome.borrowed + way.outcome.merged + way.outcome.added, 0);
    assert_int_equal(way.copy_count, 1);
    assert_int_equal(way.copies[0].to_node, 10);
    assert_int_equal(way.copies[0].from_node, 7);
    assert_int_equal(way.copies[0].first, 5);
    assert_int_equal(way.copies[0].last, 7);
    assert_true(near(way.outcome.bytes_across, 3e6) && near(way.outcome.seconds, 3e6 / 1e9) &&
                near(way.bound, way.outcome.seconds));
    assert_true(way.outcome.iteration == way.before);
    /* and when a spare itself is lost, nothing happens */
    lost = 12;
    elastic_transition_release(&way);
    assert_true(elastic_reconfigure(&way, &state, &change, &err));
    assert_int_equal(way.copy_count, 0);
    assert_int_equal(way.after.instance_count, 2);
    assert_true(way.outcome.seconds == 0);
    elastic_transition_release(&way);
    elastic_state_release(&state);
    elastic_kit_release(&kit);
}

static void of_equal_shapes_the_fastest_is_taken(void **unused)
{
    (void)unused;
    struct elastic_line quick = {1, 1, 1, 1};
    for (int first = 0; first < 2; first++) {
        struct elastic_kit kit;
        struct elastic_state state;
        struct elastic_transition way;
        struct error err;
        int counts[MOST] = {[2] = 2}, lost = 1;
        make_templates(&kit);
        kit.shapes[kit.shape_count] = kit.shapes[1]; /* of three nodes */
        kit.shapes[first ? 1 : kit.shape_count].lines = &quick;
        int expected = first ? 1 : kit.shape_count;
        kit.shape_count++;
        struct elastic_set set = {.counts = counts, .instances = 2};
        kit.kinds[0].nodes.count = 8;
        assert_true(elastic_state_start(&state, &kit, &set, &err));
        struct elastic_change change = {.lost = &lost, .lost_count = 1};
        assert_true(elastic_reconfigure(&way, &state, &change, &err));
        assert_int_equal(way.after.instances[0].shape, expected);
        assert_int_equal(way.outcome.reinstantiated, 1);
        elastic_transition_release(&way);
        elastic_state_release(&state);
        elastic_kit_release(&kit);
    }
}

/* The table of single losses has every node once, with what losing it alone gives. */
static void single_losses_are_those_of_each_node(void **unused)
{
    (void)unused;
    for (int i = 0; i < 100; i++) {
        struct elastic_kit kit;
        struct elastic_state state;
        struct elastic_loss *losses;
        struct error err;
        int count, nodes = 0;
        if (!start(&state, &kit, (uint64_t)i + 9000, 1))
            continue;
        assert_true(elastic_single_losses(&state, ELASTIC_LOCAL, 1, &losses, &count, &err));
        for (int l = 0; l < count; l++) {
            struct elastic_transition way;
            struct elastic_change change = {.lost = &losses[l].node, .lost_count = 1};
            nodes += losses[l].nodes;
            if (!elastic_reconfigure(&way, &state, &change, &err))
                continue;
            assert_true(losses[l].outcome.iteration == way.outcome.iteration);
            assert_true(losses[l].outcome.bytes_across == way.outcome.bytes_across);
            elastic_transition_release(&way);
        }
        assert_int_equal(nodes, state.node_count);
        free(losses);
        elastic_state_release(&state);
        elastic_kit_release(&kit);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_keep_every_layer),
        cmocka_unit_test(sources_are_nearly_the_best),
        cmocka_unit_test(ooblecks_cases_give_its_instances),
        cmocka_unit_test(returned_nodes_are_used),
        cmocka_unit_test(missing_layers_are_named),
        cmocka_unit_test(spares_get_what_was_lost),
        cmocka_unit_test(of_equal_shapes_the_fastest_is_taken),
        cmocka_unit_test(single_losses_are_those_of_each_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
