// How many invocations run at a time: per function with reserved concurrency, and together for all others.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "runtime/invoke/function.h"

namespace freshet {

// Loop thread only. Must outlive every place it gave.
class Places {
 public:
  // `freed` hears of every place that is given back; `reserved` says whether only that function gains by it.
  Places(int unreserved, std::function<void(const std::string& function, bool reserved)> freed)
      : unreserved_(unreserved), freed_(std::move(freed)) {}
  Places(const Places&) = delete;
  Places& operator=(const Places&) = delete;

  // One running invocation. Gives itself back on destruction. Movable.
  class Place {
   public:
    Place(Place&& other) noexcept
        : places_(std::exchange(other.places_, nullptr)), name_(std::move(other.name_)), reserved_(other.reserved_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (places_) places_->release(name_, reserved_);
    }

   private:
    friend class Places;
    Place(Places& places, std::string name, bool reserved)
        : places_(&places), name_(std::move(name)), reserved_(reserved) {}
    Places* places_;
    std::string name_;
    bool reserved_;
  };

  // Empty if the function is at its limit.
  std::optional<Place> take(const FunctionDefinition& function) {
    if (!has_room(function)) return std::nullopt;
    const bool reserved = function.reserved_concurrency.has_value();
    ++running_[function.name];
    ++total_;
    if (!reserved) ++unreserved_running_;
    return Place(*this, function.name, reserved);
  }
  bool has_room(const FunctionDefinition& function) const {
    if (!function.reserved_concurrency) return unreserved_running_ < unreserved_;
    return running(function.name) < *function.reserved_concurrency;
  }
  int running(const std::string& function) const {
    const auto found = running_.find(function);
    return found == running_.end() ? 0 : found->second;
  }
  int total() const { return total_; }

 private:
  void release(const std::string& function, bool reserved) {
    const auto found = running_.find(function);
    if (--found->second == 0) running_.erase(found);
    --total_;
    if (!reserved) --unreserved_running_;
    freed_(function, reserved);
  }

  const int unreserved_;
  const std::function<void(const std::string&, bool)> freed_;
  std::map<std::string, int> running_;
  int unreserved_running_ = 0;
  int total_ = 0;
};

}  // namespace freshet
