// Computes, from its options and before anything is opened, what a daemon will run: all errors of options and template
// are reported before startup, and leave no trace.
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

// The part of a plan that another daemon with the same options shares.
struct PlannedFacts {
  ListenAddress listen;
  Durability durability = {};
  std::optional<Credentials> credentials;         // The keys of clients.
  std::optional<Credentials> member_credentials;  // Those with which the members of a fleet sign requests of their own.
  std::optional<Credentials> all_credentials;     // All that a request may be signed with.
  std::shared_ptr<const TlsContext> tls;          // Null for plain HTTP.
  std::shared_ptr<const TlsTrust> trust;
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;  // By the table's name.
  std::vector<std::string> warnings;            // Warnings about options that work but are probably a mistake.
};

struct DaemonPlan : PlannedFacts {
  std::vector<std::unique_ptr<Module>> modules;  // In their order. They serve one daemon only.
};

// kValidation with FILE:LINE for each fault. Any thread; the time grows with the size of the template.
Result<Deployment> read_deployment(const TemplateOptions& options);
// The same for a template whose text is given; `options.path` is its name, and the folders that it names are beside
// that path.
Result<Deployment> read_deployment(const TemplateOptions& options, std::string text);

// The daemon's template options, completed by its other options.
TemplateOptions template_options(const DaemonOptions& options);

// The state that a running daemon will be changed to.
struct PlannedDeployment {
  Deployment deployment;
  std::map<std::string, QueueSettings> queues;  // By the table's name.
};
// Also plans further queues (--queue) and warns about probable mistakes. Errors as read_deployment().
Result<PlannedDeployment> plan_deployment_of(const TemplateOptions& options, std::string text,
                                             const std::vector<std::string>& queues);
// The runtime's options that follow from the daemon's.
RuntimeOptions runtime_options(const DaemonParts& parts);
// The settings of each queue of the deployment, and of `more`: those of the function that works on it.
Result<std::map<std::string, QueueSettings>> settings_of_queues(const Deployment& deployment,
                                                                const std::vector<std::string>& more = {});
// kValidation with a message for people that names the option, or FILE:LINE of the template. The options outlive the
// plan.
Result<DaemonPlan> plan_daemon(const DaemonOptions& options, const std::vector<ModuleKind>& modules = all_modules());
// The plan of another daemon with the same options. The template and the other files are not read again.
Result<DaemonPlan> plan_again(const DaemonPlan& before, const DaemonOptions& options,
                              const std::vector<ModuleKind>& modules = all_modules());

}  // namespace freshet
