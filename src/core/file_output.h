/* The one way to write a file: it appears whole, under its name, or not at all.
 *
 * "-" is standard output, and /dev/stdout, /dev/fd/N are the open files that they name. A device, a pipe or a socket is
 * written in place. Anything else is written into a temporary file beside the old one, synced and renamed: a link stays a
 * link, and the file that it leads to is replaced; owner, group, permissions, access list and user attributes stay those
 * of the old file as far as this process may set them. A file that may not be written is not replaced either. */
#ifndef REHEARSE_CORE_FILE_OUTPUT_H
#define REHEARSE_CORE_FILE_OUTPUT_H

#include "core/error.h"

#include <stdbool.h>
#include <stdio.h>

struct file_output {
    FILE *out;             /* what to write to; NULL after file_output_beside */
    const char *temporary; /* the file's name until it is whole; NULL: it is written in place */
    const char *target;    /* the name that it will have: the path with its links followed */
    bool fresh;    /* for the caller to set: a file that has the name by the end is an error, not replaced */
    bool unsynced; /* the same: the disk is not waited for */
    struct file_writing *writing;
};

/* Begins. On failure there is nothing to close. */
bool file_output_open(struct file_output *output, const char *path, struct error *err);

/* For libraries that open files by name: makes an empty file `temporary` for them to fill. What is no regular file is
 * refused, since it cannot be replaced; `what` is why it must be one: "a trace is a database". */
bool file_output_beside(struct file_output *output, const char *path, const char *what, struct error *err);

/* Ends: gives the file its name where `done`, else takes it away. Returns `done`, or false when a write had failed. A null
 * output (nothing was opened) is allowed. */
bool file_output_close(struct file_output *output, bool done, struct error *err);

/* All of it at once. */
bool file_write(const char *path, const char *data, size_t length, struct error *err);

/* Removes the temporary files of all outputs that are open, when a signal ends the program: safe in its handler. */
void file_output_abandon(void);

/* A file NAME.part that becomes NAME when it is whole, and stays when the program is killed: large files of a data set or
 * a checkpoint, which are written at any offset and where two programs must not write the same one. The names are the
 * program's own and not the user's words, so that a link of this name is replaced and never followed. */
struct file_part {
    int fd;     /* to write to; locked against other programs until it is closed */
    char *path; /* NAME */
    char *name; /* NAME.part */
};

#define FILE_PART ".part"

/* Makes the folders that it lies in, and the file, or empties one that a killed program has left. `direct`: O_DIRECT. */
bool file_part_open(struct file_part *part, const char *path, bool direct, struct error *err);

/* Gives the file its name, and the owner and permissions of the one that it replaces. The part must then be closed, or
 * removed where this has failed. */
bool file_part_rename(struct file_part *part, struct error *err);

void file_part_close(struct file_part *part);
void file_part_remove(struct file_part *part);

#endif
