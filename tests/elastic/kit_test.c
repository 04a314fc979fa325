/* Plans as shapes: times, state and copies are the plan's, and hybrids on fewer nodes are the fastest of all.
 */
#include "core/text.h"
#include "elastic/reconfigure.h"
#include "support/random_kit.h"
#include "support/random_problem.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define CASES 400

static bool near(double a, double b)
{
    return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

struct part {
    int layers, tensor, data;
    int expert;                 /* 0: 1 */
    double seconds, parameters; /* of a micro-batch; of all tensor ranks */
};

struct made {
    int copies, chunks, per_node, nodes, sharding, replicate;
    int64_t microbatches;
    double iteration;
    struct part parts[8];
    int part_count;
};

/* A plan by hand, of one pipeline. */
static void write_plan(const struct made *made, struct text *out)
{
    text_format(
        out,
        "{\"format\": \"rehearse-plan/2\", \"iteration_time\": %.17g, \"training\": {\"sharding\": %d%s}, "
        "\"schedule\": {\"kind\": \"1f1b\", \"chunks\": %d}, \"cluster\": {\"device_types\": [{\"name\": "
        "\"gpu\", \"nodes\": %d, \"per_node\": %d, \"memory\": 100000000000, \"inside\": 0, \"across\": "
        "1}]}, "
        "\"links\": [{\"name\": \"in\", \"bandwidth\": 1e11, \"latency\": 0}, {\"name\": \"out\", "
        "\"bandwidth\": 1e9, \"latency\": 1e-5}], \"pipelines\": [{\"copies\": %d, \"microbatches\": %lld, "
        "\"stages\": [",
        made->iteration, made->sharding, made->replicate > 1 ? ", \"technique\": {\"replicate\": \"2\"}" : "",
        made->chunks, made->nodes, made->per_node, made->copies, (long long)made->microbatches);
    int layer = 0;
    for (int i = 0; i < made->part_count; i++) {
        const struct part *part = &made->parts[i];
        text_format(
            out,
            "%s{\"layers\": [%d, %d], \"device_type\": 0, \"chunk\": %d, \"tensor\": %d, \"data\": %d, "
            "\"expert\": %d, "
            "\"seconds\": {\"forward\": %.17g}, \"bytes\": {\"parameters\": %.17g, \"optimizer\": %.17g}}",
            i > 0 ? ", " : "", layer, layer + part->layers - 1, i / (made->part_count / made->chunks),
            part->tensor, part->data, part->expert > 0 ? part->expert : 1, part->seconds,
            part->parameters / part->tensor, 2 * part->parameters / part->tensor);
        layer += part->layers;
    }
    text_add(out, "]}]}");
}

static bool load(struct elastic_kit *kit, const struct made *made, int optimizer, struct error *err)
{
    struct text text = {0};
    const struct elastic_options options = {.optimizer = optimizer, .texts = &text, .text_count = 1};
    write_plan(made, &text);
    bool ok = elastic_kit_load(kit, &options, err);
    text_release(&text);
    return ok;
}

static void must_load(struct elastic_kit *kit, const struct made *made)
{
    struct error err;
    if (!load(kit, made, ELASTIC_OPTIMIZER_PLAN, &err))
        fail_msg("%s", err.text);
}

/* Slots of a shape hold every layer of every copy once, and state is three times the parameters. */
static void check_slots(const struct elastic_kit *kit, const struct elastic_shape *shape,
                        const struct made *made)
{
    double held = 0, all = 0;
    for (int s = 0; s < shape->slot_count; s++) {
        const struct elastic_slot *slot = &shape->slots[s];
        assert_in_range(slot->position, 0, shape->nodes - 1);
        assert_in_range(slot->device, 0, made->per_node - 1);
        held += (slot->until - slot->from) * elastic_unit_bytes(kit, slot->first, slot->last);
        for (int o = 0; made->chunks == 1 && o < s; o++)
            assert_true(shape->slots[o].position != slot->position || shape->slots[o].device != slot->device);
    }
    for (int i = 0; i < made->part_count; i++)
        all += 3 * made->parts[i].parameters * made->parts[i].data * shape->pipelines;
    assert_true(near(held, all));
}

static void pipelines_keep_their_times(void **unused)
{
    (void)unused;
    for (int i = 0; i < random_cases(CASES); i++) {
        struct elastic_kit kit;
        uint64_t state = (uint64_t)i;
        struct made made = {.copies = 1 << random_between(&state, 0, 3),
                            .chunks = (int)random_between(&state, 1, 2),
                            .per_node = 1 << random_between(&state, 0, 3),
                            .nodes = 64,
                            .sharding = -1};
        double slowest = 0;
        int stages = (int)random_between(&state, 1, 4), tensor = 1 << random_between(&state, 0, 2);
        made.part_count = stages * made.chunks;
        made.microbatches = stages * random_between(&state, 2, 9);
        for (int p = 0; p < made.part_count; p++)
            made.parts[p] = (struct part){.layers = (int)random_between(&state, 1, 3),
                                          .tensor = tensor,
                                          .data = 1,
                                          .seconds = (double)random_between(&state, 1, 50) / 16,
                                          .parameters = 1e6 * (double)random_between(&state, 1, 9)};
        for (int s = 0; s < stages; s++)
            slowest =
                fmax(slowest, made.parts[s].seconds + (made.chunks > 1 ? made.parts[s + stages].seconds : 0));
        made.iteration = slowest * (double)made.microbatches + (double)random_between(&state, 1, 9);
        must_load(&kit, &made);
        assert_int_equal(kit.shape_count, 1);
        const struct elastic_shape *shape = &kit.shapes[0];
        assert_int_equal(kit.batch, made.copies * made.microbatches);
        assert_int_equal(made.copies % shape->pipelines, 0);
        assert_true(near(elastic_line_seconds(shape->lines, made.microbatches), made.iteration));
        assert_true(near(elastic_line_seconds(shape->lines, 2 * made.microbatches),
                         made.iteration + slowest * (double)made.microbatches));
        assert_true(shape->nodes * made.per_node >= stages * tensor * shape->pipelines);
        check_slots(&kit, shape, &made);
        elastic_kit_release(&kit);
    }
}

/* A node of 8 holds one stage of 4 copies: they are one instance, whose copies all go with a node. */
static void copies_that_share_nodes_are_one_instance(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct made made = {.copies = 8,
                        .chunks = 1,
                        .per_node = 8,
                        .nodes = 8,
                        .sharding = -1,
                        .microbatches = 4,
                        .iteration = 100,
                        .part_count = 2};
    made.parts[0] = made.parts[1] = (struct part){2, 2, 1, 1, 1, 1e6};
    must_load(&kit, &made);
    assert_int_equal(kit.shapes[0].pipelines, 4);
    assert_int_equal(kit.shapes[0].nodes, 2);
    assert_int_equal(kit.shapes[0].copies, 1);
    elastic_kit_release(&kit);
    made.parts[0].tensor = made.parts[1].tensor = 8; /* each copy has its nodes */
    must_load(&kit, &made);
    assert_int_equal(kit.shapes[0].pipelines, 1);
    assert_int_equal(kit.shapes[0].nodes, 2);
    elastic_kit_release(&kit);
}

/* Ranks of all copies in an instance hold other experts: the state is split over all of them. */
static void experts_are_split_over_an_instance(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct made made = {.copies = 4,
                        .chunks = 1,
                        .per_node = 4,
                        .nodes = 2,
                        .sharding = -1,
                        .microbatches = 4,
                        .iteration = 100,
                        .part_count = 1};
    made.parts[0] =
        (struct part){.layers = 2, .tensor = 2, .data = 1, .expert = 4, .seconds = 1, .parameters = 1e6};
    must_load(&kit, &made);
    assert_int_equal(kit.shapes[0].pipelines, 2);
    assert_int_equal(kit.shapes[0].slot_count, 4);
    for (int s = 0; s < 4; s++) {
        assert_int_equal(kit.shapes[0].slots[s].ways, 4);
        assert_int_equal(kit.shapes[0].slots[s].shard, s);
    }
    elastic_kit_release(&kit);
}

/* ---- hybrids ---- */

struct widths {
    const struct made *made;
    int at[8], least;
    double best;
};

static double hybrid_seconds(const struct made *made, const int *widths)
{
    double sum = 0, slowest = 0;
    for (int p = 0; p < made->part_count; p++) {
        double seconds = made->parts[p].seconds * made->parts[p].data / widths[p];
        sum += seconds;
        slowest = fmax(slowest, seconds);
    }
    return sum + (double)(made->microbatches - 1) * slowest;
}

static void try_widths(struct widths *w, int part, int left)
{
    if (part == w->made->part_count) {
        if (left == 0)
            w->best = fmin(w->best, hybrid_seconds(w->made, w->at));
        return;
    }
    int most = w->made->parts[part].data > w->least ? w->made->parts[part].data : w->least;
    for (w->at[part] = w->least; w->at[part] <= most && w->at[part] <= left; w->at[part]++)
        try_widths(w, part + 1, left - w->at[part]);
}

static void hybrids_on_fewer_nodes_are_the_fastest(void **unused)
{
    (void)unused;
    int compared = 0;
    for (int i = 0; i < random_cases(CASES); i++) {
        struct elastic_kit kit;
        uint64_t state = (uint64_t)i;
        struct made made = {.copies = 1,
                            .chunks = 1,
                            .per_node = 1,
                            .sharding = -1,
                            .microbatches = random_between(&state, 1, 30),
                            .part_count = (int)random_between(&state, 1, 4)};
        int all[8];
        for (int p = 0; p < made.part_count; p++) {
            made.parts[p] = (struct part){.layers = 1,
                                          .tensor = 1,
                                          .data = (int)random_between(&state, 1, 5),
                                          .seconds = (double)random_between(&state, 1, 50) / 16,
                                          .parameters = 1e6};
            all[p] = made.parts[p].data;
            made.nodes += all[p];
        }
        made.iteration = hybrid_seconds(&made, all) + 2;
        must_load(&kit, &made);
        for (int least = 1; least <= 3; least++)
            for (int n = made.part_count * least; n <= made.nodes; n++) {
                struct widths w = {.made = &made, .best = INFINITY};
                double found = INFINITY;
                /* shapes made for more copies may be wider: they count for fewer, too */
                for (w.least = least; w.least * made.part_count <= n; w.least++)
                    try_widths(&w, 0, n);
                for (int t = 0; t < kit.shape_count; t++)
                    if (kit.shapes[t].nodes == n && kit.shapes[t].copies >= least)
                        found = fmin(found, elastic_line_seconds(kit.shapes[t].lines, made.microbatches) - 2);
                assert_int_equal(isfinite(found), isfinite(w.best));
                if (isfinite(found))
                    assert_true(near(found + 2, w.best + 2));
                compared++;
            }
        elastic_kit_release(&kit);
    }
    assert_true(compared > CASES / 10);
}

/* ---- what is refused, and what exists once ---- */

static void sharded_optimizer_states_exist_once(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct error err;
    struct made made = {.copies = 4,
                        .chunks = 1,
                        .per_node = 2,
                        .nodes = 4,
                        .sharding = 1,
                        .microbatches = 4,
                        .iteration = 100,
                        .part_count = 1};
    made.parts[0] = (struct part){2, 2, 1, 1, 1, 1e6};
    must_load(&kit, &made);
    assert_string_equal(kit.sharded, "optimizer states");
    assert_int_equal(kit.sharded_over, 4);
    assert_true(elastic_exists_once(&kit));
    elastic_kit_release(&kit);
    assert_true(load(&kit, &made, ELASTIC_OPTIMIZER_REPLICATED, &err));
    assert_null(kit.sharded);
    /* parameters, and four times the share of the optimizer states */
    assert_true(near(elastic_unit_bytes(&kit, 0, 0) * kit.units, 1e6 + 4 * 2e6));
    elastic_kit_release(&kit);
}

/* Two groups of two pipelines: an instance is a group, one of whose nodes is answered by the other. */
static void groups_of_shards_have_all_states(void **unused)
{
    (void)unused;
    for (int sharding = 1; sharding <= 3; sharding++) {
        struct elastic_kit kit;
        struct elastic_set set;
        struct elastic_state state;
        struct elastic_transition way;
        struct error err;
        struct made made = {.copies = 4,
                            .chunks = 1,
                            .per_node = 2,
                            .nodes = 4,
                            .sharding = sharding,
                            .replicate = 2,
                            .microbatches = 4,
                            .iteration = 100,
                            .part_count = 1};
        int nodes[] = {4}, first[] = {1}, same[] = {0, 2};
        made.parts[0] = (struct part){2, 2, 1, 1, 1, 1e6};
        must_load(&kit, &made);
        assert_false(elastic_exists_once(&kit));
        assert_int_equal(kit.sharded_over, 2);
        assert_int_equal(kit.shape_count, 1);
        assert_int_equal(kit.shapes[0].pipelines, 2);
        assert_int_equal(kit.shapes[0].nodes, 2);
        assert_int_equal(kit.shapes[0].copies, 1);
        /* a device has 0.5 MB of parameters and 1 MB of optimizer states, of four ways */
        assert_true(near(elastic_unit_bytes(&kit, 0, 0) * kit.units, 4 * 1.5e6));
        for (int unit = 0; unit < kit.units; unit++) {
            int held = 0;
            for (int s = 0; s < kit.shapes[0].slot_count; s++)
                held += kit.shapes[0].slots[s].from <= unit && unit < kit.shapes[0].slots[s].until;
            assert_int_equal(held, 1);
        }
        if (!elastic_instances(&set, &kit, nodes, 1, &err) || !elastic_state_start(&state, &kit, &set, &err))
            fail_msg("%s", err.text);
        struct elastic_change change = {.lost = first, .lost_count = 1, .method = ELASTIC_LOCAL, .faults = 1};
        assert_true(elastic_reconfigure(&way, &state, &change, &err));
        assert_false(way.outcome.checkpoint);
        elastic_transition_release(&way);
        change = (struct elastic_change){.lost = same, .lost_count = 2, .method = ELASTIC_LOCAL};
        assert_true(elastic_reconfigure(&way, &state, &change, &err)); /* both nodes of the same shards */
        assert_true(way.outcome.checkpoint);
        assert_non_null(strstr(way.reason, "have no copy left (HSDP)"));
        elastic_transition_release(&way);
        elastic_state_release(&state);
        elastic_set_release(&set);
        elastic_kit_release(&kit);
    }
}

static void expect_refusal(const char *from, const char *to, const char *message)
{
    struct elastic_kit kit;
    struct text text = {0}, changed = {0};
    const struct elastic_options options = {.texts = &changed, .text_count = 1};
    struct error err;
    struct made made = {.copies = 1,
                        .chunks = 1,
                        .per_node = 1,
                        .nodes = 2,
                        .sharding = -1,
                        .microbatches = 4,
                        .iteration = 100,
                        .part_count = 2};
    made.parts[0] = made.parts[1] = (struct part){2, 1, 1, 1, 1, 1e6};
    write_plan(&made, &text);
    const char *at = strstr(text.data, from);
    assert_non_null(at);
    text_add_bytes(&changed, text.data, (size_t)(at - text.data));
    text_add(&changed, to);
    text_add(&changed, at + strlen(from));
    assert_false(elastic_kit_load(&kit, &options, &err));
    if (!strstr(err.text, message))
        fail_msg("expected '%s', found '%s'", message, err.text);
    text_release(&text);
    text_release(&changed);
}

/* Two plans as a set of templates. */
static bool load_both(struct elastic_kit *kit, const struct made *a, const struct made *b, int64_t batch,
                      struct error *err)
{
    struct text text = {0};
    const struct elastic_options options = {.batch = batch, .texts = &text, .text_count = 1};
    text_add(&text, "{\"format\": \"rehearse-templates/2\", \"templates\": [{\"nodes\": 1, \"plan\": ");
    write_plan(a, &text);
    text_add(&text, "}, {\"nodes\": 3, \"plan\": null}, {\"nodes\": 2, \"plan\": ");
    write_plan(b, &text);
    text_add(&text, "}]}");
    bool ok = elastic_kit_load(kit, &options, err);
    text_release(&text);
    return ok;
}

static void templates_must_be_of_one_model(void **unused)
{
    (void)unused;
    struct elastic_kit kit;
    struct error err;
    struct made one = {.copies = 1,
                       .chunks = 1,
                       .per_node = 1,
                       .nodes = 2,
                       .sharding = -1,
                       .microbatches = 4,
                       .iteration = 100,
                       .part_count = 1};
    struct made two = one;
    one.parts[0] = (struct part){.layers = 4, .tensor = 1, .data = 1, .seconds = 2, .parameters = 4e6};
    two.part_count = 2;
    two.parts[0] = (struct part){.layers = 1, .tensor = 1, .data = 1, .seconds = 1, .parameters = 1e6};
    two.parts[1] = (struct part){.layers = 3, .tensor = 1, .data = 1, .seconds = 1, .parameters = 3e6};
    assert_true(load_both(&kit, &one, &two, 0, &err));
    assert_int_equal(kit.shape_count, 2);
    assert_int_equal(kit.segment_count, 2);
    assert_true(near(elastic_unit_bytes(&kit, 0, 0), 3e6) && near(elastic_unit_bytes(&kit, 1, 1), 9e6));
    elastic_kit_release(&kit);
    two.parts[1].parameters = 3.01e6; /* norms that every tensor parallel rank has */
    assert_true(load_both(&kit, &one, &two, 0, &err));
    assert_true(near(elastic_unit_bytes(&kit, 0, 0) + elastic_unit_bytes(&kit, 1, 1), 12e6));
    elastic_kit_release(&kit);
    two.parts[1].parameters = 3.1e6;
    assert_false(load_both(&kit, &one, &two, 0, &err));
    assert_non_null(strstr(err.text, "must be of one model"));
    two.parts[1].parameters = 3e6;
    two.parts[1].layers = 4;
    assert_false(load_both(&kit, &one, &two, 0, &err));
    assert_non_null(strstr(err.text, "a plan of 5 layers, but another has 4"));
    two.parts[1].layers = 3;
    two.microbatches = 5;
    assert_false(load_both(&kit, &one, &two, 0, &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_true(load_both(&kit, &one, &two, 7, &err));
    assert_int_equal(kit.batch, 7);
    elastic_kit_release(&kit);
}

static void wrong_plans_are_refused(void **unused)
{
    (void)unused;
    expect_refusal("[2, 3]", "[3, 4]", "expected a stage from layer 2 on");
    expect_refusal("\"parameters\": 1000000", "\"parameters\": null", "parameter bytes");
    expect_refusal("\"across\": 1", "\"across\": -1", "no bandwidth between nodes of 'gpu'");
    expect_refusal("{\"forward\": 1}", "{\"forward\": 0}", "seconds");
    expect_refusal("\"microbatches\": 4", "\"microbatches\": 0", "micro-batches");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_keep_their_times),
        cmocka_unit_test(copies_that_share_nodes_are_one_instance),
        cmocka_unit_test(experts_are_split_over_an_instance),
        cmocka_unit_test(hybrids_on_fewer_nodes_are_the_fastest),
        cmocka_unit_test(sharded_optimizer_states_exist_once),
        cmocka_unit_test(groups_of_shards_have_all_states),
        cmocka_unit_test(templates_must_be_of_one_model),
        cmocka_unit_test(wrong_plans_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
