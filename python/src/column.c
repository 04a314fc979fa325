/* Columns: values of a handle, which Python, numpy and pandas read where they lie. */
#include "binding.h"

#include <math.h>
#include <string.h>

/* The buffer protocol became part of the limited interface in Python 3.11, as it had been since 3.3: this struct and these
 * slots. Python 3.9 and 3.10 take them, too, but their headers show them only to modules that are made for one version. */
#if Py_LIMITED_API + 0 < 0x030b0000
struct column_buffer {
    void *buf;
    PyObject *obj;
    Py_ssize_t len, itemsize;
    int readonly, ndim;
    char *format;
    Py_ssize_t *shape, *strides, *suboffsets;
    void *internal;
};
#define Py_bf_getbuffer 1
#define PyBUF_WRITABLE  0x0001
#define PyBUF_FORMAT    0x0004
#define PyBUF_ND        0x0008
#define PyBUF_STRIDES   (0x0010 | PyBUF_ND)
#else
#define column_buffer Py_buffer
#endif
#define PyBUF_C_ORDER       0x0020 /* side by side, in C's order */
#define PyBUF_FORTRAN_ORDER 0x0040
#define PyBUF_ANY_ORDER     0x0080

_Static_assert(sizeof(Py_ssize_t) == sizeof(int64_t), "shapes and strides are handed on as they are");

struct column {
    PyObject_HEAD PyObject *owner; /* whose memory it is */
    struct rh_array array;
    Py_ssize_t item; /* bytes of an element */
    Py_ssize_t shape[2], strides[2];
    char format[2];
};

static Py_ssize_t item_size(char type)
{
    switch (type) {
    case 'd':
        return sizeof(double);
    case 'q':
        return sizeof(int64_t);
    case 'i':
        return sizeof(int);
    case '?':
        return sizeof(bool);
    case 's':
        return sizeof(char *);
    default:
        return 0;
    }
}

/* What is not known is None; numpy and pandas, who read the memory, have NaN for it. */
static PyObject *element(char type, const char *at)
{
    switch (type) {
    case 'd': {
        double number = *(const double *)(const void *)at;
        return isnan(number) ? binding_ref(Py_None) : PyFloat_FromDouble(number);
    }
    case 'q':
        return PyLong_FromLongLong(*(const int64_t *)(const void *)at);
    case 'i':
        return PyLong_FromLong(*(const int *)(const void *)at);
    case '?':
        return PyBool_FromLong(*(const bool *)(const void *)at);
    default: {
        const char *text = *(const char *const *)(const void *)at;
        return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape")
                    : binding_ref(Py_None);
    }
    }
}

