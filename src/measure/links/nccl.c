/* Messages of NCCL, between the memories of GPUs: one for each rank of a host. */
#include "measure/links/nccl.h"

#include "core/clock.h"
#include "measure/links/carrier.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPIN  500e-6    /* seconds without sleep, while a stream works */
#define SLEEP 20000     /* nanoseconds */
#define WATCH 100000000 /* nanoseconds between two looks at a call */

struct over_nccl {
    struct nccl_calls nccl;
    struct cuda_calls cuda;
    int device;              /* -1: no context is held */
    double timeout, seconds; /* after which a rank is lost; and what the last run took */
    nccl_comm all;
    cuda_stream stream;
    cuda_event start, end;
    cuda_pointer in, out;
    char name[32], title[96];
    atomic_bool is_lost; /* a communicator was aborted: the device is not waited for any more */
    bool is_watched;
    pthread_t watch;
    atomic_bool watch_ends;
    atomic_int_fast64_t called; /* when a call of `group` began, nanoseconds; 0: there is none */
    nccl_comm group;
};

struct nccl_group {
    nccl_comm comm;
    int rank, size;
};

/* ---- loading ---- */

/* In the order of the members. */
static const char *const nccl_names[] = {
    "ncclGetVersion",
    "ncclGetErrorString",
    "ncclGetLastError",
    "ncclGetUniqueId",
    "ncclCommInitRankConfig",
    "ncclCommSplit",
    "ncclCommCount",
    "ncclCommUserRank",
    "ncclCommDestroy",
    "ncclCommAbort",
    "ncclCommGetAsyncError",
    "ncclGroupStart",
    "ncclGroupEnd",
    "ncclAllReduce",
    "ncclAllGather",
    "ncclReduceScatter",
    "ncclSend",
    "ncclRecv",
};

static const char *const cuda_names[] = {
    "cuInit",
    "cuDeviceGetCount",
    "cuDeviceGet",
    "cuDeviceGetName",
    "cuDeviceGetUuid",
    "cuDeviceTotalMem_v2",
    "cuDevicePrimaryCtxRetain",
    "cuCtxSetCurrent",
    "cuDevicePrimaryCtxRelease_v2",
    "cuMemAlloc_v2",
    "cuMemsetD8_v2",
    "cuMemFree_v2",
    "cuStreamCreate",
    "cuStreamQuery",
    "cuStreamDestroy_v2",
    "cuEventCreate",
    "cuEventRecord",
    "cuEventElapsedTime",
    "cuEventDestroy_v2",
    "cuGetErrorString",
};

#define COUNT(names) (sizeof(names) / sizeof *(names))
_Static_assert(sizeof(struct nccl_calls) == sizeof nccl_names, "names and members");
_Static_assert(sizeof(struct cuda_calls) == sizeof cuda_names, "names and members");

/* The library stays: threads and handlers of the exit of both do not survive that they are unloaded. */
static bool load(const char *path, const char *what, const char *advice, const char *const *names,
                 size_t count, void *table, struct error *err)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
        return error_set(err, ERROR_FAILED, "cannot load %s: %s: %s", what, dlerror(), advice);
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(library, names[i]);
        if (!call)
            return error_set(err, ERROR_FAILED,
                             "cannot load %s: '%s' has no %s: it is too old, or another library", what, path,
                             names[i]);
        memcpy((char *)table + i * sizeof call, &call, sizeof call);
    }
    return true;
}

static bool nccl_ok(const struct over_nccl *over, int result, const char *what, struct error *err)
{
    const char *more = result == 0 ? NULL : over->nccl.last_error(NULL);
    return result == 0 || error_set(err, ERROR_FAILED, "NCCL: %s: %s%s%s (NCCL_DEBUG=WARN tells more)", what,
                                    over->nccl.error(result), more && *more ? ": " : "", more ? more : "");
}

static bool cuda_ok(const struct over_nccl *over, int result, const char *what, struct error *err)
{
    const char *text = NULL;
    if (result == 0)
        return true;
    if (over->cuda.error(result, &text) != 0 || !text)
        text = "unknown error";
    return error_set(err, ERROR_FAILED, "CUDA: %s: %s", what, text);
}

/* ---- ranks that do not come ---- */

/* Ends what waits for other ranks. Which of them did not come is found by those that did: point.c. */
static void lose(struct over_nccl *over, nccl_comm comm)
{
    if (!atomic_exchange(&over->is_lost, true))
        over->nccl.abort(comm);
}

static bool is_late(const struct over_nccl *over, const char *what, struct error *err)
{
    return error_set(
        err, ERROR_FAILED,
        "NCCL: %s has not completed for %.3g s and was aborted: a rank is lost, or messages of its GPU "
        "do not arrive (NCCL_DEBUG=INFO shows over which cards they go)",
        what, over->timeout);
}

