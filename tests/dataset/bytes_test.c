#include "dataset/bytes.h"
#include "dataset/io.h"
#include "dataset/pack.h"

#include <math.h>
static void any_part_is_the_same(void **state)
{
    enum { SIZE = 3 * DATASET_UNIT + 5 };
    static unsigned char whole[SIZE], part[SIZE];
    const double compressibilities[] = {0, 0.3, 1};
    (void)state;
    for (int c = 0; c < 3; c++) {
        struct dataset_bytes bytes;
        dataset_bytes_init(&bytes, 7, 3, compressibilities[c]);
        dataset_bytes_fill(&bytes, 0, whole, sizeof whole);
        for (int64_t offset = 0; offset < DATASET_UNIT + 40; offset += 13) {
            size_t n = (size_t)(offset * 7 % 6000);
            dataset_bytes_fill(&bytes, offset, part, n);
            assert_memory_equal(part, whole + offset, n);
        }
    }
}

/* SplitMix64 as its paper has it, from the stream's own start and step. */
static void words_are_split_mix(void **state)
{
    struct dataset_bytes bytes;
    uint64_t words[300];
    (void)state;
    dataset_bytes_init(&bytes, 1, 2, 0);
    dataset_bytes_fill(&bytes, 0, words, sizeof words);
    for (uint64_t i = 0; i < 300; i++) {
        uint64_t z = bytes.start + i * bytes.step;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        assert_int_equal(words[i], z ^ (z >> 31));
    }
    assert_true(bytes.step & 1);
}

static void seeds_and_files_differ(void **state)
{
    struct dataset_bytes streams[3];
    uint64_t words[3];
    (void)state;
    dataset_bytes_init(&streams[0], 1, 0, 0);
    dataset_bytes_init(&streams[1], 1, 1, 0);
    dataset_bytes_init(&streams[2], 2, 0, 0);
    for (int i = 0; i < 3; i++)
        dataset_bytes_fill(&streams[i], 0, &words[i], sizeof words[i]);
    assert_true(words[0] != words[1] && words[0] != words[2] && words[1] != words[2]);
}

static void every_value_is_as_likely(void **state)
{
    enum { COUNT = 1 << 20 };
    struct dataset_bytes bytes;
    unsigned char *buffer = malloc(COUNT);
    int counts[256] = {0};
    double chi = 0;
    (void)state;
    assert_non_null(buffer);
    dataset_bytes_init(&bytes, 5, 9, 0);
    dataset_bytes_fill(&bytes, 0, buffer, COUNT);
    for (int i = 0; i < COUNT; i++)
        counts[buffer[i]]++;
    for (int i = 0; i < 256; i++)
        chi += pow(counts[i] - COUNT / 256.0, 2) / (COUNT / 256.0);
    assert_true(chi > 160 && chi < 360); /* 255 degrees of freedom: 4.2 deviations either way */
    free(buffer);
}

static void a_compressor_leaves_what_is_asked(void **state)
{
    enum { COUNT = 1 << 20 };
    (void)state;
    if (dataset_pack_missing()) {
        print_message("# skipped: built without %s\n", dataset_pack_missing());
        skip();
    }
    unsigned char *from = malloc(COUNT);
    assert_non_null(from);
    for (int c = 0; c <= 10; c++) {
        struct dataset_bytes bytes;
        struct blob blob = {0};
        struct dataset_sink to = blob_sink(&blob);
        struct error err;
        struct dataset_writer writer;
        struct dataset_packing packing;
        dataset_bytes_init(&bytes, 5, 9, c / 10.0);
        dataset_bytes_fill(&bytes, 0, from, COUNT);
        assert_true(dataset_writer_init(&writer, &to, &err));
        assert_true(dataset_pack_begin(&packing, &writer, 6, DATASET_WRAP_GZIP));
        dataset_put(&packing.writer, from, COUNT);
        dataset_pack_end(&packing);
        assert_true(dataset_writer_end(&writer));
        assert_int_equal(packing.packed, blob.length);
        assert_true(fabs((double)blob.length / COUNT - (1 - c / 10.0)) < 0.02);
        free(blob.bytes);
    }
    free(from);
}

static void masks_hold_for_every_byte(void **state)
{
    struct dataset_bytes bytes;
    unsigned char buffer[2 * DATASET_UNIT];
    (void)state;
    dataset_bytes_init(&bytes, 5, 9, 0.5);
    bytes.keep = 0x7f7f7f7f7f7f7f7fu;
    bytes.set = 0x8080808080808080u;
    dataset_bytes_fill(&bytes, 3, buffer, sizeof buffer);
    for (size_t i = 0; i < sizeof buffer; i++)
        assert_true(buffer[i] >= 128);
}

static void normal_draws_have_mean_and_deviation(void **state)
{
    double sum = 0, squares = 0;
    (void)state;
    for (uint64_t i = 0; i < 100000; i++) {
        double x = dataset_draw_normal(3, 1, i);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(sum / 1e5) < 0.02);
    assert_true(fabs(squares / 1e5 - 1) < 0.03);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_part_is_the_same),
        cmocka_unit_test(words_are_split_mix),
        cmocka_unit_test(seeds_and_files_differ),
        cmocka_unit_test(every_value_is_as_likely),
        cmocka_unit_test(a_compressor_leaves_what_is_asked),
        cmocka_unit_test(masks_hold_for_every_byte),
        cmocka_unit_test(normal_draws_have_mean_and_deviation),
    };
    return cmocka_run_group_tests_name("dataset bytes", tests, NULL, NULL);
}
