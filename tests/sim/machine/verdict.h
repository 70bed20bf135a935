// The first promise that was broken, if any. Judges write it, the machine stops at it.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>

namespace freshet::sim {

class Verdict {
 public:
  // `promise`: a few words that stay the same for the same kind of fault; `what`: this case of it. `what` may be a
  // function that makes the text, which is called only if the promise is broken: judges look millions of times.
  void broken(std::string_view promise, std::string_view what) {
    if (!promise_.empty()) return;
    promise_ = promise;
    what_ = what;
  }
  template <class What>
  void expect(bool holds, std::string_view promise, const What& what) {
    if (!data_is_lost_) insist(holds, promise, what);
  }
  // The same for a promise about the process and not its data, which holds even after data were lost.
  template <class What>
  void insist(bool holds, std::string_view promise, const What& what) {
    ++checks_;
    if (holds) return;
    if constexpr (std::invocable<const What&>) {
      broken(promise, what());
    } else {
      broken(promise, what);
    }
  }
  // Without syncs a power cut takes any part of the data: expect() judges nothing from now on.
  void end_of_data() { data_is_lost_ = true; }
  bool data_is_lost() const { return data_is_lost_; }
  bool is_broken() const { return !promise_.empty(); }
  const std::string& promise() const { return promise_; }
  const std::string& what() const { return what_; }
  uint64_t checks() const { return checks_; }

 private:
  std::string promise_;
  std::string what_;
  uint64_t checks_ = 0;
  bool data_is_lost_ = false;
};

}  // namespace freshet::sim
