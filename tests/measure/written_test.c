/* Hand-made measurements as tables and documents: every number stands where it belongs, and what is not known is not said. */
#include "measure/layers/layers.h"
#include "measure/links/write.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* ---- layers ---- */

static struct sample_result time_of(double seconds)
{
    return (struct sample_result){.median = seconds,
                                  .low = 0.9 * seconds,
                                  .high = 1.2 * seconds,
                                  .fastest = 0.8 * seconds,
                                  .processor = 3 * seconds,
                                  .precision = 0.15,
                                  .batch = 7,
                                  .count = 31,
                                  .disturbed = 2,
                                  .warm_ups = 5};
}

/* Three blocks of which two are equal, and a head without a backward pass. */
struct made {
    struct measured_layer layers[4];
    struct measured_product product;
    struct measured_layers measured;
};

static void make(struct made *made, const char *library)
{
    memset(made, 0, sizeof *made);
    static const char *const names[] = {"block 0", "block 1", "block 2", "head"};
    static const int same[] = {0, 0, 2, 3};
    for (int i = 0; i < 4; i++) {
        struct measured_layer *layer = &made->layers[i];
        layer->row = (struct profile_layer){names[i], 1000 + i, 2000 + i, 3000 + i};
        layer->same = same[i];
        layer->forward = (struct measured_pass){.is_there = true,
                                                .is_timed = true,
                                                .time = time_of(1 + i),
                                                .seconds = 1 + i,
                                                .flops = 1e9 * (1 + i),
                                                .bytes = -1,
                                                .argument_bytes = 512,
                                                .output_bytes = 256};
        layer->forward.costs = (struct pjrt_costs){.flops = 5e9, .transcendentals = 6, .bytes = 4096};
        layer->forward.memory = (struct pjrt_memory){
            .arguments = 1024, .outputs = 2048, .temporary = 4096, .code = 64, .peak = 128};
        layer->backward = layer->forward;
        layer->backward.is_timed = i == 0;
        layer->backward.seconds = 10.5;
        layer->backward.costs = (struct pjrt_costs){-1, -1, -1, "no costs"};
        layer->backward.memory = (struct pjrt_memory){-1, -1, -1, -1, -1, -1, "no memory"};
    }
    made->layers[2].backward.notes = "estimated";
    made->layers[3].backward = (struct measured_pass){.notes = "it has two results"};
    made->layers[3].forward.time.notes = SAMPLE_LIMIT | SAMPLE_SLOWING;
    made->product = (struct measured_product){
        .row = {.type = "fp32", .size = {2, 100, 200, 300}, .seconds = 0.5}, .time = time_of(0.5)};
    made->measured =
        (struct measured_layers){.device = "cpu",
                                 .about = {.library = library,
                                           .command = "rehearse measure",
                                           .cores = "0-3",
                                           .clock = "wall",
                                           .precision = 0.02},
                                 .count = 4,
                                 .layers = made->layers,
                                 .product_count = 1,
                                 .products = &made->product,
                                 .options = {.precision = 0.02},
                                 .host = {"host-1", "a processor", "Linux", "2026-01-02T03:04:05Z"},
                                 .load = {0.5, 0.25, 0.125, 3}};
}

static void layers_print(const struct measured_layers *measured, const char *expected)
{
    struct text out = {0};
    measured_print(measured, &out);
    assert_string_equal(out.data, expected);
    text_release(&out);
}

