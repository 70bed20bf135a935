#include "runtime/recorder/recording_book.h"

#include <algorithm>

namespace freshet {
namespace {

// The clocks mostly drift apart by less within an hour; a longer drift is noted like a step.
constexpr milliseconds kStep{100};
// A queue may be opened before the first tick.
constexpr std::chrono::minutes kBeforeFirstTick{1};
constexpr size_t kMostSteps = 1'000;

int64_t ms_of(BootTime at) {
  return std::chrono::floor<milliseconds>(at.time_since_epoch()).count();
}

}  // namespace

void QueueRecording::add(const RecordedMove& move, BootTime now) {
  add(move, move.about ? &*move.about : nullptr, ms_of(now));
}

void QueueRecording::add(const RecordedMove& move, const RecordedTask* about, int64_t now_ms) {
  write(now_ms, about == nullptr ? kMostPlainBytes : most_bytes(*about),
        [&](char* at) { return encode(at, place_, now_ms, move, about); });
}

void QueueRecording::add(const RecordedLimits& limits, BootTime now) {
  write(ms_of(now), kMostPlainBytes, [&](char* at) { return encode(at, place_, ms_of(now), limits); });
}

void QueueRecording::add(const RecordedCount& count, BootTime now) {
  write(ms_of(now), kMostPlainBytes, [&](char* at) { return encode(at, place_, ms_of(now), count); });
}

void QueueRecording::add_clock_step(milliseconds step, BootTime now) {
  write(ms_of(now), kMostPlainBytes, [&](char* at) { return encode_step(at, place_, ms_of(now), step); });
}

void QueueRecording::begin_anew(BootTime now) {
  while (!chunks_.empty()) drop_oldest();
  ++first_chunk_;  // A position of before, even the end of an empty recording, is none of this one.
  dropped_events_ = UINT64_MAX;
  began_ = now;
  forgotten_until_.reset();
}

// It may be this queue that loses a chunk.
void QueueRecording::open_chunk(int64_t now_ms) {
  const size_t size = std::clamp(bytes_, kLeastChunk, std::min(kChunkBytes, book_.most_bytes_ / 8));
  book_.make_room(size);
  Chunk chunk;
  chunk.bytes = std::make_unique_for_overwrite<char[]>(size);
  chunk.size = size;
  chunk.next = chunk.bytes.get();
  chunk.end = chunk.next + size;
  chunk.began_ms = std::max(now_ms, place_.at_ms);
  chunk.last_ms = chunk.began_ms;
  place_ = {chunk.began_ms, 0};
  const bool ranked = !chunks_.empty();
  chunks_.push_back(std::move(chunk));
  open_ = &chunks_.back();
  bytes_ += size;
  book_.bytes_ += size;
  book_.rank(*this, ranked);
}

void QueueRecording::drop_oldest() {
  const Chunk& chunk = chunks_.front();
  forgotten_until_ = BootTime(milliseconds(chunk.last_ms));
  dropped_events_ = chunk.events;
  bytes_ -= chunk.size;
  book_.bytes_ -= chunk.size;
  chunks_.pop_front();
  if (chunks_.empty()) open_ = nullptr;
  ++first_chunk_;
  book_.rank(*this, true);
}

QueueRecording::Rank QueueRecording::rank_now() {
  return {bytes_, chunks_.front().last_ms, number_, this};
}

QueueRecording::Position QueueRecording::read(Position from, size_t most,
                                              const std::function<bool(const RecordedEvent&)>& visit) const {
  if (from.chunk < first_chunk_) from = {first_chunk_, 0};
  for (; from.chunk - first_chunk_ < chunks_.size(); from = {from.chunk + 1, 0}) {
    const Chunk& chunk = chunks_[from.chunk - first_chunk_];
    std::string_view bytes(chunk.bytes.get(), static_cast<size_t>(chunk.next - chunk.bytes.get()));
    CodecPlace place{chunk.began_ms, 0};
    for (uint64_t i = 0; i < chunk.events; ++i) {
      const RecordedEvent event = decode(bytes, place);
      if (i < from.event) continue;
      if (most == 0 || !visit(event)) return {from.chunk, i};
      --most;
    }
    if (&chunk == &chunks_.back()) return {from.chunk, chunk.events};
  }
  return from;
}

QueueRecording::Position QueueRecording::position_at(BootTime time) const {
  const auto chunk = std::partition_point(chunks_.begin(), chunks_.end(),
                                          [ms = ms_of(time)](const Chunk& one) { return one.last_ms < ms; });
  return chunk == chunks_.end() ? end() : Position{first_chunk_ + static_cast<uint64_t>(chunk - chunks_.begin()), 0};
}

QueueRecording::Position QueueRecording::end() const {
  if (chunks_.empty()) return {first_chunk_, 0};
  return {first_chunk_ + chunks_.size() - 1, chunks_.back().events};
}

RecordingBook::RecordingBook(size_t most_bytes, milliseconds most_age)
    : most_bytes_(std::max(most_bytes, QueueRecording::kChunkBytes)), most_age_(most_age) {}

QueueRecording& RecordingBook::of(std::string_view queue) {
  const auto known = queues_.find(queue);
  if (known != queues_.end()) return *known->second;
  auto made = std::make_unique<QueueRecording>(*this, queues_.size() + 1);
  return *queues_.emplace(std::string(queue), std::move(made)).first->second;
}

const QueueRecording* RecordingBook::find(std::string_view queue) const {
  const auto known = queues_.find(queue);
  return known == queues_.end() ? nullptr : known->second.get();
}

void RecordingBook::tick(WallTime wall, BootTime now) {
  const int64_t bound = ms_of(now) - most_age_.count();
  for (const auto& [name, queue] : queues_) {
    while (!queue->chunks_.empty() && queue->chunks_.front().last_ms < bound) queue->drop_oldest();
  }
  if (!first_tick_) first_tick_ = now;
  const milliseconds ahead(epoch_ms(wall) - ms_of(now));
  const milliseconds step = ahead - ahead_.value_or(ahead);
  if (ahead_ && step > -kStep && step < kStep) return;
  ahead_ = ahead;
  if (step == milliseconds(0)) return;
  steps_.push_back({now, step});
  if (steps_.size() > kMostSteps) steps_.pop_front();
  for (const auto& [name, queue] : queues_) {
    if (!queue->chunks_.empty()) queue->add_clock_step(step, now);
  }
}

WallTime RecordingBook::wall_of(BootTime at) const {
  return WallTime(milliseconds(ms_of(at)) + ahead_.value_or(milliseconds(0)));
}

BootTime RecordingBook::boot_of(WallTime at, BootTime now) const {
  milliseconds ahead = ahead_.value_or(milliseconds(0));
  const BootTime by_the_clock_of_now(at.time_since_epoch() - ahead);
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    const BootTime here(at.time_since_epoch() - ahead);
    if (here >= step->at && here <= now) return here;
    ahead -= step->by;
  }
  // A clock that was set back showed times that are still to come.
  const BootTime here(at.time_since_epoch() - ahead);
  const bool is_of_here = here + kBeforeFirstTick >= first_tick_.value_or(here);
  return is_of_here && here <= now && (steps_.empty() || here < steps_.front().at) ? here : by_the_clock_of_now;
}

void RecordingBook::make_room(size_t bytes) {
  while (bytes_ + bytes > most_bytes_ && !ranks_.empty()) {
    QueueRecording& queue = *ranks_.begin()->queue;
    // An only chunk may have got events since it was ranked. This happens at most once for each event.
    if (queue.rank_now().last_ms != queue.rank_.last_ms) {
      rank(queue, true);
    } else {
      queue.drop_oldest();
    }
  }
}

void RecordingBook::rank(QueueRecording& queue, bool is_ranked) {
  if (is_ranked) ranks_.erase(queue.rank_);
  if (queue.chunks_.empty()) return;
  queue.rank_ = queue.rank_now();
  ranks_.insert(queue.rank_);
}

}  // namespace freshet
