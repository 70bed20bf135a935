#include "functions/capture/capture_file.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "streams/shards/named_records.h"
#include "streams/stream_event.h"

namespace freshet {
namespace {

constexpr milliseconds kLookAgain{100};   // While an append is under way.
constexpr milliseconds kTryAgain{5'000};  // After an error.

Result<std::string> read_all(File& file) {
  auto size = file.size();
  if (!size) return fail(size.error());
  std::string text(*size, '\0');
  auto read = file.read_at(0, {text.data(), text.size()});
  if (!read) return fail(read.error());
  text.resize(*read);
  return text;
}

std::string line_of(const CaptureRecord& record, const StreamSource& source) {
  std::string line;
  if (record.name) {
    append_named_record(line, *record.record, source, *record.name);
  } else {
    append_stream_record(line, *record.record, source);
  }
  line += '\n';
  return line;
}

}  // namespace

// While an append is under way. A file whose end is not known is looked at again.
class CaptureFile::Use {
 public:
  explicit Use(CaptureFile& file) : file_(file) { file_.busy_ = true; }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  ~Use() {
    file_.busy_ = false;
    if (std::exchange(file_.torn_, false)) file_.file_.reset();
  }

 private:
  CaptureFile& file_;
};

CaptureFile::CaptureFile(CaptureFileParts parts, std::string directory, CaptureSeries series)
    : parts_(std::move(parts)), directory_(std::move(directory)), series_(std::move(series)) {}

CaptureFile::~CaptureFile() {
  parts_.scheduler.cancel(timer_);
}

Result<void> CaptureFile::take_over(CaptureLimits limits) {
  limits_ = limits;
  if (file_ || busy_ || rests_) return {};
  auto opened = open({});
  if (!opened) arm(kTryAgain);
  if (first_.empty()) close_empty();
  return opened;
}

// `first`: of the records that will come; empty: nothing is made where nothing is.
Result<void> CaptureFile::open(const CaptureNumber& first) {
  auto names = parts_.files.list(directory_);
  if (!names && first.empty()) return {};
  const std::string folder = directory_.substr(0, directory_.rfind('/'));
  if (!names) {
    // Only the table's folder is ours to make: where the folder itself is gone, its disk may be, and another one would
    // fill up in its place.
    if (auto there = parts_.files.list(folder); !there) {
      return fail(there.error().code, "the folder of captured changes cannot be read: " + there.error().message +
                                          ". Put it back; is its disk mounted?");
    }
    auto made = parts_.files.create_directories(directory_);
    if (!made) return made;
    names.emplace();
  }
  // It is not known what an earlier process synced.
  auto synced = parts_.files.sync_directory(folder);
  if (synced) synced = parts_.files.sync_directory(directory_);
  if (!synced) return synced;
  std::vector<CaptureName> open_ones;
  last_.clear();
  for (const std::string& text : *names) {
    auto name = parse_capture_name(text);
    if (!name || name->series != series_) continue;
    if (name->last) {
      last_ = std::max(last_, *name->last);
    } else {
      open_ones.push_back(std::move(*name));
    }
  }
  if (open_ones.empty()) {
    if (first.empty()) return {};
    return open_new(last_.empty() ? first : number_after(last_));
  }
  for (const CaptureName& part : open_ones) {
    const bool newest = &part == &open_ones.back();
    if (auto gone_on = go_on(part, newest); !gone_on) {
      file_.reset();
      return gone_on;
    }
  }
  return {};
}

Result<void> CaptureFile::open_new(const CaptureNumber& first) {
  const CaptureName name{series_, first, std::nullopt};
  auto file = parts_.files.open(path(name), OpenMode::kCreate);
  if (!file) return fail(file.error());
  if (auto synced = parts_.files.sync_directory(directory_); !synced) return synced;
  file_ = std::move(*file);
  part_ = name;
  size_ = 0;
  first_.clear();
  last_ = std::max(last_, number_before(first));
  return {};
}

// The lines that are there are written anew: of another process's file, or after a sync that failed, nobody can tell
// what is on the disk. A file that is not the newest was being finished.
Result<void> CaptureFile::go_on(const CaptureName& part, bool newest) {
  auto old = parts_.files.open(path(part), OpenMode::kRead);
  if (!old) return fail(old.error());
  auto text = read_all(**old);
  if (!text) return fail(text.error());
  const GoodLines good = good_lines(*text, series_.is_shard());
  if (good.bytes < text->size()) {
    parts_.log.warn("CAPTURE_MENDED", {{"file", path(part)}, {"cutBytes", text->size() - good.bytes}});
  }
  auto file = replace(path(part), std::string_view(*text).substr(0, good.bytes));
  if (!file) return fail(file.error());
  last_ = std::max({last_, number_before(part.first), good.last});
  if (newest) {
    file_ = std::move(*file);
    part_ = part;
    size_ = good.bytes;
    first_ = good.first;
    if (first_.empty()) return {};
    gaps_ = good.gaps;
    arm(limits_.age);
    return {};
  }
  file->reset();
  if (!good.first.empty()) return rename_finished(part, good.first, good.last);
  if (auto removed = parts_.files.remove(path(part)); !removed) return removed;
  return parts_.files.sync_directory(directory_);
}

Result<std::unique_ptr<File>> CaptureFile::replace(const std::string& path, std::string_view content) {
  const std::string copy = path + ".new";
  (void)parts_.files.remove(copy);  // An earlier attempt that was cut off left it.
  auto file = parts_.files.open(copy, OpenMode::kCreate);
  if (!file) return file;
  auto done = (*file)->write_at(0, content);
  if (done) done = (*file)->sync();
  if (done) done = parts_.files.rename(copy, path);
  if (done) done = parts_.files.sync_directory(directory_);
  if (done) return file;
  (void)parts_.files.remove(copy);  // Gives its space back.
  return fail(done.error());
}

Result<void> CaptureFile::rename_finished(const CaptureName& part, CaptureNumber first, CaptureNumber last) {
  const CaptureName finished{series_, std::move(first), std::move(last)};
  if (auto renamed = parts_.files.rename(path(part), path(finished)); !renamed) return renamed;
  if (auto synced = parts_.files.sync_directory(directory_); !synced) return synced;
  parts_.on_finished(to_string(finished));
  return {};
}

Async<Result<Appended>> CaptureFile::append(std::vector<CaptureRecord> records, const StreamSource& source,
                                            CaptureLimits limits) {
  if (busy_)
    co_return fail(ErrorCode::kConflict, "another invocation writes to " + directory_ + "; this is tried again");
  limits_ = limits;
  const Use use(*this);
  if (auto opened = open_for(records.front().number); !opened) co_return fail(opened.error());
  Appended out;
  Lines lines;
  for (const CaptureRecord& record : records) {
    const CaptureNumber before = std::max(last_, lines.last);
    const auto written = is_written(record, before);
    if (!written) co_return fail(written.error());
    if (*written) {
      ++out.seen_before;
      continue;
    }
    note_gap(before, record);
    const std::string line = line_of(record, source);
    const uint64_t so_far = size_ + lines.text.size();
    if (so_far > 0 && so_far + line.size() > limits.bytes) {
      out.written += lines.count;
      Lines full = std::exchange(lines, Lines());
      auto flushed = co_await flush(std::move(full));
      if (flushed) flushed = finish();
      if (!flushed) co_return fail(flushed.error());
    }
    if (lines.first.empty()) lines.first = record.number;
    lines.last = record.number;
    lines.text += line;
    ++lines.count;
  }
  out.written += lines.count;
  auto flushed = co_await flush(std::move(lines));
  if (flushed && size_ >= limits.bytes) flushed = finish();
  if (!flushed) co_return fail(flushed.error());
  co_return out;
}

Result<bool> CaptureFile::is_written(const CaptureRecord& record, const CaptureNumber& last) const {
  if (record.number > last) return false;
  if (series_.is_shard() || !gaps_.has(record.record->sequence)) return true;
  return invalid("capture_changes needs the records in order, and " + record.number + " came behind " + last +
                 ": the ParallelizationFactor of its event source mapping must be 1");
}

void CaptureFile::note_gap(const CaptureNumber& before, const CaptureRecord& record) {
  if (series_.is_shard() || before.empty()) return;
  if (const auto last = parse_sequence_number(before); last && *last > 0) gaps_.add(*last, record.record->sequence);
}

Async<Result<void>> CaptureFile::flush(Lines lines) {
  if (lines.count == 0) co_return Result<void>();
  torn_ = true;
  auto written = file_->write_at(size_, lines.text);
  if (!written) {
    // Gives back the space of a full disk. The file may be finished next: what was cut must not come back.
    auto cut = file_->truncate(size_);
    if (cut) cut = file_->sync();
    torn_ = !cut;
    co_return written;
  }
  written = co_await parts_.sync.run(*file_);
  if (!written) co_return written;
  // Lines of a file that somebody has taken away meanwhile are nowhere.
  if (auto there = parts_.files.open(path(part_), OpenMode::kRead); !there) co_return fail(there.error());
  torn_ = false;
  if (first_.empty()) {
    first_ = lines.first;
    arm(limits_.age);
  }
  size_ += lines.text.size();
  last_ = lines.last;
  co_return written;
}

// The next file is there first: at no moment is it unknown what was written.
Result<void> CaptureFile::finish() {
  const CaptureName done = part_;
  const CaptureNumber first = first_;
  file_.reset();
  if (auto next = open_new(number_after(last_)); !next) return next;
  parts_.scheduler.cancel(std::exchange(timer_, 0));
  if (auto renamed = rename_finished(done, first, last_); !renamed) {
    file_.reset();
    return renamed;
  }
  arm(limits_.age);
  return {};
}

// Ready for lines. Those of a file that rests are all durable: it needs a descriptor only.
Result<void> CaptureFile::open_for(const CaptureNumber& first) {
  over_ = false;
  if (std::exchange(rests_, false)) {
    auto again = parts_.files.open(path(part_), OpenMode::kReadWrite);
    const auto size = again ? (*again)->size() : Result<uint64_t>(fail(again.error()));
    if (size && *size == size_) file_ = std::move(*again);
  }
  if (file_) return {};
  if (auto opened = open(first); !opened) return opened;
  if (first_.empty()) arm(limits_.age);
  return {};
}

void CaptureFile::rest() {
  if (busy_ || !file_) return;
  file_.reset();
  rests_ = true;
}

void CaptureFile::arm(nanoseconds after) {
  waits_for_end_ = false;
  parts_.scheduler.cancel(timer_);
  timer_ = parts_.scheduler.call_after(after, [this] { on_time(); });
}

void CaptureFile::wait_for_end() {
  if (!series_.is_shard() || file_ || busy_ || timer_ != 0) return;
  // Not all at the same moment: each is read again first.
  arm(kEmptyFileStays + seconds(std::hash<std::string>()(directory_ + series_.shard) % 3600));
  waits_for_end_ = true;
}

void CaptureFile::on_time() {
  timer_ = 0;
  if (busy_) return arm(kLookAgain);
  if (waits_for_end_) return remove_empty();
  // Streams and shards come and go, and nothing may ever come for this one again.
  if ((file_ || rests_) && first_.empty()) return close_empty();
  // The lines of a file that rests are durable: it needs its name only.
  const bool has_rested = std::exchange(rests_, false);
  Result<void> done;
  if (!file_ && !has_rested) done = open({});
  if (done && (file_ || has_rested) && !first_.empty()) {
    done = finish();
    if (done && series_.is_shard()) rest();  // Many shards may be quiet at a time.
  } else if (done) {
    close_empty();
  }
  if (done) return;
  file_.reset();
  parts_.log.warn("CAPTURE_FAILED", {{"folder", directory_}, {"error", done.error().message}});
  arm(kTryAgain);
}

void CaptureFile::close_empty() {
  file_.reset();
  rests_ = false;
  wait_for_end();
}

// If it has lines all the same, it has been taken over.
void CaptureFile::remove_empty() {
  waits_for_end_ = false;
  Result<void> done = open({});
  if (done && file_ && !first_.empty()) return;
  const bool is_there = file_ != nullptr;
  file_.reset();
  if (done && is_there) done = parts_.files.remove(path(part_));
  if (done && is_there) done = parts_.files.sync_directory(directory_);
  if (!done) return wait_for_end();
  over_ = true;
  if (parts_.on_over) parts_.on_over();
}

}  // namespace freshet
