// The text of a candidate that says it is a folder. Files that come out lie below the folder, and are that text again.

#include "base/result.h"
#include "fuzz_target.h"
#include "judge/candidate/folder.h"

namespace kb::fuzz {

std::vector<std::string> Seeds() {
  const FolderFiles small = {{"model_new.py", ""}};
  const FolderFiles several = {{"model_new.py", "import a\nclass ModelNew: pass\n"},
                               {"a.py", "x = 1\n"},
                               {"kernels/\xc3\xa9, 3 bytes.cu", "\n==> model_new.py, 3 bytes <==\n"},
                               {"kernels/deep/b.h", std::string(300, 'x')}};
  return {Pack(small).value(), Pack(several).value(), "class ModelNew: pass"};
}

}  // namespace kb::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto files = kb::Unpack(text);
  if (!files) return 0;
  KB_CHECK(kb::Pack(*files).value() == text && files->contains(kb::kFolderEntry));
  for (const auto& [path, contents] : *files) {
    const std::filesystem::path place(path);
    KB_CHECK(place.is_relative() && place.has_filename() && place.lexically_normal() == place);
    KB_CHECK(*place.begin() != "..");
  }
  return 0;
}
