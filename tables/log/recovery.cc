#include "tables/log/recovery.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <optional>

#include "base/points.h"
#include "tables/log/segment.h"

namespace freshet::log_detail {
namespace {

constexpr uint64_t kScanBytes = 256u << 10;
constexpr uint64_t kPageBytes = 4096;

bool all_zero(const char* bytes, size_t size) {
  return size == 0 || (bytes[0] == 0 && std::memcmp(bytes, bytes + 1, size - 1) == 0);
}

class Recovery {
 public:
  Recovery(Files& files, const RecoveryOptions& options, const BatchVisitor& replay)
      : files_(files), directory_(options.directory), options_(options), replay_(replay) {}

  Result<Recovered> run(const std::vector<std::string>& names);

 private:
  struct Candidate {
    SegmentHeader header;
    uint64_t file_bytes = 0;
  };

  Result<void> read_headers(const std::vector<std::string>& names);
  Result<void> read_header(uint32_t id);
  Result<void> give_up(uint32_t id, Error damage);
  Result<void> check_chain();
  Result<void> replay_all();
  Result<bool> replay_segment(size_t index);
  Result<void> check_empty(const std::vector<std::string>& names);
  Result<void> check_end();
  Result<void> check_sizes();
  Result<void> miss(std::string what);
  Result<void> scan_for_marks(uint32_t id, uint64_t offset);
  Result<void> look_for_marks(const char* bytes, uint64_t size, uint32_t id);
  Result<void> cut();
  Result<void> make_whole(Segment& segment);
  Result<void> clear_tail();
  Result<void> sync_kept();
  Result<void> write_again(File& file, uint64_t from, uint64_t to);

  std::string path(uint32_t id) const { return directory_ + "/" + segment_name(id); }
  void saw(LogPosition mark) { out_.durable = std::max(out_.durable, mark); }

  Files& files_;
  const std::string& directory_;
  const RecoveryOptions& options_;
  const BatchVisitor& replay_;

