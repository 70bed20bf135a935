// Errors and warnings for a template's author, each with its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace freshet {

struct Diagnostic {
  std::string file;
  int line = 0;          // 0: the fault is not in a line of the file, but in an option.
  std::string resource;  // Logical id, or "Parameters", "Globals.Function", ...; empty for the whole template.
  std::string property;  // The dotted path below the resource; empty for the resource itself.
  std::string message;
  // "template.yaml:12: QueueTable.KeySchema: message"
  std::string to_string() const;
  bool operator==(const Diagnostic&) const = default;
};

// Shortens a template's text for a message: cuts it after about `most` bytes with "...", never within a character.
std::string shown(std::string_view text, size_t most = 100);

// The place in a template that is being read; for messages.
struct Where {
  std::string resource;
  std::string property;
  Where below(std::string_view name) const;
};

class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}
  // An error or warning is kept once per line and text (properties of Globals are read for each function); the first
  // 500 of each are kept, and the length of each is bounded.
  void error(int line, const Where& where, std::string message) {
    ++reported_;
    add(errors_, line, where, std::move(message));
  }
  void warn(int line, const Where& where, std::string message) { add(warnings_, line, where, std::move(message)); }

  const std::vector<Diagnostic>& errors() const { return errors_; }
  const std::vector<Diagnostic>& warnings() const { return warnings_; }
  bool failed() const { return !errors_.empty(); }
  // True if there are so many errors that looking for more is not useful.
  bool full() const { return reported_ >= kMaxReported; }
  const std::string& file() const { return file_; }
  // kValidation with all errors, one per line, in the order of the file.
  Error to_error() const;
  std::vector<Diagnostic> sorted_warnings() const;

 private:
  static constexpr size_t kMaxReported = 5'000;  // The most errors, counting repeated ones.
  void add(std::vector<Diagnostic>& to, int line, const Where& where, std::string message);
  std::string file_;
  std::vector<Diagnostic> errors_;
  std::vector<Diagnostic> warnings_;
  size_t reported_ = 0;
  bool dropped_ = false;  // True if there were more errors than the bound.
};

// Names are guessed only among this many, so that a huge template costs no time.
inline constexpr size_t kMaxCandidates = 500;

// " (did you mean 'X'?)" if one of `known` is close to `name`, begins with it and '_' or '-', or is its beginning; else
// "". Makes no guess among more than kMaxCandidates names, or for a name that is too long.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

// The same, or if none is close, the first of `known`: "; there are A, B and 49 others".
std::string nearest_or_all(std::string_view name, const std::vector<std::string>& known);

}  // namespace freshet
