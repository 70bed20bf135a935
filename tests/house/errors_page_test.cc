// docs/errors.md lists every code that an own route can answer, and no other.
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/sim/source_dir.h"

namespace freshet::house {
namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(source_dir() + "/" + path);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_FALSE(text.str().empty()) << path;
  return text.str();
}

// The first group of each match.
std::set<std::string> found(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> all;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), expression); at != std::sregex_iterator(); ++at) {
    all.insert((*at)[1].str());
  }
  return all;
}

std::set<std::string> codes_of_sources() {
  std::set<std::string> all = found(text_of("base/result.cc"), R"re(return "(\w+)";)re");
  all.merge(found(text_of("wire/http/own_error.cc"), R"re(\{\d{3}, "\w+", "(\w+)"\})re"));
  all.merge(found(text_of("wire/auth/sigv4.cc"), R"re("(\w+Exception)")re"));
  all.merge(found(text_of("wire/auth/session_check.cc"), R"re("(\w+Exception)")re"));
  return all;
}

// The names in the first cells of the page's tables.
std::set<std::string> codes_of_page() {
  std::set<std::string> all;
  std::istringstream lines(text_of("docs/errors.md"));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    all.merge(found(line.substr(0, line.find('|', 1)), "`(\\w+)`"));
  }
  return all;
}

TEST(ErrorsPage, ListsEveryCodeOnce) {
  const auto sources = codes_of_sources();
  EXPECT_GT(sources.size(), 40u) << "the pattern finds too little";
  EXPECT_TRUE(sources.contains("MethodNotAllowedException") && sources.contains("NotFoundException") &&
              sources.contains("UnrecognizedClientException"));
  for (const std::string& code : sources) {
    EXPECT_TRUE(codes_of_page().contains(code)) << code << " is not explained in docs/errors.md";
  }
  for (const std::string& code : codes_of_page()) {
    EXPECT_TRUE(sources.contains(code)) << "docs/errors.md explains " << code << ", which nothing answers";
  }
}

}  // namespace
}  // namespace freshet::house
