#include "functions/capture/captures.h"

#include <string_view>
#include <utility>

#include "streams/arn.h"

namespace freshet {

struct Captures::Folder {
  std::string path;
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<CaptureUpload> upload;
  std::map<std::pair<std::string, CaptureSeries>, std::unique_ptr<CaptureFile>> files;  // By table.
  bool has_over = false;  // Some of them may be over: make_room() looks.
};

namespace {

CaptureSeries series_of(const StreamName& stream, const RecordName* name) {
  return name ? series_of_shard(stream.label, name->shard) : CaptureSeries{label_in_names(stream.label), {}};
}

bool is_empty(Files& files, const std::string& path) {
  const auto file = files.open(path, OpenMode::kRead);
  const auto size = file ? (*file)->size() : Result<uint64_t>(fail(file.error()));
  return size && *size == 0;
}

}  // namespace

Captures::Captures(CaptureParts parts) : parts_(std::move(parts)), sync_(parts_.sync, parts_.scheduler) {
  if (!parts_.metrics) return;
  records_ = &parts_.metrics->counter("freshet_capture_records_total", "Stream records that were captured in files.");
}

Captures::~Captures() = default;

Result<Captures::Folder*> Captures::folder_of(const CaptureSettings& settings) {
  auto& folder = folders_[settings.folder];
  if (!folder) {
    if (auto good = check_folder(parts_.files, settings.folder); !good) return fail(good.error());
    auto lock = parts_.files.lock(settings.folder + "/.lock");
    if (!lock) return invalid("CAPTURE_FOLDER: " + lock.error().message + ": a folder is for one daemon");
    CaptureUploadParts upload{parts_.files, parts_.objects, parts_.scheduler, parts_.log};
    if (parts_.metrics) {
      upload.uploads = &parts_.metrics->counter("freshet_capture_uploads_total", "Captured files put into buckets.");
      upload.failures =
          &parts_.metrics->counter("freshet_capture_upload_failures_total", "Tries to do so that failed.");
    }
    folder = std::make_unique<Folder>();
    folder->path = settings.folder;
    folder->lock = std::move(*lock);
    folder->upload = std::make_unique<CaptureUpload>(std::move(upload));
  }
  folder->upload->set_target(settings.target, settings.prefix);
  return folder.get();
}

CaptureFile& Captures::file_of(Folder& folder, const std::string& table, const CaptureSeries& series) {
  auto& file = folder.files[{table, series}];
  if (!file) {
    const auto on_finished = [&folder, table](const std::string& name) {
      folder.upload->add(folder.path, table, name);
    };
    const auto on_over = [&folder] { folder.has_over = true; };
    CaptureFileParts parts{parts_.files, sync_, parts_.scheduler, parts_.log, on_finished, on_over};
    file = std::make_unique<CaptureFile>(std::move(parts), folder.path + "/" + table, series);
  }
  return *file;
}

// Shards may be many at a time, and come and go for ever.
void Captures::make_room(Folder& folder) {
  if (std::exchange(folder.has_over, false)) {
    std::erase_if(folder.files, [](const auto& one) { return one.second->is_over(); });
  }
  size_t open = 0;
  for (const auto& [key, file] : folder.files) open += key.second.is_shard() && file->is_open();
  if (open < kMostOpen) return;
  for (const auto& [key, file] : folder.files) {
    if (key.second.is_shard()) file->rest();
  }
}

void Captures::begin(const CaptureSettings& settings) {
  const auto failed = [&](const Error& error) {
    parts_.log.error("CAPTURE_FAILED", {{"folder", settings.folder}, {"error", error.message}});
  };
  auto folder = folder_of(settings);
  if (!folder) return failed(folder.error());
  const auto tables = parts_.files.list(settings.folder);
  if (!tables) return failed(tables.error());
  for (const std::string& table : *tables) {
    const auto names = parts_.files.list(settings.folder + "/" + table);
    if (!names) continue;  // Not a folder.
    for (const std::string& text : *names) {
      const auto name = parse_capture_name(text);
      if (!name) continue;
      if (name->last) {
        (*folder)->upload->add(settings.folder, table, text);
      } else {
        auto taken = take_over(**folder, table, *name, settings.limits);
        if (!taken) failed(taken.error());
      }
    }
  }
}

// Shards of before leave many files without lines, which only wait for their end.
Result<void> Captures::take_over(Folder& folder, const std::string& table, const CaptureName& name,
                                 CaptureLimits limits) {
  make_room(folder);
  CaptureFile& file = file_of(folder, table, name.series);
  if (!name.series.is_shard() || !is_empty(parts_.files, folder.path + "/" + table + "/" + to_string(name))) {
    return file.take_over(limits);
  }
  file.wait_for_end();
  return {};
}

Result<std::vector<Captures::Piece>> Captures::pieces_of(const StreamBatch& batch) {
  const auto stream = parse_stream_arn(batch.source.arn);
  if (!stream) return invalid("'" + batch.source.arn + "' is not the ARN of a table's stream");
  if (batch.is_of_engine() && batch.lanes > 1) {
    return invalid(
        "capture_changes needs the records in order: the ParallelizationFactor of its event source mapping must be 1");
  }
  std::vector<Piece> pieces;
  std::map<std::string_view, size_t> places;  // By shard.
  for (size_t i = 0; i < batch.records.size(); ++i) {
    const RecordName* name = batch.is_of_engine() ? &batch.names[i] : nullptr;
    CaptureRecord record{&batch.records[i], {}, name};
    record.number = name ? shard_number_in_names(name->number) : sequence_number(batch.records[i].sequence);
    if (name && (name->shard.empty() || record.number.empty())) {
      return invalid(
          "capture_changes needs sequence numbers of up to 40 digits in shards with names, and the engine's is '" +
          name->number + "' in the shard '" + name->shard + "'");
    }
    const auto place = places.try_emplace(name ? std::string_view(name->shard) : "", pieces.size()).first->second;
    if (place == pieces.size()) pieces.push_back({stream->table, series_of(*stream, name), {}});
    pieces[place].records.push_back(std::move(record));
  }
  return pieces;
}

Async<Result<Appended>> Captures::append(const CaptureSettings& settings, const StreamBatch& batch) {
  auto pieces = pieces_of(batch);
  if (!pieces) co_return fail(pieces.error());
  const auto known = folders_.find(settings.folder);
  const bool is_new = known == folders_.end() || !known->second;
  const bool had_target = !is_new && known->second->upload->has_target();
  auto folder = folder_of(settings);
  if (!folder) co_return fail(folder.error());
  // Deployed, or given a bucket, after the start.
  if (is_new || (!had_target && (*folder)->upload->has_target())) begin(settings);
  // If one fails, the batch comes again, and the others leave their records out then.
  Appended all;
  for (Piece& piece : *pieces) {
    make_room(**folder);
    CaptureFile& file = file_of(**folder, piece.table, piece.series);
    auto appended = co_await file.append(std::move(piece.records), batch.source, settings.limits);
    if (!appended) co_return appended;
    if (records_) records_->add(appended->written);
    all.written += appended->written;
    all.seen_before += appended->seen_before;
  }
  co_return all;
}

}  // namespace freshet
