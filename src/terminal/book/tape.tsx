import { useEffect, useRef } from "preact/hooks";
import { forgetPaint, paintNext, setText } from "../state/frame.ts";
import { onTrades, trades } from "../state/market-feed.ts";
import { instrument, priceDecimals, quantityDecimals } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { clock, fixed } from "../text/format.ts";

/** The newest trades, written into fixed rows. */

const ROW_HEIGHT_PX = 20;
const MOST_ROWS = 60;

export function Tape() {
  const body = useRef<HTMLDivElement>(null);
  useEffect(() => (body.current === null ? undefined : runTape(body.current)), []);
  return (
    <section class="panel tape" aria-label={text.trades}>
      <header class="panel-head">
        <h2>{text.trades}</h2>
      </header>
      <div class="level-head" aria-hidden="true">
        <span>{text.price}</span>
        <span>
          {text.size} ({instrument.value?.baseAsset ?? ""})
        </span>
        <span>{text.time}</span>
      </div>
      <div class="tape-body" ref={body} role="list" aria-label={text.trades} />
    </section>
  );
}

type Cells = readonly [row: HTMLElement, price: HTMLElement, quantity: HTMLElement, time: HTMLElement];

function makeRow(): Cells {
  const row = document.createElement("div");
  row.className = "trade";
  row.setAttribute("role", "listitem");
  const cells = ["level-price", "level-quantity", "level-total"].map((name) => {
    const cell = document.createElement("span");
    cell.className = name;
    return cell;
  });
  row.append(...cells);
  return [row, ...cells] as unknown as Cells;
}

function runTape(body: HTMLElement): () => void {
  const rows: Cells[] = [];
  const paint = (): void => {
    const prices = priceDecimals.peek();
    const quantities = quantityDecimals.peek();
    for (const [index, [row, price, quantity, time]] of rows.entries()) {
      const trade = trades[index];
      row.className = `trade ${trade === undefined ? "" : trade.side === "BUY" ? "up" : "down"} ${trade?.execType === "LIQUIDATION" ? "forced" : ""}`;
      setText(price, trade === undefined ? "" : fixed(Number(trade.price), prices));
      setText(quantity, trade === undefined ? "" : fixed(Number(trade.quantity), quantities));
      setText(time, trade === undefined ? "" : clock(trade.time));
    }
  };
  const resize = new ResizeObserver(() => {
    const count = Math.max(1, Math.min(MOST_ROWS, Math.floor(body.clientHeight / ROW_HEIGHT_PX)));
    while (rows.length < count) {
      const made = makeRow();
      rows.push(made);
      body.append(made[0]);
    }
    while (rows.length > count) rows.pop()?.[0].remove();
    paintNext(paint);
  });
  resize.observe(body);
  const stop = onTrades(() => paintNext(paint));
  return () => {
    resize.disconnect();
    stop();
    forgetPaint(paint);
  };
}
