"""The tiny model of examples/train, some of whose tokens are whole calls of the tool submit_kernel."""

import grpo
from trl.chat_template_utils import qwen3_chat_template


def model_that_calls(test, sources):
    """(model, tokenizer). A token of each source is a call with it; until the end of `test`, whose clean-up this is."""
    calls = ['<tool_call>\n{"name": "submit_kernel", "arguments": {"code": "' + source.replace("\n", "\\n") + '"}}\n</tool_call>' for source in sources]
    grpo.ANSWERS, answers = calls, grpo.ANSWERS
    test.addCleanup(setattr, grpo, "ANSWERS", answers)
    model, tokenizer = grpo.tiny_model()
    tokenizer.add_special_tokens({"eos_token": "<|im_end|>"})
    model.resize_token_embeddings(len(tokenizer))
    tokenizer.chat_template = qwen3_chat_template
    return model, tokenizer
