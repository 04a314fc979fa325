/* oneDNN 2 with the calls of oneDNN 3, as far as dnnl.c makes them: there an array's description is an object behind a
 * pointer, and one call makes the description of a primitive. Where oneDNN 2 takes one description for arrays of the
 * same shape, the second is left out. */
#ifndef REHEARSE_MEASURE_LAYERS_DNNL2_H
#define REHEARSE_MEASURE_LAYERS_DNNL2_H

#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>

#if DNNL_VERSION_MAJOR >= 3

typedef dnnl_memory_desc_t array_desc;

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

static dnnl_status_t dnnl_matmul_primitive_desc_create(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                                                       array_desc left, array_desc right, array_desc bias,
                                                       array_desc result, const_dnnl_primitive_attr_t options)
{
    dnnl_matmul_desc_t operation;
    dnnl_status_t status = dnnl_matmul_desc_init(&operation, left, right, bias, result);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, NULL)
                                  : status;
}

static dnnl_status_t dnnl_softmax_forward_primitive_desc_create(dnnl_primitive_desc_t *desc,
                                                                dnnl_engine_t engine, dnnl_prop_kind_t kind,
                                                                dnnl_alg_kind_t algorithm, array_desc from,
                                                                array_desc to, int axis,
                                                                const_dnnl_primitive_attr_t options)
{
    dnnl_softmax_v2_desc_t operation;
    dnnl_status_t status = dnnl_softmax_v2_forward_desc_init(&operation, kind, algorithm, from, to, axis);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, NULL)
                                  : status;
}

static dnnl_status_t dnnl_softmax_backward_primitive_desc_create(
    dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, array_desc from_gradient,
    array_desc to_gradient, array_desc to, int axis, const_dnnl_primitive_desc_t forward,
    const_dnnl_primitive_attr_t options)
{
    dnnl_softmax_v2_desc_t operation;
    dnnl_status_t status =
        dnnl_softmax_v2_backward_desc_init(&operation, algorithm, from_gradient, to_gradient, to, axis);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, forward)
                                  : status;
}

static dnnl_status_t dnnl_layer_normalization_forward_primitive_desc_create(
    dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_prop_kind_t kind, array_desc from, array_desc to,
    array_desc rows, float epsilon, unsigned flags, const_dnnl_primitive_attr_t options)
{
    (void)to;
    dnnl_layer_normalization_desc_t operation;
    dnnl_status_t status =
        dnnl_layer_normalization_forward_desc_init(&operation, kind, from, rows, epsilon, flags);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, NULL)
                                  : status;
}

static dnnl_status_t dnnl_layer_normalization_backward_primitive_desc_create(
    dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_prop_kind_t kind, array_desc from_gradient,
    array_desc to_gradient, array_desc from, array_desc rows, float epsilon, unsigned flags,
    const_dnnl_primitive_desc_t forward, const_dnnl_primitive_attr_t options)
{
    (void)to_gradient;
    dnnl_layer_normalization_desc_t operation;
    dnnl_status_t status = dnnl_layer_normalization_backward_desc_init(&operation, kind, from_gradient, from,
                                                                       rows, epsilon, flags);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, forward)
                                  : status;
}

static dnnl_status_t dnnl_eltwise_forward_primitive_desc_create(dnnl_primitive_desc_t *desc,
                                                                dnnl_engine_t engine, dnnl_prop_kind_t kind,
                                                                dnnl_alg_kind_t algorithm, array_desc from,
                                                                array_desc to, float alpha, float beta,
                                                                const_dnnl_primitive_attr_t options)
{
    (void)to;
    dnnl_eltwise_desc_t operation;
    dnnl_status_t status = dnnl_eltwise_forward_desc_init(&operation, kind, algorithm, from, alpha, beta);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, NULL)
                                  : status;
}

static dnnl_status_t dnnl_eltwise_backward_primitive_desc_create(
    dnnl_primitive_desc_t *desc, dnnl_engine_t engine, dnnl_alg_kind_t algorithm, array_desc from_gradient,
    array_desc to_gradient, array_desc data, float alpha, float beta, const_dnnl_primitive_desc_t forward,
    const_dnnl_primitive_attr_t options)
{
    (void)to_gradient;
    dnnl_eltwise_desc_t operation;
    dnnl_status_t status =
        dnnl_eltwise_backward_desc_init(&operation, algorithm, from_gradient, data, alpha, beta);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, forward)
                                  : status;
}

static dnnl_status_t dnnl_binary_primitive_desc_create(dnnl_primitive_desc_t *desc, dnnl_engine_t engine,
                                                       dnnl_alg_kind_t algorithm, array_desc left,
                                                       array_desc right, array_desc result,
                                                       const_dnnl_primitive_attr_t options)
{
    dnnl_binary_desc_t operation;
    dnnl_status_t status = dnnl_binary_desc_init(&operation, algorithm, left, right, result);
    return status == dnnl_success ? dnnl_primitive_desc_create(desc, &operation, options, engine, NULL)
                                  : status;
}

#endif
#endif
