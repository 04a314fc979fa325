/* A library with the calls of NCCL and of the CUDA driver that rehearse uses. No GPU and no other process is needed: an
 * operation keeps its stream busy for 50 us and its bytes at 1 GB/s, and misuse is an error.
 *
 * FAKE_NCCL_FAIL names a call that fails; FAKE_GPUS is the number of GPUs (default 8). */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LATENCY   50e-6
#define BANDWIDTH 1e9
#define MISUSE    5
#define NOT_READY 600

struct nccl_id {
    char bytes[128];
};

struct comm {
    int rank, size;
};

struct stream {
    double free_at;
};

static struct comm whole;
static struct stream only;
static int group_depth, context_set, allocated;
static double group_bytes;

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int result_of(const char *call)
{
    const char *failing = getenv("FAKE_NCCL_FAIL");
    return failing && strcmp(failing, call) == 0 ? 1 : 0;
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
    *version = 22105;
    return result_of("ncclGetVersion");
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

int ncclCommInitRank(struct comm **comm, int size, struct nccl_id id, int rank);
int ncclCommInitRank(struct comm **comm, int size, struct nccl_id id, int rank)
{
    if (id.bytes[127] != 7 || !context_set) /* the one of rank 0 */
        return MISUSE;
    whole = (struct comm){rank, size};
    *comm = &whole;
    return result_of("ncclCommInitRank");
}

/* Only ever asked for groups that begin with rank 0 here: keys are ranks. */
int ncclCommSplit(struct comm *comm, int colour, int key, struct comm **made, void *config);
int ncclCommSplit(struct comm *comm, int colour, int key, struct comm **made, void *config)
{
    *made = NULL;
    if (comm != &whole || config)
        return MISUSE;
    if (colour < 0)
        return 0;
    if (!(*made = malloc(sizeof **made)))
        return MISUSE;
    **made = (struct comm){key, whole.size};
    return result_of("ncclCommSplit");
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

int ncclCommGetAsyncError(const struct comm *comm, int *result);
int ncclCommGetAsyncError(const struct comm *comm, int *result)
{
    (void)comm;
    *result = result_of("ncclCommGetAsyncError");
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
    *count = given ? atoi(given) : 8;
    return 0;
}

int cuDeviceGet(int *device, int ordinal);
int cuDeviceGet(int *device, int ordinal)
{
    *device = ordinal;
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
