// Writes spans in formats that tools read. Pure, except for ChromeTrace, which remembers tracks.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/trace/span.h"

namespace freshet {

// One OTLP/JSON ExportTraceServiceRequest, in one line.
std::string otlp_json(std::span<const Span> spans);

// Events of the Chrome trace format (chrome://tracing, Perfetto): a complete event for each span on a track of its name
// (as many tracks as ran side by side), and an arrow from its cause. Each is a line that ends with a comma: a file of
// "[" and such lines is valid at any moment.
class ChromeTrace {
 public:
  std::string events(std::span<const Span> spans);

 private:
  struct Track {
    int id = 0;
    int64_t free = 0;
  };
  struct Slice {
    int track = 0;
    int64_t start = 0;
    int64_t end = 0;
  };
  // Bounds: spans whose arrows can still be drawn, children that wait for their parent, names with tracks of their own.
  static constexpr size_t kKnown = 8192;
  static constexpr size_t kNames = 1024;
  static constexpr size_t kTracksOfName = 64;

  std::pair<const std::string, std::vector<Track>>& tracks_of(const std::string& name);
  int track_of(const Span& span, std::string& out);
  void arrow(std::string& out, const std::string& id, const Slice& from, const Slice& to);
  void remember(const Span& span, const Slice& place);
  void remember_orphan(const Span& span, const Slice& place);

  std::map<std::string, std::vector<Track>> tracks_;
  int last_track_ = 0;
  std::map<std::string, Slice> known_;  // By span id.
  // Children that arrived before their parent, by its id.
  using Orphans = std::multimap<std::string, std::pair<std::string, Slice>>;
  Orphans orphans_;
  std::deque<std::string> orphans_order_;  // The ids of their parents in order of arrival, including those that are
                                           // gone.
  std::vector<std::string> order_;         // The keys of known_, as a ring.
  size_t oldest_ = 0;
};

}  // namespace freshet
