/* The module: its types, its exceptions, and the list of commands. */
#include "binding.h"

#include <string.h>

PyTypeObject *command_type, *handle_type, *column_type, *stop_type;

/* By enum rh_code. */
static PyObject *exceptions[RH_STOPPED + 1];

PyObject *binding_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    (void)type, (void)args, (void)keywords;
    PyErr_SetString(PyExc_TypeError, "objects of this type come from calls of rehearse");
    return NULL;
}

void binding_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

PyObject *binding_raise(const struct rh_error *error)
{
    int code = error->code > RH_DONE && error->code <= RH_STOPPED ? error->code : RH_FAILED;
    /* Names of files need not be UTF-8. */
    PyObject *text = PyUnicode_DecodeUTF8(error->text, (Py_ssize_t)strlen(error->text), "backslashreplace");
    if (text) {
        PyErr_SetObject(exceptions[code], text);
        Py_DECREF(text);
    }
    return NULL;
}

PyObject *binding_item(PyObject *dict, const char *key)
{
    PyObject *text = PyUnicode_FromString(key);
    PyObject *item = text ? PyDict_GetItemWithError(dict, text) : NULL;
    Py_XDECREF(text);
    return item;
}

PyObject *binding_text(PyObject *value, const char *name)
{
    PyObject *path = PyOS_FSPath(value);
    if (!path) {
        if (PyErr_ExceptionMatches(PyExc_TypeError))
            PyErr_Format(PyExc_TypeError, "%s: expected text or a path, found %R", name, value);
        return NULL;
    }
    PyObject *bytes = PyUnicode_Check(path) ? PyUnicode_EncodeFSDefault(path) : binding_ref(path);
    Py_DECREF(path);
    if (!bytes)
        return NULL;
    char *data = NULL;
    Py_ssize_t length = 0;
    if (PyBytes_AsStringAndSize(bytes, &data, &length) < 0 || strlen(data) != (size_t)length) {
        PyErr_Format(PyExc_ValueError, "%s: NUL character in %R", name, value);
        Py_CLEAR(bytes);
    }
    return bytes;
}

static PyObject *commands(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    PyObject *names = PyList_New(0);
    const char *name;
    for (int i = 0; names && (name = rh_command(i)); i++) {
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(names, text) < 0)
            Py_CLEAR(names);
        Py_XDECREF(text);
    }
    return names;
}

static PyMethodDef methods[] = {
    {"arrow_array", arrow_array_of, METH_O, "Arrow's capsules of a description: its schema, and the array."},
    {"arrow_schema", arrow_schema_of, METH_O, "Arrow's capsule of the schema of a description."},
    {"arrow_stream", arrow_stream_of, METH_O, "Arrow's capsule of a stream of that array alone."},
    {"commands", commands, METH_NOARGS, "The names of all commands."},
    {"register", handle_register, METH_O,
     "register(function): handles become objects of the class function(kind, start of the document)."},
    {0},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "rehearse._rehearse",
    .m_doc = "The library's calls; see the package rehearse.",
    .m_size = -1,
    .m_methods = methods,
};

/* Adds an exception with the exit code that it stands for; `base` NULL: of Exception. */
static bool add_exception(PyObject *module, int code, PyObject *bases, const char *name, const char *full,
                          const char *doc)
{
    PyObject *members = Py_BuildValue("{s:i}", "code", code);
    PyObject *made = members ? PyErr_NewExceptionWithDoc(full, doc, bases, members) : NULL;
    Py_XDECREF(members);
    if (!made)
        return false;
    exceptions[code] = binding_ref(made);
    if (PyModule_AddObject(module, name, made) == 0)
        return true;
    Py_DECREF(made);
    return false;
}

static bool add_exceptions(PyObject *module)
{
    bool added = add_exception(module, RH_FAILED, NULL, "Error", "rehearse.Error",
                               "A call failed; code is the exit code of the command line.");
    PyObject *value = added ? PyTuple_Pack(2, exceptions[RH_FAILED], PyExc_ValueError) : NULL;
    added = value &&
            add_exception(module, RH_USAGE, value, "UsageError", "rehearse.UsageError",
                          "Options that exclude each other, or an invalid value of an option.") &&
            add_exception(module, RH_INPUT, value, "InputError", "rehearse.InputError",
                          "A file or text that cannot be read; the message has its place.") &&
            add_exception(module, RH_INFEASIBLE, exceptions[RH_FAILED], "InfeasibleError",
                          "rehearse.InfeasibleError",
                          "No solution: nothing fits in memory or meets the limits.") &&
            add_exception(module, RH_STOPPED, exceptions[RH_FAILED], "StoppedError", "rehearse.StoppedError",
                          "The call was stopped by a Stop.");
    Py_XDECREF(value);
    return added;
}

/* Keeps the type, which the module and the rest of the binding share. */
static bool add_type(PyObject *module, const char *name, PyTypeObject **kept, PyTypeObject *type)
{
    *kept = type;
    if (!type)
        return false;
    Py_INCREF(type);
    if (PyModule_AddObject(module, name, (PyObject *)type) == 0)
        return true;
    Py_DECREF(type);
    return false;
}

PyMODINIT_FUNC PyInit__rehearse(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module && add_exceptions(module) && add_type(module, "Command", &command_type, command_type_new()) &&
        add_type(module, "Handle", &handle_type, handle_type_new()) &&
        add_type(module, "Column", &column_type, column_type_new()) &&
        add_type(module, "Stop", &stop_type, stop_type_new()) &&
        PyModule_AddStringConstant(module, "version", rh_version()) == 0)
        return module;
    Py_XDECREF(module);
    return NULL;
}
