// What does not change a verdict but a reader must know.
#ifndef BASE_NOTE_H_
#define BASE_NOTE_H_

#include <nlohmann/json.hpp>
#include <string>

namespace kb {

// `text` is for people and begins with a word for what it is about ("wide_interval: half-width 7%, ..."). `code` is one
// of eight, what that word belongs to. `values` are the numbers and names in the text.
struct Note {
  std::string code;
  nlohmann::json values = nlohmann::json::object();
  std::string text;
  bool operator==(const Note&) const = default;
  NLOHMANN_DEFINE_TYPE_INTRUSIVE(Note, code, values, text)
};

// The note with this text, whose code follows from its word; one that is not known is "problem", as a problem may say
// anything of itself.
Note MakeNote(std::string text, nlohmann::json values = nlohmann::json::object());

}  // namespace kb

#endif  // BASE_NOTE_H_
