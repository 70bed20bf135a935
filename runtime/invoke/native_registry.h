// The compiled-in handlers, by name. The program's main part fills it before the runtime starts.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/invoke/function.h"

namespace freshet {

class NativeRegistry {
 public:
  // A later handler of the same name replaces an earlier one.
  void add(std::string name, NativeHandler handler) { handlers_[std::move(name)] = std::move(handler); }
  // Null if there is none. Valid as long as the registry.
  const NativeHandler* find(std::string_view name) const {
    const auto found = handlers_.find(name);
    return found == handlers_.end() ? nullptr : &found->second;
  }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& [name, handler] : handlers_) names.push_back(name);
    return names;
  }

 private:
  std::map<std::string, NativeHandler, std::less<>> handlers_;
};

}  // namespace freshet
