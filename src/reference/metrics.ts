import { createMetrics } from "../front/routes/metrics.ts";
import { NO_EXCHANGE } from "./declared.ts";
import { code, codes, page, table } from "./markdown.ts";

interface Declared {
  name: string;
  help: string;
  labelNames?: string[];
}

/** Every metric of the exchange. Those of the process, which the Prometheus client adds, are named together. */
export function metricsPage(): string {
  const all = createMetrics(NO_EXCHANGE).getMetricsAsArray() as unknown as Declared[];
  const own = all.filter(({ name }) => name.startsWith("perpd_"));
  return page(
    "Metrics",
    "`GET /v1/metrics` answers in the text format of Prometheus. It needs the operator token. [Monitoring](../operating/monitoring.md) says which of them to watch.",
    table(
      ["metric", "labels", "meaning"],
      own.map(({ name, help, labelNames = [] }) => [code(name), codes(labelNames), help]),
    ),
    "The metrics of the process (`process_*`, `nodejs_*`) are the default ones of the package prom-client.",
  );
}
