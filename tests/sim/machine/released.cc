#include "tests/sim/machine/released.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/check.h"
#include "tests/sim/packed_file.h"
#include "tests/sim/source_dir.h"

namespace freshet::sim {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

fs::path release() {
  return fs::path(source_dir()) / "tests/data/0.1.0";
}

// Many seeds begin with this data, so it is unpacked once.
const std::string& unpacked(const std::string& path) {
  static std::map<std::string, std::string> all;
  const auto [known, is_new] = all.try_emplace(path);
  if (is_new) known->second = unpacked_file(release() / "store" / path);
  return known->second;
}

const Json& expected() {
  static const Json all = Json::parse(unpacked_file(release() / "expected.json.gz"));
  return all;
}

std::vector<std::string> in_order(const Json& items) {
  std::vector<std::string> texts;
  for (const Json& item : items) texts.push_back(item.dump());
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace

void load_released_data(SimFiles& files, const std::string& folder, TasksJudge& tasks) {
  std::set<std::string> paths;
  for (const auto& entry : fs::recursive_directory_iterator(release() / "store")) {
    if (entry.is_regular_file()) paths.insert(fs::relative(entry.path(), release() / "store").string());
  }
  FRESHET_CHECK(files.create_directories(folder).has_value(), "nothing fails yet");
  for (const std::string& path : paths) {
    files.set_content(folder + "/" + path.substr(0, path.size() - 3), unpacked(path));
  }
  for (const Json& task : expected()["tables"]["QueueTable"]) {
    TasksJudge::NewTask known;
    known.id = task["taskId"]["S"].get<std::string>();
    known.delayed = known.ranked = true;
    tasks.begin_create(known);
  }
}

Async<void> cancel_old_delays(Stage& stage, Random random) {
  std::vector<std::string> left = {"later", "returned", "delayed"};
  while (!left.empty() && !stage.verdict.is_broken()) {
    co_await rest(stage, random, milliseconds(100), milliseconds(2'000));
    const std::string id = left.back();
    stage.tasks.begin_cancel(id, stage.caller.scheduler().clock().boot());
    Json body = {{"taskIds", Json::array({id})}};
    const Reply reply = co_await stage.caller.queue("cancel", std::move(body), kPatience);
    if (reply.kind != Reply::Kind::kDone) continue;
    const Json& result = reply.body["results"][0];
    const bool is_full =
        result.contains("error") && text_of(result["error"], "code") == "ProvisionedThroughputExceededException";
    if (!is_full) left.pop_back();
  }
}

Async<bool> judge_released_data(Stage& stage) {
  for (const auto& [table, items] : expected()["tables"].items()) {
    if (table == "QueueTable") continue;
    Json found = Json::array();
    Json scan = {{"TableName", table}, {"ConsistentRead", true}};
    for (;;) {
      Json input = scan;
      const Reply page = co_await stage.caller.store("Scan", std::move(input), kPatience);
      if (page.kind != Reply::Kind::kDone) co_return false;
      for (const Json& item : page.body["Items"]) found.push_back(item);
      if (!page.body.contains("LastEvaluatedKey")) break;
      scan["ExclusiveStartKey"] = page.body["LastEvaluatedKey"];
    }
    stage.verdict.expect(in_order(found) == in_order(items), "an upgrade has changed an item", table);
    ++stage.operations;
  }
  co_return true;
}

}  // namespace freshet::sim
