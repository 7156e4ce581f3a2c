import { channelsPage } from "./channels.ts";
import { declaredRoutes } from "./declared.ts";
import { endpointsPage } from "./endpoints.ts";
import { errorsPage } from "./errors.ts";
import { metricsPage } from "./metrics.ts";
import { operationsPage } from "./operations.ts";
import { rateLimitsPage } from "./rate-limits.ts";
import { settingsPage } from "./settings.ts";

/** The generated pages of docs/reference, by file name. */
export function referencePages(): Record<string, string> {
  const routes = declaredRoutes();
  return {
    "endpoints.md": endpointsPage(routes),
    "channels.md": channelsPage(),
    "operations.md": operationsPage(routes),
    "settings.md": settingsPage(),
    "errors.md": errorsPage(),
    "rate-limits.md": rateLimitsPage(routes),
    "metrics.md": metricsPage(),
  };
}
