#include "topics.h"

#include <gabbro/json.h>

#include <string.h>

static const char hint[] = "CAsT's are [{\"number\", \"turn\": [{\"number\", \"raw_utterance\"}]}]";

/* The words of a turn: by hand where they were rewritten so, else by machine, else as they were
 * said. */
static const char *utterance(const json_t *turn)
{
    static const char *const keys[] = {"manual_rewritten_utterance",
                                       "automatic_rewritten_utterance", "raw_utterance",
                                       "utterance"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (json_is_string(json_object_get(turn, keys[i])))
            return json_string_value(json_object_get(turn, keys[i]));
    return NULL;
}

static bool take_turn(const gb_lines *lines, const json_t *topic, const json_t *turn,
                      gb_text_fn *each, void *ctx, gb_status *status)
{
    const json_t *conversation = json_object_get(topic, "number");
    const json_t *number = json_object_get(turn, "number");
    const char *text = utterance(turn);
    char id[64];
    if (!json_is_integer(conversation) || !json_is_integer(number) || !text)
        return gb_lines_fail(lines, status, hint, "a turn without number or utterance");
    snprintf(id, sizeof id, "%lld_%lld", (long long)json_integer_value(conversation),
             (long long)json_integer_value(number));
    return each(ctx, id, "", text, status);
}

bool eval_topics_cast(const gb_lines *lines, const gb_text *text, gb_text_fn *each, void *ctx,
                      gb_status *status)
{
    json_t *topics = gb_json_line(lines, text->data, text->length, GB_JSON_ANY, status), *topic,
           *turn;
    if (!topics)
        return false;
    bool ok = true;
    size_t i, k;
    json_array_foreach(topics, i, topic)
    {
        const json_t *turns = json_object_get(topic, "turn");
        if (ok && !json_is_array(turns))
            ok = gb_lines_fail(lines, status, hint, "a conversation without \"turn\"");
        json_array_foreach(turns, k, turn)
        {
            ok = ok && take_turn(lines, topic, turn, each, ctx, status);
        }
    }
    json_decref(topics);
    return ok;
}
