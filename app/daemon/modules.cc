#include "app/daemon/modules.h"

namespace freshet {

// Routes are asked in this order. What the native functions of one module are called wins over those before it.
std::vector<ModuleKind> all_modules() {
  return {trace_module(),    own_functions_module(), queue_module(),         count_module(),      capture_module(),
          priority_module(), filtered_module(),      ordered_module(),       item_store_module(), lambda_module(),
          sns_module(),      definitions_module(),   log_module(),           record_module(),     schedules_module(),
          ui_module(),       figures_module(),       metrics_export_module()};
}

}  // namespace freshet