static void layers_are_printed(void **state)
{
    (void)state;
    struct made made;
    make(&made, "PJRT 1");
    layers_print(
        &made.measured,
        "PJRT 1 on host-1, a processor\n"
        "cores 0-3, wall-clock seconds, intervals of 95 % within 2 % wanted\n"
        "\n"
        "layer                pass         median        low       high   within samples\n"
        "block 0              forward     1.000 s   900.0 ms    1.200 s  15.00 %      31\n"
        "block 0              backward    10.50 s   900.0 ms    1.200 s  15.00 %      31\n"
        "  and 1 equal: to block 1\n"
        "block 2              forward     3.000 s    2.700 s    3.600 s  15.00 %      31\n"
        "block 2              backward    10.50 s  estimated\n"
        "head                 forward     4.000 s    3.600 s    4.800 s  15.00 %      31\n"
        "head                 backward not measured: it has two results\n"
        "\n"
        "the plugin's, then ours                        flops         bytes accessed              arguments  "
        "              results      in all\n"
        "block 0              forward      5.000 B    1.000 B   4.000 KiB          -   1.000 KiB      512 B  "
        " 2.000 KiB      256 B   7.000 KiB          -\n"
        "block 0              backward           -    1.000 B           -          -           -      512 B  "
        "         -      256 B           -          -\n"
        "  cost analysis: no costs\n"
        "  memory statistics: no memory\n"
        "block 2              forward      5.000 B    3.000 B   4.000 KiB          -   1.000 KiB      512 B  "
        " 2.000 KiB      256 B   7.000 KiB          -\n"
        "head                 forward      5.000 B    4.000 B   4.000 KiB          -   1.000 KiB      512 B  "
        " 2.000 KiB      256 B   7.000 KiB          -\n"
        "\n"
        "product   batch        m        n        k     median        low       high       flop/s\n"
        "fp32          2      100      200      300   500.0 ms   450.0 ms   600.0 ms 48.00 MFLOP/s\n");
}

/* By a library there are no costs of a plugin; without layers or products no table. */
static void parts_of_layers_are_printed(void **state)
{
    (void)state;
    struct made made;
    make(&made, "oneDNN 3");
    made.measured.count = 0;
    made.measured.options.by_processor = true;
    made.measured.host.processor[0] = '\0';
    made.measured.about.warnings = "other load";
    layers_print(
        &made.measured,
        "oneDNN 3 on host-1, Linux\n"
        "cores 0-3, CPU seconds of the process, intervals of 95 % within 2 % wanted\n"
        "warning: other load\n"
        "\n"
        "product   batch        m        n        k     median        low       high       flop/s\n"
        "fp32          2      100      200      300   500.0 ms   450.0 ms   600.0 ms 48.00 MFLOP/s\n");
    made.measured.product_count = 0;
    layers_print(&made.measured,
                 "oneDNN 3 on host-1, Linux\n"
                 "cores 0-3, CPU seconds of the process, intervals of 95 % within 2 % wanted\n"
                 "warning: other load\n");
    make(&made, "oneDNN 3");
    struct text out = {0};
    measured_print(&made.measured, &out);
    assert_null(strstr(out.data, "the plugin's"));
    text_release(&out);
}

