/* CSV text into a table; every cell can be read, as text and as a number. */
#include "core/csv.h"
#include "walk.h"

#include <math.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_cell(const struct csv *csv, int row, int column)
{
    struct error err = {0};
    double value;
    require(csv_cell(csv, row, column) != NULL);
    if (csv_number(csv, row, column, -1e6, 1e6, &value, &err))
        require(isfinite(value) && value >= -1e6 && value <= 1e6);
    else
        require_message(&err);
}

static void check_table(const struct csv *csv)
{
    struct error err = {0};
    int column;
    require(csv->column_count > 0 && csv->column_count <= CSV_MAX_COLUMNS);
    for (int c = 0; c < csv->column_count; c++) {
        require(csv_column(csv, csv->columns[c]) == c);
        require(csv_need(csv, csv->columns[c], &column, &err) && column == c);
    }
    for (int r = 0; r < csv->row_count; r++) {
        require(csv->lines[r] > (r ? csv->lines[r - 1] : 1));
        for (int c = 0; c < csv->column_count; c++)
            check_cell(csv, r, c);
        require(csv_cell(csv, r, -1)[0] == '\0');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct csv csv;
    struct error err = {0};
    char *text = malloc(size ? size : 1); /* of this size exactly: what is read beyond it is found */
    if (!text)
        return 0;
    if (size)
        memcpy(text, data, size);
    if (csv_parse(&csv, "fuzz.csv", text, size, &err)) {
        check_table(&csv);
        csv_release(&csv);
    } else {
        require_message(&err);
    }
    free(text);
    return 0;
}
