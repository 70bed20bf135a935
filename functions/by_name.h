// Owns objects and finds them by their names: the directories of queues and ordered writes. `T` has name(). Pointers
// stay valid until this is destroyed.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace freshet {

template <class T>
class ByName {
 public:
  // No other object may have its name.
  T* add(std::unique_ptr<T> one) {
    std::string name(one->name());
    const auto [at, is_new] = all_.emplace(std::move(name), std::move(one));
    FRESHET_CHECK(is_new, "a name is given once");
    return at->second.get();
  }
  // Null if there is none.
  T* find(std::string_view name) const {
    const auto found = all_.find(name);
    return found == all_.end() ? nullptr : found->second.get();
  }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const auto& [name, one] : all_) out.push_back(name);
    return out;
  }
  // Pairs of a name and its object, sorted by name.
  auto begin() const { return all_.begin(); }
  auto end() const { return all_.end(); }

 private:
  std::map<std::string, std::unique_ptr<T>, std::less<>> all_;
};

}  // namespace freshet