static void the_document_of_layers(void **state)
{
    (void)state;
    struct made made;
    make(&made, "PJRT 1");
    made.measured.count = 1;
    struct text out = {0};
    struct json json = {.out = &out};
    measured_write_json(&made.measured, &json);
    assert_string_equal(out.data, "{\n"
                                  "  \"format\": \"rehearse-layer-times/1\",\n"
                                  "  \"$schema\": \"https://rehearse.invalid/schema/layer-times-1.json\",\n"
                                  "  \"host\": \"host-1\",\n"
                                  "  \"processor\": \"a processor\",\n"
                                  "  \"system\": \"Linux\",\n"
                                  "  \"date\": \"2026-01-02T03:04:05Z\",\n"
                                  "  \"command\": \"rehearse measure\",\n"
                                  "  \"library\": \"PJRT 1\",\n"
                                  "  \"device\": \"cpu\",\n"
                                  "  \"cores\": \"0-3\",\n"
                                  "  \"clock\": \"wall\",\n"
                                  "  \"precision\": 0.02,\n"
                                  "  \"own_load\": 0.5,\n"
                                  "  \"other_load\": 0.25,\n"
                                  "  \"stolen\": 0.125,\n"
                                  "  \"throttled\": 3,\n"
                                  "  \"warnings\": null,\n"
                                  "  \"layers\": [\n"
                                  "    {\n"
                                  "      \"name\": \"block 0\",\n"
                                  "      \"same_as\": 0,\n"
                                  "      \"parameter_bytes\": 1000,\n"
                                  "      \"activation_bytes\": 2000,\n"
                                  "      \"output_bytes\": 3000,\n"
                                  "      \"forward\": {\n"
                                  "        \"seconds\": 1,\n"
                                  "        \"is_measured\": true,\n"
                                  "        \"low\": 0.9,\n"
                                  "        \"high\": 1.2,\n"
                                  "        \"fastest\": 0.8,\n"
                                  "        \"cpu_seconds\": 3,\n"
                                  "        \"within\": 0.15,\n"
                                  "        \"samples\": 31,\n"
                                  "        \"runs_per_sample\": 7,\n"
                                  "        \"warm_ups\": 5,\n"
                                  "        \"disturbed\": 2,\n"
                                  "        \"is_precise\": true,\n"
                                  "        \"is_bimodal\": false,\n"
                                  "        \"is_slowing\": false,\n"
                                  "        \"flops\": 1000000000,\n"
                                  "        \"bytes\": null,\n"
                                  "        \"plugin\": {\n"
                                  "          \"flops\": 5000000000,\n"
                                  "          \"transcendentals\": 6,\n"
                                  "          \"bytes\": 4096,\n"
                                  "          \"argument_bytes\": 1024,\n"
                                  "          \"output_bytes\": 2048,\n"
                                  "          \"temporary_bytes\": 4096,\n"
                                  "          \"code_bytes\": 64,\n"
                                  "          \"peak_bytes\": 128\n"
                                  "        }\n"
                                  "      },\n"
                                  "      \"backward\": {\n"
                                  "        \"seconds\": 10.5,\n"
                                  "        \"is_measured\": true,\n"
                                  "        \"low\": 0.9,\n"
                                  "        \"high\": 1.2,\n"
                                  "        \"fastest\": 0.8,\n"
                                  "        \"cpu_seconds\": 3,\n"
                                  "        \"within\": 0.15,\n"
                                  "        \"samples\": 31,\n"
                                  "        \"runs_per_sample\": 7,\n"
                                  "        \"warm_ups\": 5,\n"
                                  "        \"disturbed\": 2,\n"
                                  "        \"is_precise\": true,\n"
                                  "        \"is_bimodal\": false,\n"
                                  "        \"is_slowing\": false,\n"
                                  "        \"flops\": 1000000000,\n"
                                  "        \"bytes\": null,\n"
                                  "        \"plugin\": {\n"
                                  "          \"flops\": null,\n"
                                  "          \"transcendentals\": null,\n"
                                  "          \"bytes\": null,\n"
                                  "          \"no_costs\": \"no costs\",\n"
                                  "          \"argument_bytes\": null,\n"
                                  "          \"output_bytes\": null,\n"
                                  "          \"temporary_bytes\": null,\n"
                                  "          \"code_bytes\": null,\n"
                                  "          \"peak_bytes\": null,\n"
                                  "          \"no_memory\": \"no memory\"\n"
                                  "        }\n"
                                  "      }\n"
                                  "    }\n"
                                  "  ],\n"
                                  "  \"products\": [\n"
                                  "    {\n"
                                  "      \"type\": \"fp32\",\n"
                                  "      \"batch\": 2,\n"
                                  "      \"m\": 100,\n"
                                  "      \"n\": 200,\n"
                                  "      \"k\": 300,\n"
                                  "      \"seconds\": 0.5,\n"
                                  "      \"low\": 0.45,\n"
                                  "      \"high\": 0.6,\n"
                                  "      \"fastest\": 0.4,\n"
                                  "      \"cpu_seconds\": 1.5,\n"
                                  "      \"within\": 0.15,\n"
                                  "      \"samples\": 31,\n"
                                  "      \"runs_per_sample\": 7,\n"
                                  "      \"warm_ups\": 5,\n"
                                  "      \"disturbed\": 2,\n"
                                  "      \"is_precise\": true,\n"
                                  "      \"is_bimodal\": false,\n"
                                  "      \"is_slowing\": false\n"
                                  "    }\n"
                                  "  ]\n"
                                  "}\n");
    text_release(&out);
    make(&made, "oneDNN 3");
    struct text other = {0};
    struct json again = {.out = &other};
    made.layers[0] = made.layers[3];
    made.measured.count = 1;
    measured_write_json(&made.measured, &again);
    assert_null(strstr(other.data, "plugin"));
    assert_non_null(strstr(other.data, "\"backward\": null"));
    assert_non_null(strstr(other.data, "\"is_precise\": false"));
    assert_non_null(strstr(other.data, "\"is_slowing\": true"));
    assert_non_null(strstr(other.data, "\"is_bimodal\": false"));
    text_release(&other);
}

