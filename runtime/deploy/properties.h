// Reads the members of a resolved map by name and type, and keeps account: what nobody has read when the reader goes
// away is reported, so that nothing in a template is silently dropped.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/deploy/diagnostics.h"
#include "runtime/deploy/node.h"

namespace freshet {

// Lives shorter than the node and the diagnostics. A wrong type is an error in the diagnostics and reads as absent.
class Properties {
 public:
  // `node` may be null (an absent map).
  Properties(const Node* node, Where where, Diagnostics& diagnostics);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  // Whatever is left is an error: a name that is not known here, with a hint at the nearest that is.
  ~Properties();

  bool present() const { return node_ != nullptr; }
  int line() const { return node_ ? node_->line : 0; }
  const Where& where() const { return where_; }

  // The member, now read; null if absent or null.
  const Node* take(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);  // Reports when absent; then "".
  std::optional<int64_t> integer(std::string_view name, int64_t min, int64_t max);
  std::optional<bool> boolean(std::string_view name);
  // One of `allowed`.
  std::optional<std::string> choice(std::string_view name, const std::vector<std::string>& allowed);
  std::vector<std::string> texts(std::string_view name);
  std::map<std::string, std::string> text_map(std::string_view name);
  // Calls `read` with the members of the map, or of every map in the list. False if it is not there.
  bool in(std::string_view name, const std::function<void(Properties&)>& read);
  bool each(std::string_view name, const std::function<void(Properties&)>& read);
  // All members, now read, e.g. events by their names.
  void for_all(const std::function<void(const Member&)>& read);

  // Accepted without effect; each that is there becomes a warning that says so, and why.
  void no_effect(std::initializer_list<std::string_view> names, std::string_view why);
  // Accepted because it asks for what is so anyway, or only informs: no warning.
  void ignore(std::initializer_list<std::string_view> names);

  // At the member if it is there, else at the map.
  void error(std::string_view name, std::string message);
  void warn(std::string_view name, std::string message);

 private:
  const Node* node_;
  Where where_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> read_;
};

}  // namespace freshet
