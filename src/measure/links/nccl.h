/* The calls of NCCL and of the CUDA driver that are used, declared as both publish them: neither's header is needed to
 * build, and both libraries are loaded when the program runs. */
#ifndef REHEARSE_MEASURE_LINKS_NCCL_H
#define REHEARSE_MEASURE_LINKS_NCCL_H

#include <stddef.h>

/* NCCL 2 (nccl.h): values and sizes are fixed since 2.2, ncclCommSplit is there since 2.18. */
#define NCCL_ID_BYTES    128
#define NCCL_NO_COLOUR   (-1)
#define NCCL_IN_PROGRESS 7

enum nccl_type { NCCL_INT8 = 0, NCCL_FLOAT = 7 };
enum nccl_sum { NCCL_SUM = 0 };

struct nccl_id {
    char bytes[NCCL_ID_BYTES];
};

typedef struct nccl_comm *nccl_comm;
typedef struct cuda_stream *cuda_stream;
typedef unsigned long long cuda_pointer;

/* Each result 0 is success. */
struct nccl_calls {
    int (*version)(int *version);
    const char *(*error)(int result);
    int (*unique_id)(struct nccl_id *id);
    int (*init)(nccl_comm *comm, int size, struct nccl_id id, int rank);
    int (*split)(nccl_comm comm, int colour, int key, nccl_comm *made, void *config);
    int (*count)(nccl_comm comm, int *size);
    int (*rank)(nccl_comm comm, int *rank);
    int (*destroy)(nccl_comm comm);
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
#define CUDA_NOT_READY 600

struct cuda_calls {
    int (*init)(unsigned flags);
    int (*device_count)(int *count);
    int (*device_get)(int *device, int ordinal);
    int (*device_name)(char *name, int length, int device);
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
    int (*error)(int result, const char **text);
};

#endif
