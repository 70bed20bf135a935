// An access key that never changes.
#pragma once

#include <memory>
#include <utility>

#include "wire/store/access_keys.h"

namespace freshet::remote {

class FixedKey final : public AccessKeySource {
 public:
  explicit FixedKey(AccessKey key) : key_(std::move(key)) {}
  Async<Result<AccessKey>> current() override { return Result<AccessKey>(key_); }
  void refused(const AccessKey&) override {}

 private:
  const AccessKey key_;
};

inline std::unique_ptr<AccessKeySource> fixed_key(AccessKey key) {
  return std::make_unique<FixedKey>(std::move(key));
}

}  // namespace freshet::remote
