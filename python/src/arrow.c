/* Columns and tables for Arrow, by its C data interface (arrow.apache.org/docs/format/CDataInterface.html): pyarrow,
 * polars, pandas and DuckDB read them where they lie.
 *
 * What is handed out is described by a tuple, which rehearse/_arrow.py makes: (name, format, elements, unknown ones,
 * buffers, children). A buffer is bytes, a column or None; a child is such a tuple. Whoever gets the structs holds the
 * tuple, and by it all memory. */
#include "binding.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BUFFERS 3
#define NULLABLE    2

struct arrow_schema {
    const char *format, *name, *metadata;
    int64_t flags, child_count;
    struct arrow_schema **children, *dictionary;
    void (*release)(struct arrow_schema *schema);
    void *held;
};

struct arrow_array {
    int64_t length, null_count, offset, buffer_count, child_count;
    const void **buffers;
    struct arrow_array **children, *dictionary;
    void (*release)(struct arrow_array *array);
    void *held;
};

struct arrow_stream {
    int (*get_schema)(struct arrow_stream *stream, struct arrow_schema *out);
    int (*get_next)(struct arrow_stream *stream, struct arrow_array *out);
    const char *(*get_last_error)(struct arrow_stream *stream);
    void (*release)(struct arrow_stream *stream);
    void *held;
};

/* A description, read; all of it is borrowed. */
struct description {
    const char *name, *format;
    Py_ssize_t length, nulls;
    PyObject *buffers, *children;
};

static bool read_description(PyObject *tuple, struct description *out)
{
    if (!PyTuple_Check(tuple)) {
        PyErr_SetString(PyExc_TypeError, "arrow: expected a description");
        return false;
    }
    return PyArg_ParseTuple(tuple, "ssnnO!O!", &out->name, &out->format, &out->length, &out->nulls,
                            &PyTuple_Type, &out->buffers, &PyTuple_Type, &out->children);
}

/* A consumer may end what it got in any thread, and after the interpreter. */
static void let_go(PyObject *tuple)
{
    if (!Py_IsInitialized())
        return;
    PyGILState_STATE state = PyGILState_Ensure();
    Py_XDECREF(tuple);
    PyGILState_Release(state);
}

static void release_schema(struct arrow_schema *schema)
{
    for (int64_t i = 0; schema->children && i < schema->child_count; i++)
        if (schema->children[i] && schema->children[i]->release)
            schema->children[i]->release(schema->children[i]);
    for (int64_t i = 0; schema->children && i < schema->child_count; i++)
        free(schema->children[i]);
    free(schema->children);
    let_go(schema->held);
    schema->release = NULL;
}

