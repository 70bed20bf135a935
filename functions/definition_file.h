// The parts that definition files of priority queues, filtered queues and ordered writes have in common. Errors are
// kValidation, or kSerialization for a value of the wrong type; all name the member.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/api/json_members.h"

namespace freshet {

// Reads a member that is an object with these members, if it is there. Its first error is the whole's.
template <class Read>
void read_part(JsonMembers& whole, std::string_view name, std::initializer_list<std::string_view> known, Read read) {
  const auto json = whole.find(name);
  if (!json) return;
  JsonMembers part(*json, known);
  read(part);
  if (part.error()) whole.fail_with(*part.error());
}

inline void read_milliseconds(JsonMembers& members, std::string_view name, int64_t least, int64_t most,
                              milliseconds& into) {
  std::optional<milliseconds> time;
  members.duration(name, least, most, time);
  if (time) into = *time;
}

// `wanted`: for the message, as in "an array of strings".
inline void read_texts(JsonMembers& members, std::string_view name, const std::string& wanted,
                       std::vector<std::string>& into) {
  const auto json = members.find(name);
  if (!json) return;
  if (!json->is(JsonKind::kArray)) return members.refuse(*json, "must be " + wanted);
  for (const JsonView one : *json) {
    const auto text = text_in(one);
    if (!text) return members.fail_with(text.error());
    into.emplace_back(*text);
  }
}

template <class T, size_t n>
using WordsFor = std::array<std::pair<std::string_view, T>, n>;

// The value for which the member's word stands. "'ties' must be arrival or content".
template <class T, size_t n>
void read_word(JsonMembers& members, std::string_view name, const WordsFor<T, n>& words, T& into) {
  const auto json = members.find(name);
  std::string text;
  members.text(name, text);
  if (!json || members.error()) return;
  std::string all;
  for (size_t i = 0; i < n; ++i) {
    if (text == words[i].first) {
      into = words[i].second;
      return;
    }
    all += (i == 0 ? "" : i + 1 == n ? " or " : ", ") + std::string(words[i].first);
  }
  members.refuse(*json, "must be " + all);
}

// The elements of an array, each by `read`: at least one.
template <class Read>
auto read_each(const JsonView& array, Read read) {
  using One = typename decltype(read(array))::value_type;
  using All = Result<std::vector<One>>;
  std::vector<One> out;
  if (!array.is(JsonKind::kArray) || array.size() == 0) {
    return All(invalid("'" + array.path() + "' must be an array with at least one element"));
  }
  for (const JsonView one : array) {
    auto definition = read(one);
    if (!definition) return All(fail(definition.error()));
    out.push_back(std::move(*definition));
  }
  return All(std::move(out));
}

// A file with one definition, or with an array of them as its only member.
template <class Read>
auto read_one_or_each(const JsonView& root, std::string_view member, Read read) {
  using All = decltype(read_each(root, read));
  if (const auto array = root.find(member)) {
    // Keys beside these would apply to none of them.
    const JsonMembers file(root, {member});
    if (file.error()) return All(fail(*file.error()));
    return read_each(*array, read);
  }
  auto one = read(root);
  if (!one) return All(fail(one.error()));
  All out;
  out->push_back(std::move(*one));
  return out;
}

}  // namespace freshet
