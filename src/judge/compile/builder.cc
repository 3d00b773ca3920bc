#include "judge/compile/builder.h"

#include "base/clock.h"
#include "base/hash.h"

namespace kb {

std::string BuildKey(const CompilerIdentity& compiler, const std::vector<std::string>& flags,
                     const std::vector<std::string>& contents) {
  Hasher hasher;
  hasher.Add("kernelbench build 1").Add(compiler.command).Add(compiler.version).Add(compiler.target);
  hasher.Add(std::to_string(flags.size()));
  for (const std::string& flag : flags) hasher.Add(flag);
  for (const std::string& text : contents) hasher.Add(text);
  return hasher.Hex();
}

Result<Builder> Builder::Create(const Installation& installation, const Sandbox* sandbox, uint64_t cache_bytes) {
  KB_ASSIGN_OR_RETURN(BuildCache cache, BuildCache::Open(BuildCache::DefaultDirectory(), cache_bytes));
  KB_ASSIGN_OR_RETURN(CompilerIdentity compiler, FindCompiler());
  KB_ASSIGN_OR_RETURN(std::string header, ReadFile(installation.include / "kernelbench" / "kernel.h"));
  return Builder(installation, sandbox, std::move(cache), std::move(compiler), std::move(header));
}

std::shared_ptr<std::mutex> Builder::InFlight::Of(const std::string& key) {
  const std::lock_guard lock(mutex);
  std::weak_ptr<std::mutex>& known = keys[key];
  std::shared_ptr<std::mutex> one = known.lock();
  if (!one) known = one = std::make_shared<std::mutex>();
  std::erase_if(keys, [](const auto& each) { return each.second.expired(); });
  return one;
}

Result<BuildResult> Builder::CompileCached(const std::string& key, const CompileJob& job, const std::string& compiler,
                                           Keep keep) const {
  if (auto found = cache_.Find(key)) return *found;
  const std::shared_ptr<std::mutex> mine = in_flight_->Of(key);
  const std::lock_guard one_at_a_time(*mine);
  if (auto found = cache_.Find(key)) return *found;
  KB_ASSIGN_OR_RETURN(Compiled compiled, Compile(*sandbox_, job));
  for (int again = 0; compiled.killed && again < 3; ++again) {  // may be no fault of the source; never kept
    KB_ASSIGN_OR_RETURN(compiled, Compile(*sandbox_, job));
  }
  BuildResult result;
  result.compiler = compiler;
  result.ok = compiled.ok;
  result.killed = compiled.killed;
  result.timed_out = compiled.timed_out;
  result.out_of_memory = compiled.out_of_memory;
  result.log = compiled.log;
  result.seconds = compiled.seconds;
  if (!result.ok && keep == Keep::kSuccess) return result;
  return cache_.Put(key, std::move(result), compiled.output);
}

Result<BuildResult> Builder::FirstCall(const CompileJob& job, const std::vector<std::string>& identity) const {
  return CompileCached(BuildKey(compiler_, job.argv, identity), job, "", Keep::kSuccess);
}

}  // namespace kb
