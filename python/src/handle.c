/* Handles of the library as frozen objects: values by name, and texts in every form. */
#include "binding.h"

#include <string.h>

struct handle {
    PyObject_HEAD rh_handle *handle;
};

/* Called with a kind and the beginning of a document: the class of the handle. */
static PyObject *chooser;

/* The classes, types and exceptions are those of one interpreter, and would be gone with another one. */
static bool is_own_interpreter(void)
{
    static int64_t own = -1;
    int64_t now = PyInterpreterState_GetID(PyInterpreterState_Get());
    own = own < 0 ? now : own;
    return own == now;
}

PyObject *handle_register(PyObject *module, PyObject *function)
{
    (void)module;
    if (!is_own_interpreter()) {
        PyErr_SetString(PyExc_ImportError,
                        "rehearse is already loaded by another interpreter of this process");
        return NULL;
    }
    chooser = binding_ref(function);
    return binding_ref(Py_None);
}

static rh_handle *unwrap(PyObject *self)
{
    return ((struct handle *)self)->handle;
}

/* A report has its document, whose beginning names the format; that of other kinds would be written for it alone. */
static PyObject *choose_class(const rh_handle *handle)
{
    const char *kind = rh_kind(handle);
    struct rh_text text = {0};
    if (strcmp(kind, "report") == 0 || strcmp(kind, "sweep") == 0)
        (void)rh_write(handle, "json", &text, NULL);
    char start[128] = "";
    for (size_t i = 0; i < text.length && i < sizeof start - 1 && text.data[i] > 0; i++)
        start[i] = text.data[i];
    rh_text_free(&text);
    PyObject *class =
        chooser ? PyObject_CallFunction(chooser, "ss", kind, start) : binding_ref((PyObject *)handle_type);
    if (!class || (PyType_Check(class) && PyType_IsSubtype((PyTypeObject *)class, handle_type)))
        return class;
    PyErr_SetString(PyExc_TypeError,
                    "register: expected a function that chooses classes derived from Handle");
    Py_DECREF(class);
    return NULL;
}

PyObject *handle_wrap(rh_handle *handle)
{
    PyObject *class = choose_class(handle);
    struct handle *object = class ? (struct handle *)PyType_GenericAlloc((PyTypeObject *)class, 0) : NULL;
    Py_XDECREF(class);
    if (object)
        object->handle = handle;
    else
        rh_free(handle);
    return (PyObject *)object;
}

rh_handle *handle_of(PyObject *object, const char *name)
{
    if (PyObject_TypeCheck(object, handle_type))
        return unwrap(object);
    PyErr_Format(PyExc_TypeError, "%s: expected the result of a rehearse call, found %R", name, object);
    return NULL;
}

static void handle_end(PyObject *self)
{
    rh_free(unwrap(self));
    binding_free(self);
}

static PyObject *handle_kind(PyObject *self, void *unused)
{
    (void)unused;
    return PyUnicode_FromString(rh_kind(unwrap(self)));
}

static PyObject *name_list(PyObject *self, const char *(*next)(const rh_handle *, int))
{
    PyObject *names = PyList_New(0);
    const char *name;
    for (int i = 0; names && (name = next(unwrap(self), i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(names, text) < 0)
            Py_CLEAR(names);
        Py_XDECREF(text);
    }
    PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return tuple;
}

static PyObject *handle_names(PyObject *self, void *unused)
{
    (void)unused;
    return name_list(self, rh_name);
}

static PyObject *handle_forms(PyObject *self, void *unused)
{
    (void)unused;
    return name_list(self, rh_form);
}

/* KeyError where there is no value of that name. */
static PyObject *handle_item(PyObject *self, PyObject *name)
{
    struct rh_array array;
    if (!PyUnicode_Check(name)) {
        PyErr_SetObject(PyExc_KeyError, name);
        return NULL;
    }
    PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogatepass"), *value = NULL;
    if (!bytes)
        return NULL;
    const char *text = PyBytes_AsString(bytes);
    if (strlen(text) == (size_t)PyBytes_Size(bytes) && rh_get(unwrap(self), text, &array))
        value = column_value(self, &array);
    else
        PyErr_SetObject(PyExc_KeyError, name);
    Py_DECREF(bytes);
    return value;
}

struct writing {
    const rh_handle *handle;
    const char *form, *path; /* path NULL: to text */
    struct rh_text text;
};

static bool write_now(void *context, const struct rh_call *call, struct rh_error *error)
{
    (void)call;
    struct writing *writing = context;
    return writing->path ? rh_save(writing->handle, writing->form, writing->path, error)
                         : rh_write(writing->handle, writing->form, &writing->text, error);
}

static PyObject *handle_write(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"form", NULL};
    struct writing writing = {.handle = unwrap(self), .form = "text"};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|s", names, &writing.form))
        return NULL;
    PyObject *text = NULL;
    if (call_run(write_now, &writing, &(struct call_given){0}))
        text = PyUnicode_DecodeUTF8(writing.text.data, (Py_ssize_t)writing.text.length, "surrogateescape");
    rh_text_free(&writing.text); /* it may have been written although a signal's handler raised */
    return text;
}

static PyObject *handle_save(PyObject *self, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"path", "form", NULL};
    struct writing writing = {.handle = unwrap(self), .form = "json"};
    PyObject *path;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|s", names, &path, &writing.form))
        return NULL;
    PyObject *bytes = binding_text(path, "path");
    if (!bytes)
        return NULL;
    writing.path = PyBytes_AsString(bytes);
    bool saved = call_run(write_now, &writing, &(struct call_given){0});
    Py_DECREF(bytes);
    return saved ? binding_ref(Py_None) : NULL;
}

PyTypeObject *handle_type_new(void)
{
    static PyMethodDef methods[] = {
        {"write", (PyCFunction)(void (*)(void))handle_write, METH_VARARGS | METH_KEYWORDS,
         "write(form='text')\n\nThe text of this form, one of `forms`: 'text' is what the command prints, "
         "'json' with --json."},
        {"save", (PyCFunction)(void (*)(void))handle_save, METH_VARARGS | METH_KEYWORDS,
         "save(path, form='json')\n\nWrites this form to a file, or to a folder where it is one, as a whole "
         "or not at all."},
        {0},
    };
    static PyGetSetDef getters[] = {
        {"kind", handle_kind, NULL, "The kind of result: 'profile', 'plan', …", NULL},
        {"names", handle_names, NULL, "The names of all values.", NULL},
        {"forms", handle_forms, NULL, "The forms that it can be written in.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "The result of a call. It never changes, and any number of threads may read it."},
        {Py_tp_new, binding_no_new},
        {Py_tp_dealloc, handle_end},
        {Py_tp_methods, methods},
        {Py_tp_getset, getters},
        {Py_mp_subscript, handle_item},
        {0},
    };
    static PyType_Spec spec = {"rehearse._rehearse.Handle", sizeof(struct handle), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
