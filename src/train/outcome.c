/* What a fine-tuning leaves behind: its facts, its curves, and the model that is kept. */
#include "development.h"

#include <stdlib.h>

void train_note_losses(json_t *facts, const gb_train_result *result, int of_scores, double limit)
{
    json_object_set_new(facts, "first_loss", json_real(result->first_loss[0]));
    json_object_set_new(facts, "final_loss", json_real(result->final_loss[0]));
    if (limit > 0 && result->steps > 0)
        json_object_set_new(facts, "converged",
                            json_boolean(result->final_loss[of_scores] < limit));
    json_object_set_new(facts, "steps", json_integer(result->steps));
}

void train_note_set(json_t *facts, const gb_training_set *set, const gb_filtered *filtered)
{
    json_object_set_new(facts, "train_queries", json_integer(set->count));
    json_object_set_new(facts, "without_hard_negatives", json_integer(set->without_negatives));
    json_object_set_new(facts, "negatives", train_filtered_json(filtered));
}

bool train_save_outcome(const train_outcome *o, gb_status *status)
{
    uint32_t steps = o->result->steps;
    bool kept = false;
    if (!train_save_losses(o->maker, o->task->loss_names, steps, o->log, status) ||
        (o->dev && !train_dev_finish(o->dev, steps, &kept, status)))
        return false;
    char *path = kept ? NULL : gb_maker_file(o->maker, "model", status);
    bool ok = kept || (path && o->save(o->self, path, status));
    free(path);
    return ok;
}
