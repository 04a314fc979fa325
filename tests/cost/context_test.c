#include "cost/context.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* 128 queries' and 8 keys' heads of 128 numbers in 2 bytes; 131072 tokens. */
static struct context_exchange example(int ranks, enum context_kind kind)
{
    const struct tables tables = {0};
    double tokens = 131072.0 / ranks;
    return (struct context_exchange){
        .kind = kind,
        .group = {ranks, ranks < 8 ? ranks : 8, tables_link(&tables, "nvlink4"),
                  tables_link(&tables, "ib-400g")},
        .calibration = &calibration_default,
        .keys_bytes = tokens * 2 * 8 * 128 * 2,
        .queries_bytes = tokens * 128 * 128 * 2,
        .heads = 128,
        .kv_heads = 8,
        .attention = {0.0, 0.0},
        .tokens = 131072.0,
        .stream = 2e12,
        .neighbours = 8,
    };
}

static void one_rank_exchanges_nothing(void **state)
{
    (void)state;
    for (int kind = CONTEXT_USUAL; kind <= CONTEXT_HIERARCHICAL; kind++) {
        struct context_exchange one = example(1, (enum context_kind)kind);
        struct context_seconds seconds = context_seconds_of(&one);
        assert_true(seconds.forward == 0.0 && seconds.backward == 0.0);
    }
}

/* Each rank needs the keys and values of all others: a ring and a gather move the same, all-to-alls a c-th of all heads. */
static void bytes_are_those_of_the_methods(void **state)
{
    (void)state;
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
        struct context_exchange ring = example(ranks, CONTEXT_RING), gather = example(ranks, CONTEXT_GATHER),
                                heads = example(ranks, CONTEXT_ULYSSES);
        struct context_seconds a = context_seconds_of(&ring), b = context_seconds_of(&gather),
                               c = context_seconds_of(&heads);
        double others = ring.keys_bytes * (ranks - 1);
        assert_true(fabs(a.moved[0] - others) < 1.0 && fabs(b.moved[0] - others) < 1.0);
        assert_true(fabs(a.moved[1] - 2.0 * others) < 1.0 && fabs(b.moved[1] - 2.0 * others) < 1.0);
        assert_true(fabs(c.moved[0] - (heads.keys_bytes + 2.0 * heads.queries_bytes) * (ranks - 1) / ranks) <
                    1.0);
        assert_true(fabs(c.forward - c.backward) < 1e-12);
    }
}

static void a_ring_hides_behind_its_attention(void **state)
{
    (void)state;
    struct context_exchange ring = example(8, CONTEXT_RING);
    struct context_seconds shown = context_seconds_of(&ring), half, none;
    assert_true(shown.forward > 0.0 && shown.backward > shown.forward);
    ring.attention[0] = ring.attention[1] = shown.forward * 8 / 7 / 2;
    half = context_seconds_of(&ring);
    assert_true(fabs(half.forward - shown.forward / 2) < 1e-9);
    ring.attention[0] = ring.attention[1] = 1.0;
    none = context_seconds_of(&ring);
    assert_true(none.forward == 0.0 && none.backward == 0.0);
    struct context_exchange gather = example(8, CONTEXT_GATHER);
    gather.attention[0] = gather.attention[1] = 1.0;
    assert_true(context_seconds_of(&gather).forward > 0.0);
}

/* a2a+p2p with neighbours that are all ranks but a factor is between both of its parts. */
static void a_hierarchy_is_made_of_its_parts(void **state)
{
    (void)state;
    struct context_exchange both = example(32, CONTEXT_HIERARCHICAL);
    assert_true(context_allows(&both));
    assert_int_equal(context_neighbours(&both), 8);
    struct context_exchange inner = example(32, CONTEXT_ULYSSES), outer = example(32, CONTEXT_RING);
    inner.group.devices = inner.group.devices_per_node = 8;
    outer.group.devices = 4, outer.group.devices_per_node = 1;
    struct context_seconds sum = context_seconds_of(&both), a = context_seconds_of(&inner),
                           b = context_seconds_of(&outer);
    assert_true(fabs(sum.forward - a.forward - b.forward) < 1e-12);
    assert_true(fabs(sum.backward - a.backward - b.backward) < 1e-12);
}

static void heads_limit_all_to_alls(void **state)
{
    (void)state;
    struct context_exchange heads = example(16, CONTEXT_ULYSSES), both = example(16, CONTEXT_HIERARCHICAL);
    assert_false(context_allows(&heads)); /* 8 heads of keys */
    assert_true(context_allows(&both));
    both.kv_heads = heads.kv_heads = 1;
    assert_false(context_allows(&both));
    heads.kind = CONTEXT_RING;
    assert_true(context_allows(&heads));
}

/* Pieces of a ring are shorter the more ranks there are; of long sequences they cost next to nothing but their sums. */
static void pieces_take_longer(void **state)
{
    (void)state;
    double before = 0.0;
    for (int ranks = 2; ranks <= 32; ranks *= 2) {
        struct context_exchange ring = example(ranks, CONTEXT_RING);
        ring.tokens = 8192.0;
        ring.attention[0] = 1.0, ring.attention[1] = 2.0;
        ring.keys_bytes = ring.queries_bytes = 0.0;
        struct context_seconds shorter = context_seconds_of(&ring);
        assert_true(shorter.kernels[0] > before && shorter.kernels[0] < 1.0);
        assert_true(fabs(shorter.kernels[1] - 2.0 * shorter.kernels[0]) < 1e-12);
        before = shorter.kernels[0];
        ring.tokens = 1e9;
        assert_true(context_seconds_of(&ring).kernels[0] < 1e-3);
    }
    /* two ranks: one sum of 1 GB of outputs; backward of queries, keys and values */
    struct context_exchange pair = example(2, CONTEXT_RING);
    pair.queries_bytes = 1e9, pair.keys_bytes = 5e8;
    struct context_seconds seconds = context_seconds_of(&pair);
    assert_true(fabs(seconds.kernels[0] - 3.0 * 1e9 / 2e12) < 1e-12);
    assert_true(fabs(seconds.kernels[1] - 3.0 * 1.5e9 / 2e12) < 1e-12);
    pair.kind = CONTEXT_GATHER;
    seconds = context_seconds_of(&pair);
    assert_true(fabs(seconds.kernels[0] - 2.0 * 1e9 / 2e12) < 1e-12);
    assert_true(fabs(seconds.kernels[1] - 4.0 * 1e9 / 2e12) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank_exchanges_nothing),
        cmocka_unit_test(bytes_are_those_of_the_methods),
        cmocka_unit_test(a_ring_hides_behind_its_attention),
        cmocka_unit_test(a_hierarchy_is_made_of_its_parts),
        cmocka_unit_test(heads_limit_all_to_alls),
        cmocka_unit_test(pieces_take_longer),
    };
    return cmocka_run_group_tests_name("cost/context", tests, NULL, NULL);
}
