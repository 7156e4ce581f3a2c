/** Reads the few metrics that the console shows from the text format of Prometheus. */

/** A metric's value. Null when the text has none, or when it has labels. */
export function metricOf(text: string, name: string): number | null {
  for (const line of text.split("\n")) {
    if (!line.startsWith(`${name} `)) continue;
    const value = Number(line.slice(name.length + 1).split(" ")[0]);
    return Number.isFinite(value) ? value : null;
  }
  return null;
}

/** One reading of the metrics. Null: the exchange does not say. */
export interface Reading {
  /** Milliseconds of the page's clock. */
  readonly at: number;
  readonly roundTripMs: number;
  readonly sequence: number | null;
  readonly cpuSeconds: number | null;
  readonly loopP99Ms: number | null;
  readonly inFlight: number | null;
  readonly memoryBytes: number | null;
  readonly historyLag: number | null;
  readonly hasDiskRoom: boolean | null;
  readonly diskFreeBytes: number | null;
  readonly logLinesDropped: number | null;
}

export function readingOf(text: string, at: number, roundTripMs: number): Reading {
  const value = (name: string): number | null => metricOf(text, name);
  const lag = value("nodejs_eventloop_lag_p99_seconds");
  const room = value("perpd_disk_room");
  return {
    at,
    roundTripMs,
    sequence: value("perpd_sequence"),
    cpuSeconds: value("process_cpu_seconds_total"),
    loopP99Ms: lag === null ? null : 1000 * lag,
    inFlight: value("perpd_requests_in_flight"),
    memoryBytes: value("process_resident_memory_bytes"),
    historyLag: value("perpd_history_lag_transactions"),
    hasDiskRoom: room === null ? null : room === 1,
    diskFreeBytes: value("perpd_disk_free_bytes"),
    logLinesDropped: value("perpd_log_lines_dropped"),
  };
}

/** Growth per second of a counter. Null when one is missing, or when the counter began anew. */
export function perSecond(before: Reading | null, now: Reading, counter: "sequence" | "cpuSeconds"): number | null {
  const from = before?.[counter] ?? null;
  const to = now[counter];
  if (before === null || from === null || to === null || to < from || now.at <= before.at) return null;
  return (1000 * (to - from)) / (now.at - before.at);
}
