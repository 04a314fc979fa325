#include "measure/links/write.h"

#include "cluster/cluster.h"
#include "cost/collective.h"
#include "rehearse.h"
#include "support/ranks.h"

#include <dlfcn.h>
#include <math.h>

/* ---- One rank of several: what it prints is looked at by the tests ---- */

static bool measure_ranks(struct comm *comm, struct carrier *carrier, struct error *err)
{
    static const int64_t layers[] = {4096, 12288};
    struct study study;
    /* The first samples are enough, and no size is left out because this machine is busy. */
    struct study_options options = {.sample = {.precision = 1e6, .limit = 1000},
                                    .sizes = {1024, 2048, 4096},
                                    .size_count = 3,
                                    .kinds = {true, true, true, true},
                                    .collectives = true,
                                    .layers = layers,
                                    .layer_count = 2};
    if (!study_begin(&study, comm, carrier, err))
        return false;
    bool ok = study_measure(&study, comm, carrier, &options, err);
    for (int i = 0; i < study.row_count && ok && comm_rank(comm) == 0; i++) {
        const struct study_row *row = &study.rows[i];
        const struct study_place *place = &study.places[row->place];
        /* A message of the fake library takes 50 us and a byte 1 ns; an all-reduce of n ranks 2(n-1)/n of its bytes. */
        double bytes = (double)row->work.bytes, n = place->devices;
        double least = row->work.kind == COLLECTIVE_ALL_REDUCE ? 2 * (n - 1) / n * bytes
                       : row->work.kind == COLLECTIVE_SEND     ? bytes
                                                               : (n - 1) / n * bytes;
        bool possible = row->time.median >= 50e-6 + 0.99e-9 * least && row->time.low <= row->time.median &&
                        row->time.median <= row->time.high && row->time.count > 0;
        printf("<%s, work %d of kind %d, %d bytes: %s>\n", place->name, (int)row->work.task,
               (int)row->work.kind, (int)row->work.bytes,
               strcmp(carrier->name, "mpi") == 0 || possible ? "measured" : "too fast");
    }
    if (ok && comm_rank(comm) == 0)
        printf("<%s, %s, %d rows, %d places>\n", study.carrier, study.device ? study.device : "host",
               study.row_count, study.place_count);
    study_release(&study);
    return ok;
}

/* Ranks whose sizes differ by a byte or two, as profiles and options may that look alike. */
static int differ_main(const char *mode)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK");
    bool first = rank && strcmp(rank, "0") == 0;
    struct rh_measure_links_request request = RH_INIT(request);
    struct rh_error error;
    request.kinds = "none";
    request.limit = 0.01;
    request.time_out = 20.0;
    request.largest = 16 << 20;
    request.smallest = 10000000;
    if (strcmp(mode, "sizes") == 0)
        request.smallest += first ? 0 : 8;
    else
        request.profile = getenv(first ? "FIRST_PROFILE" : "OTHER_PROFILE");
    rh_report *report = rh_measure_links(&request, NULL, &error);
    printf("<%s>\n", report ? "measured" : error.text);
    rh_free(report);
    return report ? 0 : 1;
}

static int rank_main(const char *mode)
{
    struct error err;
    if (strcmp(mode, "sizes") == 0 || strcmp(mode, "profiles") == 0)
        return differ_main(mode);
    struct carrier carrier = {0};
    const char *fake = getenv("REHEARSE_FAKE_NCCL");
    struct comm *comm = comm_open(strcmp(mode, "stuck") == 0 ? 2.0 : 50.0, &err);
    bool nccl = strcmp(mode, "mpi") != 0;
    bool ok =
        comm && (nccl ? carrier_open_nccl(&carrier, comm,
                                          strcmp(mode, "none") == 0    ? "no-such-nccl.so"
                                          : strcmp(mode, "other") == 0 ? getenv("REHEARSE_NO_PLUGIN")
                                                                       : fake,
                                          strcmp(mode, "driver") == 0 ? "no-such-cuda.so" : fake, 65536, &err)
                      : carrier_open_mpi(&carrier, comm, 65536, &err));
    ok = ok && measure_ranks(comm, &carrier, &err);
    if (!ok)
        printf("<failed: %s>\n", err.text);
    carrier_release(&carrier);
    if (nccl && dlopen(fake, RTLD_NOW | RTLD_NOLOAD))
        printf("<NCCL is still loaded>\n");
    comm_close(comm);
    return ok ? 0 : 1;
}

/* ---- Between ranks ---- */

