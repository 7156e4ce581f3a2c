import { PerpdClient, type StreamHandlers } from "perpd/client";

/**
 * Quotes both sides of a market around its mark price, lower when it is long and higher when it is short, until Ctrl-C.
 * New quotes replace the old ones in one transaction of the exchange.
 *     PERPD_TOKEN=... node dist/src/examples/market-maker.js BTC-PERP 0.01
 */
const [symbol = "BTC-PERP", quantity = "0.01"] = process.argv.slice(2);
const { PERPD_URL: url = "http://127.0.0.1:8080", PERPD_TOKEN: token = "" } = process.env;
if (token === "") fail("set PERPD_TOKEN to the token of a session, such as that of the demo account");
const client = new PerpdClient({ baseUrl: `${url.replace(/\/v1$/, "")}/v1`, token });
/** As fractions of the price: distance of each quote, and shift of both per `quantity` held. */
const [HALF_SPREAD, LEAN] = [0.0005, 0.0001];
const { data: listed } = await client.symbols();
const { tickSize } = listed.find((each) => each.symbol === symbol) ?? fail(`there is no ${symbol}`);
const [tick, decimals] = [Number(tickSize), tickSize.split(".")[1]?.length ?? 0];
const onTick = (price: number) => (Math.round(price / tick) * tick).toFixed(decimals);

let [mark, position, quoted, resting, work] = [0, 0, "", [] as string[], Promise.resolve()];

async function quote(): Promise<void> {
  const middle = mark * (1 - (LEAN * position) / Number(quantity));
  const [bid, ask] = [onTick(middle * (1 - HALF_SPREAD)), onTick(middle * (1 + HALF_SPREAD))];
  const next = `${bid} / ${ask}, holding ${position}`;
  if (mark === 0 || next === quoted) return;
  const order = { action: "PLACE", type: "LIMIT", quantity, postOnly: true } as const;
  const quotes = [{ ...order, side: "BUY", price: bid } as const, { ...order, side: "SELL", price: ask } as const];
  const cancels = resting.map((orderId) => ({ action: "CANCEL", orderId }) as const);
  if (quoted === "") await stream.cancelOrders({ symbol });
  quoted = "";
  const { data } = await stream.batch({ symbol, items: [...cancels, ...quotes] });
  // Some may be refused: a filled order cannot be canceled, and a post-only quote must not trade.
  resting = data.flatMap(({ status, order: placed }) => (status === 201 && placed ? [placed.orderId] : []));
  quoted = next;
  console.log(quoted);
}

const channels = [{ channel: "ticker", symbol, updateMs: 100 } as const, { channel: "positions", symbol } as const];
const handlers: StreamHandlers = {
  onMessage(message) {
    if (message.channel === "ticker") mark = Number(message.data.markPrice);
    // A snapshot starts a connection. Quotes of the last one may still rest: a killed exchange cancels none.
    if (message.channel === "positions" && message.type === "SNAPSHOT") [position, quoted] = [0, ""];
    if (message.channel === "positions")
      for (const { side, size } of message.data) position = side === "SHORT" ? -Number(size) : Number(size);
    work = work.then(quote).catch((error: Error) => console.error(error.message));
  },
  // The stream reconnects by itself and starts with a snapshot.
  onDisconnect: ({ message }) => console.error(message),
  onError: ({ message }) => fail(message),
};
const stream = client.stream(channels, handlers, { cancelOnDisconnect: true });
process.once("SIGINT", () => work.then(() => stream.cancelOrders({ symbol })).finally(() => stream.close()));

function fail(reason: string): never {
  console.error(reason);
  process.exit(1);
}
