// Jobs that change many tasks of a queue, for tests.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "functions/queue/bulk_jobs.h"
#include "tests/functions/queue_fixture.h"

namespace freshet {

class BulkFixture : public QueueFixture {
 protected:
  using Action = BulkInput::Action;

  Result<BulkJob> start(Queue& queue, BulkInput input) {
    return world.wait(queue.start_job(std::move(input), {"AKID", "127.0.0.1:4711", "r-1"}));
  }
  // The job once it has ended.
  BulkJob run(Queue& queue, BulkInput input) {
    auto job = start(queue, std::move(input));
    EXPECT_TRUE(job) << job.error().message;
    if (!job) return {};
    for (int i = 0; i < 100'000 && queue.job(job->id)->at_work(); ++i) world.pass(milliseconds(1));
    return *queue.job(job->id);
  }
  static BulkInput input(Action action, std::vector<std::string> states, TaskWhere where = {}) {
    BulkInput out;
    out.action = action;
    out.states = std::move(states);
    out.where = std::move(where);
    return out;
  }
  static std::string counts(const BulkJob& job) {
    return std::string(phase_name(job.phase)) + ": " + std::to_string(job.matched) + " matched, " +
           std::to_string(job.changed) + " changed, " + std::to_string(job.moved) + " moved, " +
           std::to_string(job.failed) + " failed";
  }
  void fill(Queue& queue, int from, int to, const std::string& group) {
    std::vector<NewTask> tasks;
    for (int i = from; i < to; ++i) {
      tasks.emplace_back();
      tasks.back().id = group + "-" + std::to_string(i);
      tasks.back().group = group;
    }
    for (auto& created : world.wait(queue.create(std::move(tasks)))) ASSERT_TRUE(created);
  }
  std::vector<std::string> audited() {
    std::vector<std::string> out;
    const std::string every;
    const auto lines = world.wait(world.queues->audit().newest(100, every));
    if (!lines) return {lines.error().message};
    for (const auto& line : *lines) {
      const Item item = line.decode();
      std::string text(item.string_or("what"));
      text.append(": ").append(item.string_or("detail"));
      out.push_back(std::move(text));
    }
    return out;
  }
};

}  // namespace freshet
