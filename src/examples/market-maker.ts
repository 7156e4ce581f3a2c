import { PerpdClient } from "perpd/client";

/**
 * Quotes both sides of a market around its mark price, lower when it is long and higher when it is short, until Ctrl-C.
 * New quotes take the place of the old ones in one turn of the exchange.
 *     PERPD_TOKEN=... node dist/src/examples/market-maker.js BTC-PERP 0.01
 */
const [symbol = "BTC-PERP", quantity = "0.01"] = process.argv.slice(2);
const url = process.env.PERPD_URL ?? "http://127.0.0.1:8080";
const client = new PerpdClient({ baseUrl: `${url.replace(/\/v1$/, "")}/v1`, token: process.env.PERPD_TOKEN ?? "" });
const HALF_SPREAD = 0.0005;
/** How far the quotes move for each quantity that is held. */
const LEAN = 0.0001;
const instrument = (await client.symbols()).data.find((each) => each.symbol === symbol);
if (instrument === undefined) throw new Error(`there is no ${symbol}`);
const tick = Number(instrument.tickSize);
const onTick = (price: number) =>
  (Math.round(price / tick) * tick).toFixed(instrument.tickSize.split(".")[1]?.length ?? 0);

let [mark, position, quoted, resting] = [0, 0, "", [] as string[]];
let work = Promise.resolve();

async function quote(): Promise<void> {
  const middle = mark * (1 - (LEAN * position) / Number(quantity));
  const [bid, ask] = [onTick(middle * (1 - HALF_SPREAD)), onTick(middle * (1 + HALF_SPREAD))];
  const next = `${bid} / ${ask}, holding ${position}`;
  if (mark === 0 || next === quoted) return;
  const order = { action: "PLACE", type: "LIMIT", quantity, postOnly: true } as const;
  const quotes = [{ ...order, side: "BUY", price: bid } as const, { ...order, side: "SELL", price: ask } as const];
  const cancels = resting.map((orderId) => ({ action: "CANCEL", orderId }) as const);
  const { data } = await stream.batch({ symbol, items: [...cancels, ...quotes] });
  // Refused: what has been filled cannot be canceled, and a quote that the market has moved through would trade.
  resting = data.flatMap(({ status, order: placed }) => (status === 201 && placed ? [placed.orderId] : []));
  quoted = next;
  console.log(quoted);
}

const channels = [{ channel: "ticker", symbol, updateMs: 100 } as const, { channel: "positions", symbol } as const];
const stream = client.stream(
  channels,
  {
    onMessage(message) {
      if (message.channel === "ticker") mark = Number(message.data.markPrice);
      // It begins a connection, and holds what is open only; the quotes of the one before have been taken back.
      if (message.channel === "positions" && message.type === "SNAPSHOT") [position, quoted] = [0, ""];
      if (message.channel === "positions")
        for (const { side, size } of message.data) position = side === "SHORT" ? -Number(size) : Number(size);
      work = work.then(quote).catch((error: Error) => console.error(error.message));
    },
    onError: (error) => console.error(error.message),
  },
  { cancelOnDisconnect: true },
);

process.once("SIGINT", async () => {
  await work;
  await stream.cancelOrders({ symbol });
  stream.close();
});
