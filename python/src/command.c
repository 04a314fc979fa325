/* Commands: keyword arguments into the request that the library's table of options describes. */
#include "binding.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct command {
    PyObject_HEAD char *name;
    struct rh_option *options;
    int count;
    size_t size;     /* of the request */
    PyObject *index; /* {field: its place in options} */
};

/* One call. What the request borrows is kept until it ends. */
struct filling {
    const struct command *command;
    char *request;
    PyObject *kept; /* list */
    struct call_given given;
};

static void command_end(PyObject *self)
{
    struct command *command = (struct command *)self;
    free(command->name);
    free(command->options);
    Py_XDECREF(command->index);
    binding_free(self);
}

static bool read_options(struct command *command)
{
    struct rh_option option = {.size = sizeof option};
    for (int i = 0; rh_option(command->name, i, &option); i++) {
        struct rh_option *more = realloc(command->options, ((size_t)i + 1) * sizeof *more);
        if (!more) {
            PyErr_NoMemory();
            return false;
        }
        command->options = more;
        command->options[command->count++] = option;
        PyObject *place = PyLong_FromLong(i);
        bool set = place && PyDict_SetItemString(command->index, option.field, place) == 0;
        Py_XDECREF(place);
        if (!set)
            return false;
        option.size = sizeof option;
    }
    return true;
}

static PyObject *command_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    static char *names[] = {"name", NULL};
    const char *name;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "s", names, &name))
        return NULL;
    struct command *command = (struct command *)PyType_GenericAlloc(type, 0);
    if (!command)
        return NULL;
    command->size = rh_request_size(name);
    command->name = strdup(name);
    command->index = PyDict_New();
    if (command->size == 0)
        PyErr_Format(PyExc_ValueError, "unknown command '%s'", name);
    else if (!command->name)
        PyErr_NoMemory();
    else if (command->index && read_options(command))
        return (PyObject *)command;
    Py_DECREF(command);
    return NULL;
}

/* Keeps `object`, which becomes the call's. False: it is NULL, or memory ran out. */
static bool keep(struct filling *filling, PyObject *object)
{
    bool kept = object && PyList_Append(filling->kept, object) == 0;
    Py_XDECREF(object);
    return kept;
}

/* Replaces the exception of a conversion by one that begins with the argument's name. */
static bool refuse(const char *name, const char *what, PyObject *value)
{
    PyObject *kind = PyErr_ExceptionMatches(PyExc_TypeError)       ? PyExc_TypeError
                     : PyErr_ExceptionMatches(PyExc_OverflowError) ? PyExc_OverflowError
                                                                   : NULL;
    if (kind)
        PyErr_Format(kind, "%s: expected %s, found %R", name, what, value);
    return false;
}

/* Text of a value that stands for itself: text, a path, a whole number (numpy's, too) or a float. NULL, and an exception:
 * it is none. */
static const char *plain_text(struct filling *filling, PyObject *value, const char *name)
{
    PyObject *bytes = NULL;
    bool whole = PyIndex_Check(value) && !PyBool_Check(value);
    if (whole || PyFloat_Check(value)) {
        PyObject *number = whole ? PyNumber_Index(value) : binding_ref(value);
        PyObject *text = number ? PyObject_Str(number) : NULL;
        bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
        Py_XDECREF(text);
        Py_XDECREF(number);
    } else {
        bytes = binding_text(value, name);
    }
    return keep(filling, bytes) ? PyBytes_AsString(bytes) : NULL;
}

static bool is_one(PyObject *value)
{
    return PyUnicode_Check(value) || PyBytes_Check(value) || !PySequence_Check(value);
}