/* The elements of dimension `depth` from `at` on, lists of lists. */
static PyObject *elements(const struct rh_array *array, int depth, const char *at)
{
    if (depth >= array->dimensions || depth >= 2)
        return element(array->type, at);
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; list && i < array->shape[depth]; i++) {
        PyObject *one = elements(array, depth + 1, at + i * array->stride[depth]);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyObject *column_value(PyObject *owner, const struct rh_array *array)
{
    if (item_size(array->type) == 0 || array->dimensions < 0 || array->dimensions > 2) {
        PyErr_Format(PyExc_SystemError, "rehearse: unknown value type '%c'", array->type);
        return NULL;
    }
    if (array->dimensions == 0)
        return element(array->type, array->data);
    if (array->type == 's') {
        PyObject *list = elements(array, 0, array->data), *texts = list ? PyList_AsTuple(list) : NULL;
        Py_XDECREF(list);
        return texts;
    }
    struct column *column = (struct column *)PyType_GenericAlloc(column_type, 0);
    if (!column)
        return NULL;
    column->owner = binding_ref(owner);
    column->array = *array;
    column->item = item_size(array->type);
    column->format[0] = array->type;
    for (int i = 0; i < array->dimensions; i++)
        column->shape[i] = array->shape[i], column->strides[i] = array->stride[i];
    return (PyObject *)column;
}

static void column_end(PyObject *self)
{
    Py_XDECREF(((struct column *)self)->owner);
    binding_free(self);
}

static Py_ssize_t column_length(PyObject *self)
{
    return ((struct column *)self)->shape[0];
}

static PyObject *column_list(PyObject *self, PyObject *unused)
{
    (void)unused;
    const struct rh_array *array = &((struct column *)self)->array;
    return elements(array, 0, array->data);
}

static PyObject *column_item(PyObject *self, Py_ssize_t index)
{
    const struct column *column = (struct column *)self;
    if (index < 0 || index >= column->shape[0]) {
        PyErr_SetString(PyExc_IndexError, "index out of range");
        return NULL;
    }
    return elements(&column->array, 1, (const char *)column->array.data + index * column->strides[0]);
}

/* An index from the end is one from the start; a slice is a list. */
static PyObject *column_subscript(PyObject *self, PyObject *key)
{
    if (PySlice_Check(key)) {
        PyObject *list = column_list(self, NULL), *part = list ? PyObject_GetItem(list, key) : NULL;
        Py_XDECREF(list);
        return part;
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred())
        return NULL;
    return column_item(self, index < 0 ? index + column_length(self) : index);
}

static PyObject *column_repr(PyObject *self)
{
    PyObject *list = column_list(self, NULL);
    PyObject *text = list ? PyUnicode_FromFormat("Column(%R)", list) : NULL;
    Py_XDECREF(list);
    return text;
}

static bool is_contiguous(const struct column *column)
{
    Py_ssize_t step = column->item;
    for (int i = column->array.dimensions - 1; i >= 0; i--) {
        if (column->shape[i] > 1 && column->strides[i] != step)
            return false;
        step *= column->shape[i];
    }
    return true;
}

static int column_buffer_get(PyObject *self, struct column_buffer *view, int flags)
{
    struct column *column = (struct column *)self;
    view->obj = NULL;
    if (flags & PyBUF_WRITABLE) {
        PyErr_SetString(PyExc_BufferError, "a column never changes");
        return -1;
    }
    bool strided = (flags & PyBUF_STRIDES) == PyBUF_STRIDES &&
                   !(flags & (PyBUF_C_ORDER | PyBUF_FORTRAN_ORDER | PyBUF_ANY_ORDER));
    bool by_columns = (flags & PyBUF_FORTRAN_ORDER) && column->shape[0] > 1 && column->shape[1] > 1;
    if ((!strided && !is_contiguous(column)) || by_columns) {
        PyErr_SetString(PyExc_BufferError, "the elements of this column are not contiguous");
        return -1;
    }
    view->buf = (void *)(uintptr_t)column->array.data;
    view->len = column->item;
    for (int i = 0; i < column->array.dimensions; i++)
        view->len *= column->shape[i];
    view->itemsize = column->item;
    view->readonly = 1;
    view->ndim = flags & PyBUF_ND ? column->array.dimensions : 1; /* bytes alone have one */
    view->format = flags & PyBUF_FORMAT ? column->format : NULL;
    view->shape = flags & PyBUF_ND ? column->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? column->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    view->obj = binding_ref(self);
    return 0;
}

static PyObject *column_shape(PyObject *self, void *unused)
{
    (void)unused;
    const struct column *column = (struct column *)self;
    return column->array.dimensions == 1 ? Py_BuildValue("(n)", column->shape[0])
                                         : Py_BuildValue("(nn)", column->shape[0], column->shape[1]);
}

const void *column_data(PyObject *column)
{
    return ((struct column *)column)->array.data;
}

static PyObject *column_buffers(PyObject *self, PyObject *unused)
{
    (void)unused;
    return arrow_buffers(self, &((struct column *)self)->array, is_contiguous((struct column *)self));
}

/* A function of the package, of this column and further arguments. */
static PyObject *call_with(PyObject *self, const char *module, const char *name, PyObject *args,
                           PyObject *keywords)
{
    PyObject *helper = PyImport_ImportModule(module);
    PyObject *function = helper ? PyObject_GetAttrString(helper, name) : NULL;
    PyObject *first = function ? PyTuple_Pack(1, self) : NULL;
    PyObject *all = first ? PySequence_Concat(first, args) : NULL;
    PyObject *array = all ? PyObject_Call(function, all, keywords) : NULL;
    Py_XDECREF(all);
    Py_XDECREF(first);
    Py_XDECREF(function);
    Py_XDECREF(helper);
    return array;
}

/* For pandas, which asks for it and not for a buffer. */
static PyObject *column_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    return call_with(self, "rehearse._handles", "as_array", args, keywords);
}

