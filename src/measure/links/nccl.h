/* The calls of NCCL and of the CUDA driver that are used, declared as both publish them: neither's header is needed to
 * build, and both libraries are loaded when the program runs. */
#ifndef REHEARSE_MEASURE_LINKS_NCCL_H
#define REHEARSE_MEASURE_LINKS_NCCL_H

#include <limits.h>
#include <stddef.h>

/* NCCL 2 (nccl.h): values and sizes are fixed since 2.2; ncclCommSplit and this configuration are there since 2.18. */
#define NCCL_ID_BYTES    128
#define NCCL_NO_COLOUR   (-1)
#define NCCL_IN_PROGRESS 7
#define NCCL_OLDEST      21800

enum nccl_type { NCCL_INT8 = 0, NCCL_FLOAT = 7 };
enum nccl_sum { NCCL_SUM = 0 };

struct nccl_id {
    char bytes[NCCL_ID_BYTES];
};

/* ncclConfig_t of 2.18; later versions append, and see by size and version what this one lacks. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking, cluster_size, min_blocks, max_blocks;
    const char *network;
    int shares;
};

#define NCCL_CONFIG(blocks)                                                                                  \
    (&(struct nccl_config){sizeof(struct nccl_config), 0xcafebeef, NCCL_OLDEST, blocks, INT_MIN, INT_MIN,    \
                           INT_MIN, NULL, INT_MIN})

typedef struct nccl_comm *nccl_comm;
typedef struct cuda_stream *cuda_stream;
typedef struct cuda_event *cuda_event;
typedef unsigned long long cuda_pointer;

/* Each result 0 is success. Members are in the order of the names in nccl.c. */
struct nccl_calls {
    int (*version)(int *version);
    const char *(*error)(int result);
    const char *(*last_error)(nccl_comm comm); /* in words */
    int (*unique_id)(struct nccl_id *id);
    int (*init)(nccl_comm *comm, int size, struct nccl_id id, int rank, struct nccl_config *config);
    int (*split)(nccl_comm comm, int colour, int key, nccl_comm *made, struct nccl_config *config);
    int (*count)(nccl_comm comm, int *size);
    int (*rank)(nccl_comm comm, int *rank);
    int (*destroy)(nccl_comm comm);
    int (*abort)(nccl_comm comm);              /* also while another thread is inside a call */
    int (*fault)(nccl_comm comm, int *result); /* of what is under way */
    int (*group_start)(void);
    int (*group_end)(void);
    int (*all_reduce)(const void *in, void *out, size_t count, int type, int operation, nccl_comm comm,
                      cuda_stream stream);
    int (*all_gather)(const void *in, void *out, size_t count, int type, nccl_comm comm, cuda_stream stream);
    int (*reduce_scatter)(const void *in, void *out, size_t count, int type, int operation, nccl_comm comm,
                          cuda_stream stream);
    int (*send)(const void *in, size_t count, int type, int peer, nccl_comm comm, cuda_stream stream);
    int (*receive)(void *out, size_t count, int type, int peer, nccl_comm comm, cuda_stream stream);
};

/* The driver (cuda.h). */
#define CUDA_NOT_READY  600
#define CUDA_UUID_BYTES 16

struct cuda_calls {
    int (*init)(unsigned flags);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int length, int device);
    int (*device_uuid)(char uuid[CUDA_UUID_BYTES], int device);
    int (*device_memory)(size_t *bytes, int device);
    int (*context_retain)(void **context, int device);
    int (*context_set)(void *context);
    int (*context_release)(int device);
    int (*allocate)(cuda_pointer *pointer, size_t bytes);
    int (*clear)(cuda_pointer pointer, unsigned char value, size_t bytes);
    int (*free)(cuda_pointer pointer);
    int (*stream_new)(cuda_stream *stream, unsigned flags);
    int (*stream_query)(cuda_stream stream);
    int (*stream_free)(cuda_stream stream);
    int (*event_new)(cuda_event *event, unsigned flags);
    int (*event_record)(cuda_event event, cuda_stream stream);
    int (*event_between)(float *milliseconds, cuda_event start, cuda_event end);
    int (*event_free)(cuda_event event);
    int (*error)(int result, const char **text);
};

#endif