/* Several values as one text: "a,b". */
static const char *joined_text(struct filling *filling, PyObject *value, const char *name)
{
    if (is_one(value))
        return plain_text(filling, value, name);
    PyObject *list = PySequence_List(value);
    if (!keep(filling, list))
        return NULL;
    PyObject *comma = PyBytes_FromString(","), *all = PyBytes_FromString("");
    for (Py_ssize_t i = 0; comma && all && i < PyList_Size(list); i++) {
        const char *text = plain_text(filling, PyList_GetItem(list, i), name);
        PyObject *part = text ? PyBytes_FromString(text) : NULL;
        if (!part)
            Py_CLEAR(all);
        if (part && i > 0)
            PyBytes_Concat(&all, comma);
        if (part && all)
            PyBytes_Concat(&all, part);
        Py_XDECREF(part);
    }
    Py_XDECREF(comma);
    return keep(filling, all) ? PyBytes_AsString(all) : NULL;
}

static bool fill_list(struct filling *filling, struct rh_list *field, PyObject *value, const char *name)
{
    PyObject *list = is_one(value) ? PyList_New(0) : PySequence_List(value);
    if (list && is_one(value) && PyList_Append(list, value) < 0)
        Py_CLEAR(list);
    if (!keep(filling, list))
        return false;
    Py_ssize_t count = PyList_Size(list);
    PyObject *pointers = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(char *));
    if (!keep(filling, pointers))
        return false;
    char *to = PyBytes_AsString(pointers);
    for (Py_ssize_t i = 0; i < count; i++) {
        const char *text = plain_text(filling, PyList_GetItem(list, i), name);
        if (!text)
            return false;
        memcpy(to + i * (Py_ssize_t)sizeof text, &text, sizeof text);
    }
    field->items = count ? (const char *const *)(const void *)to : NULL;
    field->count = (size_t)count;
    return true;
}

static bool fill_handles(struct filling *filling, struct rh_handles *field, PyObject *value, const char *name)
{
    bool alone = PyObject_TypeCheck(value, handle_type) || is_one(value);
    PyObject *list = alone ? PyList_New(0) : PySequence_List(value);
    if (list && alone && PyList_Append(list, value) < 0)
        Py_CLEAR(list);
    if (!keep(filling, list))
        return false;
    Py_ssize_t count = PyList_Size(list);
    PyObject *pointers = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(rh_handle *));
    if (!keep(filling, pointers))
        return false;
    char *to = PyBytes_AsString(pointers);
    for (Py_ssize_t i = 0; i < count; i++) {
        const rh_handle *handle = handle_of(PyList_GetItem(list, i), name);
        if (!handle)
            return false;
        memcpy(to + i * (Py_ssize_t)sizeof(handle), &handle, sizeof(handle));
    }
    field->items = count ? (const rh_handle *const *)(const void *)to : NULL;
    field->count = (size_t)count;
    return true;
}

/* A number as the command line would read it: with its unit, and asked about where people mean another one. */
static bool fill_from_text(struct filling *filling, const struct rh_option *option, const char *text)
{
    struct rh_error error;
    if (!text)
        return false;
    if (rh_set(filling->command->name, filling->request, option->name, text, &error))
        return true;
    binding_raise(&error);
    return false;
}

static bool fill_from_double(struct filling *filling, const struct rh_option *option, double number)
{
    char text[64], *digits = PyOS_double_to_string(number, 'r', 0, 0, NULL);
    if (!digits)
        return false;
    snprintf(text, sizeof text, "%s%s", digits, number != 0 && option->unit ? option->unit : "");
    PyMem_Free(digits);
    return fill_from_text(filling, option, text);
}

static bool fill_number(struct filling *filling, const struct rh_option *option, PyObject *value)
{
    void *field = filling->request + option->offset;
    if (PyUnicode_Check(value))
        return fill_from_text(filling, option, plain_text(filling, value, option->field));
    if (PyBool_Check(value)) {
        PyErr_Format(PyExc_TypeError, "%s: expected a number, found %R", option->field, value);
        return false;
    }
    if (option->type == 'd') {
        double number = PyFloat_AsDouble(value);
        if (number == -1 && PyErr_Occurred())
            return refuse(option->field, "a number", value);
        memcpy(field, &number, sizeof number);
        return !isfinite(number) || fill_from_double(filling, option, number);
    }
    PyObject *whole = PyNumber_Index(value);
    long long number = whole ? PyLong_AsLongLong(whole) : -1;
    Py_XDECREF(whole);
    if (number == -1 && PyErr_Occurred())
        return refuse(option->field, "a whole number of at most 64 bits", value);
    char text[32];
    snprintf(text, sizeof text, "%lld", number);
    return fill_from_text(filling, option, text);
}

