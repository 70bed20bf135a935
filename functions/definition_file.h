// The parts that definition files of priority queues, filtered queues and ordered writes have in common. Errors are
// kValidation, or kSerialization for a value of the wrong type; all name the member.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/api/json_members.h"

namespace freshet {

// A member of an object of the file: its name, and how to read its value into a T. An object has one list of its
// fields, in the order in which messages name them; it says which members are known, and reads them.
template <class T>
struct Field {
  std::string_view name;
  void (*read)(JsonMembers& members, std::string_view name, T& into);
};

// The first error, if there is one.
template <class T, size_t n>
std::optional<Error> read_fields(const JsonView& json, const Field<T> (&fields)[n], T& into) {
  std::array<std::string_view, n> known;
  for (size_t i = 0; i < n; ++i) known[i] = fields[i].name;
  JsonMembers members(json, known);
  for (const auto& field : fields) field.read(members, field.name, into);
  return members.error();
}

// Reads a member that is an object with these fields, if it is there. Its first error becomes the error of the whole
// object.
template <class T, size_t n>
void read_part(JsonMembers& whole, std::string_view name, const Field<T> (&fields)[n], T& into) {
  const auto json = whole.find(name);
  if (!json) return;
  if (auto error = read_fields(*json, fields, into)) whole.fail_with(std::move(*error));
}

inline void read_milliseconds(JsonMembers& members, std::string_view name, int64_t least, int64_t most,
                              milliseconds& into) {
  std::optional<milliseconds> time;
  members.duration(name, least, most, time);
  if (time) into = *time;
}

// `wanted` describes the value in the message, as in "an array of strings".
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

// Reads the value for which the member's word stands. The error is like "'ties' must be arrival or content".
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

// Readers of fields of the usual kinds. Use them as in {"name", text_field<&Settings::name>}.

template <auto member, class T>
void text_field(JsonMembers& members, std::string_view name, T& into) {
  members.text(name, into.*member);
}

template <auto member, class T>
void boolean_field(JsonMembers& members, std::string_view name, T& into) {
  members.boolean(name, into.*member);
}

template <auto member, int64_t least, int64_t most, class T>
void integer_field(JsonMembers& members, std::string_view name, T& into) {
  members.integer(name, least, most, into.*member);
}

// A number that may have a fraction.
template <auto member, int least, int most, class T>
void real_field(JsonMembers& members, std::string_view name, T& into) {
  members.real(name, least, most, into.*member);
}

template <auto member, int64_t least, int64_t most, class T>
void milliseconds_field(JsonMembers& members, std::string_view name, T& into) {
  read_milliseconds(members, name, least, most, into.*member);
}

template <auto member, class T>
void texts_field(JsonMembers& members, std::string_view name, T& into) {
  read_texts(members, name, "an array of strings", into.*member);
}

// One of `words`, a WordsFor.
template <auto member, const auto& words, class T>
void word_field(JsonMembers& members, std::string_view name, T& into) {
  read_word(members, name, words, into.*member);
}

// An object with `fields`.
template <auto member, const auto& fields, class T>
void part_field(JsonMembers& members, std::string_view name, T& into) {
  read_part(members, name, fields, into.*member);
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
