// Agenda: when the queue's one timer fires, when it looks around, and when `Start` is published. Pure state: no store,
// clock, coroutine or log; the time is passed in. Loop thread.
//
// The timer starts a tick, which does what is due, in rounds, until nothing is. No work depends on an event alone:
// every LOOK_AROUND_MS the queue looks around for anything it missed. docs/lifecycle.md, "Wake-ups".
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace freshet {

class Agenda {
 public:
  Agenda() = default;
  Agenda(const Agenda&) = delete;
  Agenda& operator=(const Agenda&) = delete;

  // The timer runs from begin() to end(). After drain(), no `Start` is published. give_up() does both, because another
  // daemon serves the queue.
  void begin() { begun_ = true; }
  void end() { begun_ = false; }
  void drain() { draining_ = true; }
  void give_up() {
    given_up_ = draining_ = true;
    begun_ = false;
  }
  bool begun() const { return begun_; }
  bool draining() const { return draining_; }
  bool given_up() const { return given_up_; }

  // While a processor runs, it takes all tasks that come, so no `Start` is needed.
  void processor_began() { ++processors_; }
  void processor_ended() { --processors_; }
  bool has_processor() const { return processors_ > 0; }
  // The last processor had no task runner: workers pull.
  void set_pulled(bool pulled) { pulled_ = pulled; }
  bool is_pulled() const { return pulled_; }

  // The next look around comes at `when` at the latest.
  void look_by(BootTime when) { look_due_ = std::min(look_due_, when); }
  bool look_is_due(BootTime now) const { return now >= look_due_; }
  void look_began(BootTime now, milliseconds each) { look_due_ = now + each; }
  BootTime look_due() const { return look_due_; }

  // `Start` is to be published at `when` at the latest, if there is work and no processor. True if that is earlier than
  // before, so that the timer must be set anew.
  bool start_by(BootTime when);
  // True if `Start` is due. The caller publishes it, and it is no longer due.
  [[nodiscard]] bool take_start(BootTime now);
  bool start_is_planned() const { return start_due_ != BootTime::max(); }
  BootTime start_due() const { return start_due_; }

  // A tick consists of rounds. After each round, goes_on() says whether there is another.
  void tick_began() { ticking_ = true; }
  void round_began() { again_ = false; }
  void another_round() { again_ = true; }
  bool goes_on() const { return again_; }
  void tick_ended() { ticking_ = false; }
  bool is_ticking() const { return ticking_; }

  // Something is due at `when`. True if the timer has to be set anew for it. Not during a tick: if it is due now,
  // another round does it, and the end of the tick sets the timer.
  [[nodiscard]] bool hurry(BootTime when, BootTime now);
  // The timer should fire at `when`. True if it is not set to that time yet.
  [[nodiscard]] bool arm(BootTime when);
  void fired() { armed_ = false; }

  // True if a search of the whole table, for held tasks that are in no index, may begin now. It ends with
  // search_ended().
  [[nodiscard]] bool may_search(BootTime now);
  // The next search comes after a pause, or a multiple of the time that this one took.
  void search_ended(BootTime began, BootTime now);

 private:
  static constexpr milliseconds kSearchPause{60'000};
  static constexpr int kSearchShare = 100;

  bool begun_ = false;
  bool draining_ = false;
  bool given_up_ = false;
  int processors_ = 0;
  bool pulled_ = false;
  BootTime look_due_ = BootTime::max();
  BootTime start_due_ = BootTime::max();
  bool ticking_ = false;
  bool again_ = false;  // Something came during the tick.
  bool armed_ = false;
  BootTime armed_for_{};
  bool searching_ = false;
  BootTime search_due_{};
};

}  // namespace freshet
