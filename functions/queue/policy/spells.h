// Bounces and refused creations come in large numbers: an outage of the runner bounces each task again and again, an
// overload refuses thousands per second. All events of the same policy belong to one spell, until a minute passes
// without another one. A spell is one line of the shed log, with a count. Pure state with an explicit now.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "functions/queue/shed_log.h"

namespace freshet {

struct Spell {
  ShedLine line;                   // That of the first event, with reason, state and age of the last.
  std::optional<uint64_t> number;  // The number of its line in the shed log, once it has one.
  BootTime last{};                 // The time of the last event.
  BootTime written{};
  size_t next_name = 0;  // Which of its names the next task replaces.
  bool changed = true;   // The line in the log is out of date.
  bool writing = false;
};

class Spells {
 public:
  static constexpr seconds kQuiet{60};   // A spell is over after this time without an event.
  static constexpr seconds kPause{1};    // The least time between two writes of a line.
  static constexpr size_t kNamed = 100;  // A line names the newest tasks, up to this number.

  void add(ShedLine line, BootTime now) {
    auto [at, is_new] = spells_.try_emplace(line.policy);
    auto& spell = at->second;
    if (is_new || now - spell.last > kQuiet) {
      begin(spell, std::move(line));
    } else {
      go_on(spell, std::move(line));
    }
    spell.last = now;
    spell.changed = true;
  }

  // The spells whose line must be written now; `all`: without the pause between two writes. The pointers stay valid
  // while `writing` is set.
  std::vector<Spell*> due(BootTime now, bool all) {
    std::vector<Spell*> out;
    std::erase_if(spells_, [now](const auto& entry) {
      const Spell& spell = entry.second;
      return !spell.changed && !spell.writing && now - spell.last > kQuiet;
    });
    for (auto& [policy, spell] : spells_) {
      const bool rests = spell.number && now - spell.written < kPause && !all;
      if (spell.changed && !spell.writing && !rests) out.push_back(&spell);
    }
    return out;
  }

 private:
  static void begin(Spell& spell, ShedLine line) {
    spell.line = std::move(line);
    spell.line.until = spell.line.at;
    if (!spell.line.task.empty()) spell.line.tasks = {spell.line.task};
    spell.number.reset();
    spell.next_name = 0;
  }

  static void go_on(Spell& spell, ShedLine line) {
    auto& known = spell.line;
    ++known.count;
    known.until = line.at;
    known.age = line.age;
    known.reason = std::move(line.reason);
    known.state = std::move(line.state);
    auto& tasks = known.tasks;
    // The same few tasks are bounced again and again; those refused differ, and are too many to compare.
    const bool is_named = known.what == "bounced" && std::find(tasks.begin(), tasks.end(), line.task) != tasks.end();
    if (line.task.empty() || is_named) return;
    if (tasks.size() < kNamed) {
      tasks.push_back(std::move(line.task));
    } else {
      tasks[spell.next_name++ % kNamed] = std::move(line.task);
    }
  }

  std::map<std::string, Spell, std::less<>> spells_;  // By policy.
};

}  // namespace freshet
