/* Converts kernel records to rows of a store. */
#ifndef REHEARSE_TRACE_CAPTURE_ROWS_H
#define REHEARSE_TRACE_CAPTURE_ROWS_H

#include "core/error.h"
#include "trace/capture/calls.h"
#include "trace/capture/clients.h"
#include "trace/capture/files.h"
#include "trace/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_rows {
    struct trace_writer *writer;
    int64_t to_utc; /* added to CLOCK_MONOTONIC */
    struct capture_files files;
    struct hash_map threads; /* pid and tid: id of the process in the store */
    struct hash_map names;   /* pid, or pid and tid where a thread has its own: number in `name` */
    uint32_t starting; /* the command's process until it executes: its earlier events belong to the tracer */
    uint64_t started;  /* CLOCK_MONOTONIC, when it had executed */
    struct hash_map alive;    /* pid: 1; 0 when it has ended */
    struct hash_map named[2]; /* request to io_uring: id of its file, and of the second */
    char (*name)[16];
    size_t name_count, name_capacity;
    int64_t call_ids[CAPTURE_CALLS], opcode_ids[CAPTURE_OPCODES];
    int64_t fault_ids[2], off_cpu_id, second_id; /* names of calls */
    enum trace_class classes[CAPTURE_CALLS], opcode_classes[CAPTURE_OPCODES];
    struct capture_clients *clients; /* the clients among the executed programs */
    struct error err;                /* of the first row that could not be written */
    bool failed;
};

void capture_rows_init(struct capture_rows *rows, struct trace_writer *writer,
                       struct capture_clients *clients, int64_t to_utc);
void capture_rows_release(struct capture_rows *rows);

/* A capture_handler; context is a struct capture_rows. False if a row could not be written. */
bool capture_rows_add(void *context, const void *record, size_t bytes);

/* Sets the process that will execute the command; its events before that are ignored. */
void capture_rows_command(struct capture_rows *rows, int pid, const char *program);

/* Notes that it has executed, in case that record is lost. */
void capture_rows_started(struct capture_rows *rows, int64_t now);

/* Adds a running process and its open files. */
void capture_rows_process(struct capture_rows *rows, int pid);

/* Gets the processes that have not ended; the caller frees *pids. */
size_t capture_rows_alive(const struct capture_rows *rows, int **pids);

#endif
