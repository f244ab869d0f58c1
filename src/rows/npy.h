/* The header of NumPy's .npy files (private to the rows module). */
#ifndef GABBRO_ROWS_NPY_H
#define GABBRO_ROWS_NPY_H

/* What follows 'key': in the dictionary, "" where it has no such key; key has its quotes. */
const char *rows_npy_value(const char *header, const char *key);

#endif