/* NCCL's calls wait for other ranks without a limit, as they connect when they first send. */
static void *watch(void *given)
{
    struct over_nccl *over = given;
    for (; !atomic_load(&over->watch_ends); clock_sleep(WATCH)) {
        int64_t called = atomic_load(&over->called);
        if (called > 0 && 1e-9 * (double)(clock_nanoseconds() - called) > over->timeout)
            lose(over, over->group);
    }
    return NULL;
}

/* Waits for a call of a communicator that does not block. */
static bool settle(struct over_nccl *over, int result, const char *what, struct error *err)
{
    for (double end = clock_now() + over->timeout; result == NCCL_IN_PROGRESS; clock_sleep(SLEEP)) {
        int failed = over->nccl.fault(over->all, &result);
        result = failed ? failed : result;
        if (result == NCCL_IN_PROGRESS && clock_now() > end) {
            lose(over, over->all);
            over->all = NULL;
            return is_late(over, what, err);
        }
    }
    return nccl_ok(over, result, what, err);
}

/* ---- groups ---- */

static void close_group(void *context, void *given)
{
    struct over_nccl *over = context;
    struct nccl_group *group = given;
    if (group && group->comm && !atomic_load(&over->is_lost))
        over->nccl.destroy(group->comm);
    free(group);
}

static bool open_group(void *context, int colour, int key, void **made, struct error *err)
{
    struct over_nccl *over = context;
    struct nccl_group *group = calloc(1, sizeof *group);
    *made = NULL;
    if (!group)
        return error_memory(err);
    int result =
        over->nccl.split(over->all, colour < 0 ? NCCL_NO_COLOUR : colour, key, &group->comm, NCCL_CONFIG(1));
    bool ok = settle(over, result, "ncclCommSplit", err);
    if (ok && colour >= 0)
        ok = nccl_ok(over, over->nccl.rank(group->comm, &group->rank), "ncclCommUserRank", err) &&
             nccl_ok(over, over->nccl.count(group->comm, &group->size), "ncclCommCount", err);
    if (ok && colour >= 0)
        *made = group;
    else
        close_group(over, group);
    return ok;
}

/* ---- work ---- */

/* Waits for the stream, and looks whether a rank is lost. */
static bool finish(struct over_nccl *over, const struct nccl_group *group, const char *what,
                   struct error *err)
{
    double started = clock_now(), now;
    int result, fault = 0;
    while ((result = over->cuda.stream_query(over->stream)) == CUDA_NOT_READY) {
        now = clock_now();
        if (over->nccl.fault(group->comm, &fault) != 0 || (fault != 0 && fault != NCCL_IN_PROGRESS)) {
            nccl_ok(over, fault ? fault : 1, what, err);
            lose(over, group->comm);
            return false;
        }
        if (now - started > over->timeout) {
            lose(over, group->comm);
            return is_late(over, what, err);
        }
        if (now - started > SPIN)
            clock_sleep(SLEEP);
        else
            sched_yield();
    }
    return cuda_ok(over, result, what, err);
}

static void *at(cuda_pointer pointer, size_t offset)
{
    return (void *)(uintptr_t)(pointer + offset);
}

/* A message each way; which of them is `sends` and `receives`. */
static int exchange(const struct over_nccl *over, const struct nccl_group *group, size_t bytes, bool sends,
                    bool receives)
{
    const struct nccl_calls *nccl = &over->nccl;
    int peer = 1 - group->rank, result = nccl->group_start();
    if (result == 0 && sends)
        result = nccl->send(at(over->in, 0), bytes, NCCL_INT8, peer, group->comm, over->stream);
    if (result == 0 && receives)
        result = nccl->receive(at(over->out, 0), bytes, NCCL_INT8, peer, group->comm, over->stream);
    int ended = nccl->group_end();
    return result ? result : ended;
}

static int all_to_all(const struct over_nccl *over, const struct nccl_group *group, size_t bytes)
{
    const struct nccl_calls *nccl = &over->nccl;
    size_t piece = bytes / (size_t)group->size;
    int result = nccl->group_start();
    for (int peer = 0; peer < group->size && result == 0; peer++) {
        result =
            nccl->send(at(over->in, piece * (size_t)peer), piece, NCCL_INT8, peer, group->comm, over->stream);
        if (result == 0)
            result = nccl->receive(at(over->out, piece * (size_t)peer), piece, NCCL_INT8, peer, group->comm,
                                   over->stream);
    }
    int ended = nccl->group_end();
    return result ? result : ended;
}

