import { computed, effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fillPrice } from "../order-form/form-state.ts";
import { openOrders } from "../state/account.ts";
import { isLive } from "../state/connection.ts";
import { forgetPaint, MARKET_PACE_MS, paintNext, setText } from "../state/frame.ts";
import { book, bookRepairs, isBookVerified, onBook } from "../state/market-feed.ts";
import { instrument, priceDecimals, quantityDecimals, symbol, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf } from "../text/decimal.ts";
import { fixed } from "../text/format.ts";
import { LevelHead } from "./level-head.tsx";
import { groupLevels, groupSteps, type Row } from "./levels.ts";

/**
 * The order book. Its rows are made once for the height of the panel, and a frame writes only what differs. Preact draws
 * the frame around them.
 */

/** At least: the rows of both sides grow to fill the panel. */
const ROW_HEIGHT_PX = 18;
const SPREAD_HEIGHT_PX = 32;
const MOST_ROWS = 40;

/** Index in the list of steps. */
const stepIndex = signal(0);
/** As a text, so that what shows the steps is drawn only when they change. */
const stepsText = computed(() => {
  const price = Math.round(Number(ticker.value?.markPrice ?? 0) / 1000) * 1000;
  return groupSteps(Number(instrument.value?.tickSize ?? 0.1), price || Number(ticker.value?.markPrice ?? 0)).join();
});
const steps = computed(() => stepsText.value.split(",").map(Number));
const step = computed(() => steps.value[Math.min(stepIndex.value, steps.value.length - 1)] ?? 1);

interface Cells {
  readonly row: HTMLButtonElement;
  /** "Ask" or "Bid", for screen readers. */
  readonly name: HTMLElement;
  readonly price: HTMLElement;
  readonly quantity: HTMLElement;
  readonly total: HTMLElement;
  readonly bar: HTMLElement;
  /** Of a level with an order of the account, for screen readers. */
  readonly own: HTMLElement;
  /** Exact price, as a click takes it. */
  value: string;
}

function makeRow(): Cells {
  const make = (tag: string, name: string): HTMLElement => {
    const made = document.createElement(tag);
    made.className = name;
    return made;
  };
  const row = make("button", "level") as HTMLButtonElement;
  row.type = "button";
  row.disabled = true;
  const bar = make("span", "bar");
  const name = make("span", "hidden");
  name.textContent = text.noLevel;
  const price = make("span", "level-price");
  const quantity = make("span", "level-quantity");
  const total = make("span", "level-total");
  const own = make("span", "hidden");
  row.append(bar, name, price, quantity, total, own);
  const cells: Cells = { row, name, price, quantity, total, bar, own, value: "" };
  row.addEventListener("click", () => cells.value !== "" && fillPrice(cells.value));
  return cells;
}

/** One side of the book. Its first row is the best price. */
class Side {
  private readonly rows: Cells[] = [];
  private readonly element: HTMLElement;
  private readonly isBid: boolean;

  constructor(element: HTMLElement, isBid: boolean) {
    this.element = element;
    this.isBid = isBid;
  }

  resize(count: number): void {
    while (this.rows.length < count) {
      const made = makeRow();
      this.rows.push(made);
      // Asks stand above the spread: their best row is the lowest one.
      if (this.isBid) this.element.append(made.row);
      else this.element.prepend(made.row);
    }
    while (this.rows.length > count) this.rows.pop()?.row.remove();
  }

  get count(): number {
    return this.rows.length;
  }

  paint(levels: readonly Row[], most: number, own: ReadonlySet<string>): void {
    const prices = Math.max(priceDecimals.peek() - 8, decimalsOf(String(step.peek())));
    const quantities = quantityDecimals.peek();
    const name = this.isBid ? text.bid : text.ask;
    for (const [index, cells] of this.rows.entries()) {
      const level = levels[index];
      const shown = level === undefined ? "" : fixed(level.price, prices);
      setText(cells.price, shown);
      setText(cells.quantity, level === undefined ? "" : fixed(level.quantity, quantities));
      setText(cells.total, level === undefined ? "" : fixed(level.total, quantities));
      cells.bar.style.transform = `scaleX(${level === undefined || most === 0 ? 0 : level.total / most})`;
      cells.value = level === undefined ? "" : level.price.toFixed(prices);
      const isOwn = own.has(cells.value);
      cells.row.classList.toggle("own", isOwn);
      setText(cells.own, isOwn ? text.ownOrder : "");
      setText(cells.name, level === undefined ? text.noLevel : name);
      if (cells.row.disabled !== (level === undefined)) cells.row.disabled = level === undefined;
    }
  }
}

