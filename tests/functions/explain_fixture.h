// For tests of explain: what is said of a task, as a text.
#pragma once

#include "tests/functions/queue_fixture.h"

namespace freshet {

class ExplainTest : public QueueFixture {
 protected:
  Explanation explain(Queue& queue, const std::string& id) {
    auto out = world.wait(queue.explain(id));
    EXPECT_TRUE(out) << out.error().message;
    return out ? std::move(*out) : Explanation{};
  }
  static std::string all(const Explanation& explanation) {
    std::string out;
    for (const auto& why : sentences(explanation)) out += why + "\n";
    return out;
  }
  // The life of the task: "100 created, 150 taken: taken by w: attempt 1", times in ms since the start of the test.
  std::string life(const Explanation& explanation) const {
    std::string out;
    for (const auto& event : explanation.life) {
      if (!out.empty()) out += "; ";
      out += event.at ? std::to_string((*event.at - begun).count()) : "then";
      out += " " + event.what.code + ": " + event.what.message;
    }
    return out;
  }
  static std::string life_codes(const Explanation& explanation) {
    std::string out;
    for (const auto& event : explanation.life) out += (out.empty() ? "" : " ") + event.what.code;
    return out;
  }
  static std::string codes(const Explanation& explanation) {
    std::string out;
    for (const auto& reason : explanation.why) out += (out.empty() ? "" : " ") + reason.code;
    return out;
  }
  const WallTime begun = world.clock.wall();
  static std::string line(const Explanation& explanation, size_t i = 0) {
    if (i >= explanation.log.size()) return "none";
    const Item item = explanation.log[i].decode();
    return std::string(item.string_or("what")) + " " + std::string(item.string_or("policy")) + " " +
           std::string(item.string_or("reason")) + " " + std::string(item.string_or("by")) + " depth " +
           std::to_string(item.int_or("depth", -1));
  }
};

}  // namespace freshet