static int begin(const struct over_nccl *over, const struct nccl_group *group, const struct link_work *work)
{
    const struct nccl_calls *nccl = &over->nccl;
    size_t bytes = (size_t)work->bytes, floats = bytes / sizeof(float), size = (size_t)group->size;
    bool first = group->rank == 0;
    int result = 0;
    if (work->task == LINK_STREAM || work->task == LINK_BOTH) {
        for (int i = 0; i < LINK_STREAMED && result == 0; i++)
            result = exchange(over, group, bytes, first || work->task == LINK_BOTH,
                              !first || work->task == LINK_BOTH);
        return result;
    }
    switch (work->kind) {
    case COLLECTIVE_ALL_REDUCE:
        return nccl->all_reduce(at(over->in, 0), at(over->out, 0), floats, NCCL_FLOAT, NCCL_SUM, group->comm,
                                over->stream);
    case COLLECTIVE_ALL_GATHER:
        return nccl->all_gather(at(over->in, 0), at(over->out, 0), bytes / size, NCCL_INT8, group->comm,
                                over->stream);
    case COLLECTIVE_REDUCE_SCATTER:
        return nccl->reduce_scatter(at(over->in, 0), at(over->out, 0), floats / size, NCCL_FLOAT, NCCL_SUM,
                                    group->comm, over->stream);
    case COLLECTIVE_ALL_TO_ALL:
        return all_to_all(over, group, bytes);
    default: /* there and back */
        result = exchange(over, group, bytes, first, !first);
        return result ? result : exchange(over, group, bytes, !first, first);
    }
}

static bool perform_work(void *context, void *given, const struct link_work *work, int64_t count,
                         struct error *err)
{
    struct over_nccl *over = context;
    const struct nccl_group *group = given;
    bool pair = work->task != LINK_COLLECTIVE || work->kind == COLLECTIVE_SEND;
    if (pair && group->rank > 1)
        return true;
    const char *what = collective_kind_name(work->kind);
    float milliseconds = 0.0F;
    int result = 0;
    over->group = group->comm;
    atomic_store(&over->called, clock_nanoseconds());
    bool ok = cuda_ok(over, over->cuda.event_record(over->start, over->stream), "cuEventRecord", err);
    for (int64_t i = 0; i < count && ok && result == 0; i++)
        result = begin(over, group, work);
    atomic_store(&over->called, 0);
    if (atomic_load(&over->is_lost))
        return is_late(over, what, err);
    ok = ok && nccl_ok(over, result, what, err) &&
         cuda_ok(over, over->cuda.event_record(over->end, over->stream), "cuEventRecord", err) &&
         finish(over, group, what, err) &&
         cuda_ok(over, over->cuda.event_between(&milliseconds, over->start, over->end), "cuEventElapsedTime",
                 err);
    over->seconds = 1e-3 * (double)milliseconds;
    return ok;
}

/* ---- beginning and end ---- */

static void release(void *context)
{
    struct over_nccl *over = context;
    atomic_store(&over->watch_ends, true);
    if (over->is_watched)
        pthread_join(over->watch, NULL);
    bool is_lost = atomic_load(&over->is_lost);
    if (over->all)
        (is_lost ? over->nccl.abort : over->nccl.destroy)(over->all);
    if (over->device >= 0 && !is_lost) { /* else the driver would wait for ever */
        over->cuda.event_free(over->start);
        over->cuda.event_free(over->end);
        over->cuda.stream_free(over->stream);
        over->cuda.free(over->in);
        over->cuda.free(over->out);
        over->cuda.context_release(over->device);
    }
    free(over);
}

/* Slurm and others may show each rank its own GPU alone, which is then the first. */
static bool open_device(struct over_nccl *over, int ordinal, int64_t bytes, int64_t *memory,
                        char uuid[CUDA_UUID_BYTES], struct error *err)
{
    const struct cuda_calls *cuda = &over->cuda;
    int count = 0, device = -1;
    void *context;
    size_t total = 0;
    if (!cuda_ok(over, cuda->init(0), "cuInit", err) ||
        !cuda_ok(over, cuda->device_count(&count), "cuDeviceGetCount", err))
        return false;
    if (count < 1 || (ordinal >= count && count > 1))
        return error_set(err, ERROR_FAILED,
                         "%d GPUs are visible, but rank %d of the host was started: start one rank per GPU",
                         count, ordinal + 1);
    if (!cuda_ok(over, cuda->device_get(&device, count > 1 ? ordinal : 0), "cuDeviceGet", err) ||
        !cuda_ok(over, cuda->device_name(over->title, sizeof over->title, device), "cuDeviceGetName", err) ||
        !cuda_ok(over, cuda->device_uuid(uuid, device), "cuDeviceGetUuid", err) ||
        !cuda_ok(over, cuda->device_memory(&total, device), "cuDeviceTotalMem", err) ||
        !cuda_ok(over, cuda->context_retain(&context, device), "cuDevicePrimaryCtxRetain", err))
        return false;
    over->device = device;
    *memory = (int64_t)total;
    return cuda_ok(over, cuda->context_set(context), "cuCtxSetCurrent", err) &&
           cuda_ok(over, cuda->stream_new(&over->stream, 0), "cuStreamCreate", err) &&
           cuda_ok(over, cuda->event_new(&over->start, 0), "cuEventCreate", err) &&
           cuda_ok(over, cuda->event_new(&over->end, 0), "cuEventCreate", err) &&
           cuda_ok(over, cuda->allocate(&over->in, (size_t)bytes), "memory for messages", err) &&
           cuda_ok(over, cuda->allocate(&over->out, (size_t)bytes), "memory for messages", err) &&
           cuda_ok(over, cuda->clear(over->in, 0, (size_t)bytes), "cuMemsetD8", err);
}

