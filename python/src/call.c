/* Long calls: without the interpreter's lock, with its signals, and with callbacks.
 *
 * Only Python's main thread may run handlers of signals, and a call of the library does not come back for them. So the main
 * thread hands the call to a thread of ours and waits, looks for signals fifty times a second, and makes the callbacks, which
 * the other thread posts. That thread stays for the next call, since a new one takes longer than a short call. Any other
 * thread makes its calls itself, and so does a callback. */
#include "binding.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 20000000 /* between two looks for signals */

struct stop {
    PyObject_HEAD rh_stop *stop;
};

struct message {
    PyObject *callback;        /* borrowed; NULL: none is posted */
    const char *text, *detail; /* detail NULL: one argument */
};

struct run {
    call_function function;
    void *context;
    const struct call_given *given;
    struct rh_call call;
    struct rh_error error;
    bool succeeded;
    PyObject *type, *value, *traceback; /* the exception that a callback or handler raised; NULL: none */

    PyThreadState *state; /* the caller's, while it does without the interpreter's lock */
    bool is_served;       /* by the worker; what follows is under its lock */
    struct message message;
    bool ended;
};

/* The thread that the main thread hands its calls to. A fork leaves it behind. */
static struct {
    pid_t process; /* whose it is; 0: there is none */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct run *run; /* NULL: it has nothing to do */
} worker;

static PyObject *stop_new(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    if (PyTuple_Size(args) > 0 || keywords) {
        PyErr_SetString(PyExc_TypeError, "Stop() takes no arguments");
        return NULL;
    }
    struct stop *self = (struct stop *)PyType_GenericAlloc(type, 0);
    if (self && !(self->stop = rh_stop_new())) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    return (PyObject *)self;
}

static void stop_end(PyObject *self)
{
    rh_stop_free(((struct stop *)self)->stop);
    binding_free(self);
}

static PyObject *stop_request(PyObject *self, PyObject *unused)
{
    (void)unused;
    rh_stop_request(((struct stop *)self)->stop);
    return binding_ref(Py_None);
}

PyTypeObject *stop_type_new(void)
{
    static PyMethodDef methods[] = {
        {"request", stop_request, METH_NOARGS, "Ends every call that has this Stop, with StoppedError."},
        {0},
    };
    static PyType_Slot slots[] = {
        {Py_tp_doc, "Ends calls from another thread: plan(…, stop=stop) there, stop.request() here."},
        {Py_tp_new, stop_new},
        {Py_tp_dealloc, stop_end},
        {Py_tp_methods, methods},
        {0},
    };
    static PyType_Spec spec = {"rehearse.Stop", sizeof(struct stop), 0, Py_TPFLAGS_DEFAULT, slots};
    return (PyTypeObject *)PyType_FromSpec(&spec);
}

rh_stop *stop_of(PyObject *object)
{
    if (PyObject_TypeCheck(object, stop_type))
        return ((struct stop *)object)->stop;
    PyErr_Format(PyExc_TypeError, "stop: expected a rehearse.Stop, found %R", object);
    return NULL;
}

/* With the interpreter's lock: the call is to end, and the exception that is set will be raised then. */
static void give_up(struct run *run)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (run->type) { // the first one counts
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    } else {
        run->type = type, run->value = value, run->traceback = traceback;
    }
    rh_stop_request(run->call.stop);
}

/* With the interpreter's lock. */
static void deliver(struct run *run, const struct message *message)
{
    if (run->type)
        return;
    PyObject *result = message->detail
                           ? PyObject_CallFunction(message->callback, "ss", message->text, message->detail)
                           : PyObject_CallFunction(message->callback, "s", message->text);
    if (!result)
        give_up(run);
    Py_XDECREF(result);
}

/* In the thread of the call, without the interpreter's lock: comes back when the callback has. */
static void post(struct run *run, PyObject *callback, const char *text, const char *detail)
{
    struct message message = {callback, text, detail};
    if (!run->is_served) {
        PyEval_RestoreThread(run->state);
        deliver(run, &message);
        run->state = PyEval_SaveThread();
        return;
    }
    pthread_mutex_lock(&worker.lock);
    run->message = message;
    pthread_cond_broadcast(&worker.changed);
    while (run->message.callback)
        pthread_cond_wait(&worker.changed, &worker.lock);
    pthread_mutex_unlock(&worker.lock);
}

