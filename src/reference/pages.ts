import { environmentName, SETTING_NAMES, type SettingName, schemaOf } from "../config/settings.ts";
import { inEnvironment } from "../config/sources.ts";
import { createMetrics } from "../front/routes/exchange.ts";
import { gatewayMetrics } from "../gateway/own-routes.ts";
import { ERRORS, type ErrorCode, SOCKET_ERRORS, type SocketErrorCode, specOf } from "../wire/error-codes.ts";
import { declaredRoutes, NO_EXCHANGE, NO_GATEWAY } from "./declared.ts";
import { endpointsPage } from "./endpoints.ts";
import { code, codes, page, table } from "./markdown.ts";
import { rateLimitsPage } from "./rate-limits.ts";
import { channelsPage, operationsPage } from "./websocket.ts";

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

/** Every setting of `perpd start`: name, flag, environment variable, default. */
function settingsPage(): string {
  return page(
    "Settings",
    "A flag wins over its environment variable. The variable wins over the configuration file (`--config FILE`, JSON by setting name). The file wins over the default. [Settings](../operating/settings.md) explains how to choose them.",
    table(["setting", "flag", "environment", "default", "meaning"], SETTING_NAMES.map(rowOf)),
  );
}

function rowOf(name: SettingName): string[] {
  const schema = schemaOf(name);
  const flag = name === "bots" ? "--no-bots" : schema.flag === undefined ? "" : `--${schema.flag} ${schema.argument}`;
  const usual = schema.fileOnly ? "" : JSON.stringify(schema.default);
  return [
    code(name),
    flag === "" ? "" : code(flag),
    inEnvironment(name) ? code(environmentName(name)) : "(file only)",
    usual === "" ? "" : code(usual),
    schema.description,
  ];
}

/** Every error code: status, meaning, what to do. */
function errorsPage(): string {
  const rest = Object.keys(ERRORS).sort() as ErrorCode[];
  const socket = Object.keys(SOCKET_ERRORS).sort() as SocketErrorCode[];
  return page(
    "Error codes",
    "Every error has the same shape: `code`, `message`, `retryable`, `requestId`, `serverTime`, and where it helps `field` and `details`. A code never changes its meaning. An error means that nothing was done. Only `TIMEOUT` and `INTERNAL` cannot promise that: send the request again with the same `clientOrderId` or `reference`. [Errors](../trading/errors.md) explains how to handle them.",
    "## Codes of REST and WebSocket",
    ...rest.map((name) => errorText(name, `HTTP status ${ERRORS[name].status}.`)),
    "## Codes of the WebSocket only",
    ...socket.map((name) => errorText(name, "")),
  );
}

function errorText(name: ErrorCode | SocketErrorCode, status: string): string {
  const { problem, remedy, retryable = false } = specOf(name);
  const facts = [status, retryable ? "Retryable." : "Not retryable."].filter((text) => text !== "");
  return [`### ${code(name)}`, `${facts.join(" ")} ${problem}`, `**What to do:** ${remedy}`].join("\n\n");
}

interface Declared {
  name: string;
  help: string;
  labelNames?: string[];
}

/** Every metric of the exchange. Those of the process, which the Prometheus client adds, are named together. */
function metricsPage(): string {
  const tableOf = (registry: { getMetricsAsArray(): unknown[] }): string => {
    const own = (registry.getMetricsAsArray() as Declared[]).filter(({ name }) => name.startsWith("perpd_"));
    return table(
      ["metric", "labels", "meaning"],
      own.map(({ name, help, labelNames = [] }) => [code(name), codes(labelNames), help]),
    );
  };
  return page(
    "Metrics",
    "`GET /v1/metrics` answers in the text format of Prometheus. It needs the operator token. [Monitoring](../operating/monitoring.md) says which of them to watch.",
    tableOf(createMetrics(NO_EXCHANGE)),
    "A [gateway](../operating/replication.md#gateways) has these:",
    tableOf(gatewayMetrics(NO_GATEWAY)),
    "The metrics of the process (`process_*`, `nodejs_*`) are the default ones of the package prom-client.",
  );
}
