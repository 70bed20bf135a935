// What a template's author must or should know, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet {

struct Diagnostic {
  std::string file;
  int line = 0;          // 0: it is no line's fault, but that of an option that goes with the file.
  std::string resource;  // Logical id, or "Parameters", "Globals.Function", ...; empty for the whole template.
  std::string property;  // Dotted path below it; empty for the resource itself.
  std::string message;
  // "template.yaml:12: QueueTable.KeySchema: message"
  std::string to_string() const;
  bool operator==(const Diagnostic&) const = default;
};

// Text of a template within a message: cut to about `most` bytes and "...", and never within a character.
std::string shown(std::string_view text, size_t most = 100);

// Where in a template something is being read; for messages.
struct Where {
  std::string resource;
  std::string property;
  Where below(std::string_view name) const;
};

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}
  // The same text at the same line is kept once (properties of Globals are read for each function); the first 500 of
  // each are kept, and the length of each is bounded.
  void error(int line, const Where& where, std::string message) {
    ++told_;
    add(errors_, line, where, std::move(message));
  }
  void warn(int line, const Where& where, std::string message) { add(warnings_, line, where, std::move(message)); }

  const std::vector<Diagnostic>& errors() const { return errors_; }
  const std::vector<Diagnostic>& warnings() const { return warnings_; }
  bool failed() const { return !errors_.empty(); }
  // There are so many errors that looking for more is not worth the time.
  bool full() const { return told_ >= kMaxTold; }
  const std::string& file() const { return file_; }
  // kValidation with every error, a line each, in the order of the file.
  Error to_error() const;
  std::vector<Diagnostic> sorted_warnings() const;

 private:
  static constexpr size_t kMaxTold = 5'000;  // The most errors, counting repeated ones.
  void add(std::vector<Diagnostic>& to, int line, const Where& where, std::string message);
  std::string file_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  size_t told_ = 0;
  bool dropped_ = false;  // There were more than the bound.
};

// Guessing names is for templates of a person's size.
inline constexpr size_t kMaxCandidates = 500;

// " (did you mean 'X'?)" when one of `known` is close to `name`, or begins with it and '_'; else "". Makes no guess
// among more than kMaxCandidates names, or for a name that is too long.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

// The same, or if none is close the first of `known`: "; there are A, B and 49 others".
std::string nearest_or_all(std::string_view name, const std::vector<std::string>& known);

}  // namespace freshet