static void test_every_place_and_work_is_measured(void **state)
{
    (void)state;
    if (!ranks_run(3, "mpi", ""))
        skip();
    ranks_require("<mpi, host, ");
    ranks_require(", 3 places>"); /* a pair, groups of 2 and of 3 */
    assert_int_equal(ranks_count("2 ranks of a host, work 0 of kind 4, "),
                     4);                                              /* sends of 8 bytes and three sizes */
    assert_int_equal(ranks_count("work 1 of kind 4, 4096 bytes"), 1); /* the largest stream */
    assert_int_equal(ranks_count("work 2 of kind 4, 4096 bytes"), 1); /* both ways */
    assert_int_equal(ranks_count("work 3 of "), 3);                   /* overlap */
    assert_int_equal(ranks_count("3 ranks of a host, work 0 of kind 0, "),
                     4); /* three sizes, and the layer of 12288 */
    /* Three ranks gather whole pieces of floats: 1020, 2040 and 4092 bytes. */
    ranks_require("3 ranks of a host, work 0 of kind 1, 4092 bytes");
}

static void test_nccl_is_driven_by_its_own_calls(void **state)
{
    (void)state;
    if (!ranks_run(2, "nccl", ""))
        skip();
    ranks_require("<nccl 2.21.5, Fake GPU 80GB, ");
    assert_int_equal(ranks_count("too fast"), 0);
    assert_int_equal(ranks_count("<NCCL is still loaded>"),
                     2); /* its threads do not survive that it is not */
    assert_int_equal(ranks_count("aborted"), 0);
    assert_int_equal(ranks_count("2 ranks of a host, work 0 of kind 3, "), 3);
    assert_int_equal(ranks_count("work 3 of "),
                     0); /* no overlap: what NCCL does beside kernels is the kernels' matter */
}

/* Runs two ranks in which something fails; skips where there is no MPI. */
static void fail_nccl(const char *mode, const char *variable, const char *value, const char *rank)
{
    setenv(variable, value, 1);
    if (rank)
        setenv("FAKE_NCCL_RANK", rank, 1);
    bool ran = ranks_run(2, mode, "");
    unsetenv(variable);
    unsetenv("FAKE_NCCL_RANK");
    if (!ran)
        skip();
}

static void test_what_is_missing_for_nccl_is_said(void **state)
{
    (void)state;
    if (!ranks_run(2, "none", ""))
        skip();
    assert_int_equal(ranks_count("cannot load NCCL: no-such-nccl.so: cannot open"), 2);
    ranks_require("nvidia/nccl/lib/libnccl.so.2");
    ranks_run(2, "driver", "");
    assert_int_equal(ranks_count("cannot load the GPU driver: no-such-cuda.so: cannot open"), 2);
    ranks_require("nvidia-smi");
    fail_nccl("nccl", "FAKE_NCCL_VERSION", "21703", NULL);
    ranks_require("is nccl 2.17.3, expected 2.18 or later>");
    ranks_run(2, "other", "");
    ranks_require("has no ncclGetVersion: it is too old, or another library>");
}

/* Slurm's --gpus-per-task. */
static void test_a_rank_that_sees_its_own_gpu_alone_uses_it(void **state)
{
    (void)state;
    fail_nccl("nccl", "FAKE_GPUS", "own", NULL);
    ranks_require("<nccl 2.21.5, Fake GPU 80GB, ");
}

static void test_ranks_that_share_a_gpu_are_named(void **state)
{
    (void)state;
    fail_nccl("nccl", "FAKE_GPUS", "1", NULL);
    ranks_require(
        "ranks 0 and 1 have the same GPU: start one rank per GPU, and look at CUDA_VISIBLE_DEVICES");
    fail_nccl("nccl", "FAKE_GPUS", "0", NULL);
    ranks_require("0 GPUs are visible, but rank 1 of the host was started");
}

static void test_a_failing_call_of_nccl_is_named(void **state)
{
    (void)state;
    fail_nccl("nccl", "FAKE_NCCL_FAIL", "ncclAllReduce", NULL);
    ranks_require("NCCL: all_reduce: a failure as asked (NCCL_DEBUG=WARN tells more)>");
    fail_nccl("nccl", "FAKE_NCCL_FAIL", "cuMemAlloc", NULL);
    ranks_require("CUDA: memory for messages: a failure as asked>");
}

static void test_a_failure_on_one_rank_is_told_to_all(void **state)
{
    (void)state;
    fail_nccl("nccl", "FAKE_NCCL_FAIL", "ncclAllReduce", "1");
    assert_int_equal(ranks_count("rank 1 ("), 2);
    assert_int_equal(ranks_count("NCCL: all_reduce: a failure as asked"), 2);
}

