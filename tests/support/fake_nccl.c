/* A library with the calls of NCCL and of the CUDA driver that rehearse uses. No GPU and no other process is needed: an
 * operation keeps its stream busy for 50 us and its bytes at 1 GB/s, and misuse is an error.
 *
 * FAKE_NCCL_FAIL names what fails: a call; "never ends", a stream; "init never ends"; "all_reduce waits", a call that returns only when its
 * communicator is aborted. FAKE_NCCL_RANK: on this rank alone. FAKE_NCCL_VERSION is its version. FAKE_GPUS is the number of GPUs (default 8);
 * "own": each process sees one, its own. Aborted communicators are said on standard output. */
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LATENCY     50e-6
#define BANDWIDTH   1e9
#define MISUSE      5
#define NOT_READY   600
#define IN_PROGRESS 7

struct nccl_id {
    char bytes[128];
};

struct comm {
    int rank, size;
};

/* ncclConfig_t, as later versions have it. */
struct config {
    size_t size;
    unsigned magic, version;
    int blocking, cluster, min_blocks, max_blocks;
    const char *network;
    int split_share, later[40];
};

struct stream {
    double free_at;
};

static struct comm whole;
static struct stream only;
static int group_depth, context_set, allocated, asked;
static volatile int is_aborted, inside;
static double group_bytes;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int result_of(const char *call)
{
    const char *failing = getenv("FAKE_NCCL_FAIL"), *on = getenv("FAKE_NCCL_RANK"),
               *rank = getenv("OMPI_COMM_WORLD_RANK");
    if (on && rank && strcmp(on, rank) != 0)
        return 0;
    return failing && strcmp(failing, call) == 0 ? 1 : 0;
}

/* A configuration of 2.18 or later, which says nothing but whether calls block. */
static int is_config(const struct config *config, int blocking)
{
    return config && config->size >= 48 && config->magic == 0xcafebeef && config->version >= 21800 &&
           config->blocking == blocking && config->cluster == INT_MIN && config->min_blocks == INT_MIN &&
           config->max_blocks == INT_MIN && !config->network && config->split_share == INT_MIN;
}

static int work(struct stream *stream, double bytes)
{
    if (stream != &only || !context_set || allocated < 2)
        return MISUSE;
    double begin = stream->free_at > now() ? stream->free_at : now();
    stream->free_at = begin + LATENCY + bytes / BANDWIDTH;
    return 0;
}

static size_t size_of(int type)
{
    return type == 7 ? 4 : 1;
}

/* ---- NCCL ---- */

int ncclGetVersion(int *version);
int ncclGetVersion(int *version)
{
    const char *given = getenv("FAKE_NCCL_VERSION");
    *version = given ? atoi(given) : 22105;
    return result_of("ncclGetVersion");
}

const char *ncclGetLastError(const struct comm *comm);
const char *ncclGetLastError(const struct comm *comm)
{
    (void)comm;
    return result_of("ncclCommGetAsyncError") ? "socketProgress: Connection closed by remote peer" : "";
}

const char *ncclGetErrorString(int result);
const char *ncclGetErrorString(int result)
{
    return result == MISUSE ? "invalid usage" : "a failure as asked";
}

int ncclGetUniqueId(struct nccl_id *id);
int ncclGetUniqueId(struct nccl_id *id)
{
    memset(id, 7, sizeof *id);
    return result_of("ncclGetUniqueId");
}

int ncclCommInitRankConfig(struct comm **comm, int size, struct nccl_id id, int rank,
                           const struct config *config);
int ncclCommInitRankConfig(struct comm **comm, int size, struct nccl_id id, int rank,
                           const struct config *config)
{
    if (id.bytes[127] != 7 || !context_set || !is_config(config, 0)) /* the one of rank 0 */
        return MISUSE;
    whole = (struct comm){rank, size};
    *comm = &whole;
    return result_of("ncclCommInitRankConfig") ? 1 : IN_PROGRESS;
}

