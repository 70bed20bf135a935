// Functions that do tasks: which they are, and what their owner is told when one cannot start.
#include "functions/workers.h"

#include <gtest/gtest.h>

namespace freshet {
namespace {

FunctionDefinition processor(const std::string& name, const std::string& runner) {
  FunctionDefinition function;
  function.name = name;
  function.handler = "process_tasks";
  function.environment = {{"QUEUE_TABLE", "QueueTable"}, {"TASK_RUNNER", runner}};
  return function;
}

TEST(Workers, AreThoseThatProcessorsName) {
  FunctionDefinition other = processor("Other", "function:Nobody");
  other.handler = "trigger";
  FunctionDefinition outside = processor("Outside", "function:Nobody");
  outside.host = "process";
  FunctionDefinition wrong = processor("Wrong", "function:");
  const auto names = worker_functions({processor("A", "function:Send"), processor("B", "function:Mail:live"),
                                       processor("C", "function:Send"), processor("D", "none"),
                                       processor("E", "http://127.0.0.1:9/"), other, outside, wrong});
  EXPECT_EQ(names, (std::vector<std::string>{"Mail:live", "Send"}));
}

TEST(Workers, WhatKeepsOneFromStartingIsToldWithTheFix) {
  FunctionDefinition function;
  function.name = "HandlerFunction";
  function.handler = "send.main";
  function.code = "/srv/app";
  const auto trouble = [&](const char* type, const char* message) {
    return start_trouble(function, FunctionError{type, message, true});
  };
  EXPECT_EQ(trouble("Runtime.UserCodeSyntaxError", "Syntax error in module 'send': invalid syntax (send.py, line 3)"),
            "it cannot start, so that every attempt at a task fails: Syntax error in module 'send': invalid syntax "
            "(send.py, line 3). Mend the file: its handler is send.main (FILE.NAME), in /srv/app. Its next start reads "
            "the files anew");
  EXPECT_EQ(
      trouble("Runtime.HandlerNotFound", "Handler 'main' missing on module 'send'"),
      "it cannot start, so that every attempt at a task fails: Handler 'main' missing on module 'send'. Define it "
      "there, or name another one: its handler is send.main (FILE.NAME), in /srv/app. Its next start reads the "
      "files anew");
  EXPECT_EQ(
      trouble("Runtime.ImportModuleError", "Unable to import module 'send': No module named 'requests'"),
      "it cannot start, so that every attempt at a task fails: Unable to import module 'send': No module named "
      "'requests'. Install what is missing for its interpreter, or put it into the function's folder: its handler "
      "is send.main (FILE.NAME), in /srv/app. Its next start reads the files anew");
  EXPECT_EQ(
      trouble("Runtime.ExitError", "RequestId: 1-2 Error: Runtime exited with error: exit status 3"),
      "it cannot start, so that every attempt at a task fails: Runtime exited with error: exit status 3. See what "
      "it has logged: its handler is send.main (FILE.NAME), in /srv/app. Its next start reads the files anew");
  EXPECT_EQ(
      trouble("Runtime.UserCodeSyntaxError", "Unexpected token 'export' (send.js, line 1)"),
      "it cannot start, so that every attempt at a task fails: Unexpected token 'export' (send.js, line 1). Name an "
      "ES module FILE.mjs: its handler is send.main (FILE.NAME), in /srv/app. Its next start reads the files anew");
  EXPECT_EQ(trouble("Host.Unavailable", "programs cannot be run here"), "");
}

}  // namespace
}  // namespace freshet
