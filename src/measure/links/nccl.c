/* Messages of NCCL, between the memories of GPUs: one for each rank of a host. */
#include "measure/links/nccl.h"

#include "core/clock.h"
#include "measure/links/carrier.h"

#include <dlfcn.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPIN  500e-6 /* seconds without sleep, while a stream works */
#define SLEEP 20000  /* nanoseconds */

struct over_nccl {
    struct nccl_calls nccl;
    struct cuda_calls cuda;
    void *nccl_library, *cuda_library;
    int device;     /* -1: no context is held */
    double timeout; /* seconds after which a stream is given up */
    nccl_comm all;
    cuda_stream stream;
    cuda_pointer in, out;
    char name[32], title[96];
};

struct nccl_group {
    nccl_comm comm;
    int rank, size;
};

/* ---- loading ---- */

struct symbol {
    const char *name;
    size_t at;
};

#define NCCL(field, symbol)                                                                                  \
    {                                                                                                        \
        symbol, offsetof(struct nccl_calls, field)                                                           \
    }
#define CUDA(field, symbol)                                                                                  \
    {                                                                                                        \
        symbol, offsetof(struct cuda_calls, field)                                                           \
    }

static const struct symbol nccl_symbols[] = {
    NCCL(version, "ncclGetVersion"),
    NCCL(error, "ncclGetErrorString"),
    NCCL(unique_id, "ncclGetUniqueId"),
    NCCL(init, "ncclCommInitRank"),
    NCCL(split, "ncclCommSplit"),
    NCCL(count, "ncclCommCount"),
    NCCL(rank, "ncclCommUserRank"),
    NCCL(destroy, "ncclCommDestroy"),
    NCCL(fault, "ncclCommGetAsyncError"),
    NCCL(group_start, "ncclGroupStart"),
    NCCL(group_end, "ncclGroupEnd"),
    NCCL(all_reduce, "ncclAllReduce"),
    NCCL(all_gather, "ncclAllGather"),
    NCCL(reduce_scatter, "ncclReduceScatter"),
    NCCL(send, "ncclSend"),
    NCCL(receive, "ncclRecv"),
};

static const struct symbol cuda_symbols[] = {
    CUDA(init, "cuInit"),
    CUDA(device_count, "cuDeviceGetCount"),
    CUDA(device_get, "cuDeviceGet"),
    CUDA(device_name, "cuDeviceGetName"),
    CUDA(device_memory, "cuDeviceTotalMem_v2"),
    CUDA(context_retain, "cuDevicePrimaryCtxRetain"),
    CUDA(context_set, "cuCtxSetCurrent"),
    CUDA(context_release, "cuDevicePrimaryCtxRelease_v2"),
    CUDA(allocate, "cuMemAlloc_v2"),
    CUDA(clear, "cuMemsetD8_v2"),
    CUDA(free, "cuMemFree_v2"),
    CUDA(stream_new, "cuStreamCreate"),
    CUDA(stream_query, "cuStreamQuery"),
    CUDA(stream_free, "cuStreamDestroy_v2"),
    CUDA(error, "cuGetErrorString"),
};

static bool load(void **library, const char *path, const char *what, const struct symbol *symbols,
                 size_t count, void *table, struct error *err)
{
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library)
        return error_set(err, ERROR_FAILED, "cannot load %s: %s", what, dlerror());
    for (size_t i = 0; i < count; i++) {
        void *call = dlsym(*library, symbols[i].name);
        if (!call)
            return error_set(err, ERROR_FAILED,
                             "cannot load %s: '%s' has no %s: it is too old, or another library", what, path,
                             symbols[i].name);
        memcpy((char *)table + symbols[i].at, &call, sizeof call);
    }
    return true;
}

