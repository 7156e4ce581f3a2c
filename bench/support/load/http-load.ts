import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import autocannon from "autocannon";
import { temporaryFolder } from "../folder.ts";
import { outputOf, spawnProgram } from "../processes.ts";

/** Requests repeated on `connections` connections, one in flight on each. */
export interface HttpLoad {
  url: string;
  method: "GET" | "POST";
  connections: number;
  headers: Record<string, string>;
  body?: string;
  /** Requests to send in turn instead, where no two may be equal. There must be enough of them. */
  each?: readonly Request[];
}

export interface Request {
  headers: Record<string, string>;
  body: string;
}

export interface Measured {
  /** Requests a second. */
  rate: number;
  /** Microseconds; null when the generator cannot measure them. */
  latency: { p50: number; p99: number } | null;
}

export interface LoadGenerator {
  readonly name: string;
  /** Throws when an answer is missing or not 2xx. */
  run(load: HttpLoad, seconds: number): Promise<Measured>;
}

/**
 * The tool that users run. One core gives about 35k requests/s, so it limits faster servers. It counts latency in whole
 * milliseconds, too coarse here.
 */
export const AUTOCANNON: LoadGenerator = { name: "autocannon", run: runAutocannon };

/** Needs about half a core and measures microseconds. Null when it is not installed. */
export const WRK: LoadGenerator | null =
  spawnSync("wrk", ["--version"]).error === undefined ? { name: "wrk", run: runWrk } : null;

async function runAutocannon(load: HttpLoad, seconds: number): Promise<Measured> {
  const { url, method, headers, connections, body, each } = load;
  let next = 0;
  const setupRequest = (request: autocannon.Request): autocannon.Request => {
    const one = each?.[next++];
    return one === undefined ? request : { ...request, ...one };
  };
  const result = await autocannon({
    url,
    method,
    headers,
    connections,
    duration: seconds,
    ...(body === undefined ? {} : { body }),
    ...(each === undefined ? {} : { requests: [{ setupRequest }] }),
  });
  if (result.errors > 0 || result.non2xx > 0)
    throw new Error(`${url}: ${result.errors} errors, ${result.non2xx} not 2xx`);
  return { rate: result["2xx"] / result.duration, latency: null };
}

async function runWrk(load: HttpLoad, seconds: number): Promise<Measured> {
  const folder = temporaryFolder();
  try {
    const script = join(folder.path, "load.lua");
    const requests = join(folder.path, "requests");
    writeFileSync(requests, rawRequests(load).join("\n"));
    writeFileSync(script, luaScript(requests));
    const { origin } = new URL(load.url);
    const args = ["-t1", `-c${load.connections}`, `-d${seconds}s`, "-s", script, origin];
    const output = await outputOf(spawnProgram("wrk", args));
    const found = /RESULT (\d+) (\d+) (\d+) (\d+) (\d+)/.exec(output);
    if (found === null) throw new Error(`wrk: ${output}`);
    const [count, microseconds, errors, p50, p99] = found.slice(1).map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    if (errors > 0 || count === 0) throw new Error(`${load.url}: ${errors} errors in ${count} requests`);
    return { rate: count / (microseconds / 1e6), latency: { p50, p99 } };
  } finally {
    folder.remove();
  }
}

/** Replaces line ends in the file of requests, which has one request per line. */
const LINE_END = "\t";

/** Complete HTTP requests, so that wrk does not build any while it measures. */
function rawRequests({ url, method, headers, body = "", each }: HttpLoad): string[] {
  const { host, pathname, search } = new URL(url);
  const head = [`${method} ${pathname}${search} HTTP/1.1`, `Host: ${host}`, ...headerLines(headers)];
  const raw = (more: readonly string[], text: string): string =>
    [...head, ...more, ...(method === "POST" ? [`Content-Length: ${text.length}`] : []), "", text].join(LINE_END);
  return each === undefined ? [raw([], body)] : each.map((one) => raw(headerLines(one.headers), one.body));
}

const headerLines = (headers: Record<string, string>): string[] =>
  Object.entries(headers).map(([name, value]) => `${name}: ${value}`);

const luaScript = (requests: string): string => `
local all = {}
for line in io.lines("${requests}") do all[#all + 1] = line:gsub("${LINE_END}", "\\r\\n") end
local next = 0
function request()
  next = next % #all + 1
  return all[next]
end
function done(summary, latency)
  local e = summary.errors
  local errors = e.connect + e.read + e.write + e.status + e.timeout
  io.write(string.format("RESULT %d %d %d %d %d\\n", summary.requests, summary.duration, errors,
    latency:percentile(50), latency:percentile(99)))
end
`;