static bool fill(struct filling *filling, const struct rh_option *option, PyObject *value)
{
    void *field = filling->request + option->offset;
    const char *name = option->field;
    if (value == Py_None)
        return true;
    switch (option->type) {
    case '?':
        if (!PyBool_Check(value)) {
            PyErr_Format(PyExc_TypeError, "%s: expected True or False, found %R", name, value);
            return false;
        }
        *(bool *)field = value == Py_True;
        return true;
    case 'q':
    case 'd':
        return fill_number(filling, option, value);
    case 's':
        return (*(const char **)field = joined_text(filling, value, name)) != NULL;
    case 'l':
        return fill_list(filling, field, value, name);
    case 'H':
        return fill_handles(filling, field, value, name);
    case 'h':
        return (*(const rh_handle **)field = handle_of(value, name)) != NULL;
    default:
        PyErr_Format(PyExc_SystemError, "%s: unknown option type '%c'", name, option->type);
        return false;
    }
}

/* What every call takes besides its options. Sets *known. */
static bool fill_given(struct filling *filling, const char *name, PyObject *value, bool *known)
{
    struct call_given *given = &filling->given;
    PyObject **object = strcmp(name, "progress") == 0  ? &given->progress
                        : strcmp(name, "warning") == 0 ? &given->warning
                        : strcmp(name, "stop") == 0    ? &given->stop
                                                       : NULL;
    *known = true;
    if (object) {
        *object = value == Py_None ? NULL : value;
        if (!*object || object == &given->stop || PyCallable_Check(value))
            return true;
        PyErr_Format(PyExc_TypeError, "%s: expected a callable, found %R", name, value);
        return false;
    }
    if (strcmp(name, "threads") == 0) {
        long threads = value == Py_None ? 0 : PyLong_AsLong(value);
        if (PyErr_Occurred())
            return refuse(name, "0 to 1024", value);
        if (threads < 0 || threads > 1024)
            PyErr_Format(PyExc_ValueError, "threads: expected 0 to 1024, found %R", value);
        given->threads = (int)threads;
    } else if (strcmp(name, "time_limit") == 0) {
        given->time_limit = value == Py_None ? 0 : PyFloat_AsDouble(value);
        if (PyErr_Occurred())
            return refuse(name, "seconds", value);
        if (!(given->time_limit >= 0))
            PyErr_Format(PyExc_ValueError, "time_limit: expected seconds, 0 or more, found %R", value);
    } else {
        *known = false;
    }
    return !PyErr_Occurred();
}

static bool unexpected(const struct command *command, PyObject *key)
{
    PyObject *helper = PyImport_ImportModule("rehearse._options");
    PyObject *names = helper ? PyDict_Keys(command->index) : NULL;
    PyObject *text =
        names ? PyObject_CallMethod(helper, "unexpected", "sOO", command->name, key, names) : NULL;
    if (text)
        PyErr_SetObject(PyExc_TypeError, text);
    Py_XDECREF(text);
    Py_XDECREF(names);
    Py_XDECREF(helper);
    return false;
}

static bool fill_keyword(struct filling *filling, PyObject *key, PyObject *value)
{
    const struct command *command = filling->command;
    PyObject *place = PyDict_GetItemWithError(command->index, key);
    if (place)
        return fill(filling, &command->options[PyLong_AsLong(place)], value);
    if (PyErr_Occurred())
        return false;
    PyObject *bytes = PyUnicode_AsUTF8String(key);
    if (!bytes)
        return false;
    bool known, filled = fill_given(filling, PyBytes_AsString(bytes), value, &known);
    Py_DECREF(bytes);
    return filled && (known || unexpected(command, key));
}