static bool open_libraries(struct over_nccl *over, const char *nccl, const char *cuda, struct error *err)
{
    int version = 0;
    if (!load(nccl, "NCCL", "give its file (pip puts nvidia/nccl/lib/libnccl.so.2 into site-packages)",
              nccl_names, COUNT(nccl_names), &over->nccl, err) ||
        !load(cuda, "the GPU driver", "is it installed, and does nvidia-smi list the GPUs?", cuda_names,
              COUNT(cuda_names), &over->cuda, err) ||
        !nccl_ok(over, over->nccl.version(&version), "ncclGetVersion", err))
        return false;
    snprintf(over->name, sizeof over->name, "nccl %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return version >= NCCL_OLDEST ||
           error_set(err, ERROR_FAILED, "'%s' is %s, expected 2.18 or later", nccl, over->name);
}

static bool note_gpu(void *context, int rank, const char *bytes, size_t length, struct error *err)
{
    char(*uuids)[CUDA_UUID_BYTES] = context;
    memcpy(uuids[rank], bytes, length < CUDA_UUID_BYTES ? length : CUDA_UUID_BYTES);
    for (int before = 0; before < rank; before++)
        if (memcmp(uuids[before], uuids[rank], CUDA_UUID_BYTES) == 0)
            return error_set(err, ERROR_FAILED,
                             "ranks %d and %d have the same GPU: start one rank per GPU, and look at "
                             "CUDA_VISIBLE_DEVICES (in Slurm --gpus-per-task=1)",
                             before, rank);
    return true;
}

/* NCCL waits long for a second rank of a GPU before it says so. */
static bool check_gpus(struct comm *comm, const char uuid[CUDA_UUID_BYTES], struct error *err)
{
    void *uuids = calloc((size_t)comm_size(comm), CUDA_UUID_BYTES);
    bool ok = comm_agree(comm, uuids || error_memory(err), "the GPUs", err) &&
              comm_agree(comm, comm_gather(comm, uuid, CUDA_UUID_BYTES, note_gpu, uuids, "the GPUs", err),
                         "the GPUs", err);
    free(uuids);
    return ok;
}

/* All ranks: rank 0's identifier makes one communicator of them. */
static bool join(struct over_nccl *over, struct comm *comm, struct error *err)
{
    struct nccl_id id = {{0}};
    bool made = comm_rank(comm) > 0 || nccl_ok(over, over->nccl.unique_id(&id), "ncclGetUniqueId", err);
    if (!comm_agree(comm, made, "the start of NCCL", err) ||
        !comm_broadcast(comm, &id, sizeof id, "the start of NCCL", err))
        return false;
    int result = over->nccl.init(&over->all, comm_size(comm), id, comm_rank(comm), NCCL_CONFIG(0));
    return comm_agree(comm, settle(over, result, "ncclCommInitRank", err), "the start of NCCL", err);
}

bool carrier_open_nccl(struct carrier *carrier, struct comm *comm, const char *nccl, const char *cuda,
                       int64_t bytes, struct error *err)
{
    struct over_nccl *over = calloc(1, sizeof *over);
    int64_t memory = 0;
    char uuid[CUDA_UUID_BYTES] = "";
    bool ok = over || error_memory(err);
    if (over) {
        over->device = -1;
        over->timeout = comm_timeout(comm);
    }
    ok = ok && open_libraries(over, nccl, cuda, err) &&
         open_device(over, comm_local_rank(comm), bytes, &memory, uuid, err);
    ok = comm_agree(comm, ok, "the GPUs", err) && check_gpus(comm, uuid, err) && join(over, comm, err) &&
         comm_agree(comm,
                    (over->is_watched = pthread_create(&over->watch, NULL, watch, over) == 0) ||
                        error_memory(err),
                    "the start of NCCL", err);
    if (!ok && over)
        release(over);
    if (!ok)
        return false;
    *carrier = (struct carrier){.name = over->name,
                                .device = over->title,
                                .memory = memory,
                                .seconds = &over->seconds,
                                .context = over,
                                .open = open_group,
                                .close = close_group,
                                .run = perform_work,
                                .release = release};
    return true;
}
