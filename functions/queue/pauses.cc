#include "functions/queue/pauses.h"

#include <algorithm>
#include <utility>

#include "base/log.h"

namespace freshet {

namespace {
constexpr std::string_view kOf = "of";
constexpr std::string_view kName = "name";
constexpr std::string_view kReason = "reason";
constexpr std::string_view kBy = "by";
constexpr std::string_view kSince = "since";
constexpr std::string_view kUntil = "until";

// To the second.
std::string time_text(WallTime time) {
  return iso8601(WallTime(std::chrono::floor<seconds>(time.time_since_epoch()))).substr(0, 19) + "Z";
}
}  // namespace

const Pauses::Entry* Pauses::entry(Pause::Of of, std::string_view name) const {
  if (of == Pause::Of::kQueue) return all_ ? &*all_ : nullptr;
  const Entries& entries = of == Pause::Of::kGroup ? groups_ : keys_;
  const auto it = entries.find(name);
  return it == entries.end() ? nullptr : &it->second;
}

template <class Visit>
void Pauses::each(Visit visit) const {
  if (all_) visit(*all_);
  for (const auto& [name, entry] : groups_) visit(entry);
  for (const auto& [name, entry] : keys_) visit(entry);
}

std::vector<std::string_view> Pauses::groups() const {
  std::vector<std::string_view> out;
  out.reserve(groups_.size());
  for (const auto& [name, entry] : groups_) out.emplace_back(name);
  return out;
}

const Pause* Pauses::find(Pause::Of of, std::string_view name) const {
  const Entry* found = entry(of, name);
  return found ? &found->pause : nullptr;
}

std::vector<Pause> Pauses::list() const {
  std::vector<Pause> out;
  each([&out](const Entry& entry) { out.push_back(entry.pause); });
  std::sort(out.begin(), out.end(),
            [](const Pause& a, const Pause& b) { return std::tie(a.of, a.name) < std::tie(b.of, b.name); });
  return out;
}

std::optional<int64_t> Pauses::slot_for(Pause::Of of, std::string_view name) const {
  if (const Entry* known = entry(of, name)) return known->slot;
  int64_t free = kLastSlot;
  for (auto it = slots_.rbegin(); it != slots_.rend() && it->first == free; ++it) --free;
  if (free < kFirstSlot) return std::nullopt;
  return free;
}

void Pauses::put(Pause pause, int64_t slot) {
  erase(pause.of, pause.name);
  slots_[slot] = true;
  ++count_;
  if (pause.of == Pause::Of::kQueue) {
    all_ = Entry{std::move(pause), slot};
    return;
  }
  Entries& entries = pause.of == Pause::Of::kGroup ? groups_ : keys_;
  std::string name = pause.name;
  entries[name] = Entry{std::move(pause), slot};
}

void Pauses::erase(Pause::Of of, std::string_view name) {
  const Entry* known = entry(of, name);
  if (known == nullptr) return;
  slots_.erase(known->slot);
  --count_;
  if (of == Pause::Of::kQueue) {
    all_.reset();
  } else {
    Entries& entries = of == Pause::Of::kGroup ? groups_ : keys_;
    entries.erase(entries.find(name));
  }
}

std::optional<WallTime> Pauses::next_end() const {
  std::optional<WallTime> out;
  each([&out](const Entry& entry) {
    const auto& until = entry.pause.until;
    if (until && (!out || *until < *out)) out = until;
  });
  return out;
}

std::vector<Pause> Pauses::ended(WallTime now) const {
  std::vector<Pause> out;
  each([&](const Entry& entry) {
    if (entry.pause.until && *entry.pause.until <= now) out.push_back(entry.pause);
  });
  return out;
}

Item pause_item(const Pause& pause) {
  Item item;
  item.set(kOf, Value(pause_kind_name(pause.of)));
  if (!pause.name.empty()) item.set(kName, Value(pause.name));
  if (!pause.reason.empty()) item.set(kReason, Value(pause.reason));
  if (!pause.by.empty()) item.set(kBy, Value(pause.by));
  item.set(kSince, Value::number(epoch_ms(pause.since)));
  if (pause.until) item.set(kUntil, Value::number(epoch_ms(*pause.until)));
  return item;
}

std::optional<Pause> pause_of(const ItemRef& stored) {
  const Item item = stored.decode();
  Pause out;
  const std::string of(item.string_or(kOf));
  if (of == pause_kind_name(Pause::Of::kGroup)) {
    out.of = Pause::Of::kGroup;
  } else if (of == pause_kind_name(Pause::Of::kKey)) {
    out.of = Pause::Of::kKey;
  } else if (of != pause_kind_name(Pause::Of::kQueue)) {
    return std::nullopt;
  }
  out.name = item.string_or(kName);
  out.reason = item.string_or(kReason);
  out.by = item.string_or(kBy);
  out.since = WallTime(milliseconds(item.int_or(kSince, 0)));
  if (const int64_t until = item.int_or(kUntil, 0); until > 0) out.until = WallTime(milliseconds(until));
  return out;
}

std::string pause_subject(Pause::Of of, std::string_view name, std::string_view queue) {
  const std::string whole = "queue '" + std::string(queue) + "'";
  if (of == Pause::Of::kQueue) return whole;
  return std::string(pause_kind_name(of)) + " '" + std::string(name) + "' of " + whole;
}

std::string pause_in_words(const Pause& pause) {
  std::string out = "since " + time_text(pause.since);
  if (pause.until) out += " until " + time_text(*pause.until);
  if (!pause.by.empty()) out += " by " + pause.by;
  if (!pause.reason.empty()) out += ": " + pause.reason;
  return out;
}

}  // namespace freshet
