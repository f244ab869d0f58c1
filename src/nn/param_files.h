/* Parameters as tensors of the files in a model folder. */
#ifndef NN_PARAM_FILES_H
#define NN_PARAM_FILES_H

#include <gabbro/nn.h>

/* A tensor of a file, and the share of a parameter that it is. */
typedef struct file_part {
    char name[GB_WEIGHT_NAME]; /* in the file */
    uint32_t rows, cols;       /* of the parameter, as the file has them; of a vector one row */
    uint64_t at;               /* its first float in the parameter, which has rows of `ld` */
    bool vector;               /* stored as [cols] */
} file_part;
/* Tensors that a parameter is; a state is none. */
uint32_t param_part_count(const gb_param *param);
void param_part(const gb_param *param, uint32_t index, file_part *part);

/* All tensors of a model as they are written. The values stay where they are. */
typedef struct file_tensors {
    gb_weight *model, *aside;        /* tensors of the two files */
    size_t model_count, aside_count; /* how many */
    gb_arena *names;                 /* keeps their names */
} file_tensors;
bool file_tensors_make(file_tensors *list, const gb_params *params, const float *values,
                       gb_status *status);
void file_tensors_free(file_tensors *list); /* also after a failure */

#endif
