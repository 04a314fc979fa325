/* The only way to write a file: it appears whole, under its name, or not at all.
 *
 * "-" is standard output, and /dev/stdout, /dev/fd/N are the open files that they name. A device, pipe or
 * socket is written in place. Anything else is written into a temporary file beside the old one, synced and
 * renamed: a link stays a link, and its target is replaced; owner, group, permissions, access list and user
 * attributes of the old file are kept as far as this process may set them. A file without write permission is
 * not replaced. */
#ifndef REHEARSE_CORE_FILE_OUTPUT_H
#define REHEARSE_CORE_FILE_OUTPUT_H

#include "core/error.h"
#include "core/text.h"

#include <stdbool.h>
#include <stdio.h>

struct file_output {
    FILE *out;             /* stream to write to; NULL after file_output_beside */
    const char *temporary; /* the file's name until it is whole; NULL: written in place */
    const char *target;    /* final name: the path with its links followed */
    bool fresh;    /* set by the caller: a file that has the name by the end is an error, not replaced */
    bool unsynced; /* set by the caller: do not wait for the disk */
    struct file_writing *writing;
};

/* Opens an output. On failure there is nothing to close. */
bool file_output_open(struct file_output *output, const char *path, struct error *err);

/* For libraries that open files by name: makes an empty file `temporary` for them to fill. Only a regular
 * file can be replaced; `what` gives the reason in the error: "a trace is a database". */
bool file_output_beside(struct file_output *output, const char *path, const char *what, struct error *err);

/* Gives the file its name if `done`, else removes it. Returns `done`, or false if a write failed or a stop is wanted
 * (core/stop.h): a loop that saw it may have written less. A null output (nothing opened) is allowed. */
bool file_output_close(struct file_output *output, bool done, struct error *err);

bool file_write(const char *path, const char *data, size_t length, struct error *err);

/* The same for a text as it is. Also reports that it ran out of memory while it was put together. */
bool file_write_exact(const char *path, const struct text *text, struct error *err);

/* The same for a text that people read: without control characters (text_shown). */
bool file_write_text(const char *path, const struct text *text, struct error *err);

/* Removes the temporary files of all open outputs when a signal ends the program: async-signal-safe. */
void file_output_abandon(void);

/* A file NAME.part that becomes NAME when it is whole, and stays when the program is killed: large files of a
 * data set or a checkpoint, which are written at any offset and where two programs must not write the same
 * one. The names are the program's own and not the user's words, so that a link of this name is replaced and
 * never followed. */
struct file_part {
    int fd;     /* to write to; locked against other programs until it is closed */
    char *path; /* NAME */
    char *name; /* NAME.part */
};

#define FILE_PART ".part"

/* Makes its folders, and the file, or empties one left by a killed program. `direct`: O_DIRECT. */
bool file_part_open(struct file_part *part, const char *path, bool direct, struct error *err);

/* Gives the file its name, and the owner and permissions of the one that it replaces. The part must then be
 * closed, or removed where this has failed. */
bool file_part_rename(struct file_part *part, struct error *err);

void file_part_close(struct file_part *part);
void file_part_remove(struct file_part *part);

#endif