/* ---- links ---- */

#define ROWS 8

struct made_study {
    struct study_place places[4];
    struct study_row rows[ROWS];
    struct node_facts nodes[3];
    int kind_of[3];
    struct study study;
    struct study_fits fits;
};

static const struct study_facts facts = {"a test", "mpi", "gpu-1"};

/* Two hosts of a kind, and one of another, with links of known speed. */
static void make_study(struct made_study *made)
{
    memset(made, 0, sizeof *made);
    static const struct link_work works[ROWS] = {{LINK_COLLECTIVE, COLLECTIVE_SEND, 8, 0, 0},
                                                 {LINK_STREAM, COLLECTIVE_SEND, 1000, 0, 0},
                                                 {LINK_BOTH, COLLECTIVE_SEND, 1000, 0, 0},
                                                 {LINK_OVERLAP, COLLECTIVE_SEND, 1000, 0, 0},
                                                 {LINK_OVERLAP, COLLECTIVE_SEND, 1000, 9, 0},
                                                 {LINK_OVERLAP, COLLECTIVE_SEND, 1000, 9, 3},
                                                 {LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE, 64, 0, 0},
                                                 {LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE, 32, 0, 0}};
    for (int i = 0; i < ROWS; i++)
        made->rows[i] = (struct study_row){i < 6 ? 1 : i - 4, works[i], time_of(1e-3 * (1 + i)), 4e-3, 3e-3};
    made->rows[7].time.notes = SAMPLE_LIMIT;
    made->places[0] = (struct study_place){PLACE_PAIR, "pair inside", 0, 1, 2, 1, NULL};
    made->places[1] = (struct study_place){PLACE_PAIR, "pair across", -1, 2, 2, 4, NULL};
    made->places[2] = (struct study_place){PLACE_GROUP, "inside", 2, 1, 4, 1, NULL};
    made->places[3] = (struct study_place){PLACE_ONE_EACH, "one each", -1, 3, 3, 1, NULL};
    for (int host = 0; host < 3; host++)
        made->nodes[host] = (struct node_facts){.name = {'h', (char)('0' + host)},
                                                .packages = 1 + host,
                                                .cores = 10 + host,
                                                .threads = 20 + host,
                                                .memories = 30 + host,
                                                .ranks = 4,
                                                .memory = (INT64_C(8) << 30) + host};
    strcpy(made->nodes[2].processor, "a processor");
    strcpy(made->nodes[2].cards, "eth0");
    made->kind_of[2] = 2;
    made->study = (struct study){.ranks = 12,
                                 .host_count = 3,
                                 .nodes = made->nodes,
                                 .kind_of = made->kind_of,
                                 .carrier = "mpi",
                                 .place_count = 4,
                                 .places = made->places,
                                 .row_count = ROWS,
                                 .rows = made->rows};
    struct link_fit *fit = &made->fits.across;
    made->fits.has_across = true;
    fit->link.name = "fitted-link";
    fit->kinds[COLLECTIVE_ALL_REDUCE] =
        (struct error_score){.rows = 17, .median = 0.01, .mean = 0.02, .p90 = 0.03};
}