/* Fails with an exception, and then has released what there was. */
static bool fill_schema(PyObject *tuple, struct arrow_schema *out)
{
    struct description of;
    memset(out, 0, sizeof *out);
    if (!read_description(tuple, &of))
        return false;
    Py_ssize_t count = PyTuple_Size(of.children);
    *out = (struct arrow_schema){
        .format = of.format, .name = of.name, .flags = NULLABLE, .release = release_schema};
    out->held = binding_ref(tuple);
    out->children = calloc((size_t)count + 1, sizeof *out->children);
    bool filled = out->children;
    for (; filled && out->child_count < count; out->child_count++) {
        struct arrow_schema *child = calloc(1, sizeof *child);
        out->children[out->child_count] = child;
        filled = child && fill_schema(PyTuple_GetItem(of.children, out->child_count), child);
    }
    if (!filled) {
        release_schema(out);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    return filled;
}

static void release_array(struct arrow_array *array)
{
    for (int64_t i = 0; array->children && i < array->child_count; i++)
        if (array->children[i] && array->children[i]->release)
            array->children[i]->release(array->children[i]);
    for (int64_t i = 0; array->children && i < array->child_count; i++)
        free(array->children[i]);
    free(array->children);
    free(array->buffers);
    let_go(array->held);
    array->release = NULL;
}

static bool fill_buffers(PyObject *buffers, struct arrow_array *out)
{
    Py_ssize_t count = PyTuple_Size(buffers);
    out->buffers = calloc(MAX_BUFFERS, sizeof *out->buffers);
    for (Py_ssize_t i = 0; out->buffers && i < count && i < MAX_BUFFERS; i++) {
        PyObject *buffer = PyTuple_GetItem(buffers, i);
        out->buffers[i] = buffer == Py_None                         ? NULL
                          : PyObject_TypeCheck(buffer, column_type) ? column_data(buffer)
                                                                    : PyBytes_AsString(buffer);
    }
    out->buffer_count = count;
    return out->buffers && !PyErr_Occurred();
}

static bool fill_array(PyObject *tuple, struct arrow_array *out)
{
    struct description of;
    memset(out, 0, sizeof *out);
    if (!read_description(tuple, &of))
        return false;
    Py_ssize_t count = PyTuple_Size(of.children);
    *out = (struct arrow_array){.length = of.length, .null_count = of.nulls, .release = release_array};
    out->held = binding_ref(tuple);
    out->children = calloc((size_t)count + 1, sizeof *out->children);
    bool filled = out->children && fill_buffers(of.buffers, out);
    for (; filled && out->child_count < count; out->child_count++) {
        struct arrow_array *child = calloc(1, sizeof *child);
        out->children[out->child_count] = child;
        filled = child && fill_array(PyTuple_GetItem(of.children, out->child_count), child);
    }
    if (!filled) {
        release_array(out);
        if (!PyErr_Occurred())
            PyErr_NoMemory();
    }
    return filled;
}

/* ---- capsules ---- */

static void end_schema(PyObject *capsule)
{
    struct arrow_schema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema->release)
        schema->release(schema);
    free(schema);
}

static void end_array(PyObject *capsule)
{
    struct arrow_array *array = PyCapsule_GetPointer(capsule, "arrow_array");
    if (array->release)
        array->release(array);
    free(array);
}

static void end_stream(PyObject *capsule)
{
    struct arrow_stream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream->release)
        stream->release(stream);
    free(stream);
}

PyObject *arrow_schema_of(PyObject *module, PyObject *tuple)
{
    (void)module;
    struct arrow_schema *schema = calloc(1, sizeof *schema);
    if (!schema)
        return PyErr_NoMemory();
    PyObject *capsule = fill_schema(tuple, schema) ? PyCapsule_New(schema, "arrow_schema", end_schema) : NULL;
    if (!capsule && schema->release)
        schema->release(schema);
    if (!capsule)
        free(schema);
    return capsule;
}

PyObject *arrow_array_of(PyObject *module, PyObject *tuple)
{
    PyObject *head = arrow_schema_of(module, tuple);
    struct arrow_array *array = head ? calloc(1, sizeof *array) : NULL;
    PyObject *capsule =
        array && fill_array(tuple, array) ? PyCapsule_New(array, "arrow_array", end_array) : NULL;
    if (!capsule && array && array->release)
        array->release(array);
    if (!capsule)
        free(array);
    PyObject *both = capsule ? PyTuple_Pack(2, head, capsule) : NULL;
    Py_XDECREF(head);
    Py_XDECREF(capsule);
    return both || PyErr_Occurred() ? both : PyErr_NoMemory();
}

/* ---- a stream of one array ---- */

/* Calls of a stream may come in any thread, and answer with an error number and no exception. */
static int without_exception(bool done)
{
    PyErr_Clear();
    return done ? 0 : ENOMEM;
}

static int stream_schema(struct arrow_stream *stream, struct arrow_schema *out)
{
    PyGILState_STATE state = PyGILState_Ensure();
    int status = without_exception(fill_schema(PyTuple_GetItem(stream->held, 0), out));
    PyGILState_Release(state);
    return status;
}