static void test_an_error_of_another_thread_of_nccl_is_read(void **state)
{
    (void)state;
    fail_nccl("stuck", "FAKE_NCCL_FAIL", "ncclCommGetAsyncError", NULL);
    ranks_require(
        "NCCL: send: a failure as asked: socketProgress: Connection closed by remote peer (NCCL_DEBUG");
    ranks_require("a communicator of rank 0 is aborted");
}

static void test_a_stream_that_never_ends_is_aborted_after_the_time_out(void **state)
{
    (void)state;
    fail_nccl("stuck", "FAKE_NCCL_FAIL", "never ends", NULL);
    ranks_require("NCCL: send has not completed for 2 s and was aborted: a rank is lost, or ");
    ranks_require("a communicator of rank 0 is aborted");
}

static void test_a_start_that_never_ends_is_aborted_after_the_time_out(void **state)
{
    (void)state;
    fail_nccl("stuck", "FAKE_NCCL_FAIL", "init never ends", NULL);
    ranks_require("NCCL: ncclCommInitRank has not completed for 2 s and was aborted");
    ranks_require("a communicator of rank 0 is aborted");
}

static void test_a_call_that_does_not_return_is_aborted_after_the_time_out(void **state)
{
    (void)state;
    fail_nccl("stuck", "FAKE_NCCL_FAIL", "all_reduce waits", NULL);
    assert_int_equal(ranks_count("NCCL: all_reduce has not completed for 2 s and was aborted"), 2);
    ranks_require("a communicator of rank 1 is aborted");
}

static void test_the_rank_that_does_not_come_is_named(void **state)
{
    (void)state;
    fail_nccl("stuck", "FAKE_NCCL_FAIL", "is gone", "1");
    ranks_require("the next measurement: waited 2 s for rank 1 (");
}

static void write_profile(const char *path, int bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "{\"format\": \"rehearse-profile/1\", \"layers\": [{\"parameter_bytes\": %d, "
            "\"activation_bytes\": 1}], "
            "\"devices\": [{\"name\": \"gpu\", \"layers\": [{\"forward\": 1, \"backward\": 2}]}]}",
            bytes);
    fclose(file);
}

static void test_ranks_with_other_sizes_are_refused(void **state)
{
    (void)state;
    char folder[] = "/tmp/links-XXXXXX", first[64], other[64];
    if (!ranks_run(2, "sizes", ""))
        skip();
    ranks_require("its version, one of its options or its --profile differs from rank 0's>");
    assert_non_null(mkdtemp(folder));
    snprintf(first, sizeof first, "%s/first.json", folder);
    snprintf(other, sizeof other, "%s/other.json", folder);
    write_profile(first, 65536);
    write_profile(other, 165536);
    setenv("FIRST_PROFILE", first, 1);
    setenv("OTHER_PROFILE", other, 1);
    ranks_run(2, "profiles", "");
    unlink(first);
    unlink(other);
    rmdir(folder);
    ranks_require("its version, one of its options or its --profile differs from rank 0's>");
}

/* ---- A study of known times ---- */

static struct study study;
static struct study_place places[4];
static struct study_row rows[400];
static struct node_facts nodes[3];
static int kind_of[3] = {0, 0, 2};

static void add_row(int place, enum link_task task, enum collective_kind kind, double bytes, double seconds)
{
    rows[study.row_count++] = (struct study_row){
        .place = place,
        .work = {.task = task, .kind = kind, .bytes = (int64_t)bytes},
        .time = {.median = seconds,
                 .low = 0.99 * seconds,
                 .high = 1.01 * seconds,
                 .fastest = 0.99 * seconds,
                 .count = 20},
    };
}

