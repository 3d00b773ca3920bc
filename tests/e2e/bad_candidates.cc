#include "bad_candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "schema.h"

namespace kb::e2e {

using nlohmann::json;

std::string Native(const std::string& globals, const std::string& first) {
  std::string text = kReluNative;
  text.insert(text.find("  const float* x"), first + "\n");
  text.insert(text.find("int kb_forward"), globals + "\n");
  return "#include <cstdio>\n#include <cstdlib>\n#include <cstring>\n#include "
         "<new>\n#include <stdexcept>\n"
         "#include <unistd.h>\n#include <sys/socket.h>\n#include "
         "<sys/wait.h>\n#include <netinet/in.h>\n"
         "#include <dirent.h>\n#include <fcntl.h>\n" +
         text;
}

void ExpectVerdicts(const Ended& ended, const std::vector<BadCandidate>& candidates) {
  for (const BadCandidate& each : candidates) {
    SCOPED_TRACE(each.candidate);
    const json evaluation = ended.Of(std::filesystem::path(each.candidate).filename());
    if (evaluation.is_null()) continue;
    ExpectDocumented(evaluation);
    EXPECT_THAT(each.verdicts, testing::Contains(evaluation["verdict"]))
        << evaluation["reason"] << evaluation["evidence"];
    const std::string told = evaluation["reason"].get<std::string>() +
                             evaluation["evidence"].dump(-1, ' ', false, json::error_handler_t::replace);
    EXPECT_THAT(told, testing::HasSubstr(each.said));
  }
}

}  // namespace kb::e2e
