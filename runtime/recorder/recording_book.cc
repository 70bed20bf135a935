#include "runtime/recorder/recording_book.h"

#include <algorithm>

namespace freshet {
namespace {

// The clocks mostly drift apart by less within an hour; a longer drift is noted like a step.
constexpr milliseconds kStep{100};
constexpr size_t kMostSteps = 1'000;

int64_t ms_of(BootTime at) {
  return std::chrono::floor<milliseconds>(at.time_since_epoch()).count();
}

}  // namespace

void QueueRecording::add(const RecordedLimits& limits, BootTime now) {
  write(now, [&](char* at) { return encode(at, place_, now, limits); });
}

void QueueRecording::add(const RecordedCount& count, BootTime now) {
  write(now, [&](char* at) { return encode(at, place_, now, count); });
}

void QueueRecording::add_clock_step(milliseconds step, BootTime now) {
  write(now, [&](char* at) { return encode_step(at, place_, now, step); });
}

// It may be this queue that loses a chunk.
void QueueRecording::open_chunk(BootTime now) {
  book_.make_room();
  Chunk chunk;
  chunk.bytes = std::make_unique_for_overwrite<char[]>(kChunkBytes);
  chunk.began_ms = std::max(ms_of(now), place_.at_ms);
  place_ = {chunk.began_ms, 0};
  chunks_.push_back(std::move(chunk));
  ++book_.chunks_;
}

void QueueRecording::drop_oldest() {
  chunks_.pop_front();
  ++first_chunk_;
  --book_.chunks_;
}

QueueRecording::Place QueueRecording::read(Place from, size_t most,
                                           const std::function<bool(const RecordedEvent&)>& visit) const {
  if (from.chunk < first_chunk_) from = {first_chunk_, 0};
  for (; from.chunk - first_chunk_ < chunks_.size(); from = {from.chunk + 1, 0}) {
    const Chunk& chunk = chunks_[from.chunk - first_chunk_];
    std::string_view bytes(chunk.bytes.get(), chunk.used);
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

QueueRecording::Place QueueRecording::end() const {
  if (chunks_.empty()) return {first_chunk_, 0};
  return {first_chunk_ + chunks_.size() - 1, chunks_.back().events};
}

std::optional<BootTime> QueueRecording::oldest() const {
  if (chunks_.empty()) return std::nullopt;
  return BootTime(milliseconds(chunks_.front().began_ms));
}

RecordingBook::RecordingBook(size_t most_bytes, milliseconds most_age)
    : most_chunks_(std::max<size_t>(most_bytes / QueueRecording::kChunkBytes, 1)), most_age_(most_age) {}

QueueRecording& RecordingBook::of(std::string_view queue) {
  const auto known = queues_.find(queue);
  if (known != queues_.end()) return *known->second;
  return *queues_.emplace(std::string(queue), std::make_unique<QueueRecording>(*this)).first->second;
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

BootTime RecordingBook::boot_of(WallTime at) const {
  milliseconds ahead = ahead_.value_or(milliseconds(0));
  for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {
    if (BootTime(at.time_since_epoch() - ahead) >= step->at) break;
    ahead -= step->by;
  }
  return BootTime(at.time_since_epoch() - ahead);
}

void RecordingBook::make_room() {
  while (chunks_ >= most_chunks_) {
    const auto largest = std::max_element(queues_.begin(), queues_.end(), [](const auto& a, const auto& b) {
      return a.second->chunks() < b.second->chunks();
    });
    largest->second->drop_oldest();
  }
}

}  // namespace freshet
