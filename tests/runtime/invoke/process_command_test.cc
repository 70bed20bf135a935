// Which program runs a function.
#include "runtime/invoke/process_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "base/check.h"

namespace freshet {
namespace {

// Interpreters in folders of this test's own; that of a version goes before the machine's usual one.
class InterpreterTest : public ::testing::Test {
 protected:
  InterpreterTest() {
    std::string name = testing::TempDir() + "freshet-path-XXXXXX";
    FRESHET_CHECK(mkdtemp(name.data()) != nullptr, "no folder");
    settings_.path = folder_ = name;
    function_.host = "process";
    function_.code = folder_;
  }
  ~InterpreterTest() override { std::filesystem::remove_all(folder_); }
  void install(const std::string& name) {
    std::filesystem::create_directories(std::filesystem::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n";
    std::filesystem::permissions(folder_ + "/" + name, std::filesystem::perms::owner_all);
  }
  std::string program(const std::string& runtime) {
    function_.runtime = runtime;
    const std::string path = process_spec(function_, settings_, "127.0.0.1:9").argv.at(0);
    return path.starts_with(folder_ + "/") ? path.substr(folder_.size() + 1) : path;
  }
  std::string advice(const std::string& runtime) {
    function_.runtime = runtime;
    return start_advice(function_, settings_);
  }

  std::string folder_;
  ProgramSettings settings_;
  FunctionDefinition function_;
};

TEST_F(InterpreterTest, OneThatWorksIsFoundForEveryRuntime) {
  install("python3.8");
  install("python3.13");
  install("python3.12");
  EXPECT_EQ(program("python3.9"), "python3.12") << "the next later one";
  EXPECT_EQ(program("python3.14"), "python3.13") << "an earlier one is better than none";
  install("python3");
  EXPECT_EQ(program("python3.9"), "python3");
  EXPECT_EQ(program("python3"), "python3");
  install("python3.9");
  EXPECT_EQ(program("python3.9"), "python3.9");
  install("nodejs");
  EXPECT_EQ(program("nodejs18.x"), "nodejs");
  install("node");
  EXPECT_EQ(program("nodejs18.x"), "node");
  install("node-18");
  EXPECT_EQ(program("nodejs18.x"), "node-18");
  for (const char* runtime : {"python3.9", "nodejs18.x"}) EXPECT_EQ(advice(runtime), "") << runtime;
  install("bootstrap");
  EXPECT_EQ(advice("provided.al2023"), "");
}

// A version manager has a file in `shims` for each program of each version, and starts only those that are chosen.
TEST_F(InterpreterTest, AShimStandsForTheProgramBehindIt) {
  for (const char* name : {"m/shims/python3", "m/shims/python3.9", "m/shims/python3.7", "bin/python3.8"}) install(name);
  settings_.path = folder_ + "/m/shims:" + folder_ + "/bin";
  EXPECT_EQ(program("python3.9"), "m/shims/python3") << "no version of 3.9 is there";
  EXPECT_EQ(program("python3.8"), "bin/python3.8");
  install("m/versions/3.9.9/bin/python3.9");
  EXPECT_EQ(program("python3.9"), "m/versions/3.9.9/bin/python3.9");
  install("m/versions/3.9.18/bin/python3.9");
  install("m/versions/3.11.7/bin/python3.11");
  EXPECT_EQ(program("python3.9"), "m/versions/3.9.18/bin/python3.9") << "the newest";
  install("m/installs/python/3.7.1/bin/python3.7");
  EXPECT_EQ(program("python3.7"), "m/installs/python/3.7.1/bin/python3.7");
  EXPECT_EQ(program("python3"), "m/shims/python3") << "the machine's usual one is the manager's choice";
}

TEST_F(InterpreterTest, OneThatIsMissingIsNamedWithWhatToDo) {
  EXPECT_EQ(program("python3.9"), "python3") << "what the system says about that is told as well";
  EXPECT_EQ(advice("python3.9"), "Runtime python3.9 needs python3.9 or another python3, and PATH (" + folder_ +
                                     ") has none. Install it (Debian: apt-get install python3), or add its folder to "
                                     "PATH, in the function's environment or the daemon's");
  EXPECT_THAT(advice("nodejs18.x"),
              testing::HasSubstr("Runtime nodejs18.x needs Node.js (node), and PATH (" + folder_));
  EXPECT_THAT(advice("nodejs18.x"), testing::HasSubstr("apt-get install nodejs"));
  EXPECT_EQ(advice("provided.al2023"), "Runtime provided.al2023 runs the program " + folder_ +
                                           "/bootstrap: put it there, and make it executable (chmod +x)");
  function_.environment["PATH"] = folder_ + "/bin:/nowhere";
  EXPECT_THAT(advice("python3.9"), testing::HasSubstr("PATH (" + folder_ + "/bin:/nowhere)")) << "the function's own";
}

}  // namespace
}  // namespace freshet
