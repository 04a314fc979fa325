/* What dnnl.c calls of oneDNN 3, and how oneDNN 2 is called for it: there an array's description is no object behind a
 * pointer, and a primitive is described by its operation. `engine` is dnnl.c's. */
#ifndef REHEARSE_MEASURE_LAYERS_DNNL2_H
#define REHEARSE_MEASURE_LAYERS_DNNL2_H

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t array_desc;

#define PRODUCT(desc, left, right, result)                                                                   \
    dnnl_matmul_primitive_desc_create(desc, engine, left, right, NULL, result, NULL)
#define SOFTMAX(desc, array)                                                                                 \
    dnnl_softmax_forward_primitive_desc_create(desc, engine, dnnl_forward_training, dnnl_softmax_accurate,   \
                                               array, array, 1, NULL)
#define SOFTMAX_BACK(desc, array, forward)                                                                   \
    dnnl_softmax_backward_primitive_desc_create(desc, engine, dnnl_softmax_accurate, array, array, array, 1, \
                                                forward, NULL)
#define NORM(desc, array, rows, flags)                                                                       \
    dnnl_layer_normalization_forward_primitive_desc_create(desc, engine, dnnl_forward_training, array,       \
                                                           array, rows, EPSILON, flags, NULL)
#define NORM_BACK(desc, array, rows, flags, forward)                                                         \
    dnnl_layer_normalization_backward_primitive_desc_create(desc, engine, dnnl_backward, array, array,       \
                                                            array, rows, EPSILON, flags, forward, NULL)
#define GELU(desc, array)                                                                                    \
    dnnl_eltwise_forward_primitive_desc_create(desc, engine, dnnl_forward_training, dnnl_eltwise_gelu_tanh,  \
                                               array, array, 0.0F, 0.0F, NULL)
#define GELU_BACK(desc, array, forward)                                                                      \
    dnnl_eltwise_backward_primitive_desc_create(desc, engine, dnnl_eltwise_gelu_tanh, array, array, array,   \
                                                0.0F, 0.0F, forward, NULL)
#define SUM(desc, array)                                                                                     \
    dnnl_binary_primitive_desc_create(desc, engine, dnnl_binary_add, array, array, array, NULL)

#else

typedef dnnl_memory_desc_t *array_desc;

static dnnl_status_t dnnl_memory_desc_create_with_strides(array_desc *desc, int rank, const dnnl_dim_t *sizes,
                                                          dnnl_data_type_t type, const dnnl_dim_t *strides)
{
    array_desc made = calloc(1, sizeof *made);
    if (!made)
        return dnnl_out_of_memory;
    dnnl_status_t status = dnnl_memory_desc_init_by_strides(made, rank, sizes, type, strides);
    if (status == dnnl_success)
        *desc = made;
    else
        free(made);
    return status;
}

static dnnl_status_t dnnl_memory_desc_destroy(array_desc desc)
{
    free(desc);
    return dnnl_success;
}

static union {
    dnnl_matmul_desc_t product;
    dnnl_softmax_v2_desc_t softmax;
    dnnl_layer_normalization_desc_t norm;
    dnnl_eltwise_desc_t gelu;
    dnnl_binary_desc_t sum;
} operation; /* of the primitive that is described next */

static dnnl_status_t describe_operation(dnnl_status_t status, dnnl_primitive_desc_t *desc,
                                        dnnl_engine_t where, const_dnnl_primitive_desc_t forward)
{
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, NULL, where, forward)
                                  : status;
}

#define PRODUCT(desc, left, right, result)                                                                   \
    describe_operation(dnnl_matmul_desc_init(&operation.product, left, right, NULL, result), desc, engine,   \
                       NULL)
#define SOFTMAX(desc, array)                                                                                 \
    describe_operation(dnnl_softmax_v2_forward_desc_init(&operation.softmax, dnnl_forward_training,          \
                                                         dnnl_softmax_accurate, array, array, 1),            \
                       desc, engine, NULL)
#define SOFTMAX_BACK(desc, array, forward)                                                                   \
    describe_operation(dnnl_softmax_v2_backward_desc_init(&operation.softmax, dnnl_softmax_accurate, array,  \
                                                          array, array, 1),                                  \
                       desc, engine, forward)
#define NORM(desc, array, rows, flags)                                                                       \
    describe_operation(dnnl_layer_normalization_forward_desc_init(&operation.norm, dnnl_forward_training,    \
                                                                  array, rows, EPSILON, flags),              \
                       desc, engine, NULL)
#define NORM_BACK(desc, array, rows, flags, forward)                                                         \
    describe_operation(dnnl_layer_normalization_backward_desc_init(&operation.norm, dnnl_backward, array,    \
                                                                   array, rows, EPSILON, flags),             \
                       desc, engine, forward)
#define GELU(desc, array)                                                                                    \
    describe_operation(dnnl_eltwise_forward_desc_init(&operation.gelu, dnnl_forward_training,                \
                                                      dnnl_eltwise_gelu_tanh, array, 0.0F, 0.0F),            \
                       desc, engine, NULL)
#define GELU_BACK(desc, array, forward)                                                                      \
    describe_operation(                                                                                      \
        dnnl_eltwise_backward_desc_init(&operation.gelu, dnnl_eltwise_gelu_tanh, array, array, 0.0F, 0.0F),  \
        desc, engine, forward)
#define SUM(desc, array)                                                                                     \
    describe_operation(dnnl_binary_desc_init(&operation.sum, dnnl_binary_add, array, array, array), desc,    \
                       engine, NULL)

#endif
#endif
