// Works out from its options, before anything is opened, what a daemon is to run: a wrong option or template is
// reported at once, in full, and leaves no trace.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/daemon/module.h"
#include "app/daemon/modules.h"
#include "app/daemon/options.h"
#include "functions/settings.h"
#include "runtime/deploy/deployment.h"
#include "wire/auth/credentials.h"
#include "wire/http/tls.h"

namespace freshet {

struct DaemonPlan {
  ListenAddress listen;
  Durability durability;
  std::optional<Credentials> credentials;
  std::shared_ptr<const TlsContext> tls;  // Null for plain HTTP.
  std::shared_ptr<const TlsTrust> trust;
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;   // By table.
  std::vector<std::unique_ptr<Module>> modules;  // In their order; for one daemon.
  std::vector<std::string> warnings;             // About options that work but are likely a mistake.
};

// kValidation with FILE:LINE for each fault. Any thread; takes as long as the template is large.
Result<Deployment> read_deployment(const TemplateOptions& options);
// The same of a template whose text is there already; `options.path` is what it is called, and its folders are beside.
Result<Deployment> read_deployment(const TemplateOptions& options, std::string text);

// Those of the daemon, with what its other options say about a template.
TemplateOptions template_options(const DaemonOptions& options);

// The state that a running daemon is to be changed to.
struct PlannedDeployment {
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;  // By table.
};
// With further queues (--queue) and warnings of what is likely a mistake. As read_deployment().
Result<PlannedDeployment> plan_deployment_of(const TemplateOptions& options, std::string text,
                                             const std::vector<std::string>& queues);
// How each queue of the deployment, and of `more`, treats its tasks: as the function that works on it says.
Result<std::map<std::string, QueueSettings>> settings_of_queues(const Deployment& deployment,
                                                                const std::vector<std::string>& more = {});
// kValidation with a message for people: which option, or FILE:LINE of the template. The options outlive the plan.
Result<DaemonPlan> plan_daemon(const DaemonOptions& options, const std::vector<ModuleKind>& modules = all_modules());

}  // namespace freshet
