// Definitions of functions, mappings and schedules as items of the system table and back (docs/formats.md).
#pragma once

#include <string_view>

#include "runtime/invoke/definitions.h"
#include "runtime/invoke/function.h"
#include "tables/value/value.h"

namespace freshet {

inline constexpr std::string_view kFunctionKind = "function";
inline constexpr std::string_view kMappingKind = "mapping";
inline constexpr std::string_view kScheduleKind = "schedule";
inline constexpr std::string_view kEventKind = "event";

Item to_item(const FunctionDefinition& function);
Item to_item(const MappingDefinition& mapping);
Item to_item(const ScheduleDefinition& schedule);

// Members that are missing or have another type keep their defaults.
FunctionDefinition function_of(const Item& item);
MappingDefinition mapping_of(const Item& item);
ScheduleDefinition schedule_of(const Item& item);

}  // namespace freshet
