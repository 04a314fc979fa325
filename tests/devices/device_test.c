/* The table of devices, and descriptions of a user's own. */
#include "devices/device.h"
#include "devices/measured/kernels.h"
#include "devices/tables.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static void devices_are_found_by_name_and_alias(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    assert_non_null(table);
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        assert_ptr_equal(tables_device(NULL, device->name), device);
        for (int a = 0; a < device->alias_count; a++)
            assert_ptr_equal(tables_device(NULL, device->aliases[a]), device);
    }
}

static void assert_names(const char *name, const char *device)
{
    const struct cost_device *found = tables_device(NULL, name);
    if (device && !found)
        fail_msg("'%s' is not known", name);
    if (!device && found)
        fail_msg("'%s' is taken for %s", name, found->name);
    if (device)
        assert_string_equal(found->name, device);
}

static void spellings_of_clusters_are_known(void **state)
{
    static const char *const pairs[][2] = {
        {"v100", "v100-16gb"},
        {"a100", "a100-80gb"},
        {"A100-SXM4-80GB", "a100-80gb"},
        {"H100-SXM5-80GB", "h100-sxm"},
        {"h100", "h100-sxm"},
        {"DGX-H100", "h100-sxm"},
        {"V100-SXM2-32GB", "v100-32gb"},
        {"dgx-b200", "b200"},
        {"DGX-GB200", "gb200"},
        {"a100-sxm4-40gb", "a100-40gb"},
        {"h100-pcie", "h100-pcie"},
        {"rtx4090", "rtx-4090"},
        {"h100_pcie", "h100-pcie"},
        {"a100_80", "a100-80gb"},
        {"v_100_16gb", "v100-16gb"},
        {"rtx_3090_24gb", "rtx-3090"},
        {"rtx_a40", "a40"},
        {"gtx_1080ti", "gtx-1080-ti"},
        {"a100-80g", "a100-80gb"},
        {"v_100_32", "v100-32gb"},
        {"nvidia-tesla-v100", "v100-16gb"},
        {"H100 PCIe", "h100-pcie"},
        {"A100 40GB PCIe", "a100-pcie-40gb"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_names(pairs[i][0], pairs[i][1]);
}

/* As nvidia-smi, torch.cuda.get_device_name and MLPerf's systems say them. */
static void names_of_drivers_are_known(void **state)
{
    static const char *const pairs[][2] = {
        {"NVIDIA H100 80GB HBM3", "h100-sxm"},
        {"NVIDIA H100 PCIe", "h100-pcie"},
        {"NVIDIA H200", "h200"},
        {"NVIDIA GH200 480GB", "gh200"},
        {"NVIDIA B200", "b200"},
        {"NVIDIA B300 SXM6 AC", "b300"},
        {"NVIDIA A100-SXM4-40GB", "a100-40gb"},
        {"A100-SXM-80GB", "a100-80gb"},
        {"NVIDIA A100 80GB PCIe", "a100-pcie-80gb"},
        {"NVIDIA A100 - PCIe - 80 GB", "a100-pcie-80gb"},
        {"Tesla V100-SXM2-32GB", "v100-32gb"},
        {"Tesla V100-PCIE-32GB HBM2", "v100-pcie-32gb"},
        {"NVIDIA GeForce RTX 4090", "rtx-4090"},
        {"GeForce GTX 1080 Ti", "gtx-1080-ti"},
        {"NVIDIA RTX A6000", "a6000"},
        {"NVIDIA A40", "a40"},
        {"NVIDIA A10G", "a10g"},
        {"Tesla T4", "t4"},
        {"NVIDIA Blackwell GPU (B200-SXM-180GB)", "b200"},
        {"H100-96GB-HBM2e (500W)", "h100-96gb"},
        {"AMD Instinct MI300X 192GB HBM3", "mi300x"},
        {"AMD Instinct MI300X VF", "mi300x"},
        {"AMD Instinct MI325X OAM", "mi325x"},
        {"AMD Instinct MI308X", "mi308x"},
        {"NVIDIA H100 NVL", "h100-nvl"},
        {"NVIDIA A30", "a30"},
        {"NVIDIA L20", "l20"},
        {"NVIDIA GB10", "gb10"},
        {"NVIDIA GeForce RTX 5090", "rtx-5090"},
        {"NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"},
        {"NVIDIA RTX PRO 6000 Blackwell Server Edition", "rtx-pro-6000"},
        {"NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtx-pro-6000-workstation"},
        {"NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx-pro-6000-max-q"},
        /* jax.devices()[0].device_kind */
        {"TPU v4", "tpu-v4"},
        {"TPU v5", "tpu-v5p"},
        {"TPU v5 lite", "tpu-v5e"},
        {"TPU v6 lite", "tpu-v6e"},
        {"TPU7x", "tpu7x"},
        /* torch_npu.npu.get_device_name, hl-smi, torch.hpu.get_device_name, torch.xpu.get_device_name */
        {"Ascend910B2", "ascend-910b"},
        {"Ascend910_9382", "ascend-910c"},
        {"HL-325L", "gaudi3"},
        {"GAUDI2", "gaudi2"},
        {"Intel(R) Arc(TM) Pro B60 Graphics", "arc-pro-b60"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        assert_names(pairs[i][0], pairs[i][1]);
}

/* A word more, another number or another size is another product. */
static void other_products_are_unknown(void **state)
{
    static const char *const strangers[] = {
        "H100 GARBAGE",
        "A100 banana 3",
        "h100-94gb",
        "RTX PRO 6000 banana",
        "RTX 5090 D",
        "gaudi",
        "TPU v5 heavy",
        "A100-SXM4-64GB",
        "NVIDIA",
        "80GB",
        "",
        "Tesla V100S-PCIE-32GB",
        "gtx-1080",
        "a6000ti",
        "RTX 3090 Ti",
        "MI308",
        "h100 80gb 40gb",
        "NVIDIA GH200 144G HBM3e",
        "NVIDIA A100-SXM4-80GB MIG 1g.10gb",
    };
    (void)state;
    for (size_t i = 0; i < sizeof strangers / sizeof *strangers; i++)
        assert_names(strangers[i], NULL);
}

/* No two devices of the table share a spelling. */
static void spellings_are_of_one_device(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    for (int i = 0; i < table->count; i++)
        for (int a = -1; a < table->devices[i].alias_count; a++) {
            const struct cost_device *device = &table->devices[i];
            char name[128] = "NVIDIA ";
            strcat(name, a < 0 ? device->name : device->aliases[a]);
            for (char *dash = name; (dash = strchr(dash, '-'));)
                *dash = '_';
            assert_names(name, device->name);
        }
}

static void suggests_the_same_product_only(void **state)
{
    static const char *const pairs[][2] = {
        {"v100-pci", "v100-pcie"},
        {"h100-pci", "h100-pcie"},
        {"rxt-4090", "rtx-4090"},
        {"ironwod", "ironwood"},
        {"h1000", NULL},
        {"rtx-3080", NULL},
        {"a6000ti", NULL},
        {"gtx-1080", NULL},
        {"h100-nvl-80gb", NULL},
        {"v100-sxm-64gb", NULL},
        {"l41s", NULL},
        {"mi300", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct error err;
        char expected[128];
        snprintf(expected, sizeof expected,
                 pairs[i][1] ? "unknown device '%s', did you mean '%s'?"
                             : "unknown device '%s', see 'rehearse cost --list'",
                 pairs[i][0], pairs[i][1]);
        tables_unknown(TABLE_DEVICES, "", pairs[i][0], &err);
        assert_string_equal(err.text, expected);
    }
}

/* A user's device has as many spellings as a known one, and takes the known one's when it replaces it. */
static void a_users_device_is_found_by_its_words(void **state)
{
    static const char text[] = "devices:\n- {name: my-card-9, like: t4}\n- {name: h100-sxm, like: l4}\n";
    struct tables tables = {0};
    struct error err;
    (void)state;
    assert_true(
        tables_parse(&tables.added[TABLE_DEVICES], TABLE_DEVICES, "mine.yaml", text, strlen(text), &err));
    assert_ptr_equal(tables_device(&tables, "my_card9"), &tables.added[TABLE_DEVICES].devices[0]);
    assert_ptr_equal(tables_device(&tables, "NVIDIA H100 80GB HBM3"),
                     &tables.added[TABLE_DEVICES].devices[1]);
    tables_release(&tables);
}

static bool within(double value, double expected, double error)
{
    return value > expected * (1.0 - error) && value < expected * (1.0 + error);
}

/* Every number names its source, and none is a slip of a power of ten. */
static void the_table_is_plausible(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        const double *peak = device->peak;
        double widest = fmax(peak[COST_BF16], peak[COST_FP16]);
        assert_non_null(device->source);
        assert_non_null(device->link);
        assert_true(device->bandwidth >= 190e9 && device->bandwidth <= 10e12);
        assert_true(device->memory >= INT64_C(8) << 30);
        assert_true(device->l2 >= INT64_C(2) << 20);
        assert_true(peak[COST_FP32] > 0);
        assert_true(peak[COST_TF32] == 0 || peak[COST_TF32] >= peak[COST_FP32]);
        assert_true(peak[COST_BF16] == 0 || peak[COST_FP16] == 0 || peak[COST_BF16] == peak[COST_FP16]);
        assert_true(widest == 0 || (widest / device->bandwidth > 24 && widest / device->bandwidth < 600));
        double seconds = (double)device->memory / device->bandwidth;
        assert_true(seconds > 0.015 && seconds < 0.55);
        assert_true(device->power == 0 || (device->power >= 70 && device->power <= 1400));
    }
}

/* What an architecture does in one type of what it does in another, dense; 0: it has not both. Sheets that mix dense and
 * sparse numbers break these. */
struct ratios {
    const char *name; /* of a generation, or of one of its devices that differs */
    double tf32_bf16, fp8_bf16, int8_bf16, fp4_fp8;
};
static const struct ratios architectures[] = {
    /* GeForce halves 16-bit products that add up in fp32, and not those of integers and fp4 */
    {"rtx-3090", 0.5, 0, 4, 0},
    {"rtx-4090", 0.5, 2, 4, 0},
    {"rtx-5090", 0.5, 2, 4, 4},
    {"ampere", 0.5, 0, 2, 0},
    {"ada", 0.5, 2, 2, 0},
    {"hopper", 0.5, 2, 2, 0},
    /* Blackwell Ultra has units of integers no more, and half as many again of fp4 */
    {"b300", 0.5, 2, 1.0 / 15, 3},
    {"gb300", 0.5, 2, 1.0 / 15, 3},
    {"blackwell", 0.5, 2, 2, 2},
    {"blackwell-rtx", 0.5, 2, 2, 2},
    {"cdna2", 0, 0, 1, 0},
    {"cdna3", 0.5, 2, 2, 0},
    {"cdna4", 0, 2, 2, 2},
    {"tpu-v4", 0, 0, 1, 0},
    {"tpu", 0, 2, 2, 0},
    {"neuroncore-v2", 1, 0, 0, 0},
    {"trainium3", 1, 3.75, 0, 1},
    {"neuroncore-v4", 1, 3.75, 0, 1},
    {"trainium", 1, 1.95, 0, 0},
    {"gaudi3", 0, 1, 0, 0},
    {"gaudi", 0, 2, 0, 0},
    {"ascend", 0, 0, 2, 0},
    {"xe2", 0, 0, 2, 0},
};

static void assert_ratio(const struct cost_device *device, enum cost_type type, enum cost_type to,
                         double ratio)
{
    double a = device->peak[type], b = device->peak[to];
    if (a > 0 && b > 0 && !within(a, ratio * b, 0.03))
        fail_msg("%s: %s is %g times %s, not %g times", device->name, cost_type_name(type), a / b,
                 cost_type_name(to), ratio);
}

static void peaks_are_dense_in_all_types(void **state)
{
    const struct table *table = tables_known(TABLE_DEVICES);
    const size_t count = sizeof architectures / sizeof *architectures;
    (void)state;
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        size_t a = 0;
        while (a < count && strcmp(architectures[a].name, device->name) != 0 &&
               strcmp(architectures[a].name, device->generation) != 0)
            a++;
        if (device->peak[COST_BF16] == 0) /* Volta and before */
            continue;
        assert_true(a < count);
        assert_ratio(device, COST_TF32, COST_BF16, architectures[a].tf32_bf16);
        assert_ratio(device, COST_FP8, COST_BF16, architectures[a].fp8_bf16);
        assert_ratio(device, COST_INT8, COST_BF16, architectures[a].int8_bf16);
        assert_ratio(device, COST_FP4, COST_FP8, architectures[a].fp4_fp8);
    }
}

/* 2 x units x lanes x clock, where fp32 runs on lanes; matrix units of AMD do twice that. */
static void fp32_follows_from_lanes_and_clock(void **state)
{
    static const char *const on_matrix_units[] = {"tpu", "trainium", "ascend"};
    static const struct {
        const char *name;
        double ratio; /* of the datasheet's number, which names fewer units or lower clocks */
    } others[] = {{"h20", 1.113}, {"b300", 0.944}};
    const struct table *table = tables_known(TABLE_DEVICES);
    (void)state;
    for (int i = 0; i < table->count; i++) {
        const struct cost_device *device = &table->devices[i];
        double ratio = device->peak[COST_FP32] / (2.0 * device->units * device->lanes * device->clock);
        double expected = strcmp(device->generation, "cdna2") == 0 ? 2.0 : 1.0;
        for (size_t o = 0; o < sizeof others / sizeof *others; o++)
            if (strcmp(others[o].name, device->name) == 0)
                expected = others[o].ratio;
        for (size_t m = 0; m < sizeof on_matrix_units / sizeof *on_matrix_units; m++)
            if (strcmp(on_matrix_units[m], device->generation) == 0)
                expected = ratio;
        if (!within(ratio, expected, 0.03))
            fail_msg("%s: fp32 is %g of its lanes' rate", device->name, ratio);
    }
}

/* By the tables of measured products, in whichever file they are. */
static void it_is_known_what_a_device_rests_on(void **state)
{
    static const char *const bases[][2] = {
        {"h100-sxm", "measured"},   {"a100-40gb", "measured"}, {"h800", "measured"},
        {"b200", "measured"},       {"h200", "measured"},      {"l40s", "measured"},
        {"rtx-5090", "data sheet"}, {"b300", "data sheet"},    {"tpu-v5p", "data sheet"},
        {"gaudi3", "data sheet"},   {"mi300x", "data sheet"},  {"v100-32gb", "data sheet"},
    };
    static const char text[] = "{name: mine, like: a10, fitted: my own products}";
    struct table table;
    struct error err;
    (void)state;
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        assert_string_equal(device_basis(tables_device(NULL, bases[i][0])), bases[i][1]);
    assert_true(tables_parse(&table, TABLE_DEVICES, "mine.yaml", text, strlen(text), &err));
    assert_string_equal(device_basis(&table.devices[0]), "fitted");
    table_release(&table);
}

/* A device that is sold under its own name has its own figures: none is another's alias. */
static void devices_with_other_links_are_their_own(void **state)
{
    static const struct {
        const char *name, *like, *link;
        int node;
    } devices[] = {
        {"h800", "h100-sxm", "nvlink4-h800", 8},  {"h20", "h100-sxm", "nvlink4", 8},
        {"a800", "a100-80gb", "nvlink3-a800", 8}, {"gb200", NULL, "nvlink5-gb200", 72},
        {"gb300", "b200", "nvlink5-gb300", 72},   {"tpu-v5p", NULL, "ici-v5p", 64},
        {"h200", NULL, "nvlink4-h200", 8},        {"b300", "b200", "nvlink5-b300", 8},
        {"gaudi3", "tpu-v5p", "gaudi3-roce", 8},  {"ascend-910c", "tpu-v5p", "ub-910c", 384},
        {"trainium2", "b200", "neuronlink3", 16},
    };
    const struct tables tables = {0};
    (void)state;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        const struct cost_device *device = tables_device(&tables, devices[i].name);
        assert_non_null(device);
        assert_string_equal(device->name, devices[i].name);
        assert_string_equal(device->link, devices[i].link);
        assert_int_equal(usual_node(device).devices, devices[i].node);
        assert_non_null(tables_link(&tables, device->link));
        assert_non_null(tables_link(&tables, usual_node(device).across));
        if (devices[i].like) {
            assert_null(device->fitted);
            assert_string_equal(device->like, devices[i].like);
        }
    }
}

static void types_have_names_and_sizes(void **state)
{
    enum cost_type type;
    (void)state;
    for (int t = 0; t < COST_TYPE_COUNT; t++) {
        assert_true(cost_type_find(cost_type_name((enum cost_type)t), &type));
        assert_int_equal(type, t);
    }
    assert_false(cost_type_find("fp3", &type));
    assert_null(cost_type_name(COST_TYPE_COUNT));
    assert_true(cost_type_bytes(COST_TF32) == 4 && cost_type_bytes(COST_FP4) == 0.5);
}

static bool parse(struct table *table, const char *text, struct error *err)
{
    return tables_parse(table, TABLE_DEVICES, "mine.yaml", text, strlen(text), err);
}

static void a_device_like_another_takes_its_numbers(void **state)
{
    const struct cost_device *h100 = tables_device(NULL, "h100");
    struct table table;
    struct error err;
    (void)state;
    assert_true(parse(&table,
                      "name: h20\n"
                      "like: h100\n"
                      "units: 78\n"
                      "peak: {fp32: 44 TFLOP/s, tf32: 74e12, bf16: 148e12, fp16: 148e12, fp8: 296e12}\n"
                      "bandwidth: 4.0 TB/s\n"
                      "memory: 96 GiB\n"
                      "source: my notes\n",
                      &err));
    assert_int_equal(table.count, 1);
    const struct cost_device *device = &table.devices[0];
    assert_string_equal(device->name, "h20");
    assert_string_equal(device->title, "h20");
    assert_string_equal(device->generation, "hopper");
    assert_int_equal(device->units, 78);
    assert_true(device->peak[COST_BF16] == 148e12 && device->peak[COST_FP32] == 44e12);
    assert_true(device->peak[COST_FP64] == 0); /* not named: it cannot */
    assert_int_equal(device->memory, INT64_C(96) << 30);
    assert_int_equal(device->l2, h100->l2);
    assert_true(device->launch == h100->launch);
    assert_memory_equal(&device->gemm, &h100->gemm, sizeof device->gemm);
    assert_null(device->fitted);
    assert_int_equal(device->alias_count, 0);
    table_release(&table);
}

/* H100 has parameters of bf16 and tf32: fp16 follows bf16, also where a file gives that anew. */
static void types_without_parameters_follow_the_nearest(void **state)
{
    const struct cost_device *h100 = tables_device(NULL, "h100");
    struct table table;
    struct error err;
    (void)state;
    assert_true(h100->gemm_own[COST_BF16] && h100->gemm_own[COST_TF32] && !h100->gemm_own[COST_FP16]);
    assert_memory_equal(&h100->gemm[COST_FP16], &h100->gemm[COST_BF16], sizeof *h100->gemm);
    assert_true(parse(&table, "name: x\nlike: h100\ngemm: {bf16: {efficiency: 0.5}}\n", &err));
    const struct gemm_parameters *gemm = table.devices[0].gemm;
    assert_true(gemm[COST_BF16].efficiency == 0.5);
    assert_true(gemm[COST_BF16].floor == h100->gemm[COST_BF16].floor);
    assert_memory_equal(&gemm[COST_FP16], &gemm[COST_BF16], sizeof *gemm);
    assert_memory_equal(&gemm[COST_TF32], &h100->gemm[COST_TF32], sizeof *gemm);
    table_release(&table);
}

static void devices_of_a_file_may_be_like_those_above(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    assert_true(parse(&table,
                      "format: rehearse-devices/1\n"
                      "devices:\n"
                      "- {name: one, like: t4, memory: 17 GiB}\n"
                      "- {name: two, aliases: [deux], like: one, bandwidth: 321 GB/s}\n",
                      &err));
    assert_int_equal(table.count, 2);
    assert_ptr_equal(table_find(&table, "DEUX"), &table.devices[1]);
    assert_int_equal(table.devices[1].memory, INT64_C(17) << 30);
    assert_null(table_find(&table, "t4"));
    table_release(&table);
}

static void a_name_loads_one_device(void **state)
{
    struct table table;
    struct error err;
    (void)state;
    assert_true(tables_load(NULL, TABLE_DEVICES, &table, "a100-80gb", &err));
    assert_int_equal(table.count, 1);
    assert_string_equal(table.devices[0].name, "a100-80gb");
    table_release(&table);
    assert_false(tables_load(NULL, TABLE_DEVICES, &table, "a100-pci-80gb", &err));
    assert_int_equal(err.kind, ERROR_USAGE);
    assert_string_equal(err.text, "unknown device 'a100-pci-80gb', did you mean 'a100-pcie-80gb'?");
    assert_false(tables_load(NULL, TABLE_DEVICES, &table, "abacus", &err));
    assert_string_equal(err.text, "unknown device 'abacus', see 'rehearse cost --list'");
}

static void a_file_loads_its_devices(void **state)
{
    char path[] = "device-XXXXXX.yaml";
    struct table table;
    struct error err;
    (void)state;
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    assert_true(dprintf(file, "name: mine\nlike: l4\n") > 0);
    close(file);
    bool loaded = tables_load(NULL, TABLE_DEVICES, &table, path, &err);
    unlink(path);
    assert_true(loaded);
    assert_string_equal(table.devices[0].name, "mine");
    table_release(&table);
    assert_false(tables_load(NULL, TABLE_DEVICES, &table, "nowhere.yaml", &err));
    assert_int_equal(err.kind, ERROR_INPUT);
}

static void refused(const char *text, const char *message)
{
    struct table table;
    struct error err;
    assert_false(parse(&table, text, &err));
    assert_int_equal(err.kind, ERROR_INPUT);
    assert_string_equal(err.text, message);
    assert_int_equal(table.count, 0);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    refused("name: x\nlike: abacus\n", "mine.yaml:2:7: like: unknown device 'abacus'");
    refused("name: x\nlike: a100-40g\n",
            "mine.yaml:2:7: like: unknown device 'a100-40g', did you mean 'a100-40gb'?");
    refused("name: x\nlike: t4\nbandwith: 3 GB/s\n",
            "mine.yaml:3:11: bandwith: unknown key, did you mean 'bandwidth'?");
    refused(
        "name: x\nlike: t4\nbandwidth: 3 GB\n",
        "mine.yaml:3:12: bandwidth: expected a rate such as 25 Gb/s or 300 GB/s (more than 0), found '3 GB'");
    refused("name: x\nlike: t4\nbandwidth: 3\n",
            "mine.yaml:3:12: bandwidth: expected from 1e+06 to 1e+21 bytes per second, found '3'");
    refused("name: x\nlike: t4\nunits: 0\n",
            "mine.yaml:3:8: units: expected a whole number from 1 to 100000, found '0'");
    refused("name: x\nlike: t4\npeak: {fp16: 3e12}\n", "mine.yaml:3:7: peak: 'fp32' is missing");
    refused("name: x\nlike: t4\npeak: {fp17: 3e12}\n",
            "mine.yaml:3:14: peak.fp17: unknown key, did you mean 'fp16'?");
    refused("name: x\nlike: t4\ngemm: {bf16: {efficiency: 7}}\n",
            "mine.yaml:3:27: gemm.bf16.efficiency: expected a number from 0.05 to 2, found '7'");
    refused("name: x\n", "mine.yaml:1:1: 'generation' is missing");
    refused("like: t4\n", "mine.yaml:1:1: 'name' is missing");
    refused("devices: []\n", "mine.yaml:1:10: devices: expected from 1 to 1000 devices, found 0");
    refused("devices:\n- {name: x, like: t4}\n- {name: X, like: t4}\n",
            "mine.yaml:3:10: devices[1].name: 'X' is the name of another device above");
    refused("format: rehearse-devices/2\nname: x\n",
            "mine.yaml:1:9: format: expected 'rehearse-devices/1', found 'rehearse-devices/2'");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(devices_are_found_by_name_and_alias),
        cmocka_unit_test(spellings_of_clusters_are_known),
        cmocka_unit_test(names_of_drivers_are_known),
        cmocka_unit_test(other_products_are_unknown),
        cmocka_unit_test(spellings_are_of_one_device),
        cmocka_unit_test(suggests_the_same_product_only),
        cmocka_unit_test(a_users_device_is_found_by_its_words),
        cmocka_unit_test(the_table_is_plausible),
        cmocka_unit_test(peaks_are_dense_in_all_types),
        cmocka_unit_test(fp32_follows_from_lanes_and_clock),
        cmocka_unit_test(it_is_known_what_a_device_rests_on),
        cmocka_unit_test(devices_with_other_links_are_their_own),
        cmocka_unit_test(types_have_names_and_sizes),
        cmocka_unit_test(a_device_like_another_takes_its_numbers),
        cmocka_unit_test(types_without_parameters_follow_the_nearest),
        cmocka_unit_test(devices_of_a_file_may_be_like_those_above),
        cmocka_unit_test(a_name_loads_one_device),
        cmocka_unit_test(a_file_loads_its_devices),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
