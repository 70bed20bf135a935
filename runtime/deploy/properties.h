// Reads the members of a resolved map by name and type. A member that was not read when the reader is destroyed is
// reported, so that no part of a template is silently ignored.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/deploy/diagnostics.h"
#include "runtime/deploy/node.h"

namespace freshet {

// Must not outlive the node and the diagnostics. A member of the wrong type is reported and reads as absent.
class Properties {
 public:
  // `node` may be null (an absent map).
  Properties(const Node* node, Where where, Diagnostics& diagnostics);
  Properties(const Properties&) = delete;
  Properties& operator=(const Properties&) = delete;
  // Reports each unread member as an unknown name, with a hint at the nearest known name.
  ~Properties();

  bool present() const { return node_ != nullptr; }
  int line() const { return node_ ? node_->line : 0; }
  const Where& where() const { return where_; }

  // Returns the member and marks it as read; null if it is absent or null.
  const Node* take(std::string_view name);
  std::optional<std::string> text(std::string_view name);
  std::string required_text(std::string_view name);  // Reports an absent member, and then returns "".
  std::optional<int64_t> integer(std::string_view name, int64_t min, int64_t max);
  std::optional<bool> boolean(std::string_view name);
  // The text, which must be one of `allowed`.
  std::optional<std::string> choice(std::string_view name, const std::vector<std::string>& allowed);
  std::vector<std::string> texts(std::string_view name);
  std::map<std::string, std::string> text_map(std::string_view name);
  // Calls `read` with the members of the map, or of every map in the list. Returns false if the member is absent.
  bool in(std::string_view name, const std::function<void(Properties&)>& read);
  bool each(std::string_view name, const std::function<void(Properties&)>& read);
  // Reads all members, e.g. events by their names.
  void for_all(const std::function<void(const Member&)>& read);

  // Accepts these members without effect; each that is present becomes a warning with the reason.
  void no_effect(std::initializer_list<std::string_view> names, std::string_view why);
  // Accepts these members without a warning: they ask for the default, or only inform.
  void ignore(std::initializer_list<std::string_view> names);

  // Reports an error at the member if it is present, else at the map.
  void error(std::string_view name, std::string message);
  void warn(std::string_view name, std::string message);
  // The member is required and absent. Reports that when the reader is destroyed, unless an unknown name is close to
  // it: then that name is misspelt, and its own error is enough.
  void missing(std::string_view name, std::string message);

 private:
  const Node* node_;
  Where where_;
  Diagnostics& diagnostics_;
  std::set<std::string, std::less<>> read_;
  std::vector<std::pair<std::string, std::string>> missing_;  // Name, message.
};

}  // namespace freshet
