#include "app/saved/file_route.h"

#include <utility>

#include "base/number_text.h"
#include "wire/http/own_error.h"
#include "wire/http/target.h"
#include "wire/tasks/answers.h"
#include "wire/tasks/json_object.h"

namespace freshet::saved {
namespace {

HttpResponse not_of_a_file(std::string message) {
  return own_error(404, "NotFoundException", message);
}

class RecordingFileRoute final : public Route {
 public:
  RecordingFileRoute(std::shared_ptr<const SavedRecording> recording, std::string file)
      : recording_(std::move(recording)), file_(std::move(file)) {}

  bool matches(const HttpRequest&) const override { return true; }
  std::unique_ptr<Exchange> accept(HttpRequest request) override { return answer_with_response(answer(request)); }

 private:
  HttpResponse answer(const HttpRequest& request) const {
    const auto target = parse_target(request.target);
    if (!target) return tasks::error_answer(target.error());
    const auto& path = target->segments;
    const bool is_session = path.size() == 1 && path[0] == "session";
    const bool is_recording = path.size() == 3 && path[0] == "queues" && path[2] == "recording";
    if (!is_session && !is_recording) {
      return not_of_a_file("this is not a daemon but freshet ui with the file " + file_ + ": it has the recording of " +
                           recording_->queue + " only, at GET /queues/" + recording_->queue + "/recording");
    }
    if (request.method != "GET") return method_not_allowed(request, "GET, HEAD");
    if (is_session) return session();
    if (path[1] != recording_->queue) {
      return not_of_a_file("the file " + file_ + " is the recording of the queue '" + recording_->queue +
                           "', not of '" + path[1] + "'");
    }
    return lines(*target);
  }

  HttpResponse session() const {
    std::string out;
    {
      JsonObject json(out);
      json.text("signedInBy", "nothing");
      json.text("role", "operate");
      JsonObject file(json.raw("file"));
      file.text("name", file_);
      file.text("queue", recording_->queue);
      file.text("form", recording_->is_fixture ? "fixture" : "recording");
    }
    return tasks::json_answer(std::move(out));
  }

  HttpResponse lines(const Target& target) const {
    size_t place = 0;
    if (const auto asked = target.query.find("place"); asked != target.query.end()) {
      if (!read_number_in(asked->second, place) || place >= recording_->answers.size()) {
        return tasks::error_answer(
            Error{ErrorCode::kValidation, "'place' must be the header X-Freshet-Next of the answer before", {}});
      }
    }
    HttpResponse response;
    response.content_type = "application/x-ndjson";
    response.body = recording_->answers[place];
    if (place + 1 < recording_->answers.size()) {
      response.headers.emplace_back("X-Freshet-Next", std::to_string(place + 1));
    }
    return response;
  }

  const std::shared_ptr<const SavedRecording> recording_;
  const std::string file_;
};

}  // namespace

std::unique_ptr<Route> make_recording_file_route(std::shared_ptr<const SavedRecording> recording, std::string file) {
  return std::make_unique<RecordingFileRoute>(std::move(recording), std::move(file));
}

}  // namespace freshet::saved