static int stream_next(struct arrow_stream *stream, struct arrow_array *out)
{
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *left = PyTuple_GetItem(stream->held, 1); /* a list, of what has not been handed out */
    int status = 0;
    memset(out, 0, sizeof *out);
    if (PyList_Size(left) > 0) {
        status = without_exception(fill_array(PyList_GetItem(left, 0), out));
        status = PyList_SetSlice(left, 0, 1, NULL) < 0 ? without_exception(false) : status;
    }
    PyGILState_Release(state);
    return status;
}

static const char *stream_error(struct arrow_stream *stream)
{
    (void)stream;
    return "out of memory";
}

static void stream_release(struct arrow_stream *stream)
{
    let_go(stream->held);
    stream->release = NULL;
}

PyObject *arrow_stream_of(PyObject *module, PyObject *tuple)
{
    (void)module;
    struct arrow_stream *stream = calloc(1, sizeof *stream);
    if (!stream)
        return PyErr_NoMemory();
    PyObject *held = Py_BuildValue("(O[O])", tuple, tuple);
    PyObject *capsule = held ? PyCapsule_New(stream, "arrow_array_stream", end_stream) : NULL;
    if (!capsule) {
        Py_XDECREF(held);
        free(stream);
        return NULL;
    }
    *stream = (struct arrow_stream){stream_schema, stream_next, stream_error, stream_release, held};
    return capsule;
}

/* ---- elements of a column ---- */

/* Sets bit `i` of a map where `at` is not a number, or is true; returns how many bits are not set. */
static int64_t fill_bits(const struct rh_array *array, unsigned char *bits, unsigned char *packed)
{
    int64_t columns = array->dimensions == 2 ? array->shape[1] : 1, place = 0, unknown = 0;
    int64_t step = array->dimensions == 2 ? array->stride[1] : 0;
    for (int64_t row = 0; row < array->shape[0]; row++)
        for (int64_t i = 0; i < columns; i++, place++) {
            const char *at = (const char *)array->data + row * array->stride[0] + i * step;
            unsigned char bit = (unsigned char)(1U << (place % 8));
            if (array->type == '?') {
                packed[place / 8] |= *(const bool *)(const void *)at ? bit : 0;
                continue;
            }
            size_t size = array->type == 'i' ? sizeof(int) : sizeof(int64_t);
            bool known = array->type != 'd' || !isnan(*(const double *)(const void *)at);
            bits[place / 8] |= known ? bit : 0;
            unknown += !known;
            if (packed)
                memcpy(packed + (size_t)place * size, at, size);
        }
    return unknown;
}

PyObject *arrow_buffers(PyObject *column, const struct rh_array *array, bool is_contiguous)
{
    int64_t count = array->shape[0] * (array->dimensions == 2 ? array->shape[1] : 1);
    Py_ssize_t bits = (Py_ssize_t)((count + 7) / 8),
               size = array->type == 'i' ? sizeof(int) : sizeof(int64_t);
    bool as_it_lies = is_contiguous && array->type != '?';
    PyObject *known = PyBytes_FromStringAndSize(NULL, bits);
    PyObject *data = as_it_lies ? binding_ref(column)
                                : PyBytes_FromStringAndSize(NULL, array->type == '?' ? bits : count * size);
    PyObject *made = NULL;
    if (known && data) {
        memset(PyBytes_AsString(known), 0, (size_t)bits);
        if (array->type == '?')
            memset(PyBytes_AsString(data), 0, (size_t)bits);
        int64_t unknown = fill_bits(array, (unsigned char *)PyBytes_AsString(known),
                                    as_it_lies ? NULL : (unsigned char *)PyBytes_AsString(data));
        const char *format = array->type == 'd'   ? "g"
                             : array->type == 'q' ? "l"
                             : array->type == 'i' ? "i"
                                                  : "b";
        made = Py_BuildValue("(sLL(OO))", format, (long long)count, (long long)unknown,
                             unknown ? known : Py_None, data);
    }
    Py_XDECREF(known);
    Py_XDECREF(data);
    return made;
}
