// The lines of GET /queues/NAME/recording, each a JSON object with its line break. Pure; any thread.
#pragma once

#include <memory>
#include <string>

#include "runtime/api/task_queue.h"
#include "runtime/recorder/recorded_event.h"

namespace freshet {

struct RecordingHead {
  std::string queue;
  WallTime from{};                                      // The recording is complete from here
  WallTime to{};                                        // to here.
  bool forgot = false;                                  // Earlier events than `from` have been forgotten.
  std::shared_ptr<const QueuePolicy> policy = nullptr;  // In force at `from`.
};

void append_head(std::string& out, const RecordingHead& head);
void append_policy(std::string& out, const PolicyChange& change);
void append_pause(std::string& out, const PauseChange& change);
void append_event(std::string& out, WallTime at, const RecordedEvent& event);
// A task that waits at the end of the recording.
void append_waiting(std::string& out, WallTime at, uint64_t task, TaskStage stage, const RecordedTask& about);

}  // namespace freshet
