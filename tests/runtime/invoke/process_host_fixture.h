// The process host over a store in memory, with programs that the test plays.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <vector>

#include "runtime/invoke/function_invoker.h"
#include "runtime/invoke/process_host.h"
#include "streams/system_table.h"
#include "tests/runtime/invoke/process_world.h"

namespace freshet {

class ProcessHostTest : public ::testing::Test {
 protected:
  ProcessHostTest() : spawner_(scheduler_), api_(spawner_), random_(1) {
    EmbeddedOptions options;
    options.directory = std::string(kMemoryDirectory);
    store_ = std::move(*open_embedded(nullptr, scheduler_, random_, options));
    scheduler_.add(*store_);
    functions_ = std::make_unique<FunctionRegistry>(*store_, scheduler_, natives_);
    function_.name = "Work";
    function_.host = "process";
    function_.runtime = "provided.al2023";
    function_.code = "/code";
    function_.handler = "index.handler";
    function_.timeout = seconds(3);
  }
  ~ProcessHostTest() override {
    running_.clear();
    host_.reset();
    scheduler_.remove(*store_);
  }

  void start(ProcessOptions options = {}, bool serve = true) {
    host_ = std::make_unique<ProcessHost>(
        ProcessHost::Parts{*store_, scheduler_, spawner_, &api_, options, EventLog(clock_, log_, LogLevel::kInfo),
                           [this](const std::string& folder) { left_.push_back(folder); }});
    ProgramSettings settings;
    settings.endpoint = "http://127.0.0.1:7070";
    if (serve) host_->serve(settings);
  }
  using Running = std::list<Async<InvokeOutcome>>::iterator;
  Running invoke(const FunctionDefinition& function, const std::string& id, bool wants_log = false,
                 bool ends_with_caller = false) {
    Invocation invocation;
    invocation.ends_with_caller = ends_with_caller;
    invocation.request_id = id;
    invocation.payload = Payload("{\"n\":\"" + id + "\"}");
    invocation.trace_id = "Root=1";
    invocation.wants_log = wants_log;
    running_.push_back(host_->invoke(function, std::move(invocation)));
    scheduler_.run_ready();
    return std::prev(running_.end());
  }
  Running invoke(const std::string& id) { return invoke(function_, id); }
  // Asks for a process without an event.
  Running make_ready() {
    Invocation only;
    only.request_id = "start";
    only.only_starts = true;
    running_.push_back(host_->invoke(function_, std::move(only)));
    scheduler_.run_ready();
    return std::prev(running_.end());
  }
  InvokeOutcome outcome(Running running) {
    scheduler_.run_ready();
    EXPECT_TRUE(running->is_ready()) << "it is not over";
    return running->is_ready() ? running->take() : InvokeOutcome{};
  }
  // The program asks, and does what it is then asked.
  void work(PlayedProgram& program, const std::string& result = "1") {
    if (!program.asking) program.ask();
    scheduler_.run_ready();
    ASSERT_TRUE(program.has_event());
    const auto event = program.event();
    ASSERT_TRUE(event) << event.error().message;
    ASSERT_TRUE(program.session->answer(event->request_id, {result, std::nullopt}));
    program.ask();
    scheduler_.run_ready();
  }
  // The first program has answered, and not asked for more.
  Running invoke_and_answer(const std::string& id) {
    const Running running = invoke(id);
    program(0).ask();
    scheduler_.run_ready();
    EXPECT_TRUE(program(0).session->answer(program(0).event()->request_id, {"1", std::nullopt}));
    return running;
  }
  // Over the host, with these functions.
  std::unique_ptr<FunctionInvoker> make_invoker(std::initializer_list<FunctionDefinition> functions) {
    const auto done = [&](Async<Result<void>> work) {
      scheduler_.run_ready();
      return work.is_ready() && work.take().has_value();
    };
    EXPECT_TRUE(done(ensure_system_table(*store_)));
    for (const FunctionDefinition& function : functions) EXPECT_TRUE(done(functions_->put(function)));
    return std::make_unique<FunctionInvoker>(FunctionInvoker::Parts{
        *store_, scheduler_, random_, *functions_, {{"process", host_.get()}}, {}, {}, {}, wall_});
  }
  PlayedProgram& program(size_t i) { return *spawner_.programs.at(i); }
  ProcessStats stats() { return host_->stats()["Work"]; }

  SimClock clock_{WallTime(milliseconds(1'800'000'000'000))};
  SimLoop scheduler_{clock_};
  PlayedSpawner spawner_;
  PlayedApi api_;
  Random random_;
  LogCapture log_;
  std::unique_ptr<EmbeddedTables> store_;
  NativeRegistry natives_;
  std::unique_ptr<FunctionRegistry> functions_;
  WallGuard wall_{clock_};
  FunctionDefinition function_;
  std::vector<std::string> left_;  // Folders of code that nothing runs from any more.
  std::unique_ptr<ProcessHost> host_;
  std::list<Async<InvokeOutcome>> running_;
};

}  // namespace freshet
