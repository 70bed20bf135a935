// The parts of every fuzz target: an entry point for bytes, and the ways to report a wrong answer.
//
// One thread. An input gives the same run every time: clock and random numbers are simulated, nothing is kept between
// inputs. A fault ends the process (that is how libFuzzer and replay_main.cc find it).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace freshet::fuzz {

inline void require(bool holds, const char* what, std::string_view detail = "") {
  if (holds) return;
  std::fprintf(stderr, "fuzz: %s: %.*s\n", what, static_cast<int>(detail.size()), detail.data());
  std::abort();
}

// For people who look at one input: FRESHET_FUZZ_SHOW=1 prints what the target was answered.
inline void show(std::string_view what) {
  static const bool kShown = std::getenv("FRESHET_FUZZ_SHOW") != nullptr;
  if (kShown) std::fprintf(stderr, "%.*s\n", static_cast<int>(what.size()), what.data());
}

inline std::string_view as_text(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// The parts between separators; at least one.
inline std::vector<std::string_view> split(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  for (size_t found = text.find(separator); found != std::string_view::npos; found = text.find(separator)) {
    parts.push_back(text.substr(0, found));
    text.remove_prefix(found + separator.size());
  }
  parts.push_back(text);
  return parts;
}

}  // namespace freshet::fuzz
