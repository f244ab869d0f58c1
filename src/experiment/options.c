/* The options that all commands that make an artifact take. */
#include "private.h"

#include <gabbro/artifact.h>

#include <string.h>

#define FIELD(member) GB_FIELD(gb_maker, member)

static const char *const poolings[] = {"cls", "mean", "last", NULL};

static const gb_option of_encoders[] = {
    {"pooling", GB_OPTION_CHOICE, FIELD(pooling_choice), 0, NULL,
     "how a text's vector is made of its tokens' (default: as the model's folder says)", poolings},
    {0}};
static const gb_option of_all[] = {
    {"store", GB_OPTION_TEXT, FIELD(store_root), GB_OPTION_NO_KEY, "DIR",
     "store of artifacts (default $GABBRO_STORE)"},
    {"device", GB_OPTION_TEXT, FIELD(device_name), GB_OPTION_NO_KEY, "NAME",
     "device to compute on: index, name, UUID or cpu (default $GABBRO_DEVICE)"},
    {"profile", GB_OPTION_FLAG, FIELD(profile), GB_OPTION_NO_KEY, NULL,
     "print the device time of every kernel"},
    {"quiet", GB_OPTION_FLAG, FIELD(quiet), GB_OPTION_NO_KEY, NULL, "print no progress"},
    {"no-wait", GB_OPTION_FLAG, FIELD(no_wait), GB_OPTION_NO_KEY, NULL,
     "end with code 76 while another process makes the artifact"},
    {0}};
static const gb_option of_costs[] = {{"cost", GB_OPTION_FLAG, FIELD(cost), GB_OPTION_NO_KEY, NULL,
                                      "print what making the artifact takes, and make nothing"},
                                     {0}};
static const gb_option of_ranks[] = {
    {"ranks", GB_OPTION_U32, FIELD(how.count), GB_OPTION_NO_KEY, NULL,
     "processes that work together, started by mpirun; 0: as launched"},
    {"devices", GB_OPTION_TEXT, FIELD(how.devices), GB_OPTION_NO_KEY, "A,B",
     "devices of the ranks of each machine, in turn; one rank each without --ranks"},
    {0}};
static const gb_option of_shards[] = {
    {"gradient-shards", GB_OPTION_U32, FIELD(how.gradient_shards), 0, NULL,
     "shards of a batch that ranks divide: results depend on these, not on ranks; 0: 8 with ranks, "
     "else one"},
    {"simulate-ranks", GB_OPTION_U32, FIELD(how.simulated), GB_OPTION_NO_KEY, NULL,
     "compute in one process what so many ranks compute: the same bits; 0: do not"},
    {0}};

void experiment_maker_tables(gb_maker *maker, gb_option_table tables[MAKER_TABLES])
{
    const gb_make_params *params = maker->params;
    size_t count = 0;
    if (params->options)
        tables[count++] = (gb_option_table){.options = params->options};
    for (const gb_option_table *more = params->tables; more && more->options; more++)
        if (count < MAKER_TABLES - 6)
            tables[count++] = *more;
    if (params->flags & GB_MAKES_ENCODING)
        tables[count++] = (gb_option_table){"Vectors of texts", of_encoders, maker};
    tables[count++] = (gb_option_table){"Store and device", of_all, maker};
    if (params->cost)
        tables[count++] = (gb_option_table){NULL, of_costs, maker};
    if (params->flags & (GB_MAKES_DIVIDED | GB_MAKES_TRAINING))
        tables[count++] = (gb_option_table){
            "Several devices or machines (docs/design/ranks.md); also under mpirun and srun",
            of_ranks, maker};
    if (params->flags & GB_MAKES_TRAINING)
        tables[count++] = (gb_option_table){NULL, of_shards, maker};
    tables[count] = (gb_option_table){0};
}

json_t *experiment_maker_initial(const gb_maker *maker, const gb_option *option, json_t *value)
{
    char variable[24]; /* objectives have options of the same names */
    snprintf(variable, sizeof variable, "%p", option->value);
    if (value && json_object_set_new(maker->initial, variable, value) != 0)
        return NULL;
    return json_object_get(maker->initial, variable);
}

