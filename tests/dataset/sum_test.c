#include "dataset/io.h"
#include "dataset/sum.h"

/* The check values of the catalogue of CRC algorithms. */
static void sums_are_the_published_ones(void **state)
{
    (void)state;
    assert_int_equal(dataset_crc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(dataset_crc32c(0, "123456789", 9), 0xe3069283);
}

static void fast_and_plain_agree(void **state)
{
    enum { SIZE = 5000 };
    static unsigned char buffer[SIZE];
    struct dataset_bytes bytes;
    (void)state;
    dataset_bytes_init(&bytes, 1, 1, 0);
    dataset_bytes_fill(&bytes, 0, buffer, sizeof buffer);
    for (uint64_t i = 0; i < 3000; i++) {
        uint64_t draw = dataset_draw_bits(1, 2, i);
        size_t offset = draw % 2000, n = (draw >> 20) % 3000;
        uint32_t sum = (uint32_t)(draw >> 32);
        assert_int_equal(dataset_crc32(sum, buffer + offset, n),
                         dataset_crc32_plain(sum, buffer + offset, n));
        assert_int_equal(dataset_crc32c(sum, buffer + offset, n),
                         dataset_crc32c_plain(sum, buffer + offset, n));
    }
}

static void sums_go_on(void **state)
{
    unsigned char buffer[1000];
    (void)state;
    memset(buffer, 77, sizeof buffer);
    uint32_t whole = dataset_crc32(0, buffer, 1000), whole_c = dataset_crc32c(0, buffer, 1000);
    for (size_t n = 0; n <= 1000; n += 111) {
        assert_int_equal(dataset_crc32(dataset_crc32(0, buffer, n), buffer + n, 1000 - n), whole);
        assert_int_equal(dataset_crc32c(dataset_crc32c(0, buffer, n), buffer + n, 1000 - n), whole_c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_the_published_ones),
        cmocka_unit_test(fast_and_plain_agree),
        cmocka_unit_test(sums_go_on),
    };
    return cmocka_run_group_tests_name("dataset sum", tests, NULL, NULL);
}