static PyObject *column_arrow_array(PyObject *self, PyObject *args, PyObject *keywords)
{
    return call_with(self, "rehearse._arrow", "array", args, keywords);
}

static PyObject *column_arrow_schema(PyObject *self, PyObject *args)
{
    return call_with(self, "rehearse._arrow", "schema", args, NULL);
}

static PyObject *as_list(PyObject *self, const char *method, PyObject *args)
{
    PyObject *list = column_list(self, NULL);
    PyObject *bound = list ? PyObject_GetAttrString(list, method) : NULL;
    PyObject *answer = bound ? PyObject_Call(bound, args, NULL) : NULL;
    Py_XDECREF(bound);
    Py_XDECREF(list);
    return answer;
}

static PyObject *column_index(PyObject *self, PyObject *args)
{
    return as_list(self, "index", args);
}

static PyObject *column_count(PyObject *self, PyObject *args)
{
    return as_list(self, "count", args);
}

/* What never changes is its own copy. */
static PyObject *column_copy(PyObject *self, PyObject *unused)
{
    (void)unused;
    return binding_ref(self);
}

PyTypeObject *column_type_new(void)
{
    static PyMethodDef methods[] = {
        {"__array__", (PyCFunction)(void (*)(void))column_array, METH_VARARGS | METH_KEYWORDS,
         "The column for numpy, without a copy."},
        {"__arrow_c_array__", (PyCFunction)(void (*)(void))column_arrow_array, METH_VARARGS | METH_KEYWORDS,
         "The column for Arrow: pyarrow.array(column). What is not known is null."},
        {"__arrow_c_schema__", column_arrow_schema, METH_VARARGS, "Its type, for Arrow."},
        {"_buffers", column_buffers, METH_NOARGS, "Format, elements, unknown ones and buffers, for Arrow."},
        {"__copy__", column_copy, METH_NOARGS, "The column itself, which never changes."},
        {"__deepcopy__", column_copy, METH_O, "The column itself, which never changes."},
        {"count", column_count, METH_VARARGS, "How many elements have this value."},
        {"index", column_index, METH_VARARGS, "The place of the first element of this value."},
        {"tolist", column_list, METH_NOARGS,
         "A list of the elements, of lists where there are two dimensions."},
        {0},
    };
    static PyGetSetDef getters[] = {
        {"shape", column_shape, NULL, "The number of elements of each dimension.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc,
         "Numbers of a handle, read where they lie: a sequence, and a buffer for numpy and pandas."},
        {Py_tp_new, binding_no_new},
        {Py_tp_dealloc, column_end},
        {Py_tp_repr, column_repr},
        {Py_tp_iter, PySeqIter_New},
        {Py_tp_methods, methods},
        {Py_tp_getset, getters},
        {Py_sq_length, column_length},
        {Py_sq_item, column_item},
        {Py_mp_length, column_length},
        {Py_mp_subscript, column_subscript},
        {Py_bf_getbuffer, column_buffer_get},
        {0},
    };
    static PyType_Spec spec = {"rehearse.Column", sizeof(struct column), 0, Py_TPFLAGS_DEFAULT, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