bool experiment_maker_note_initial(gb_maker *maker, gb_status *status)
{
    gb_option_table tables[MAKER_TABLES];
    experiment_maker_tables(maker, tables);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);) {
        if (walk.option.flags & (GB_OPTION_NO_KEY | GB_OPTION_INPUT))
            continue;
        json_t *value = gb_option_value(&walk.option, status);
        if (!value)
            return false;
        if (!experiment_maker_initial(maker, &walk.option, value))
            return gb_fail_memory(status, "noting options");
    }
    return true;
}

/* Whether an option changes something: 0 asks for nothing. */
static bool changes(const gb_maker *maker, const gb_option *option, bool *changed,
                    gb_status *status)
{
    json_t *value = gb_option_value(option, status);
    const json_t *initial = experiment_maker_initial(maker, option, NULL);
    *changed = value && initial && !json_equal(value, initial) &&
               (!json_is_number(value) || json_number_value(value) != 0);
    bool read = value != NULL;
    json_decref(value);
    return read;
}

/* The tables that have an option of a name, in words; nothing if one of them is in the key. */
static gb_text owners(const gb_option_table *tables, const char *name)
{
    gb_text list = {0};
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);) {
        if (strcmp(walk.option.name, name) != 0)
            continue;
        if (!walk.table->no_key) {
            gb_text_free(&list);
            return (gb_text){0};
        }
        gb_text_printf(&list, "%s%s", list.length ? " or " : "", walk.table->heading);
    }
    return list;
}

bool experiment_maker_check_chosen(gb_maker *maker, gb_status *status)
{
    gb_option_table tables[MAKER_TABLES];
    bool ok = !maker->pooling || maker->flags & GB_MAKES_ENCODING ||
              gb_fail(status, GB_USAGE, NULL, "leave it out",
                      "--pooling has no effect: no model makes vectors here");
    bool changed;
    experiment_maker_tables(maker, tables);
    for (gb_option_walk walk = {0}; ok && gb_option_next(&walk, tables);) {
        if (!walk.table->no_key || !(ok = changes(maker, &walk.option, &changed, status)) ||
            !changed)
            continue;
        gb_text of = owners(tables, walk.option.name);
        if (of.failed)
            ok = gb_fail_memory(status, "checking options");
        else if (of.data)
            ok = gb_fail(status, GB_USAGE, NULL, "take that, or leave it out",
                         "--%s has no effect: it is an option of %s", walk.option.name, of.data);
        gb_text_free(&of);
    }
    return ok;
}

void experiment_maker_pool(gb_maker *maker, const char *pooling)
{
    maker->pooling = pooling;
    maker->pooling_choice = GB_OPEN;
    for (uint32_t i = 0; pooling && poolings[i]; i++)
        if (!strcmp(poolings[i], pooling))
            maker->pooling_choice = i;
}

/* Where no file or folder is, a model may be meant that has this name elsewhere. */
static bool find_model(gb_maker *maker, const gb_option *option, gb_status *status)
{
    const char **model = option->value;
    if (!*model || gb_dir_exists(*model) || gb_file_exists(*model))
        return true;
    char *found = gb_find_model(maker->config, *model, status);
    if (!found) {
        if (status->code == GB_USAGE) /* what is missing is no fault of the command line */
            status->code = GB_DATA;
        return false;
    }
    gb_log(GB_LOG_DEBUG, "%s is %s", *model, found);
    *model = maker->models[maker->model_count++] = found;
    return true;
}

bool experiment_maker_find_models(gb_maker *maker, gb_status *status)
{
    gb_option_table tables[MAKER_TABLES];
    experiment_maker_tables(maker, tables);
    for (gb_option_walk walk = {0}; gb_option_next(&walk, tables);)
        if (walk.option.flags & GB_OPTION_MODEL &&
            maker->model_count < sizeof maker->models / sizeof *maker->models &&
            !find_model(maker, &walk.option, status))
            return false;
    return true;
}

gb_parsed experiment_maker_parse(gb_maker *maker, int argc, char **argv, gb_status *status)
{
    gb_option_table tables[MAKER_TABLES];
    experiment_maker_tables(maker, tables);
    experiment_maker_pool(maker, NULL);
    if (!experiment_maker_note_initial(maker, status))
        return GB_PARSED_BAD;
    gb_parsed parsed =
        gb_command_parse(maker->params->command, tables, argc, argv, &maker->operands, status);
    if (maker->pooling_choice != GB_OPEN)
        maker->pooling = poolings[maker->pooling_choice];
    return parsed;
}