static void links_are_printed(void **state)
{
    (void)state;
    struct made_study made;
    struct text out = {0};
    make_study(&made);
    study_print(&made.study, &made.fits, &facts, &out);
    assert_string_equal(
        out.data,
        "a test\n"
        "\n"
        "link                            latency        one way    each of two     hidden   polled\n"
        "between hosts                  1.000 ms     2.000 MB/s     1.333 MB/s       67 %     33 %\n"
        "\n"
        "place                        work                   bytes       median          95 % interval\n"
        "pair across                  send                     8 B     1.000 ms   900.0 us to 1.200 ms\n"
        "pair across                  stream                1000 B     2.000 ms   1.800 ms to 2.400 ms\n"
        "pair across                  both ways             1000 B     3.000 ms   2.700 ms to 3.600 ms\n"
        "pair across                  exchange              1000 B     4.000 ms   3.600 ms to 4.800 ms\n"
        "pair across                  computing             1000 B     5.000 ms   4.500 ms to 6.000 ms\n"
        "pair across                  computing, polled     1000 B     6.000 ms   5.400 ms to 7.200 ms\n"
        "inside                       all_reduce              64 B     7.000 ms   6.300 ms to 8.400 ms\n"
        "one each                     all_reduce              32 B     8.000 ms   7.200 ms to 9.600 ms  time "
        "limit\n"
        "\n"
        "                                                      error of rows held out of the fit\n"
        "fitted                                         rows     median       mean        p90\n"
        "fitted-link                  all_reduce          17      1.0 %      2.0 %      3.0 %\n");
    text_release(&out);
}

static void the_document_of_links(void **state)
{
    (void)state;
    struct made_study made;
    struct text out = {0};
    struct json json = {.out = &out};
    make_study(&made);
    made.fits.is_shortest = true;
    study_write_json(&made.study, &made.fits, &facts, &json);
    assert_string_equal(
        out.data,
        "{\n"
        "  \"format\": \"rehearse-link-times/1\",\n"
        "  \"$schema\": \"https://rehearse.invalid/schema/link-times-1.json\",\n"
        "  \"source\": \"a test\",\n"
        "  \"carrier\": \"mpi\",\n"
        "  \"device\": \"gpu-1\",\n"
        "  \"nodes\": [\n"
        "    {\"name\": \"h0\", \"processor\": \"\", \"ranks\": 4, \"packages\": 1, \"cores\": 10, "
        "\"threads\": 20, \"memory\": 8589934592, \"cards\": \"\"},\n"
        "    {\"name\": \"h1\", \"processor\": \"\", \"ranks\": 4, \"packages\": 2, \"cores\": 11, "
        "\"threads\": 21, \"memory\": 8589934593, \"cards\": \"\"},\n"
        "    {\"name\": \"h2\", \"processor\": \"a processor\", \"ranks\": 4, \"packages\": 3, \"cores\": "
        "12, \"threads\": 22, \"memory\": 8589934594, \"cards\": \"eth0\"}\n"
        "  ],\n"
        "  \"links\": [\n"
        "    {\"host\": null, \"latency\": 0.001, \"bandwidth\": 2000000, \"bandwidth_both_ways\": "
        "1333333.3333333333, \"hidden\": 0.6666666666666666, \"hidden_polled\": 0.3333333333333333}\n"
        "  ],\n"
        "  \"times\": [\n"
        "    {\"work\": \"send\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, \"bytes\": 8, "
        "\"seconds\": 0.001, \"low\": 0.0009000000000000001, \"high\": 0.0012, \"shortest\": 0.0008, "
        "\"samples\": 31},\n"
        "    {\"work\": \"stream\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, \"bytes\": "
        "1000, \"seconds\": 0.002, \"low\": 0.0018000000000000002, \"high\": 0.0024, \"shortest\": 0.0016, "
        "\"samples\": 31},\n"
        "    {\"work\": \"both ways\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, \"bytes\": "
        "1000, \"seconds\": 0.003, \"low\": 0.0027, \"high\": 0.0036, \"shortest\": 0.0024000000000000002, "
        "\"samples\": 31},\n"
        "    {\"work\": \"exchange\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, \"bytes\": "
        "1000, \"seconds\": 0.004, \"low\": 0.0036000000000000003, \"high\": 0.0048, \"shortest\": 0.0032, "
        "\"samples\": 31},\n"
        "    {\"work\": \"computing\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, \"bytes\": "
        "1000, \"seconds\": 0.005, \"low\": 0.0045000000000000005, \"high\": 0.006, \"shortest\": 0.004, "
        "\"samples\": 31, \"computing\": 0.004, \"alone\": 0.003},\n"
        "    {\"work\": \"computing, polled\", \"ranks\": 2, \"nodes\": 2, \"groups\": 4, \"host\": null, "
        "\"bytes\": 1000, \"seconds\": 0.006, \"low\": 0.0054, \"high\": 0.0072, \"shortest\": "
        "0.0048000000000000004, \"samples\": 31, \"computing\": 0.004, \"alone\": 0.003},\n"
        "    {\"work\": \"all_reduce\", \"ranks\": 4, \"nodes\": 1, \"groups\": 1, \"host\": \"h2\", "
        "\"bytes\": 64, \"seconds\": 0.007, \"low\": 0.0063, \"high\": 0.0084, \"shortest\": "
        "0.005600000000000001, \"samples\": 31},\n"
        "    {\"work\": \"all_reduce\", \"ranks\": 3, \"nodes\": 3, \"groups\": 1, \"host\": null, "
        "\"bytes\": 32, \"seconds\": 0.008, \"low\": 0.007200000000000001, \"high\": 0.0096, \"shortest\": "
        "0.0064, \"samples\": 31, \"notes\": \"time limit\"}\n"
        "  ],\n"
        "  \"left_out\": [\n"
        "    {\"link\": \"fitted-link\", \"collective\": \"all_reduce\", \"rows\": 17, \"of\": \"shortest\", "
        "\"mean_error\": 0.02, \"median_error\": 0.01, \"p90_error\": 0.03}\n"
        "  ]\n"
        "}\n");
    text_release(&out);
}

