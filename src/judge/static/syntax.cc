#include "judge/static/syntax.h"

#include <tree_sitter/api.h>

#include <algorithm>
#include <ctime>
#include <memory>

extern "C" {
const TSLanguage* tree_sitter_python();
const TSLanguage* tree_sitter_cuda();
}

namespace kb {
namespace {

// tree-sitter asks every 100 parsing steps whether to go on. Ordinary code takes 2 to 5 steps a byte and reads a byte
// once or twice; text that makes error recovery try everything, or the lexer look ahead from everywhere, hundreds.
constexpr int64_t kStepsPerQuestion = 100;
constexpr int64_t kStepsPerByte = 40, kStepsAtLeast = 1'000'000;
constexpr int64_t kReadsPerByte = 60, kReadsAtLeast = 4'000'000;
constexpr int64_t kProcessorTimeNs = kMostAnalysisNs / 5;
// The text is handed over in pieces, so that what the lexer reads again is seen.
constexpr uint32_t kPiece = 256;

// CUDA's grammar is that of C++ with the words of CUDA added, so it reads both.
const TSLanguage* LanguageOf(Grammar grammar) {
  return grammar == Grammar::kPython ? tree_sitter_python() : tree_sitter_cuda();
}

struct Delete {
  void operator()(TSParser* parser) const { ts_parser_delete(parser); }
  void operator()(TSTree* tree) const { ts_tree_delete(tree); }
};

struct Reading {
  const std::string& text;
  ParseBudget* budget;
};

const char* ReadText(void* payload, uint32_t byte, TSPoint /*point*/, uint32_t* count) {
  const auto& reading = *static_cast<const Reading*>(payload);
  const size_t size = reading.text.size();
  reading.budget->Spend(0, kPiece);
  *count = byte < size ? std::min(kPiece, static_cast<uint32_t>(size) - byte) : 0;
  if (reading.budget->spent()) *count = 0;
  return *count > 0 ? reading.text.data() + byte : "";
}

bool GiveUp(TSParseState* state) {
  auto* budget = static_cast<ParseBudget*>(state->payload);
  budget->Spend(kStepsPerQuestion, 0);
  return budget->spent();
}

std::string_view View(const char* text) { return text == nullptr ? std::string_view() : std::string_view(text); }

}  // namespace

int64_t ProcessorTimeNs() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return now.tv_sec * 1'000'000'000 + now.tv_nsec;
}

ParseBudget::ParseBudget(size_t bytes)
    : steps_left_(std::max(kStepsAtLeast, kStepsPerByte * static_cast<int64_t>(bytes))),
      bytes_left_(std::max(kReadsAtLeast, kReadsPerByte * static_cast<int64_t>(bytes))),
      deadline_ns_(ProcessorTimeNs() + kProcessorTimeNs) {}

void ParseBudget::Spend(int64_t steps, int64_t bytes_read) {
  steps_left_ -= steps;
  bytes_left_ -= bytes_read;
  if (ProcessorTimeNs() > deadline_ns_) steps_left_ = -1;
}

bool ParseBudget::spent() const { return steps_left_ < 0 || bytes_left_ < 0; }

SyntaxTree::SyntaxTree(std::string text, Grammar grammar, ParseBudget* budget) : text_(std::move(text)) {
  if (text_.size() > kMaxAnalysedBytes) return;
  const std::unique_ptr<TSParser, Delete> parser(ts_parser_new());
  ts_parser_set_language(parser.get(), LanguageOf(grammar));
  Reading reading{text_, budget};
  const TSInput input = {&reading, ReadText, TSInputEncodingUTF8, nullptr};
  const TSParseOptions options = {budget, GiveUp};
  const std::unique_ptr<TSTree, Delete> tree(ts_parser_parse_with_options(parser.get(), nullptr, input, options));
  if (tree == nullptr || budget->spent()) return;
  Flatten(tree.get());
  complete_ = true;
}

void SyntaxTree::Flatten(const void* opaque) {
  TSTreeCursor cursor = ts_tree_cursor_new(ts_tree_root_node(static_cast<const TSTree*>(opaque)));
  struct Open {
    int node, last_child;
  };
  std::vector<Open> open;
  bool more = true;
  while (more) {
    const TSNode node = ts_tree_cursor_current_node(&cursor);
    SyntaxNode flat;
    flat.type = ts_node_type(node);
    flat.field = View(ts_tree_cursor_current_field_name(&cursor));
    flat.begin = ts_node_start_byte(node);
    flat.end = std::min<uint32_t>(ts_node_end_byte(node), static_cast<uint32_t>(text_.size()));
    flat.named = ts_node_is_named(node);
    const int index = size();
    if (!open.empty()) {
      flat.parent = open.back().node;
      (open.back().last_child < 0 ? nodes_[static_cast<size_t>(flat.parent)].first_child
                                  : nodes_[static_cast<size_t>(open.back().last_child)].next) = index;
      open.back().last_child = index;
    }
    nodes_.push_back(flat);
    if (ts_tree_cursor_goto_first_child(&cursor)) {
      open.push_back({index, -1});
      continue;
    }
    while (more && !ts_tree_cursor_goto_next_sibling(&cursor)) {
      more = ts_tree_cursor_goto_parent(&cursor);
      if (more) open.pop_back();
    }
  }
  ts_tree_cursor_delete(&cursor);
}

std::string_view SyntaxTree::Text(int index) const {
  if (index < 0) return {};
  const SyntaxNode& node = (*this)[index];
  return std::string_view(text_).substr(node.begin, node.end - node.begin);
}

int SyntaxTree::Child(int index, std::string_view field) const {
  if (index < 0) return -1;
  for (int child = (*this)[index].first_child; child >= 0; child = (*this)[child].next) {
    if ((*this)[child].field == field && !Is(child, "comment")) return child;
  }
  return -1;
}

std::vector<int> SyntaxTree::NamedChildren(int index) const {
  std::vector<int> children;
  if (index < 0) return children;
  for (int child = (*this)[index].first_child; child >= 0; child = (*this)[child].next) {
    if ((*this)[child].named && !Is(child, "comment")) children.push_back(child);
  }
  return children;
}

LineIndex::LineIndex(std::string_view text) : text_(text), starts_{0} {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n') starts_.push_back(i + 1);
  }
}

Place LineIndex::At(size_t byte) const {
  const auto after = std::upper_bound(starts_.begin(), starts_.end(), byte);
  const auto line = after - starts_.begin();
  return {static_cast<int>(line), static_cast<int>(byte - *(after - 1)) + 1};
}

std::string_view LineIndex::Line(int line) const {
  const size_t begin = starts_[static_cast<size_t>(line) - 1];
  const size_t end = text_.find('\n', begin);
  return text_.substr(begin, end == std::string_view::npos ? end : end - begin);
}

}  // namespace kb
