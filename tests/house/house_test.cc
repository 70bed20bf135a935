// The rules on samples, so that we know they can fail; then on this repository.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/house/rules.h"
#include "tests/sim/source_dir.h"

namespace freshet::house {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(HouseRules, IncludesGoToTheLeft) {
  EXPECT_THAT(check_includes("tables/a.h", "#include \"base/result.h\"\n#include \"tables/b.h\"\n#include <map>\n"),
              IsEmpty());
  EXPECT_THAT(check_includes("tables/a.h", "\n#include \"streams/topics.h\"\n"),
              ElementsAre("tables/a.h:2: tables/ must not include \"streams/topics.h\""));
  EXPECT_EQ(check_includes("functions/a.cc", "#include \"wire/b.h\"\n").size(), 1u);
  EXPECT_EQ(check_includes("wire/a.cc", "  #  include \"functions/b.h\"\n").size(), 1u);
  EXPECT_EQ(check_includes("wire/a.cc", "#include \"app/b.h\"\n").size(), 1u);
  EXPECT_EQ(check_includes("app/a.cc", "#include \"tests/sim/sim_files.h\"\n").size(), 1u);
  EXPECT_THAT(check_includes("app/a.cc", "#include \"wire/b.h\"\n#include \"functions/b.h\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("tests/app/a.cc", "#include \"app/b.h\"\n#include \"tests/sim/c.h\"\n"), IsEmpty());
  EXPECT_THAT(check_includes("base/a.cc", "#include \"result.h\"\n"), ElementsAre(HasSubstr("repository's root")));
}

TEST(HouseRules, HeavyHeadersStayOutOfHeaders) {
  EXPECT_EQ(check_includes("wire/a.h", "#include <boost/beast.hpp>\n").size(), 1u);
  EXPECT_EQ(check_includes("wire/a.h", "#include <nlohmann/json.hpp>\n").size(), 1u);
  EXPECT_THAT(check_includes("wire/a.h", "#include <nlohmann/json_fwd.hpp>\n"), IsEmpty());
  EXPECT_THAT(check_includes("wire/a.cc", "#include <nlohmann/json.hpp>\n"), IsEmpty());
  EXPECT_THAT(check_includes("app/a.h", "#include <nlohmann/json.hpp>\n"), IsEmpty());
}

TEST(HouseRules, CommentsAndLiteralsAreNoCode) {
  EXPECT_EQ(code_only("a // {\nb"), "a     \nb");
  EXPECT_EQ(code_only("a /* {\n */ b"), "a     \n    b");
  EXPECT_EQ(code_only(R"(f("\"{", '{', '\'', 1'000);)"), R"(f(     ,    ,     , 1'000);)");
  EXPECT_EQ(code_only("R\"x(\")\" {)x\" + 1"), "             + 1");
}

TEST(HouseRules, FunctionsAreFoundByTheirBraces) {
  const auto found = functions(
      "namespace a {\n"                                // 1
      "#define BRACE {\n"                              // 2
      "constexpr int kTable[] = {\n1,\n2};\n"          // 3-5
      "template <class T>\n"                           // 6
      "struct S final : Base<T> {\n"                   // 7
      "  S() : a_{1}, b_(2) {\n  }\n"                  // 8-9
      "  int get() const { return a_; }\n"             // 10
      "  enum class E { kA, kB };\n"                   // 11
      "};\n"                                           // 12
      "template <class T>\n"                           // 13
      "Result<T>\nlong_one(T x) {\n"                   // 14-15
      "  if (x) { auto f = [] { return 1; }; }\n"      // 16
      "  // }\n"                                       // 17
      "}\n"                                            // 18
      "template <class In, R<int> (T::*kCall)(In)>\n"  // 19
      "class C final : public S<In> {\n"               // 20
      "  void f() {}\n"                                // 21
      "};\n"                                           // 22
      "}\n");
  std::vector<std::pair<int, int>> spans;
  for (const Function& function : found) spans.emplace_back(function.first_line, function.lines);
  // The constructor shows twice, once for the brace of its member.
  EXPECT_THAT(spans,
              ElementsAre(std::pair(8, 1), std::pair(8, 2), std::pair(10, 1), std::pair(13, 6), std::pair(21, 1)));
}

TEST(HouseRules, LongFilesAndFunctionsAreNamed) {
  std::string source = "void f() {\n";
  for (int i = 0; i < 68; ++i) source += "  g();\n";
  EXPECT_THAT(check_sizes("base/a.cc", source + "}\n"), IsEmpty());
  EXPECT_THAT(check_sizes("base/a.cc", "\n" + source + "  g();\n}\n"),
              ElementsAre("base/a.cc:2: the function has 71 lines, at most 70 are allowed"));
  EXPECT_THAT(check_sizes("base/a.cc", source + "  \"data\",\n  {\"x\", \"g();\"},\n}\n"), IsEmpty());
  EXPECT_EQ(check_sizes("base/a.cc", source + "  f(\"data\");\n}\n").size(), 1u);
  EXPECT_THAT(check_sizes("base/a.cc", std::string(600, '\n')), IsEmpty());
  EXPECT_THAT(check_sizes("base/a.cc", std::string(601, '\n')), ElementsAre(HasSubstr("601 lines")));
}

TEST(HouseRules, LooseEndsAndMachinePathsAreNamed) {
  EXPECT_EQ(check_words("a.md", std::string("x\n// TO") + "DO: later\n"),
            Complaints{"a.md:2: a loose end: finish it, or open an issue"});
  EXPECT_EQ(check_words("a.md", std::string("FIX") + "ME").size(), 1u);
  EXPECT_THAT(check_words("a.md", "a mastodon, /usr/bin/env, https://host/workers, ./work/x"), IsEmpty());
  for (const std::string path : {"/ho"
                                 "me/me/x",
                                 "\"/wo"
                                 "rk/x\"",
                                 "(/ro"
                                 "ot/x",
                                 "=/Us"
                                 "ers/x"}) {
    EXPECT_EQ(check_words("a.sh", path).size(), 1u) << path;
  }
}

TEST(HouseRules, TheWiringPageNamesNoFeature) {
  EXPECT_THAT(check_wiring("app/daemon/daemon.cc",
                           "#include \"wire/http/server.h\"\n#include \"app/daemon/module.h\"\nmodules_.begin();\n"),
              IsEmpty());
  EXPECT_EQ(check_wiring("a.cc", "#include \"functions/queue/queues.h\"\n").size(), 1u);
  EXPECT_EQ(check_wiring("a.cc", "#include \"wire/sns/sns_route.h\"\n").size(), 1u);
  EXPECT_EQ(check_wiring("a.cc", "#include \"app/daemon/modules.h\"\n").size(), 1u);
  EXPECT_EQ(check_wiring("a.cc", "std::unique_ptr<PriorityQueues> queues_;\n").size(), 1u);
  EXPECT_THAT(check_wiring("a.cc", std::string(299, '\n')), IsEmpty());
  EXPECT_THAT(check_wiring("a.cc", std::string(300, '\n')), ElementsAre(HasSubstr("300 lines")));
}

TEST(HouseRules, AModuleHasOneFeature) {
  EXPECT_THAT(check_module("a.cc", "#include \"functions/queue/a.h\"\n#include \"functions/queue/b.h\"\n"), IsEmpty());
  EXPECT_EQ(check_module("a.cc", "#include \"functions/queue/a.h\"\n#include \"functions/count/b.h\"\n").size(), 1u);
}

TEST(HouseRules, APartOfTheCoreOnlyDecides) {
  const std::string_view own = "functions/queue/core/keys.cc";
  EXPECT_THAT(check_core_part(own,
                              "#include \"functions/queue/core/keys.h\"\n#include \"tables/tables.h\"\n"
                              "#include \"functions/queue/core/wall_times.h\"\nEditItemInput write(BootTime now);\n"),
              IsEmpty());
  EXPECT_THAT(check_core_part(own, "// No Clock here.\n"), IsEmpty());
  EXPECT_EQ(check_core_part(own, "#include \"functions/queue/core/lanes.h\"\n").size(), 1u);
  const std::string_view piece = "#include \"functions/queue/core/lease_book.h\"\n";
  EXPECT_THAT(check_core_part("functions/queue/core/claims.h", piece), IsEmpty());
  EXPECT_EQ(check_core_part(own, piece).size(), 1u) << "a piece of claims";
  EXPECT_EQ(check_core_part(own, "Async<void> look();\n").size(), 1u);
  EXPECT_EQ(check_core_part(own, "Tables& tables_;\n").size(), 1u);
  EXPECT_EQ(check_core_part(own, "const Clock& clock_;\n").size(), 1u);
  EXPECT_EQ(check_core_part(own, "EventLog log_;\n").size(), 1u);
}

TEST(HouseRules, ClassesAreNamedWithTheirNamespaces) {
  EXPECT_THAT(classes("namespace freshet {\n\nclass A {\n  struct Inner {\n  };\n};\nstruct B final : public A {\n};\n"
                      "class Declared;\nnamespace {\nclass Hidden {\n};\n}  // namespace\n\n"
                      "template <class T>\nclass C {\n};\n}  // namespace freshet\n"),
              ElementsAre("freshet::A", "freshet::B", "freshet::C"));
  EXPECT_THAT(classes("namespace freshet::house {\nenum class Kind { kOne, kTwo };\n}  // namespace freshet::house\n"),
              ElementsAre("freshet::house::Kind"));
}

class Repository : public testing::Test {
 protected:
  using Check = Complaints (*)(std::string_view path, std::string_view text);

  // The complaints of the check about all files of these kinds.
  static std::string complaints(const std::vector<std::string>& extensions, Check check) {
    namespace fs = std::filesystem;
    static const std::array<std::string, 11> kFolders = {"base", "tables", "streams", "runtime", "functions", "wire",
                                                         "app",  "tests",  "bench",   "config",  "docs"};
    const fs::path root = source_dir();
    std::string all;
    const auto look_at = [&](const fs::path& file) {
      const std::string extension = file.extension().string();
      if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) return;
      std::ostringstream text;
      text << std::ifstream(file).rdbuf();
      for (const std::string& each : check(file.lexically_relative(root).string(), text.str())) all += each + "\n";
      ++files_seen_;
    };
    for (const auto& entry : fs::directory_iterator(root)) {
      if (entry.is_regular_file()) look_at(entry.path());
    }
    for (const std::string& folder : kFolders) {
      if (!fs::exists(root / folder)) continue;
      for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
        if (entry.path().string().find("node_modules") != std::string::npos) continue;
        if (entry.is_regular_file()) look_at(entry.path());
      }
    }
    return all;
  }
  static inline int files_seen_ = 0;
  static inline int pages_seen_ = 0;
  static inline int modules_seen_ = 0;
  static inline int parts_seen_ = 0;
};

const std::vector<std::string> kSources = {".h", ".cc"};

TEST_F(Repository, IncludesGoToTheLeft) {
  EXPECT_EQ(complaints(kSources, check_includes), "");
  EXPECT_GT(files_seen_, 50) << "the repository was not found";
}

TEST_F(Repository, TheWiringPageNamesNoFeature) {
  const auto only = [](std::string_view path, std::string_view text) {
    if (path == "app/daemon/daemon.cc") ++pages_seen_;
    if (path.starts_with("app/daemon/modules/")) {
      ++modules_seen_;
      return check_module(path, text);
    }
    return path == "app/daemon/daemon.cc" ? check_wiring(path, text) : Complaints();
  };
  EXPECT_EQ(complaints(kSources, only), "");
  EXPECT_EQ(pages_seen_, 1) << "the page was not found";
  EXPECT_GT(modules_seen_, 10) << "the modules were not found";
}

TEST_F(Repository, ThePartsOfTheQueuesCoreOnlyDecide) {
  const auto only = [](std::string_view path, std::string_view text) {
    if (!path.starts_with("functions/queue/core/")) return Complaints();
    ++parts_seen_;
    return check_core_part(path, text);
  };
  EXPECT_EQ(complaints(kSources, only), "");
  EXPECT_GT(parts_seen_, 10) << "the core was not found";
}

TEST_F(Repository, NoTwoFilesDefineOneClass) {
  static std::map<std::string, std::string> files;
  const auto defined_twice = [](std::string_view path, std::string_view text) {
    Complaints out;
    for (const std::string& name : classes(text)) {
      const auto [first, is_new] = files.emplace(name, path);
      if (!is_new) out.push_back(std::string(path) + ": " + name + " is defined in " + first->second + ", too");
    }
    return out;
  };
  EXPECT_EQ(complaints(kSources, defined_twice), "");
  EXPECT_GT(files.size(), 500u);
}

TEST_F(Repository, FilesAndFunctionsAreShort) {
  EXPECT_EQ(complaints(kSources, check_sizes), "");
}

TEST_F(Repository, NoLooseEndsAndNoMachinePaths) {
  const std::vector<std::string> texts = {".h",   ".cc",   ".md",   ".txt",     ".sh",   ".py",
                                          ".mjs", ".yaml", ".json", ".service", ".cmake"};
  EXPECT_EQ(complaints(texts, check_words), "");
}

TEST_F(Repository, EveryPackageHasItsReasonInThePageOfDependencies) {
  const std::filesystem::path root = source_dir();
  std::ostringstream readme;
  readme << std::ifstream(root / "README.md").rdbuf();
  EXPECT_THAT(readme.str(), HasSubstr("(docs/dependencies.md)"));
  std::ostringstream page;
  page << std::ifstream(root / "docs/dependencies.md").rdbuf();
  std::ifstream packages(root / "config/packages.txt");
  int seen = 0;
  for (std::string line; std::getline(packages, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string kind;
    std::string package;
    words >> kind >> package;
    EXPECT_THAT(page.str(), HasSubstr("`" + package + "`")) << "docs/dependencies.md gives no reason for it";
    ++seen;
  }
  EXPECT_GT(seen, 20) << "config/packages.txt was not found";
}

}  // namespace
}  // namespace freshet::house
