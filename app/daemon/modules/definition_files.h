// Reads the files of an option that each define several things, like --priority-queue.
#pragma once

#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/text_file.h"

namespace freshet {

inline const std::string& name_in(const auto& definition) {
  if constexpr (requires { definition.settings.name; }) {
    return definition.settings.name;
  } else {
    return definition.name;
  }
}

// The definitions of all files, in order. kValidation names the option and the file; also for a name that two have.
template <class Definition>
Result<std::vector<Definition>> read_definition_files(const std::string& option, const std::vector<std::string>& files,
                                                      Result<std::vector<Definition>> (*read)(std::string_view)) {
  std::vector<Definition> all;
  std::map<std::string, std::string> file_of;  // By name.
  for (const auto& file : files) {
    auto text = read_text_file(file);
    if (!text) return invalid(option + ": " + text.error().message);
    auto definitions = read(*text);
    if (!definitions) {
      const std::string& why = definitions.error().message;
      const bool no_json = why.starts_with("malformed JSON");  // A template, it may be.
      return invalid(option + " " + file + ": " + why +
                     (no_json ? "; definitions are JSON, as in config/" + option.substr(2) + ".json" : ""));
    }
    for (const Definition& one : *definitions) {
      const auto [before, is_new] = file_of.emplace(name_in(one), file);
      if (is_new) continue;
      return invalid(option + " " + file + ": '" + name_in(one) + "' is defined " +
                     (before->second == file ? "twice" : "in " + before->second + ", too") +
                     ": give one of them another 'name'");
    }
    std::move(definitions->begin(), definitions->end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace freshet
