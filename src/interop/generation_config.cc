// The one place where YAML is read and written; yaml-cpp's exceptions stop here.

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <system_error>

#include "base/file.h"
#include "interop/candidates.h"
#include "interop/json_file.h"

namespace kb {

Result<GenerationConfig> ReadGenerationConfig(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return GenerationConfig();
  KB_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, size_t{1} << 20));
  try {
    const YAML::Node root = YAML::Load(text);
    GenerationConfig config;
    if (!root.IsMap()) return config;
    if (const YAML::Node model = root["model_name"]; model && model.IsScalar() && !model.Scalar().empty()) {
      config.model = model.Scalar();
    }
    if (const YAML::Node level = root["level"]; level && level.IsScalar()) config.level = ParseCount(level.Scalar());
    return config;
  } catch (const YAML::Exception& exception) {
    return Fail(ErrorCode::kUsage,
                fmt::format("{} is no YAML: {}; repair it or take it away", path.string(), exception.what()));
  }
}

std::string GenerationConfigText(const GenerationConfig& config) {
  YAML::Emitter text;
  text << YAML::BeginMap;
  if (config.model) text << YAML::Key << "model_name" << YAML::Value << YAML::DoubleQuoted << *config.model;
  if (config.level) text << YAML::Key << "level" << YAML::Value << *config.level;
  text << YAML::EndMap;
  return std::string(text.c_str()) + "\n";
}

}  // namespace kb