/* Three hosts of two ranks, the last of another kind: 20 us and 1 GB/s between them, 1 us and 10 GB/s inside. */
static int make_study(void **state)
{
    (void)state;
    study = (struct study){.ranks = 6,
                           .host_count = 3,
                           .nodes = nodes,
                           .kind_of = kind_of,
                           .carrier = "mpi",
                           .places = places,
                           .place_count = 4,
                           .rows = rows};
    places[0] = (struct study_place){PLACE_PAIR, "pair inside", 0, 1, 2, 1, NULL};
    places[1] = (struct study_place){PLACE_PAIR, "pair across", -1, 2, 2, 2, NULL};
    places[2] = (struct study_place){PLACE_GROUP, "inside", 0, 1, 2, 1, NULL};
    places[3] = (struct study_place){PLACE_GROUP, "across", -1, 3, 6, 1, NULL};
    for (int host = 0; host < 3; host++) {
        nodes[host] = (struct node_facts){
            .ranks = 2, .packages = 1, .cores = 2, .threads = 2, .memory = (int64_t)8 << 30};
        snprintf(nodes[host].name, sizeof nodes[host].name, "host%d", host);
    }
    for (double bytes = 1024; bytes <= 1 << 24; bytes *= 2) {
        add_row(0, LINK_COLLECTIVE, COLLECTIVE_SEND, bytes, 1e-6 + bytes / 10e9);
        add_row(1, LINK_COLLECTIVE, COLLECTIVE_SEND, bytes, 20e-6 + bytes / 0.5e9); /* both share the card */
        add_row(2, LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE, bytes, 2e-6 + bytes / 10e9);
        add_row(3, LINK_COLLECTIVE, COLLECTIVE_ALL_REDUCE, bytes, 80e-6 + 10.0 / 6.0 * bytes / 1e9);
        add_row(0, LINK_STREAM, COLLECTIVE_SEND, bytes, bytes / 10e9);
        add_row(1, LINK_STREAM, COLLECTIVE_SEND, bytes, bytes / 0.5e9);
        add_row(1, LINK_BOTH, COLLECTIVE_SEND, bytes, bytes / 0.4e9);
    }
    add_row(1, LINK_COLLECTIVE, COLLECTIVE_SEND, 8, 20e-6);
    return 0;
}

static const struct study_facts facts = {"a test", "mpi", "cpu"};

static void test_a_pair_says_what_its_link_is(void **state)
{
    (void)state;
    struct study_link link;
    assert_true(study_link_of(&study, -1, false, &link));
    assert_true(fabs(link.latency / 20e-6 - 1) < 1e-9);
    assert_true(fabs(link.bandwidth / 1e9 - 1) < 1e-9); /* of both pairs together */
    assert_true(fabs(link.both / 0.8e9 - 1) < 1e-9);
    assert_true(link.hidden < 0);
    assert_false(study_link_of(&study, 2, false, &link));
}

static void test_the_cluster_is_read_back(void **state)
{
    (void)state;
    struct text text = {0};
    struct cluster cluster;
    struct error err;
    assert_true(study_write_cluster(&study, &facts, &text, &err));
    assert_true(cluster_parse(&cluster, "cluster.yaml", text.data, text.length, &err));
    assert_int_equal(cluster.group_count, 2);
    assert_int_equal(cluster.groups[0].nodes.count, 2);
    assert_int_equal(cluster.groups[0].nodes.devices, 2);
    assert_int_equal(cluster.groups[0].nodes.memory, (int64_t)4 << 30);
    assert_true(fabs(cluster.groups[0].intra_node.bandwidth / 10e9 - 1) < 1e-4);
    assert_true(fabs(cluster.inter_node.bandwidth / 1e9 - 1) < 1e-4);
    assert_true(fabs(cluster.inter_node.latency / 20e-6 - 1) < 1e-3);
    cluster_release(&cluster);
    text_release(&text);
}

static void test_a_fit_finds_the_link_of_its_times(void **state)
{
    (void)state;
    struct study_fits fits;
    struct error err;
    assert_true(study_fit(&fits, &study, "a test", &err));
    assert_true(fits.has_inside && fits.has_across);
    assert_true(fits.inside.all.median < 0.05 && fits.across.all.median < 0.05);
    struct collective_group group = {6, 2, &fits.inside.link, &fits.across.link};
    double bytes = 3 << 20, seconds = collective_time(COLLECTIVE_ALL_REDUCE, &group, bytes).seconds;
    assert_true(fabs(seconds / (80e-6 + 10.0 / 6.0 * bytes / 1e9) - 1) < 0.1);
    study_fits_release(&fits);
}

static void test_a_fit_under_load_is_to_the_shortest_times(void **state)
{
    (void)state;
    struct study_fits fits;
    struct error err;
    for (int i = 0; i < study.row_count; i++) {
        study.rows[i].time.median *= 1 + i * 7 % 5;
        study.rows[i].time.notes |= SAMPLE_OTHER_LOAD;
    }
    assert_true(study_fit(&fits, &study, "a test", &err));
    assert_true(fits.is_shortest);
    assert_true(fits.inside.all.median < 0.05 && fits.across.all.median < 0.05);
    study_fits_release(&fits);
    for (int i = 0; i < study.row_count; i++)
        study.rows[i].time.median /= 1 + i * 7 % 5;
    /* ranks that share processors, whose medians are in order */
    assert_true(study_fit(&fits, &study, "a test", &err));
    assert_false(fits.is_shortest);
    study_fits_release(&fits);
    for (int i = 0; i < study.row_count; i++)
        study.rows[i].time.notes = 0;
}

