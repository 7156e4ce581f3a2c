import type { Progress } from "./actor/host.ts";
import type { Config } from "./config.ts";
import type { Exchange } from "./exchange.ts";
import type { SandboxAccount } from "./sandbox/accounts.ts";

/** While the log is replayed: how far, on one line that is written over where there is a person to see it. */
export function showProgress(progress: Progress): void {
  const { records, total } = progress;
  if (total <= 0) return;
  const line = progressLine(progress);
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${line}${records >= total ? "\n" : ""}`);
  else process.stderr.write(`${line}\n`);
}

/** How far, how fast, and how much longer it will take at that rate. */
export function progressLine({ records, total, elapsedMs }: Progress): string {
  const done = Math.min(records, total);
  const percent = Math.floor((100 * done) / total);
  const perSecond = Math.floor((1000 * done) / Math.max(1, elapsedMs));
  const left = perSecond === 0 ? "" : `, ${perSecond} turns/s, ${Math.ceil((total - done) / perSecond)} s left`;
  return `replaying the log: ${done} of ${total} turns (${percent} %)${left}`;
}

/** What a person sees when the exchange is ready: where it is, and lines to paste. */
export function welcome(config: Config, exchange: Exchange, demo: SandboxAccount): string {
  const { url, socketUrl } = exchange;
  const [instrument] = config.instruments;
  const symbol = instrument?.symbol ?? "";
  const order = (fields: object): string => JSON.stringify({ symbol, side: "BUY", ...fields });
  const market = order({ type: "MARKET", quantity: "0.01" });
  // Far below the market: it costs all that an order costs, and leaves neither an order nor a position behind.
  const passing = order({ type: "LIMIT", timeInForce: "IOC", price: "30000", quantity: "0.001" });
  const bearer = `-H 'Authorization: Bearer ${demo.token}' -H 'Content-Type: application/json'`;
  const subscription = JSON.stringify({ op: "subscribe", channels: [{ channel: "trades", symbol }] });
  return [
    "",
    `perpd is ready: ${url}  ${socketUrl}`,
    "",
    `reference: ${url}/docs`,
    `demo account ${demo.accountId}, token ${demo.token}`,
    "",
    "an order:",
    `  curl -s ${url}/orders ${bearer} -d '${market}'`,
    "trades as they happen:",
    `  node -e 'const s = new (require("ws"))("${socketUrl}"); s.on("open", () => s.send(JSON.stringify(${subscription}))); s.on("message", (m) => console.log(String(m)))'`,
    "load, 16 connections for 5 seconds:",
    `  npx autocannon -c 16 -d 5 -m POST ${bearer} -b '${passing}' ${url}/orders`,
    "",
    `data lies in ${config.data}; Ctrl-C stops`,
    "",
  ].join("\n");
}