export function OrderBook() {
  const asks = useRef<HTMLDivElement>(null);
  const bids = useRef<HTMLDivElement>(null);
  const body = useRef<HTMLDivElement>(null);
  const spread = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    if (asks.current === null || bids.current === null || body.current === null || spread.current === null) return;
    return runBook(body.current, new Side(asks.current, false), new Side(bids.current, true), spread.current);
  }, []);
  return (
    <section class="panel book" aria-label={text.orderBook}>
      <header class="panel-head">
        <h2>{text.orderBook}</h2>
        <Verified />
        <Grouping />
      </header>
      <LevelHead last={text.total} />
      <div class="book-body" ref={body}>
        <div class="asks" ref={asks} role="group" aria-label={text.asks} />
        <div class="spread">
          <LastPrice />
          <span class="num muted" ref={spread} />
        </div>
        <div class="bids" ref={bids} role="group" aria-label={text.bids} />
      </div>
    </section>
  );
}

function Grouping() {
  return (
    <select
      class="bare"
      aria-label={text.grouping}
      value={Math.min(stepIndex.value, steps.value.length - 1)}
      onChange={(event) => {
        stepIndex.value = Number(event.currentTarget.value);
      }}
    >
      {steps.value.map((each, index) => (
        <option value={index}>{each}</option>
      ))}
    </select>
  );
}

function LastPrice() {
  const now = ticker.value;
  const last = now?.lastPrice ?? now?.markPrice ?? null;
  const isUp = Number(last ?? 0) >= Number(now?.markPrice ?? 0);
  return (
    <strong class={`num ${isUp ? "up" : "down"}`}>
      {last === null ? "–" : fixed(Number(last), priceDecimals.value)}
    </strong>
  );
}

function Verified() {
  const isRight = isBookVerified.value && isLive.value;
  const repairs = bookRepairs.value;
  return (
    <span class={`mark ${isRight ? "up" : "muted"}`} title={text.verifiedHint(repairs)}>
      {isRight ? text.verified : text.checking}
      {repairs > 0 && <span class="sub inline"> · {text.repaired(repairs)}</span>}
    </span>
  );
}

/** Returns a function that ends it. */
function runBook(body: HTMLElement, asks: Side, bids: Side, spread: HTMLElement): () => void {
  const paint = (): void => {
    const grouped = step.peek();
    const askRows = groupLevels(book.asks, grouped, false, asks.count);
    const bidRows = groupLevels(book.bids, grouped, true, bids.count);
    const most = Math.max(askRows.at(-1)?.total ?? 0, bidRows.at(-1)?.total ?? 0);
    const own = ownPrices();
    asks.paint(askRows, most, own);
    bids.paint(bidRows, most, own);
    setText(spread, spreadText());
  };
  const resize = new ResizeObserver(() => {
    const rows = Math.floor((body.clientHeight - SPREAD_HEIGHT_PX) / (2 * ROW_HEIGHT_PX));
    const count = Math.max(1, Math.min(MOST_ROWS, rows));
    asks.resize(count);
    bids.resize(count);
    paintNext(paint);
  });
  resize.observe(body);
  const stop = onBook(() => paintNext(paint, MARKET_PACE_MS));
  const stopSettings = effect(() => {
    void [step.value, openOrders.value];
    paintNext(paint);
  });
  return () => {
    resize.disconnect();
    stop();
    stopSettings();
    forgetPaint(paint);
  };
}

/** Prices of the account's own orders, as the rows of the finest step show them. */
function ownPrices(): ReadonlySet<string> {
  const decimals = decimalsOf(String(step.peek()));
  const prices = new Set<string>();
  for (const order of openOrders.peek())
    if (order.symbol === symbol.peek() && order.price !== null && order.status !== "UNTRIGGERED")
      prices.add(Number(order.price).toFixed(decimals));
  return prices;
}

function spreadText(): string {
  const ask = Number(book.asks[0]?.[0] ?? 0);
  const bid = Number(book.bids[0]?.[0] ?? 0);
  if (ask === 0 || bid === 0) return text.noSpread;
  const wide = ask - bid;
  return `${text.spread} ${fixed(wide, priceDecimals.peek())} · ${fixed((10_000 * wide) / ask, 2)} bp`;
}
