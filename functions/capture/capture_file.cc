#include "functions/capture/capture_file.h"

#include <algorithm>
#include <utility>
#include <vector>

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

CaptureFile::CaptureFile(CaptureFileParts parts, std::string directory, std::string_view stream_label)
    : parts_(std::move(parts)), directory_(std::move(directory)), label_(label_in_names(stream_label)) {}

CaptureFile::~CaptureFile() {
  parts_.scheduler.cancel(timer_);
}

Result<void> CaptureFile::take_over(CaptureLimits limits) {
  limits_ = limits;
  if (file_ || busy_) return {};
  auto opened = open(0);
  if (!opened) arm(kTryAgain);
  if (first_ == 0) file_.reset();
  return opened;
}

// `first`: of the records that will come; 0: nothing is made where nothing is.
Result<void> CaptureFile::open(uint64_t first) {
  auto names = parts_.files.list(directory_);
  if (!names && first == 0) return {};
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
  last_ = 0;
  for (const std::string& text : *names) {
    auto name = parse_capture_name(text);
    if (!name || name->label != label_) continue;
    if (name->last) {
      last_ = std::max(last_, *name->last);
    } else {
      open_ones.push_back(std::move(*name));
    }
  }
  if (open_ones.empty()) return first == 0 ? Result<void>() : open_new(last_ > 0 ? last_ + 1 : first);
  for (const CaptureName& part : open_ones) {
    const bool newest = &part == &open_ones.back();
    if (auto gone_on = go_on(part, newest); !gone_on) {
      file_.reset();
      return gone_on;
    }
  }
  return {};
}

Result<void> CaptureFile::open_new(uint64_t first) {
  const CaptureName name{label_, first, std::nullopt};
  auto file = parts_.files.open(path(name), OpenMode::kCreate);
  if (!file) return fail(file.error());
  if (auto synced = parts_.files.sync_directory(directory_); !synced) return synced;
  file_ = std::move(*file);
  part_ = name;
  size_ = first_ = 0;
  last_ = std::max(last_, first - 1);
  return {};
}

// The lines that are there are written anew: of another process's file, or after a sync that failed, nobody can tell
// what is on the disk. A file that is not the newest was being finished.
Result<void> CaptureFile::go_on(const CaptureName& part, bool newest) {
  auto old = parts_.files.open(path(part), OpenMode::kRead);
  if (!old) return fail(old.error());
  auto text = read_all(**old);
  if (!text) return fail(text.error());
  const GoodLines good = good_lines(*text);
  if (good.bytes < text->size()) {
    parts_.log.warn("CAPTURE_MENDED", {{"file", path(part)}, {"cutBytes", text->size() - good.bytes}});
  }
  auto file = replace(path(part), std::string_view(*text).substr(0, good.bytes));
  if (!file) return fail(file.error());
  last_ = std::max({last_, part.first - 1, good.last});
  if (newest) {
    file_ = std::move(*file);
    part_ = part;
    size_ = good.bytes;
    first_ = good.first;
    if (first_ == 0) return {};
    gaps_ = good.gaps;
    arm(limits_.age);
    return {};
  }
  file->reset();
  if (good.first > 0) return rename_finished(part, good.first, good.last);
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

Result<void> CaptureFile::rename_finished(const CaptureName& part, uint64_t first, uint64_t last) {
  const CaptureName finished{label_, first, last};
  if (auto renamed = parts_.files.rename(path(part), path(finished)); !renamed) return renamed;
  if (auto synced = parts_.files.sync_directory(directory_); !synced) return synced;
  parts_.on_finished(to_string(finished));
  return {};
}

Async<Result<Appended>> CaptureFile::append(const StreamBatch& batch, CaptureLimits limits) {
  if (busy_)
    co_return fail(ErrorCode::kConflict, "another invocation writes to " + directory_ + "; this is tried again");
  limits_ = limits;
  const Use use(*this);
  if (!file_) {
    if (auto opened = open(batch.records.front().sequence); !opened) co_return fail(opened.error());
    if (first_ == 0) arm(limits.age);
  }
  Appended out;
  Lines lines;
  for (const ChangeRecord& record : batch.records) {
    const uint64_t before = std::max(last_, lines.last);
    const auto written = is_written(record.sequence, before);
    if (!written) co_return fail(written.error());
    if (*written) {
      ++out.seen_before;
      continue;
    }
    if (before > 0) gaps_.add(before, record.sequence);
    std::string line;
    append_stream_record(line, record, batch.source);
    line += '\n';
    const uint64_t so_far = size_ + lines.text.size();
    if (so_far > 0 && so_far + line.size() > limits.bytes) {
      out.written += lines.count;
      Lines full = std::exchange(lines, Lines());
      auto flushed = co_await flush(std::move(full));
      if (flushed) flushed = finish();
      if (!flushed) co_return fail(flushed.error());
    }
    if (lines.first == 0) lines.first = record.sequence;
    lines.last = record.sequence;
    lines.text += line;
    ++lines.count;
  }
  out.written += lines.count;
  auto flushed = co_await flush(std::move(lines));
  if (flushed && size_ >= limits.bytes) flushed = finish();
  if (!flushed) co_return fail(flushed.error());
  co_return out;
}

Result<bool> CaptureFile::is_written(uint64_t sequence, uint64_t last) const {
  if (sequence > last) return false;
  if (!gaps_.has(sequence)) return true;
  return invalid("capture_changes needs the records in order, and " + sequence_number(sequence) + " came behind " +
                 sequence_number(last) + ": the ParallelizationFactor of its event source mapping must be 1");
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
  if (first_ == 0) {
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
  const uint64_t first = first_;
  file_.reset();
  if (auto next = open_new(last_ + 1); !next) return next;
  parts_.scheduler.cancel(std::exchange(timer_, 0));
  if (auto renamed = rename_finished(done, first, last_); !renamed) {
    file_.reset();
    return renamed;
  }
  arm(limits_.age);
  return {};
}

void CaptureFile::arm(nanoseconds after) {
  parts_.scheduler.cancel(timer_);
  timer_ = parts_.scheduler.call_after(after, [this] { on_time(); });
}

void CaptureFile::on_time() {
  timer_ = 0;
  if (busy_) return arm(kLookAgain);
  // Streams come and go, and nothing may ever come for this one again.
  if (file_ && first_ == 0) return file_.reset();
  Result<void> done;
  if (!file_) done = open(0);
  if (done && file_ && first_ > 0) {
    done = finish();
  } else if (done) {
    file_.reset();
  }
  if (done) return;
  file_.reset();
  parts_.log.warn("CAPTURE_FAILED", {{"folder", directory_}, {"error", done.error().message}});
  arm(kTryAgain);
}

}  // namespace freshet
