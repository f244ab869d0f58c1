/* Prompts for language models; one that was read is filled, and takes the same bytes as an answer.
 */
#include "import.h"

#include <gabbro/querygen.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    const gb_collection *collection = fuzz_collection();
    gb_prompt_template prompt = {0};
    gb_text text = {0};
    bool ok = gb_prompt_template_read(fuzz_file("prompt", data, size), &prompt, &status);
    fuzz_check(ok, &status);
    for (uint32_t p = 0; ok && p < collection->passages; p++) {
        size_t most = gb_prompt_template_ends_with_passage(&prompt) ? 5 : 1000;
        fuzz_check(gb_prompt_template_fill(&prompt, collection, p, most, &text, &status), &status);
    }
    for (uint32_t list = 0; list <= 8; list += 4) {
        prompt.list = list;
        text.length = 0;
        uint32_t count = gb_answer_queries(&prompt, (const char *)data, size, &text), lines = 0;
        for (size_t i = 0; i < text.length; i++)
            lines += text.data[i] == '\n';
        if (text.failed || count != lines || count > (list ? list : 1))
            abort();
    }
    gb_text_free(&text);
    gb_prompt_template_free(&prompt);
    return 0;
}
