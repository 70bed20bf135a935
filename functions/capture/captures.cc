#include "functions/capture/captures.h"

#include <utility>

#include "streams/arn.h"

namespace freshet {

struct Captures::Folder {
  std::string path;
  std::unique_ptr<FileLock> lock;
  std::unique_ptr<CaptureUpload> upload;
  std::map<std::pair<std::string, std::string>, std::unique_ptr<CaptureFile>> files;  // By table and label in names.
};

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

CaptureFile& Captures::file_of(Folder& folder, const std::string& table, const std::string& label) {
  auto& file = folder.files[{table, label_in_names(label)}];
  if (!file) {
    const auto on_finished = [&folder, table](const std::string& name) {
      folder.upload->add(folder.path, table, name);
    };
    CaptureFileParts parts{parts_.files, sync_, parts_.scheduler, parts_.log, on_finished};
    file = std::make_unique<CaptureFile>(std::move(parts), folder.path + "/" + table, label);
  }
  return *file;
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
      } else if (auto taken = file_of(**folder, table, name->label).take_over(settings.limits); !taken) {
        failed(taken.error());
      }
    }
  }
}

Async<Result<Appended>> Captures::append(const CaptureSettings& settings, const StreamBatch& batch) {
  const auto stream = parse_stream_arn(batch.source.arn);
  if (!stream) co_return invalid("'" + batch.source.arn + "' is not the ARN of a table's stream");
  const auto known = folders_.find(settings.folder);
  const bool is_new = known == folders_.end() || !known->second;
  const bool had_target = !is_new && known->second->upload->has_target();
  auto folder = folder_of(settings);
  if (!folder) co_return fail(folder.error());
  // Deployed, or given a bucket, after the start.
  if (is_new || (!had_target && (*folder)->upload->has_target())) begin(settings);
  auto appended = co_await file_of(**folder, stream->table, stream->label).append(batch, settings.limits);
  if (appended && records_) records_->add(appended->written);
  co_return appended;
}

}  // namespace freshet