/* All positional arguments are the values of a list that comes first; else one is the value of the first option. */
static bool fill_positional(struct filling *filling, PyObject *args, PyObject *keywords)
{
    const struct command *command = filling->command;
    Py_ssize_t count = PyTuple_Size(args);
    if (count == 0)
        return true;
    bool all = command->count > 0 && command->options[0].type == 'l';
    const struct rh_option *option = &command->options[0];
    if (!all && (count > 1 || command->count == 0)) {
        PyErr_Format(PyExc_TypeError, "%s() takes at most one positional argument, found %zd", command->name,
                     count);
        return false;
    }
    if (keywords && binding_item(keywords, option->field))
        PyErr_Format(PyExc_TypeError, "%s() got two values for '%s'", command->name, option->field);
    return !PyErr_Occurred() && fill(filling, option, all && count > 1 ? args : PyTuple_GetItem(args, 0));
}

static bool fill_all(struct filling *filling, PyObject *args, PyObject *keywords)
{
    PyObject *key, *value;
    Py_ssize_t position = 0;
    memcpy(filling->request, &filling->command->size, sizeof(size_t));
    if (!fill_positional(filling, args, keywords))
        return false;
    while (keywords && PyDict_Next(keywords, &position, &key, &value))
        if (!fill_keyword(filling, key, value))
            return false;
    return true;
}

struct asking {
    const struct filling *filling;
    rh_handle *answer;
};

static bool ask(void *context, const struct rh_call *call, struct rh_error *error)
{
    struct asking *asking = context;
    const struct filling *filling = asking->filling;
    asking->answer = rh_run(filling->command->name, filling->request, call, error);
    return asking->answer != NULL;
}

static PyObject *command_call(PyObject *self, PyObject *args, PyObject *keywords)
{
    struct filling filling = {.command = (const struct command *)self};
    struct asking asking = {.filling = &filling};
    filling.request = calloc(1, filling.command->size);
    filling.kept = PyList_New(0);
    bool answered = false;
    if (!filling.request)
        PyErr_NoMemory();
    else if (filling.kept && fill_all(&filling, args, keywords))
        answered = call_run(ask, &asking, &filling.given);
    Py_XDECREF(filling.kept);
    free(filling.request);
    if (answered)
        return handle_wrap(asking.answer);
    rh_free(asking.answer);
    return NULL;
}

static PyObject *option_dict(const struct rh_option *option)
{
    PyObject *words = option->words ? PyList_New(0) : binding_ref(Py_None);
    for (size_t i = 0; words && option->words && option->words[i]; i++) {
        PyObject *word = PyUnicode_FromString(option->words[i]);
        if (!word || PyList_Append(words, word) < 0)
            Py_CLEAR(words);
        Py_XDECREF(word);
    }
    if (!words)
        return NULL;
    const char letter[] = {option->letter, '\0'};
    return Py_BuildValue("{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:N,s:C,s:N}", "name", option->name, "letter", letter,
                         "field", option->field, "was", option->was, "argument", option->argument, "help",
                         option->help, "initial", option->initial, "words", words, "type", option->type,
                         "required", PyBool_FromLong(option->required));
}

static PyObject *command_options(PyObject *self, void *unused)
{
    (void)unused;
    const struct command *command = (const struct command *)self;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < command->count; i++) {
        PyObject *one = option_dict(&command->options[i]);
        if (!one || PyList_Append(list, one) < 0)
            Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

PyTypeObject *command_type_new(void)
{
    static PyGetSetDef getters[] = {
        {"options", command_options, NULL, "A dict for each option, in the order of help.", NULL},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Command(name): a command of the library, which is called with its options."},
        {Py_tp_new, command_new},
        {Py_tp_dealloc, command_end},
        {Py_tp_call, command_call},
        {Py_tp_getset, getters},
        {0},
    };
    static PyType_Spec spec = {"rehearse._rehearse.Command", sizeof(struct command), 0, Py_TPFLAGS_DEFAULT,
                               slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}
