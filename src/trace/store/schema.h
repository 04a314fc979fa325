/* The tables and views of a trace store; docs/trace-store.md describes them. */
#ifndef REHEARSE_TRACE_STORE_SCHEMA_H
#define REHEARSE_TRACE_STORE_SCHEMA_H

/* "RHtr", in the header of the file: `file` and trace_reader_new know a trace by it. */
#define TRACE_APPLICATION_ID 0x52487472

/* In table `meta`: whether the trace is complete. */
#define TRACE_STATE         "state"
#define TRACE_STATE_WRITING "recording"
#define TRACE_STATE_WHOLE   "whole"

extern const char trace_schema_tables[]; /* and the rows of `class` and `operation` */
extern const char trace_schema_views[];
extern const char trace_schema_indexes[]; /* made last: cheaper than keeping them while rows come */

#endif
