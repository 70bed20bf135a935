#include "runtime/fleet/clock_check.h"

#include <chrono>

namespace freshet {

namespace {

milliseconds between(WallTime from, WallTime to) {
  return std::chrono::duration_cast<milliseconds>(to - from);
}

}  // namespace

void ClockCheck::saw(const MemberBeat& leader, WallTime begun, WallTime ended) {
  if (verdict_ == Verdict::kAgrees) return;
  if (leader.wall == WallTime{}) return leads();  // It is of a version without that: nothing can be compared.
  if (seen_ && seen_->life != leader.life) {
    seen_.reset();
    late_ = 0;
  }
  if (!seen_ || seen_->beat != leader.beat) compare(leader, begun, ended);
  seen_ = Seen{leader.life, leader.beat, begun};
}

void ClockCheck::compare(const MemberBeat& leader, WallTime begun, WallTime ended) {
  const milliseconds behind = between(ended, leader.wall);
  if (behind > kMostOff) {
    verdict_ = Verdict::kDiffers;
    off_ = -behind;
    late_ = 0;
    return;
  }
  if (!seen_) {
    const milliseconds age = between(leader.wall, begun);
    const bool is_frequent = leader.lease / 3 <= kMostOff;
    if (is_frequent && age >= milliseconds(0) && age <= kMostOff) verdict_ = Verdict::kAgrees;
    return;
  }
  const milliseconds ahead = between(leader.wall, seen_->begun);
  if (ahead <= kMostOff + between(begun, ended)) {  // The leader's write may take as long as this read.
    verdict_ = Verdict::kAgrees;
    return;
  }
  off_ = ahead;
  if (++late_ >= kLateBeats) verdict_ = Verdict::kDiffers;
}

}  // namespace freshet
