import { isatty } from "node:tty";
import type { Progress } from "./actor/host/host.ts";
import { must } from "./assert.ts";
import { hasOperator } from "./config/operators.ts";
import type { Config } from "./config.ts";
import type { PriceTicks } from "./core/base/units.ts";
import { compileInstrument, type Instrument, printPrice, printQuantity } from "./core/protocol/instrument.ts";
import type { Exchange } from "./exchange.ts";
import type { Output } from "./output.ts";
import type { SandboxAccount } from "./sandbox/accounts.ts";
import { SimulatedPrice } from "./sandbox/price-source.ts";

/** Shows how far recovery has come. On a terminal the line replaces the one before. */
export function showProgress(progress: Progress, output: Pick<Output, "write">): void {
  const { records, total } = progress;
  if (total <= 0) return;
  const line = progressLine(progress);
  output.write(isatty(2) ? `\r\x1b[K${line}${records >= total ? "\n" : ""}` : `${line}\n`);
}

/** Progress, rate and the time left at that rate, as text. */
export function progressLine({ records, total, elapsedMs }: Progress): string {
  const done = Math.min(records, total);
  const percent = Math.floor((100 * done) / total);
  const perSecond = Math.floor((1000 * done) / Math.max(1, elapsedMs));
  const left = perSecond === 0 ? "" : `, ${perSecond} transactions/s, ${Math.ceil((total - done) / perSecond)} s left`;
  return `replaying the log: ${done} of ${total} transactions (${percent} %)${left}`;
}

/**
 * The smallest order at a round price of at most half the mark price. Without a mark price yet: at the lowest price that is
 * valid for the smallest quantity.
 */
function farBelow(instrument: Instrument, markTicks: PriceTicks): { price: string; quantity: string } {
  const { minNotionalQuanta, minQuantityLots, quantaPerTickLot } = instrument;
  const lowestTicks = Math.max(1, Math.ceil(minNotionalQuanta / (minQuantityLots * quantaPerTickLot)));
  const priceTicks = markTicks === 0 ? lowestTicks : Math.max(1, roundDown(markTicks / 2));
  const notionalLots = Math.ceil(minNotionalQuanta / (priceTicks * quantaPerTickLot));
  const quantityLots = Math.max(minQuantityLots, notionalLots);
  return { price: printPrice(instrument, priceTicks), quantity: printQuantity(instrument, quantityLots) };
}

/** Rounds down to the first digit. */
function roundDown(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return Math.floor(value / unit) * unit;
}

/**
 * How to set an index price, which trading needs. The operator's token is not shown: the shell reads it, and refuses to go on
 * without. The price is the last one. Before the first one nobody has a position that a wrong price could harm.
 */
function indexPriceLines(url: string, instrument: Instrument, seed: number, markTicks: PriceTicks): string[] {
  const price = printPrice(instrument, markTicks || new SimulatedPrice(instrument, seed, 0).ticks);
  const token = `\${PERPD_OPERATOR_TOKEN:?set it to the token of the operator}`;
  return [
    "set an index price first, since trading needs one (change it to that of the market):",
    `  curl -s -X PUT ${url}/operator/index/${instrument.symbol} -H "Authorization: Bearer ${token}" -H 'Content-Type: application/json' -d '{"price":"${price}"}'`,
  ];
}

/** The text that is printed when the exchange is ready: its addresses and commands to paste. */
export function welcome(config: Config, exchange: Exchange, demo: SandboxAccount): string {
  const { url, operatorUrl, socketUrl } = exchange;
  const instrument = compileInstrument(must(config.instruments[0], "an instrument"));
  const { symbol } = instrument;
  const markTicks = exchange.markTicksOf(instrument.id);
  const { price, quantity } = farBelow(instrument, markTicks);
  const order = (fields: object): string => JSON.stringify({ symbol, side: "BUY", ...fields });
  const market = order({ type: "MARKET", quantity });
  // It costs as much as any order, and leaves neither an order nor a position behind.
  const immediate = order({ type: "LIMIT", timeInForce: "IOC", price, quantity });
  const bearer = `-H 'Authorization: Bearer ${demo.token}' -H 'Content-Type: application/json'`;
  const subscription = JSON.stringify({ op: "subscribe", channels: [{ channel: "trades", symbol }] });
  return [
    "",
    `trade in the browser: ${url.replace(/v1$/, "")}`,
    ...(hasOperator(config) ? [`operate in the browser: ${operatorUrl.replace(/v1$/, "operator")}`] : []),
    "",
    `perpd is ready: ${url}  ${socketUrl}`,
    "",
    `reference: ${url}/docs`,
    `demo account ${demo.accountId}, token ${demo.token}`,
    "",
    ...(config.priceSource === "operator" && hasOperator(config)
      ? indexPriceLines(operatorUrl, instrument, config.seed, markTicks)
      : []),
    "an order:",
    `  curl -s ${url}/orders ${bearer} -d '${market}'`,
    "trades as they happen:",
    `  node -e 'const s = new (require("ws"))("${socketUrl}"); s.on("open", () => s.send(JSON.stringify(${subscription}))); s.on("message", (m) => console.log(String(m)))'`,
    "load, 16 connections for 5 seconds:",
    `  npx autocannon -c 16 -d 5 -m POST ${bearer} -b '${immediate}' ${url}/orders`,
    "",
    `data folder: ${config.data}; stop with Ctrl-C`,
    "",
  ].join("\n");
}
