// Programs that a test plays itself: what the host starts, asks and ends, without a process or a socket.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/invoke/process_host.h"
#include "runtime/loop/sim_loop.h"
#include "tables/engine/embedded.h"
#include "tests/sim/log_capture.h"

namespace freshet {

// One program that was started. The test calls the Runtime API for it.
struct PlayedProgram {
  ProcessSpec spec;
  ProgramWatcher* watcher = nullptr;
  RuntimeSession* session = nullptr;
  bool alive = true;
  int flushes = 0;  // Asked for and not yet told.
  std::optional<Async<Result<RuntimeEvent>>> asking;

  void ask() { asking.emplace(session->next()); }
  void break_off() { asking.reset(); }
  bool has_event() const { return asking && asking->is_ready(); }
  // The event that it was asked for.
  Result<RuntimeEvent> event() {
    Result<RuntimeEvent> event = asking->take();
    asking.reset();
    return event;
  }
  void write(const std::string& text) { watcher->on_output(OutputStream::kOutput, text, 0); }
  void exit(int status) {
    alive = false;
    ProcessResult result;
    result.exit_status = status;
    watcher->on_end(result);
  }
};

class PlayedSpawner final : public Spawner {
 public:
  explicit PlayedSpawner(Scheduler& scheduler) : scheduler_(scheduler) {}
  Async<Result<ProcessResult>> run(ProcessSpec) override {
    return Result<ProcessResult>(fail(ErrorCode::kUnavailable, "no such programs here"));
  }
  std::unique_ptr<Program> start(ProcessSpec spec, ProgramWatcher& watcher) override {
    auto program = std::make_shared<PlayedProgram>();
    program->session = doors[spec.environment["AWS_LAMBDA_RUNTIME_API"]];
    program->spec = std::move(spec);
    program->watcher = &watcher;
    programs.push_back(program);
    return std::make_unique<Handle>(*this, program);
  }

  std::map<std::string, RuntimeSession*> doors;  // By address.
  std::vector<std::shared_ptr<PlayedProgram>> programs;
  bool hold_output = false;  // True: on_flushed() does not come.

 private:
  struct Handle final : Program {
    Handle(PlayedSpawner& o, std::shared_ptr<PlayedProgram> p) : owner(o), program(std::move(p)) {}
    ~Handle() override { program->alive = false; }
    void flush() override {
      ++program->flushes;
      if (owner.hold_output) return;
      owner.scheduler_.post([p = program] {
        if (p->alive && std::exchange(p->flushes, 0) > 0) p->watcher->on_flushed();
      });
    }
    PlayedSpawner& owner;
    std::shared_ptr<PlayedProgram> program;
  };
  Scheduler& scheduler_;
};

class PlayedApi final : public RuntimeApi {
 public:
  explicit PlayedApi(PlayedSpawner& spawner) : spawner_(spawner) {}
  Result<std::unique_ptr<RuntimeDoor>> open(RuntimeSession& session) override {
    if (closed) return fail(ErrorCode::kIo, "no port is free");
    const std::string address = "127.0.0.1:" + std::to_string(++last_);
    spawner_.doors[address] = &session;
    return std::make_unique<Door>(address);
  }
  bool closed = false;

 private:
  struct Door final : RuntimeDoor {
    explicit Door(std::string a) : where(std::move(a)) {}
    const std::string& address() const override { return where; }
    const std::string where;
  };
  PlayedSpawner& spawner_;
  int last_ = 0;
};

}  // namespace freshet
