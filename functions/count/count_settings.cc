#include "functions/count/count_settings.h"

#include "base/limits.h"
#include "functions/setting_reader.h"

namespace freshet {

Result<CountSettings> count_settings(const Environment& environment) {
  SettingReader reader(environment);
  CountSettings settings;
  reader.table("METRICS_TABLE", settings.metrics_table, "the name of the table that holds the counters");
  reader.text("COUNT_ATTRIBUTE", settings.attribute);
  // The value is a part of a partition key, with a table's name before it.
  const size_t most = limits::kMaxPartitionKeyBytes - limits::kMaxTableNameBytes - 1;
  if (settings.attribute.empty() || settings.attribute.size() > most) {
    reader.report(
        "COUNT_ATTRIBUTE is " +
        (settings.attribute.empty() ? std::string("empty") : "longer than " + std::to_string(most) + " bytes") +
        ": it must be the name of the attribute whose values are counted, such as taskStatus");
  }
  return reader.finish(std::move(settings));
}

}  // namespace freshet
