// The decisions of one member of a fleet: when others count as dead, who leads, which units this member serves. A pure
// state machine over an explicit boottime, without store, timer or coroutine; Fleet (fleet.h) executes.
//
// Safety. A unit is served by one member at a time, because a member
// - writes that it holds the unit, then reads all members, and serves it only if no living member holds it, too (of two
//   that write at the same time, at least one sees the other);
// - counts another as dead only when it has not seen a new heartbeat for that member's whole lease, by its own clock;
// - stops by itself when its own last heartbeat that the store confirmed was sent two thirds of its lease ago.
//
// A unit that moves stays with its member until the member is done with it: it begins nothing more for the unit,
// finishes what is under way, and only then writes that it does not hold the unit any more.
//
// Clocks need not show the same time. Their speeds may differ by a third.
//
// Liveness. If the leader is dead, leaving or of an earlier life, the first living member by id takes the leadership;
// of those whose clocks have been found right, if there are any. If it has not done so one heartbeat later, any other
// member does. The leader writes the plan.
//
// A member that begins a new life keeps the units that the plan gives it, and serves them once its clock has been
// compared with the leader's. If it was the leader, it waits for a new one, so the others do not leave the lead to it.
// It cannot tell at once which of the others are dead. So the leader empties what those hold that it has found dead.
//
// Loop thread.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "tables/lease/fleet_items.h"

namespace freshet {

// The state of this member in the fleet.
enum class Membership {
  kJoined,
  kFenced,      // Its heartbeats do not reach the store. It serves nothing.
  kForgotten,   // Others removed it after a long silence: it must begin a new life.
  kSuperseded,  // Another daemon joined under its id: it serves nothing from now on.
};

class FleetCore {
 public:
  // `me`: the heartbeat that the store confirmed when the life began, sent at `sent`.
  FleetCore(MemberBeat me, BootTime sent);

  // The effects that a call asks for. Lists are sorted by name.
  struct Orders {
    std::vector<std::string> start;  // Serve these units from now on.
    std::vector<std::string> stop;   // Begin nothing more for these, at once. Call ended() when each is done.
    // Write this plan over that of version `plan_seen`.
    std::optional<FleetPlan> plan{};
    uint64_t plan_seen = 0;
    std::vector<MemberBeat> forget{};  // Members that have been silent for kForgetAfter.
    // Empty what these dead members hold, as two reads in a row have shown it. They stopped before they counted as
    // dead, and would write anew before they serve again.
    std::vector<MemberUnits> release{};
    bool look_again = false;  // Read the fleet again at once.
  };

  static constexpr seconds kForgetAfter{3600};

  // The units that this member can serve; nothing while it leaves.
  void serve(std::set<std::string> units);
  // False while this member's clock has not been found right: it leaves the lead to others for a lease.
  void accept(bool is_accepted) { is_accepted_ = is_accepted; }
  // Takes no more units and gives up those that it has.
  Orders leave();
  // Nothing is under way any more for a unit that was to stop.
  void ended(const std::string& unit);
  // How many tasks this member has in work of each queue that it does not serve any more. Those of a unit are stored
  // with the write that gives the unit up, or before.
  void set_left(std::map<std::string, uint64_t> left);

  // The next heartbeat to write.
  MemberBeat next_beat();
  // The store has confirmed a heartbeat that was sent at that time.
  void beat_confirmed(BootTime sent);
  // The units to write, as long as units_confirmed() has not been called for them.
  std::optional<MemberUnits> units_to_write() const;
  Orders units_confirmed(uint64_t rev, BootTime now);
  // `view` has all items, from a read that began at `begun`. A read that began before one that is known is ignored.
  Orders saw(const FleetView& view, BootTime begun, BootTime now);
  // Stops what must not be served any more. Call it at fence_at() at the latest.
  Orders at(BootTime now);

  BootTime fence_at() const { return fence_at_; }
  // The first time at which a read may find that a member is dead which counts as alive now.
  BootTime next_death() const;

  Membership membership() const { return membership_; }
  const MemberBeat& me() const { return me_; }
  bool leads() const;
  // The living member that leads; null if there is none. Valid until the next call of saw().
  const MemberBeat* leader() const;
  bool leaving() const { return me_.leaving; }
  // True if this member holds no unit, neither here nor in the stored item.
  bool has_let_go() const;
  bool is_serving(const std::string& unit) const;
  // True while others wait until this member has ended the unit.
  bool is_stopping(const std::string& unit) const;
  // The member that the plan names for the unit, while it lives; null: nobody at the moment. Valid until the next
  // call of saw().
  const MemberBeat* owner(const std::string& unit) const;
  const FleetView& view() const { return view_; }
  // How many tasks of the queue are still in work at other living members that served it before. As of the newest read.
  uint64_t left_elsewhere(const std::string& unit) const;
  // When the newest heartbeat of another member was first seen; the epoch if none was.
  BootTime last_seen(const std::string& member) const;
  BootTime read_begun() const { return read_begun_; }  // When the newest read began.
  size_t alive() const;                                // Members, this one included.
  // As of the newest read. False for members that are not known.
  bool is_alive(const std::string& member) const;

 private:
  enum class Hold { kWanted, kServing, kStopping };
  struct Held {
    Hold state = Hold::kWanted;
    uint64_t rev = 0;  // The revision of the stored units that first contains it.
  };
  struct Seen {
    uint64_t epoch = 0;
    uint64_t beat = 0;
    BootTime since{};  // When this heartbeat was first seen.
    milliseconds lease{0};
  };

  void observe(BootTime now);
  Membership membership_now(BootTime now) const;
  void end(Membership why, Orders& orders);
  void give_up(std::map<std::string, Held>::iterator held, Orders& orders);
  void follow_plan(Orders& orders);
  void begin_units(Orders& orders);
  void lead(Orders& orders, BootTime now);
  void release_left(Orders& orders);
  bool may_claim(BootTime now);
  bool is_accepted(const MemberBeat& member) const;
  bool is_another_accepted() const;
  bool is_held_by_another(const std::string& unit) const;
  bool may_have_units(const MemberBeat& member) const;
  std::map<std::string, std::set<std::string>> candidates() const;

  MemberBeat me_;
  std::map<std::string, uint64_t> in_work_;  // As set_left() says.
  Membership membership_ = Membership::kJoined;
  BootTime fence_at_;
  bool is_accepted_ = true;
  std::set<std::string> serves_;
  std::map<std::string, Held> held_;
  uint64_t units_rev_ = 1;
  uint64_t holds_rev_ = 0;  // That of the last change of what this member serves or holds.
  uint64_t confirmed_rev_ = 0;
  BootTime confirmed_at_{};  // When units of `confirmed_rev_` were confirmed.
  BootTime read_begun_{};    // When the newest read began.
  FleetView view_;
  std::map<std::string, Seen> seen_;
  std::map<std::string, MemberUnits> left_;  // By id: dead members as the read before showed them.
  std::optional<BootTime> leaderless_since_;
};

}  // namespace freshet