static void on_progress(void *user, const char *what, const char *detail)
{
    struct run *run = user;
    post(run, run->given->progress, what, detail ? detail : "");
}

static void on_warning(void *user, const char *text)
{
    struct run *run = user;
    post(run, run->given->warning, text, NULL);
}

static void *serve(void *unused)
{
    pthread_mutex_lock(&worker.lock);
    for (;;) {
        struct run *run = worker.run;
        if (!run || run->ended) {
            pthread_cond_wait(&worker.changed, &worker.lock);
            continue;
        }
        pthread_mutex_unlock(&worker.lock);
        run->succeeded = run->function(run->context, &run->call, &run->error);
        pthread_mutex_lock(&worker.lock);
        run->ended = true;
        pthread_cond_broadcast(&worker.changed);
    }
    return unused;
}

/* In the main thread, without the interpreter's lock, with the worker's: waits for the end of the call. */
static void attend(struct run *run)
{
    while (!run->ended) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int status = 0;
        while (!run->ended && !run->message.callback && status != ETIMEDOUT)
            status = pthread_cond_timedwait(&worker.changed, &worker.lock, &until);
        if (run->ended)
            break;
        struct message message = run->message;
        pthread_mutex_unlock(&worker.lock);
        PyEval_RestoreThread(run->state);
        if (message.callback)
            deliver(run, &message);
        if (PyErr_CheckSignals() < 0)
            give_up(run);
        run->state = PyEval_SaveThread();
        pthread_mutex_lock(&worker.lock);
        if (message.callback) {
            run->message.callback = NULL;
            pthread_cond_broadcast(&worker.changed);
        }
    }
}

/* Takes no signals: they are for the threads that Python knows. */
static bool start_worker(void)
{
    if (worker.process == getpid())
        return true;
    pthread_condattr_t attributes;
    pthread_attr_t detached;
    pthread_t thread;
    sigset_t all, before;
    pthread_mutex_init(&worker.lock, NULL);
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&worker.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    worker.run = NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&thread, &detached, serve, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&detached);
    worker.process = started ? getpid() : 0;
    return started;
}

/* False: the caller has to make the call itself, as there is no thread to be had, or this is a callback of another call. */
static bool run_by_worker(struct run *run)
{
    if (!start_worker() || worker.run)
        return false;
    run->is_served = true;
    run->state = PyEval_SaveThread();
    pthread_mutex_lock(&worker.lock);
    worker.run = run;
    pthread_cond_broadcast(&worker.changed);
    attend(run);
    worker.run = NULL;
    pthread_mutex_unlock(&worker.lock);
    PyEval_RestoreThread(run->state);
    return true;
}

static bool is_main_thread(void)
{
    return syscall(SYS_gettid) == getpid();
}

bool call_run(call_function function, void *context, const struct call_given *given)
{
    struct run run = {.function = function, .context = context, .given = given};
    run.call = (struct rh_call){
        .size = sizeof run.call,
        .threads = given->threads,
        .time_limit = given->time_limit,
        .progress = given->progress ? on_progress : NULL,
        .warning = given->warning ? on_warning : NULL,
        .user = &run,
    };
    rh_stop *own = NULL;
    if (given->stop) {
        if (!(run.call.stop = stop_of(given->stop)))
            return false;
    } else if (!(run.call.stop = own = rh_stop_new())) {
        PyErr_NoMemory();
        return false;
    }
    if (!is_main_thread() || !run_by_worker(&run)) {
        run.state = PyEval_SaveThread();
        run.succeeded = function(context, &run.call, &run.error);
        PyEval_RestoreThread(run.state);
    }
    rh_stop_free(own);
    if (run.type)
        PyErr_Restore(run.type, run.value, run.traceback);
    else if (!run.succeeded)
        binding_raise(&run.error);
    return run.succeeded && !run.type;
}