  std::map<uint32_t, Candidate> candidates_;  // Every segment file, then those of the chain.
  std::vector<uint32_t> leftovers_;           // Retired segments below a gap.
  Recovered out_;
  LogPosition end_;         // The end of the log: behind the last valid batch.
  uint64_t dirty_end_ = 0;  // Behind the last byte that is not zero in the segment of end_.
  uint64_t missing_bytes_ = 0;
  std::string buffer_;
};

Result<Recovered> Recovery::run(const std::vector<std::string>& names) {
  if (auto done = read_headers(names); !done) return fail(std::move(done.error()));
  if (candidates_.empty()) {
    if (auto done = check_empty(names); !done) return fail(std::move(done.error()));
    return std::move(out_);
  }
  if (auto done = check_chain(); !done) return fail(std::move(done.error()));
  if (auto done = replay_all(); !done) return fail(std::move(done.error()));
  if (auto done = check_end(); !done) return fail(std::move(done.error()));
  if (auto done = check_sizes(); !done) return fail(std::move(done.error()));
  if (auto done = cut(); !done) return fail(std::move(done.error()));
  if (auto done = sync_kept(); !done) return fail(std::move(done.error()));
  return std::move(out_);
}

Result<void> Recovery::read_headers(const std::vector<std::string>& names) {
  std::map<uint32_t, Error> damaged;
  for (const std::string& name : names) {
    const auto id = parse_segment_name(name);
    if (!id) continue;
    auto read = read_header(*id);
    if (read) continue;
    // A newer version explains what looks like damage elsewhere.
    if (read.error().code == ErrorCode::kUnsupportedFormat) return read;
    damaged.emplace(*id, std::move(read.error()));
  }
  for (auto& [id, damage] : damaged) {
    if (auto done = give_up(id, std::move(damage)); !done) return done;
  }
  return {};
}

// Even if a damaged segment is retired, there is still a log: nothing is replayed from it, and only streams lose
// records.
Result<void> Recovery::give_up(uint32_t id, Error damage) {
  const bool retired = damage.code == ErrorCode::kCorruption && !candidates_.empty() &&
                       id < candidates_.rbegin()->second.header.first_unretired;
  if (!retired) return fail(std::move(damage));
  leftovers_.push_back(id);
  return miss(damage.message + "; the segment is retired, so that it holds only records of streams");
}

Result<void> Recovery::read_header(uint32_t id) {
  auto file = files_.open(path(id), OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  std::string bytes(kSegmentHeaderBytes, '\0');
  const auto got = (*file)->read_at(0, bytes);
  if (!got) return fail(got.error());
  bytes.resize(*got);
  auto header = decode_segment_header(bytes, path(id));
  if (!header) return fail(std::move(header.error()));
  if (header->id != id) {
    return fail(ErrorCode::kCorruption, path(id) + ", offset 24: this is segment " + std::to_string(header->id) +
                                            " under another segment's name");
  }
  const auto size = (*file)->size();
  if (!size) return fail(size.error());
  saw(header->durable);
  candidates_.emplace(id, Candidate{*header, *size});
  return {};
}

// The newest segment names the first valid one; all from there on must exist, be neighbours and belong to one log.
Result<void> Recovery::check_chain() {
  const auto& [newest, last] = *candidates_.rbegin();
  out_.log_id = last.header.log_id;
  out_.first_unretired = last.header.first_unretired;
  if (out_.first_unretired == 0 || out_.first_unretired > newest) {
    return fail(ErrorCode::kCorruption, path(newest) + ", offset 28: the first unretired segment cannot be " +
                                            std::to_string(out_.first_unretired));
  }
  uint32_t oldest = newest;
  while (candidates_.contains(oldest - 1)) --oldest;
  if (oldest > out_.first_unretired) {
    return fail(ErrorCode::kCorruption, path(oldest - 1) + " is missing: the log begins in segment " +
                                            std::to_string(out_.first_unretired) + ", restore the file");
  }
  for (const auto& [id, candidate] : candidates_) {
    if (candidate.header.log_id != out_.log_id) {
      return fail(ErrorCode::kCorruption, path(id) + ", offset 16: the segment belongs to another log than " +
                                              segment_name(newest) + ", was it copied here?");
    }
    if (id < oldest) {
      leftovers_.push_back(id);
      continue;
    }
    if (id > oldest) out_.segments.back().bytes = candidate.header.previous_bytes;
    out_.segments.push_back({id, candidate.header.first_sequence, 0, candidate.file_bytes});
  }
  return {};
}

Result<void> Recovery::replay_all() {
  size_t index = out_.first_unretired - out_.segments.front().id;
  out_.last_sequence = out_.segments[index].first_sequence - 1;
  for (; index < out_.segments.size(); ++index) {
    const auto whole = replay_segment(index);
    if (!whole) return fail(whole.error());
    if (!*whole) return {};
  }
  return {};
}

// Returns true if the segment has everything that its successor says. Sets the end of the log to the position reached.
Result<bool> Recovery::replay_segment(size_t index) {
  Segment& segment = out_.segments[index];
  const bool last = index + 1 == out_.segments.size();
  const uint64_t limit = last ? segment.allocated : std::min(segment.bytes, segment.allocated);
  end_ = {segment.id, kSegmentHeaderBytes};
  auto file = files_.open(path(segment.id), OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  BatchReader reader(**file, out_.log_id, segment.id, limit, buffer_);
  while (true) {
    auto found = reader.at(end_.offset);
    if (!found) return fail(std::move(found.error()));
    if (!*found || (*found)->header.sequence != out_.last_sequence + 1) break;
    const BatchReader::Batch& batch = **found;
    const auto kind = static_cast<BatchKind>(batch.header.kind);
    if (kind != BatchKind::kCommit && kind != BatchKind::kMove) {
      return fail(ErrorCode::kUnsupportedFormat, path(segment.id) + ", offset " + std::to_string(end_.offset) +
                                                     ": unknown kind of batch " + std::to_string(batch.header.kind));
    }
    if (last && FRESHET_PLANTED("last-segment-half-read") && end_.offset > segment.allocated / 2) break;
    if (auto seen = replay_({kind, batch.header.sequence, end_, batch.payload}); !seen) {
      return fail(std::move(seen.error()));
    }
    saw(batch.header.durable);
    out_.last_sequence = batch.header.sequence;
    end_.offset = batch.end;
  }
  if (last) return false;
  return end_.offset == segment.bytes && out_.segments[index + 1].first_sequence == out_.last_sequence + 1;
}

Result<void> Recovery::check_end() {
  dirty_end_ = end_.offset;
  for (const Segment& segment : out_.segments) {
    if (segment.id < end_.segment) continue;
    const uint64_t from = segment.id == end_.segment ? end_.offset : kSegmentHeaderBytes;
    if (auto done = scan_for_marks(segment.id, from); !done) return done;
  }
  if (out_.durable <= end_ || FRESHET_PLANTED("damage-cut")) return {};
  return fail(ErrorCode::kCorruption,
              path(end_.segment) + ", offset " + std::to_string(end_.offset) + ": batch " +
                  std::to_string(out_.last_sequence + 1) + " is damaged or missing, though the log was durable up to " +
                  segment_name(out_.durable.segment) + ", offset " + std::to_string(out_.durable.offset) +
                  "; nothing was changed, restore the file from a copy");
}

// Only the first segment is made before it is durable, and for that one spare is enough.
Result<void> Recovery::check_empty(const std::vector<std::string>& names) {
  constexpr ptrdiff_t kSparesOfALog = 3;
  const auto starts_with = [](std::string_view prefix) {
    return [prefix](const std::string& name) { return name.starts_with(prefix); };
  };
  const bool had_a_log = std::any_of(names.begin(), names.end(), starts_with("trash-segment-")) ||
                         std::count_if(names.begin(), names.end(), starts_with("spare-")) >= kSparesOfALog;
  if (!had_a_log) return {};
  return miss(directory_ +
              " has no segment of the log, though its other files are those of a log: all of it is missing");
}

// A file gets its whole size before it becomes a segment. It is cut to its content only after the next segment has
// begun.
Result<void> Recovery::check_sizes() {
  std::string what;
  for (const Segment& segment : out_.segments) {
    const bool newest = &segment == &out_.segments.back();
    const uint64_t whole = newest ? candidates_.at(segment.id).header.allocated : segment.bytes;
    if (segment.allocated >= whole) continue;
    if (!what.empty()) what += "; ";
    if (newest && end_ == LogPosition{segment.id, segment.allocated}) {
      what += path(segment.id) +
              " is cut to what it holds, as is done when the next segment has begun: " + path(segment.id + 1) +
              " is missing";
      continue;
    }
    what += path(segment.id) + " has " + std::to_string(segment.allocated) + " bytes of " + std::to_string(whole) +
            ": " + std::to_string(whole - segment.allocated) + " bytes are missing";
    missing_bytes_ += whole - segment.allocated;
  }
  return what.empty() ? Result<void>{} : miss(std::move(what));
}

Result<void> Recovery::miss(std::string what) {
  if (options_.accept_loss) {
    out_.missing += (out_.missing.empty() ? "" : "; ") + what;
    return {};
  }
  return fail(ErrorCode::kCorruption, what +
                                          "; nothing was changed, restore the file from a copy, or start once with "
                                          "--accept-loss to go on with what is left");
}

// Collects the marks of all whole batch headers from `offset` on, at any position.
Result<void> Recovery::scan_for_marks(uint32_t id, uint64_t offset) {
  auto file = files_.open(path(id), OpenMode::kRead);
  if (!file) return fail(std::move(file.error()));
  if (buffer_.size() < kScanBytes) buffer_.resize(kScanBytes);
  while (true) {
    const auto got = (*file)->read_at(offset, std::span(buffer_.data(), kScanBytes));
    if (!got) return fail(got.error());
    for (uint64_t page = 0; page < *got; page += kPageBytes) {
      const uint64_t size = std::min(kPageBytes, *got - page);
      if (all_zero(buffer_.data() + page, size)) continue;
      if (id == end_.segment) dirty_end_ = std::max(dirty_end_, offset + page + size);
      // A header may reach into the next page.
      if (auto done = look_for_marks(buffer_.data() + page, std::min(size + kBatchHeaderBytes, *got - page), id); !done)
        return done;
    }
    if (*got < kScanBytes) return {};
    offset += kScanBytes - kBatchHeaderBytes;  // Overlaps, so that none is missed between two reads.
  }
}

Result<void> Recovery::look_for_marks(const char* bytes, uint64_t size, uint32_t id) {
  for (uint64_t at = 0; at + kBatchHeaderBytes <= size; at += 8) {
    const auto header = decode_batch_header(bytes + at, out_.log_id, id);
    if (header && header->sequence > out_.last_sequence) saw(header->durable);
  }
  return {};
}

Result<void> Recovery::cut() {
  out_.cut_bytes = dirty_end_ - end_.offset + missing_bytes_;
  for (const Segment& segment : out_.segments) {
    if (segment.id > end_.segment) out_.cut_bytes += segment.allocated;
  }
  // Removes them one by one from the newest, so that a crash here leaves no gap: the one before is then the newest. A
  // process that was killed here may have removed a newer one, and a power cut can bring that one back, but not the one
  // before it.
  if (out_.segments.back().id > end_.segment && !FRESHET_PLANTED("removals-of-before-not-synced")) {
    if (auto synced = files_.sync_directory(directory_); !synced) return synced;
  }
  while (out_.segments.back().id > end_.segment) {
    if (!FRESHET_PLANTED("removed-before-the-one-before-is-whole")) {
      if (auto done = make_whole(out_.segments.rbegin()[1]); !done) return done;
    }
    if (auto removed = files_.remove(path(out_.segments.back().id)); !removed) return removed;
    if (auto synced = files_.sync_directory(directory_); !synced) return synced;
    out_.segments.pop_back();
  }
  if (auto done = make_whole(out_.segments.back()); !done) return done;
  out_.segments.back().bytes = end_.offset;
  for (const uint32_t id : leftovers_) {
    if (auto removed = files_.remove(path(id)); !removed) return removed;
  }
  if (dirty_end_ > end_.offset) FRESHET_REACHED("torn tail cleared");
  return dirty_end_ > end_.offset && !FRESHET_PLANTED("torn-tail-left") ? clear_tail() : Result<void>{};
}

// A segment whose successor goes or is gone has been cut to what it holds. Restore its size before that, or the next
// start would report the end of the newest segment as missing. That takes no space.
Result<void> Recovery::make_whole(Segment& segment) {
  const uint64_t whole = candidates_.at(segment.id).header.allocated;
  if (segment.allocated >= whole) return {};
  auto file = files_.open(path(segment.id), OpenMode::kReadWrite);
  if (!file) return fail(std::move(file.error()));
  if (auto done = (*file)->truncate(whole); !done) return done;
  if (auto done = (*file)->sync(); !done) return done;
  segment.allocated = whole;
  return {};
}

// Writes zeros instead of truncating, so that the segment keeps its space on a full disk.
Result<void> Recovery::clear_tail() {
  auto file = files_.open(path(end_.segment), OpenMode::kReadWrite);
  if (!file) return fail(std::move(file.error()));
  const std::string zeros(kScanBytes, '\0');
  for (uint64_t at = end_.offset; at < dirty_end_; at += zeros.size()) {
    const uint64_t size = std::min<uint64_t>(zeros.size(), dirty_end_ - at);
    if (auto done = (*file)->write_at(at, std::string_view(zeros).substr(0, size)); !done) return done;
  }
  return {};
}

// Data that is not known to be durable may be only in the page cache. If the previous process has ended because a sync
// failed, the kernel considers those pages written although the disk does not have them: another sync would succeed and
// do nothing. Writing them again makes them dirty again.
Result<void> Recovery::sync_kept() {
  for (const Segment& segment : out_.segments) {
    if (segment.id < std::max(out_.durable.segment, out_.first_unretired) && segment.id != end_.segment) continue;
    auto file = files_.open(path(segment.id), OpenMode::kReadWrite);
    if (!file) return fail(std::move(file.error()));
    if (!FRESHET_PLANTED("page-cache-trusted")) {
      const uint64_t from = segment.id == out_.durable.segment ? out_.durable.offset : 0;
      const uint64_t to = segment.id == end_.segment ? end_.offset : segment.bytes;
      if (auto done = write_again(**file, from, to); !done) return done;
    }
    const auto done = FRESHET_PLANTED("recovered-log-not-synced") ? Result<void>{} : (*file)->sync();
    if (!done) return done;
  }
  out_.durable = end_;
  return files_.sync_directory(directory_);
}

Result<void> Recovery::write_again(File& file, uint64_t from, uint64_t to) {
  buffer_.resize(kScanBytes);
  while (from < to) {
    const size_t size = std::min<uint64_t>(buffer_.size(), to - from);
    const auto got = file.read_at(from, {buffer_.data(), size});
    if (!got) return fail(got.error());
    if (*got == 0) return {};
    if (auto done = file.write_at(from, {buffer_.data(), *got}); !done) return done;
    from += *got;
  }
  return {};
}

}  // namespace

Result<Recovered> recover(Files& files, const RecoveryOptions& options, const std::vector<std::string>& names,
                          const BatchVisitor& replay) {
  return Recovery(files, options, replay).run(names);
}

}  // namespace freshet::log_detail
