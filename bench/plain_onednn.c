/* A loop of plain oneDNN calls, for bench/onednn_against_plain: plain_onednn M N K TYPE SECONDS prints the median CPU
 * seconds and the median seconds of a product of row-major M x K by K x N. */
#include <oneapi/dnnl/dnnl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_SAMPLES 100000

static double now(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void check(dnnl_status_t status)
{
    if (status != dnnl_success) {
        fprintf(stderr, "oneDNN: status %d\n", (int)status);
        exit(1);
    }
}

static dnnl_memory_t array(dnnl_engine_t engine, dnnl_memory_desc_t *desc, dnnl_data_type_t type, long rows,
                           long columns)
{
    dnnl_dims_t dims = {rows, columns};
    dnnl_memory_t memory;
    void *data;
    check(dnnl_memory_desc_init_by_tag(desc, 2, dims, type, dnnl_ab));
    size_t bytes = dnnl_memory_desc_get_size(desc);
    if (posix_memalign(&data, 64, bytes) != 0)
        exit(1);
    for (size_t i = 0; i < bytes / (type == dnnl_bf16 ? 2 : 4); i++) {
        float value = (float)(rand() % 2001 - 1000) / 1000.0F + 1e-3F;
        if (type == dnnl_bf16)
            memcpy((char *)data + 2 * i, (char *)&value + 2, 2);
        else
            memcpy((char *)data + 4 * i, &value, 4);
    }
    check(dnnl_memory_create(&memory, desc, engine, data));
    return memory;
}

int main(int argc, char **argv)
{
    static double cpu[MAX_SAMPLES], wall[MAX_SAMPLES];
    if (argc != 6)
        return 2;
    long m = atol(argv[1]), n = atol(argv[2]), k = atol(argv[3]);
    dnnl_data_type_t type = strcmp(argv[4], "bf16") == 0 ? dnnl_bf16 : dnnl_f32;
    double end = now(CLOCK_MONOTONIC) + atof(argv[5]);
    dnnl_engine_t engine;
    dnnl_stream_t stream;
    dnnl_memory_desc_t a_desc, b_desc, c_desc;
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t desc;
    dnnl_primitive_t primitive;
    check(dnnl_engine_create(&engine, dnnl_cpu, 0));
    check(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
    dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, array(engine, &a_desc, type, m, k)},
                                   {DNNL_ARG_WEIGHTS, array(engine, &b_desc, type, k, n)},
                                   {DNNL_ARG_DST, array(engine, &c_desc, type, m, n)}};
    check(dnnl_matmul_desc_init(&matmul, &a_desc, &b_desc, NULL, &c_desc));
    check(dnnl_primitive_desc_create(&desc, &matmul, NULL, engine, NULL));
    check(dnnl_primitive_create(&primitive, desc));
    int count = 0;
    for (int i = -3; i < 5 || (now(CLOCK_MONOTONIC) < end && count < MAX_SAMPLES); i++) {
        double start = now(CLOCK_MONOTONIC), begun = now(CLOCK_PROCESS_CPUTIME_ID);
        check(dnnl_primitive_execute(primitive, stream, 3, arguments));
        check(dnnl_stream_wait(stream));
        if (i >= 0) {
            cpu[count] = now(CLOCK_PROCESS_CPUTIME_ID) - begun;
            wall[count++] = now(CLOCK_MONOTONIC) - start;
        }
    }
    qsort(cpu, (size_t)count, sizeof *cpu, compare);
    qsort(wall, (size_t)count, sizeof *wall, compare);
    printf("%.9g %.9g\n", cpu[count / 2], wall[count / 2]);
    return 0;
}