/* Only ever asked for groups that begin with rank 0 here: keys are ranks. */
int ncclCommSplit(struct comm *comm, int colour, int key, struct comm **made, const struct config *config);
int ncclCommSplit(struct comm *comm, int colour, int key, struct comm **made, const struct config *config)
{
    *made = NULL;
    if (comm != &whole || !is_config(config, 1))
        return MISUSE;
    if (colour < 0)
        return 0;
    if (!(*made = malloc(sizeof **made)))
        return MISUSE;
    **made = (struct comm){key, whole.size};
    return result_of("ncclCommSplit") ? 1 : IN_PROGRESS;
}

int ncclCommCount(const struct comm *comm, int *size);
int ncclCommCount(const struct comm *comm, int *size)
{
    *size = comm->size;
    return 0;
}

int ncclCommUserRank(const struct comm *comm, int *rank);
int ncclCommUserRank(const struct comm *comm, int *rank)
{
    *rank = comm->rank;
    return 0;
}

int ncclCommDestroy(struct comm *comm);
int ncclCommDestroy(struct comm *comm)
{
    if (comm != &whole)
        free(comm);
    return 0;
}

int ncclCommAbort(struct comm *comm);
int ncclCommAbort(struct comm *comm)
{
    is_aborted = 1;
    printf("<a communicator of rank %d is aborted>\n", comm->rank);
    fflush(stdout);
    while (inside) /* NCCL too waits for the call that it ends */
        usleep(100);
    return ncclCommDestroy(comm);
}

/* What does not block is ready when it is asked for the third time. */
int ncclCommGetAsyncError(const struct comm *comm, int *result);
int ncclCommGetAsyncError(const struct comm *comm, int *result)
{
    *result = comm == &whole ? (result_of("init never ends") || ++asked % 3 ? IN_PROGRESS : 0)
                             : 6 * result_of("ncclCommGetAsyncError");
    return 0;
}

int ncclGroupStart(void);
int ncclGroupStart(void)
{
    group_depth++;
    group_bytes = 0;
    return 0;
}

int ncclGroupEnd(void);
int ncclGroupEnd(void)
{
    return --group_depth == 0 ? work(&only, group_bytes) : MISUSE;
}

static int message(size_t count, int type, int peer, const struct comm *comm)
{
    if (group_depth == 0 || peer < 0 || peer >= comm->size)
        return MISUSE;
    double bytes = (double)(count * size_of(type)); /* both ways at once: the longer one */
    group_bytes = bytes > group_bytes ? bytes : group_bytes;
    return 0;
}

int ncclSend(const void *in, size_t count, int type, int peer, struct comm *comm, struct stream *stream);
int ncclSend(const void *in, size_t count, int type, int peer, struct comm *comm, struct stream *stream)
{
    (void)in, (void)stream;
    return message(count, type, peer, comm);
}

int ncclRecv(void *out, size_t count, int type, int peer, struct comm *comm, struct stream *stream);
int ncclRecv(void *out, size_t count, int type, int peer, struct comm *comm, struct stream *stream)
{
    (void)out, (void)stream;
    return message(count, type, peer, comm);
}

int ncclAllReduce(const void *in, void *out, size_t count, int type, int operation, struct comm *comm,
                  struct stream *stream);
int ncclAllReduce(const void *in, void *out, size_t count, int type, int operation, struct comm *comm,
                  struct stream *stream)
{
    double n = comm->size;
    int failed = result_of("ncclAllReduce");
    for (inside = 1; result_of("all_reduce waits") && !is_aborted;)
        usleep(1000);
    inside = 0;
    if (result_of("is gone"))
        pause();
    return failed                                       ? failed
           : operation != 0 || type != 7 || !in || !out ? MISUSE
                                                        : work(stream, 2 * (n - 1) / n * 4.0 * (double)count);
}

int ncclAllGather(const void *in, void *out, size_t count, int type, struct comm *comm,
                  struct stream *stream);
int ncclAllGather(const void *in, void *out, size_t count, int type, struct comm *comm, struct stream *stream)
{
    return in && out ? work(stream, (comm->size - 1) * (double)(count * size_of(type))) : MISUSE;
}

int ncclReduceScatter(const void *in, void *out, size_t count, int type, int operation, struct comm *comm,
                      struct stream *stream);
int ncclReduceScatter(const void *in, void *out, size_t count, int type, int operation, struct comm *comm,
                      struct stream *stream)
{
    return in && out && operation == 0 ? work(stream, (comm->size - 1) * (double)(count * size_of(type)))
                                       : MISUSE;
}