static bool nccl_ok(const struct over_nccl *over, int result, const char *what, struct error *err)
{
    return result == 0 || error_set(err, ERROR_FAILED, "NCCL: %s: %s", what, over->nccl.error(result));
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

/* ---- groups ---- */

static void close_group(void *context, void *given)
{
    struct over_nccl *over = context;
    struct nccl_group *group = given;
    if (group && group->comm)
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
    bool ok = nccl_ok(
        over, over->nccl.split(over->all, colour < 0 ? NCCL_NO_COLOUR : colour, key, &group->comm, NULL),
        "ncclCommSplit", err);
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
static bool finish(const struct over_nccl *over, const struct nccl_group *group, struct error *err)
{
    double started = clock_now(), now;
    int result, fault = 0;
    while ((result = over->cuda.stream_query(over->stream)) == CUDA_NOT_READY) {
        now = clock_now();
        if (over->nccl.fault(group->comm, &fault) != 0 || (fault != 0 && fault != NCCL_IN_PROGRESS))
            return nccl_ok(over, fault ? fault : 1, "while messages were under way", err);
        if (now - started > over->timeout)
            return error_set(err, ERROR_FAILED,
                             "NCCL: no operation has completed for %.3g s: a rank is lost or hangs",
                             over->timeout);
        if (now - started > SPIN)
            clock_sleep(SLEEP);
        else
            sched_yield();
    }
    return cuda_ok(over, result, "while messages were under way", err);
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
    for (int64_t i = 0; i < count; i++)
        if (!nccl_ok(over, begin(over, group, work), collective_kind_name(work->kind), err))
            return false;
    return finish(over, group, err);
}

/* ---- beginning and end ---- */

static void release(void *context)
{
    struct over_nccl *over = context;
    if (over->all)
        over->nccl.destroy(over->all);
    if (over->stream)
        over->cuda.stream_free(over->stream);
    if (over->in)
        over->cuda.free(over->in);
    if (over->out)
        over->cuda.free(over->out);
    if (over->device >= 0)
        over->cuda.context_release(over->device);
    if (over->nccl_library)
        dlclose(over->nccl_library);
    if (over->cuda_library)
        dlclose(over->cuda_library);
    free(over);
}

static bool open_device(struct over_nccl *over, int ordinal, int64_t bytes, int64_t *memory,
                        struct error *err)
{
    const struct cuda_calls *cuda = &over->cuda;
    int count = 0, device = -1;
    void *context;
    size_t total = 0;
    if (!cuda_ok(over, cuda->init(0), "cuInit", err) ||
        !cuda_ok(over, cuda->device_count(&count), "cuDeviceGetCount", err))
        return false;
    if (ordinal >= count)
        return error_set(err, ERROR_FAILED,
                         "the host has %d GPU%s, but rank %d of it was started: start one rank per GPU",
                         count, count == 1 ? "" : "s", ordinal + 1);
    if (!cuda_ok(over, cuda->device_get(&device, ordinal), "cuDeviceGet", err) ||
        !cuda_ok(over, cuda->device_name(over->title, sizeof over->title, device), "cuDeviceGetName", err) ||
        !cuda_ok(over, cuda->device_memory(&total, device), "cuDeviceTotalMem", err) ||
        !cuda_ok(over, cuda->context_retain(&context, device), "cuDevicePrimaryCtxRetain", err))
        return false;
    over->device = device;
    *memory = (int64_t)total;
    return cuda_ok(over, cuda->context_set(context), "cuCtxSetCurrent", err) &&
           cuda_ok(over, cuda->stream_new(&over->stream, 0), "cuStreamCreate", err) &&
           cuda_ok(over, cuda->allocate(&over->in, (size_t)bytes), "memory for messages", err) &&
           cuda_ok(over, cuda->allocate(&over->out, (size_t)bytes), "memory for messages", err) &&
           cuda_ok(over, cuda->clear(over->in, 0, (size_t)bytes), "cuMemsetD8", err);
}

static bool open_libraries(struct over_nccl *over, const char *nccl, const char *cuda, struct error *err)
{
    int version = 0;
    if (!load(&over->nccl_library, nccl, "NCCL", nccl_symbols, sizeof nccl_symbols / sizeof *nccl_symbols,
              &over->nccl, err) ||
        !load(&over->cuda_library, cuda, "the GPU driver", cuda_symbols,
              sizeof cuda_symbols / sizeof *cuda_symbols, &over->cuda, err) ||
        !nccl_ok(over, over->nccl.version(&version), "ncclGetVersion", err))
        return false;
    snprintf(over->name, sizeof over->name, "nccl %d.%d.%d", version / 10000, version / 100 % 100,
             version % 100);
    return true;
}

/* All ranks: rank 0's identifier makes one communicator of them. */
static bool join(struct over_nccl *over, struct comm *comm, struct error *err)
{
    struct nccl_id id = {{0}};
    bool made = comm_rank(comm) > 0 || nccl_ok(over, over->nccl.unique_id(&id), "ncclGetUniqueId", err);
    return comm_agree(comm, made, "the start of NCCL", err) &&
           comm_broadcast(comm, &id, sizeof id, "the start of NCCL", err) &&
           comm_agree(comm,
                      nccl_ok(over, over->nccl.init(&over->all, comm_size(comm), id, comm_rank(comm)),
                              "ncclCommInitRank", err),
                      "the start of NCCL", err);
}

bool carrier_open_nccl(struct carrier *carrier, struct comm *comm, const char *nccl, const char *cuda,
                       int64_t bytes, struct error *err)
{
    struct over_nccl *over = calloc(1, sizeof *over);
    int64_t memory = 0;
    bool ok = over || error_memory(err);
    if (over) {
        over->device = -1;
        over->timeout = comm_timeout(comm);
    }
    ok = ok && open_libraries(over, nccl, cuda, err) &&
         open_device(over, comm_local_rank(comm), bytes, &memory, err);
    ok = comm_agree(comm, ok, "the GPUs", err) && join(over, comm, err);
    if (!ok && over)
        release(over);
    if (!ok)
        return false;
    *carrier = (struct carrier){.name = over->name,
                                .device = over->title,
                                .memory = memory,
                                .context = over,
                                .open = open_group,
                                .close = close_group,
                                .run = perform_work,
                                .release = release};
    return true;
}
