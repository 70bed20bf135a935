#include "functions/queue/shell/limit_work.h"

#include "functions/queue/attributes.h"
#include "functions/queue/shell/parts.h"

namespace freshet {

void LimitWork::begin() {
  core_.claims.on_group_change([this](std::string_view group, uint64_t tasks) {
    core_.lanes.shares().in_work(group, tasks);
    core_.limits.in_work_of_group(group, tasks, boot());
  });
  core_.claims.on_key_change([this](std::string_view key, uint64_t tasks) {
    core_.limits.in_work_of_key(key, tasks, boot());
    if (tasks == 0) parts_.keyed.key_freed(key);
  });
  core_.limits.on_change([this](std::string_view name, bool may_start) { limit_changed(name, may_start); });
  follow_limits(LimitSettings());
}

void LimitWork::limit_changed(std::string_view name, bool may_start) {
  const auto of = settings_.limits.by_key ? FairShares::Of::kKey : FairShares::Of::kGroup;
  if (!may_start) return core_.lanes.shares().hold(of, name);
  core_.lanes.shares().allow(of, name);
  parts_.takes.wake();
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(nanoseconds(0));
}

// The settings have changed. What is in flight counts; what was started under limits of another kind does not.
void LimitWork::follow_limits(const LimitSettings& before) {
  const auto change = core_.limits.compare(before);
  if (change.kind) {
    core_.limits.forget(boot());
    core_.lanes.shares().allow_all();
  }
  core_.limits.follow_names(boot());
  if (change.kind) {
    for (const auto& [group, tasks] : core_.claims.leases().by_group())
      core_.limits.in_work_of_group(group, tasks, boot());
    for (const auto& [key, tasks] : core_.claims.leases().by_key()) core_.limits.in_work_of_key(key, tasks, boot());
  }
  if (change.lanes && core_.agenda.begun()) scope_.spawn(parts_.adoption.adopt_all());
  if (!core_.agenda.begun()) return;
  parts_.timer.hurry(core_.limits.by_name().next_due());
  parts_.takes.wake_all();
  if (!core_.agenda.has_processor()) parts_.timer.start_soon(nanoseconds(0));
}

bool LimitWork::answered(const ItemRef& task, std::string_view lease, CallAnswer answer, const LimitHints& hints,
                         std::optional<double> cost) {
  if (!core_.limits.by_name().limits().learnt) return false;
  const Lease* held = core_.claims.leases().find(std::string(text_of(task, attribute::kId)));
  return core_.limits.answered(held, lease, answer, hints, cost, boot());
}

}  // namespace freshet