/* ---- the driver ---- */

int cuInit(unsigned flags);
int cuInit(unsigned flags)
{
    return flags ? MISUSE : result_of("cuInit");
}

int cuDeviceGetCount(int *count);
int cuDeviceGetCount(int *count)
{
    const char *given = getenv("FAKE_GPUS");
    *count = !given ? 8 : strcmp(given, "own") == 0 ? 1 : atoi(given);
    return 0;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    const char *given = getenv("FAKE_GPUS");
    *device = ordinal;
    return given && strcmp(given, "own") == 0 && ordinal > 0 ? MISUSE : 0;
}

int cuDeviceGetUuid(char uuid[16], int device);
int cuDeviceGetUuid(char uuid[16], int device)
{
    const char *given = getenv("FAKE_GPUS");
    int number = given && strcmp(given, "own") == 0 ? (int)getpid() : device;
    memset(uuid, 0x41, 16);
    memcpy(uuid + 12, &number, sizeof number);
    return 0;
}

int cuDeviceGetName(char *name, int length, int device);
int cuDeviceGetName(char *name, int length, int device)
{
    (void)device;
    strncpy(name, "Fake GPU 80GB", (size_t)length);
    return 0;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device)
{
    (void)device;
    *bytes = (size_t)80 << 30;
    return 0;
}

int cuDevicePrimaryCtxRetain(void **context, int device);
int cuDevicePrimaryCtxRetain(void **context, int device)
{
    (void)device;
    *context = &whole;
    return 0;
}

int cuCtxSetCurrent(void *context);
int cuCtxSetCurrent(void *context)
{
    context_set = context == &whole;
    return 0;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device)
{
    (void)device;
    context_set = 0;
    return 0;
}

int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes);
int cuMemAlloc_v2(unsigned long long *pointer, size_t bytes)
{
    *pointer = 0x10000u * (unsigned long long)++allocated;
    return bytes > 0 ? result_of("cuMemAlloc") : MISUSE;
}

int cuMemsetD8_v2(unsigned long long pointer, unsigned char value, size_t bytes);
int cuMemsetD8_v2(unsigned long long pointer, unsigned char value, size_t bytes)
{
    (void)value, (void)bytes;
    return pointer ? 0 : MISUSE;
}

int cuMemFree_v2(unsigned long long pointer);
int cuMemFree_v2(unsigned long long pointer)
{
    return pointer ? 0 : MISUSE;
}

int cuStreamCreate(struct stream **stream, unsigned flags);
int cuStreamCreate(struct stream **stream, unsigned flags)
{
    (void)flags;
    *stream = &only;
    return 0;
}

int cuStreamQuery(const struct stream *stream);
int cuStreamQuery(const struct stream *stream)
{
    int is_busy = now() < stream->free_at || result_of("never ends");
    return is_busy ? NOT_READY : result_of("cuStreamQuery");
}

/* An event is the time at which what its stream has so far is done. */
int cuEventCreate(double **event, unsigned flags);
int cuEventCreate(double **event, unsigned flags)
{
    *event = calloc(1, sizeof **event);
    return flags || !*event ? MISUSE : 0;
}

int cuEventRecord(double *event, const struct stream *stream);
int cuEventRecord(double *event, const struct stream *stream)
{
    *event = stream->free_at > now() ? stream->free_at : now();
    return result_of("cuEventRecord");
}

int cuEventElapsedTime(float *milliseconds, const double *start, const double *end);
int cuEventElapsedTime(float *milliseconds, const double *start, const double *end)
{
    *milliseconds = (float)(1e3 * (*end - *start));
    return *end > now() ? NOT_READY : 0;
}

int cuEventDestroy_v2(double *event);
int cuEventDestroy_v2(double *event)
{
    free(event);
    return 0;
}

int cuStreamDestroy_v2(struct stream *stream);
int cuStreamDestroy_v2(struct stream *stream)
{
    return stream == &only ? 0 : MISUSE;
}

int cuGetErrorString(int result, const char **text);
int cuGetErrorString(int result, const char **text)
{
    *text = result == MISUSE ? "invalid value" : "a failure as asked";
    return 0;
}