static void the_cluster_of_links(void **state)
{
    (void)state;
    struct made_study made;
    struct text out = {0};
    struct error err;
    make_study(&made);
    assert_true(study_write_cluster(&made.study, &facts, &out, &err));
    assert_string_equal(out.data,
                        "# a test\n"
                        "# h0: unknown processor, 1 packages, 10 cores, 20 threads, 30 memories\n"
                        "# h2: a processor, 3 packages, 12 cores, 22 threads, 32 memories, cards eth0\n"
                        "format: rehearse-cluster/1\n"
                        "name: measured\n"
                        "groups:\n"
                        "  - device: \"gpu-1\"\n"
                        "    nodes: 2\n"
                        "    devices_per_node: 4\n"
                        "    memory: 2147483648\n"
                        "  - device: \"gpu-1\"\n"
                        "    nodes: 1\n"
                        "    devices_per_node: 4\n"
                        "    memory: 2147483648\n"
                        "inter_node: {bandwidth: 2e+06, latency: 0.001}\n");
    text_release(&out);
    /* The memory of a device is known, or shared by the ranks of a node, or not known. */
    static const struct {
        int64_t device, node;
        const char *line;
    } cases[] = {
        {1 << 20, 1 << 30, "    memory: 1048576\n"}, {0, 1 << 30, "    memory: 268435456\n"}, {0, 3, NULL}};
    for (int i = 0; i < 3; i++) {
        struct text other = {0};
        made.study.device_memory = cases[i].device;
        for (int host = 0; host < 3; host++)
            made.nodes[host].memory = cases[i].node;
        assert_true(study_write_cluster(&made.study, &facts, &other, &err));
        assert_int_equal(strstr(other.data, cases[i].line ? cases[i].line : "memory:") != NULL,
                         cases[i].line != NULL);
        text_release(&other);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_are_printed),     cmocka_unit_test(parts_of_layers_are_printed),
        cmocka_unit_test(the_document_of_layers), cmocka_unit_test(links_are_printed),
        cmocka_unit_test(the_document_of_links),  cmocka_unit_test(the_cluster_of_links),
    };
    return cmocka_run_group_tests_name("measure/written", tests, NULL, NULL);
}
