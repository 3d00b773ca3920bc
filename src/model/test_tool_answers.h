// One answer with calls of tools as each wire has it, for tests.
#ifndef MODEL_TEST_TOOL_ANSWERS_H_
#define MODEL_TEST_TOOL_ANSWERS_H_

#include <string>
#include <vector>

#include "model/settings.h"

namespace kb {

// An answer that thinks, says a word and calls two tools at once.
struct ToolAnswer {
  Wire wire;
  std::vector<std::string> stream;  // its events
  std::string whole;
  std::string raw;  // what goes back
};

inline const std::vector<ToolAnswer>& ToolAnswers() {
  static const std::vector<ToolAnswer> answers = {
      {Wire::kChat,
       {R"({"model":"m","choices":[{"delta":{"role":"assistant","content":"","reasoning_content":"h"}}]})",
        R"({"choices":[{"delta":{"reasoning_content":"m","content":null}}]})",
        R"({"choices":[{"delta":{"content":"so"}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c0","type":"function",)"
        R"("function":{"name":"bash","arguments":""}}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c1","type":"function",)"
        R"("function":{"name":"submit","arguments":"{\"z\":"}}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"command\": "}}]}}]})",
        R"({"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"1,\"a\":2}"}},)"
        R"({"index":0,"function":{"arguments":"\"ls\"}"}}]}}]})",
        R"({"choices":[{"delta":{},"finish_reason":"tool_calls"}]})",
        R"({"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_cache_hit_tokens":60}})", "[DONE]"},
       R"({"model":"m","choices":[{"message":{"role":"assistant","content":"so","reasoning_content":"hm","tool_calls":[)"
       R"({"id":"c0","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}},)"
       R"({"id":"c1","type":"function","function":{"name":"submit","arguments":"{\"z\":1,\"a\":2}"}}]},)"
       R"("finish_reason":"tool_calls"}],)"
       R"("usage":{"prompt_tokens":100,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":60}}})",
       R"({"role":"assistant","content":"so","reasoning_content":"hm","tool_calls":[)"
       R"({"id":"c0","type":"function","function":{"name":"bash","arguments":"{\"command\": \"ls\"}"}},)"
       R"({"id":"c1","type":"function","function":{"name":"submit","arguments":"{\"z\":1,\"a\":2}"}}]})"},
      {Wire::kMessages,
       {R"({"type":"message_start","message":{"model":"m","content":[],)"
        R"("usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":1}}})",
        R"({"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}})",
        R"({"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}})",
        R"({"type":"content_block_stop","index":0})",
        R"({"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"eA=="}})",
        R"({"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}})",
        R"({"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"so"}})",
        R"({"type":"content_block_start","index":3,)"
        R"("content_block":{"type":"tool_use","id":"c0","name":"bash","input":{}}})",
        R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}})",
        R"({"type":"content_block_delta","index":3,)"
        R"("delta":{"type":"input_json_delta","partial_json":"{\"command\": "}})",
        R"({"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"ls\"}"}})",
        R"({"type":"content_block_start","index":4,)"
        R"("content_block":{"type":"tool_use","id":"c1","name":"submit","input":{}}})",
        R"({"type":"content_block_delta","index":4,)"
        R"("delta":{"type":"input_json_delta","partial_json":"{\"z\":1,\"a\":2}"}})",
        R"({"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}})",
        R"({"type":"message_stop"})"},
       R"({"type":"message","model":"m","role":"assistant","content":[)"
       R"({"type":"thinking","thinking":"hm","signature":"c2ln"},{"type":"redacted_thinking","data":"eA=="},)"
       R"({"type":"text","text":"so"},{"type":"tool_use","id":"c0","name":"bash","input":{"command":"ls"}},)"
       R"({"type":"tool_use","id":"c1","name":"submit","input":{"z":1,"a":2}}],"stop_reason":"tool_use",)"
       R"("usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":9}})",
       R"({"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"c2ln"},)"
       R"({"type":"redacted_thinking","data":"eA=="},{"type":"text","text":"so"},)"
       R"({"type":"tool_use","id":"c0","name":"bash","input":{"command":"ls"}},)"
       R"({"type":"tool_use","id":"c1","name":"submit","input":{"z":1,"a":2}}]})"},
      {Wire::kResponses,
       {R"({"type":"response.created","response":{"model":"m","status":"in_progress","output":[],"error":null}})",
        R"({"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"r"}})",
        R"({"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"r",)"
        R"("summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"b3Bh"}})",
        R"({"type":"response.output_text.delta","output_index":1,"delta":"so"})",
        R"({"type":"response.output_item.done","output_index":1,"item":{"type":"message","id":"m","role":"assistant",)"
        R"("content":[{"type":"output_text","text":"so"}]}})",
        R"({"type":"response.function_call_arguments.delta","output_index":3,"delta":"{\"z\":1"})",
        R"({"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"command\": "})",
        R"({"type":"response.output_item.done","output_index":3,"item":{"type":"function_call","id":"f1",)"
        R"("call_id":"c1","name":"submit","arguments":"{\"z\":1,\"a\":2}"}})",
        R"({"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","id":"f0",)"
        R"("call_id":"c0","name":"bash","arguments":"{\"command\": \"ls\"}"}})",
        R"({"type":"response.completed","response":{"model":"m","status":"completed","output":[],)"
        R"("usage":{"input_tokens":100,"output_tokens":9,"input_tokens_details":{"cached_tokens":60}}}})"},
       R"({"object":"response","model":"m","status":"completed","error":null,"output":[)"
       R"({"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"b3Bh"},)"
       R"({"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"so"}]},)"
       R"({"type":"function_call","id":"f0","call_id":"c0","name":"bash","arguments":"{\"command\": \"ls\"}"},)"
       R"({"type":"function_call","id":"f1","call_id":"c1","name":"submit","arguments":"{\"z\":1,\"a\":2}"}],)"
       R"("usage":{"input_tokens":100,"output_tokens":9,"input_tokens_details":{"cached_tokens":60}}})",
       R"([{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"b3Bh"},)"
       R"({"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"so"}]},)"
       R"({"type":"function_call","id":"f0","call_id":"c0","name":"bash","arguments":"{\"command\": \"ls\"}"},)"
       R"({"type":"function_call","id":"f1","call_id":"c1","name":"submit","arguments":"{\"z\":1,\"a\":2}"}])"},
  };
  return answers;
}

}  // namespace kb

#endif  // MODEL_TEST_TOOL_ANSWERS_H_
