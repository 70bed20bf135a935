#include "runtime/api/queue_admin.h"

namespace freshet {

std::string_view pause_kind_name(Pause::Of of) {
  switch (of) {
    case Pause::Of::kQueue:
      return "queue";
    case Pause::Of::kGroup:
      return "group";
    case Pause::Of::kKey:
      return "key";
  }
  return {};
}

std::string_view action_name(BulkInput::Action action) {
  switch (action) {
    case BulkInput::Action::kPurge:
      return "purge";
    case BulkInput::Action::kCancel:
      return "cancel";
    case BulkInput::Action::kRedrive:
      return "redrive";
    case BulkInput::Action::kRun:
      return "run";
    case BulkInput::Action::kDuplicate:
      return "duplicate";
  }
  return {};
}

std::optional<BulkInput::Action> action_named(std::string_view name) {
  using Action = BulkInput::Action;
  for (const auto action : {Action::kPurge, Action::kCancel, Action::kRedrive, Action::kRun, Action::kDuplicate}) {
    if (action_name(action) == name) return action;
  }
  return std::nullopt;
}

std::string_view phase_name(BulkJob::Phase phase) {
  switch (phase) {
    case BulkJob::Phase::kCounting:
      return "counting";
    case BulkJob::Phase::kChanging:
      return "changing";
    case BulkJob::Phase::kDone:
      return "done";
    case BulkJob::Phase::kStopped:
      return "stopped";
    case BulkJob::Phase::kFailed:
      return "failed";
    case BulkJob::Phase::kCutOff:
      return "cut off";
  }
  return {};
}

}  // namespace freshet