static void test_too_few_times_are_not_fitted(void **state)
{
    (void)state;
    struct study_fits fits;
    struct error err;
    study.row_count = 7 * 5;
    assert_true(study_fit(&fits, &study, "a test", &err));
    assert_false(fits.has_inside || fits.has_across);
    study_fits_release(&fits);
}

/* Columns are those that `rehearse calibrate --collectives` reads; ranks beside idle ones are left out. */
static void test_the_table_is_that_of_calibrate(void **state)
{
    (void)state;
    struct text text = {0};
    struct csv csv;
    struct link_samples samples;
    struct error err;
    places[3].kind = PLACE_ONE_EACH;
    study_write_csv(&study, &text);
    assert_true(csv_parse(&csv, "collectives.csv", text.data, text.length, &err));
    assert_true(link_samples_read(&samples, &csv, NULL, &err));
    assert_int_equal(samples.count, 3 * 15 + 1);
    assert_int_equal(samples.samples[1].nodes, 2);
    assert_true(fabs(samples.samples[0].seconds / (1e-6 + 1024 / 10e9) - 1) < 1e-3);
    link_samples_release(&samples);
    csv_release(&csv);
    text_release(&text);
}

static void test_a_profile_gets_measured_all_reduces(void **state)
{
    (void)state;
    struct profile_layer layers[2] = {{.parameter_bytes = 2048}, {.parameter_bytes = 5000}};
    struct profile_device device = {0};
    struct profile profile = {.layer_count = 2, .layers = layers, .device_count = 1, .devices = &device};
    struct error err;
    places[3] = (struct study_place){PLACE_ONE_EACH, "one of each", -1, 3, 3, 1, NULL};
    assert_true(study_fill_profile(&study, &profile, &err));
    double seconds;
    assert_true(profile_allreduce_find(&device.in_node[0], 2, &seconds));
    assert_true(fabs(seconds / (2e-6 + 2048 / 10e9) - 1) < 1e-9);
    assert_true(profile_allreduce_find(&device.across_nodes[0], 3, &seconds));
    assert_true(fabs(seconds / (80e-6 + 10.0 / 6.0 * 2048 / 1e9) - 1) < 1e-9);
    assert_true(profile_allreduce_find(&device.in_node[1], 1, &seconds));
    assert_true(seconds == 0);
    assert_false(profile_allreduce_find(&device.in_node[1], 2, &seconds)); /* its size was not measured */
    arena_release(&profile.arena);
}

#define OF_STUDY(name) cmocka_unit_test_setup(name, make_study)

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "rank") == 0)
        return rank_main(argv[2]);
    const struct CMUnitTest tests[] = {
        OF_STUDY(test_a_pair_says_what_its_link_is),
        OF_STUDY(test_the_cluster_is_read_back),
        OF_STUDY(test_a_fit_finds_the_link_of_its_times),
        OF_STUDY(test_a_fit_under_load_is_to_the_shortest_times),
        OF_STUDY(test_too_few_times_are_not_fitted),
        OF_STUDY(test_the_table_is_that_of_calibrate),
        OF_STUDY(test_a_profile_gets_measured_all_reduces),
        cmocka_unit_test(test_every_place_and_work_is_measured),
        cmocka_unit_test(test_nccl_is_driven_by_its_own_calls),
        cmocka_unit_test(test_what_is_missing_for_nccl_is_said),
        cmocka_unit_test(test_a_rank_that_sees_its_own_gpu_alone_uses_it),
        cmocka_unit_test(test_ranks_that_share_a_gpu_are_named),
        cmocka_unit_test(test_a_failing_call_of_nccl_is_named),
        cmocka_unit_test(test_a_failure_on_one_rank_is_told_to_all),
        cmocka_unit_test(test_an_error_of_another_thread_of_nccl_is_read),
        cmocka_unit_test(test_a_stream_that_never_ends_is_aborted_after_the_time_out),
        cmocka_unit_test(test_a_start_that_never_ends_is_aborted_after_the_time_out),
        cmocka_unit_test(test_a_call_that_does_not_return_is_aborted_after_the_time_out),
        cmocka_unit_test(test_the_rank_that_does_not_come_is_named),
        cmocka_unit_test(test_ranks_with_other_sizes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
