/* The extension module rehearse._rehearse: include/rehearse.h for Python, and nothing of src/ besides.
 *
 * It is built for the limited interface of Python 3.9, so that one file serves that version and all later ones. What is
 * plain Python (names of commands, help, pictures) is in python/rehearse/. */
#ifndef REHEARSE_PYTHON_BINDING_H
#define REHEARSE_PYTHON_BINDING_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "rehearse.h"

#include <stdbool.h>

/* The types of the module; they live as long as the process. */
extern PyTypeObject *command_type, *handle_type, *column_type, *stop_type;
PyTypeObject *command_type_new(void);
PyTypeObject *handle_type_new(void);
PyTypeObject *column_type_new(void);
PyTypeObject *stop_type_new(void);

/* Py_NewRef, which is newer. */
static inline PyObject *binding_ref(PyObject *object)
{
    Py_INCREF(object);
    return object;
}

/* tp_new of types whose objects only the library makes: a TypeError. */
PyObject *binding_no_new(PyTypeObject *type, PyObject *args, PyObject *keywords);

/* Ends the memory of an object, and its hold on its type. */
void binding_free(PyObject *self);

/* Raises the exception of the error's code; returns NULL. */
PyObject *binding_raise(const struct rh_error *error);

/* Borrowed. NULL: there is no such key, or there is an exception. */
PyObject *binding_item(PyObject *dict, const char *key);

/* A handle as an object of its kind's class, which frees it; on failure frees it and returns NULL. */
PyObject *handle_wrap(rh_handle *handle);

/* Sets the function that chooses the class of a handle, which must be derived from Handle. */
PyObject *handle_register(PyObject *module, PyObject *function);

/* Borrowed. NULL, and a TypeError that begins with `name`: not a handle. */
rh_handle *handle_of(PyObject *object, const char *name);

/* A value as Python has it: a number, text, a tuple of texts, or a column that keeps `owner` alive. */
PyObject *column_value(PyObject *owner, const struct rh_array *array);

/* The memory of a column. */
const void *column_data(PyObject *column);

/* For Arrow, of which rehearse/_arrow.py makes descriptions (arrow.c): capsules of one, and what a column is one of:
 * (format, elements, unknown ones, buffers). */
PyObject *arrow_schema_of(PyObject *module, PyObject *description);
PyObject *arrow_array_of(PyObject *module, PyObject *description);
PyObject *arrow_stream_of(PyObject *module, PyObject *description);
PyObject *arrow_buffers(PyObject *column, const struct rh_array *array, bool is_contiguous);

/* Borrowed. NULL, and a TypeError: not a Stop. */
rh_stop *stop_of(PyObject *object);

/* A text or path as bytes with a NUL that belong to the caller. NULL, and an exception that begins with `name`:
 * neither, or there is a NUL inside. */
PyObject *binding_text(PyObject *value, const char *name);

/* How a call is done: what the caller gave, borrowed, NULL where nothing was. */
struct call_given {
    PyObject *progress, *warning, *stop;
    int threads;
    double time_limit;
};

/* Makes a call of the library without the interpreter's lock. In the main thread, Python's handlers of signals run
 * meanwhile, fifty times a second; one that raises stops the call. Returns false, and an exception, if the call failed,
 * was stopped or a callback raised. */
typedef bool (*call_function)(void *context, const struct rh_call *call, struct rh_error *error);
bool call_run(call_function function, void *context, const struct call_given *given);

#endif
