import { effect, signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { PublicTrade } from "../../client/types.ts";
import { forgetPaint, MARKET_PACE_MS, paintNext, setText } from "../state/frame.ts";
import { liquidations, onLiquidations, onTrades, trades } from "../state/market-feed.ts";
import { decimalsOfMarket, priceDecimals, quantityDecimals } from "../state/markets.ts";
import { set, settings } from "../state/settings.ts";
import { notionalOf, type Tape as Rows } from "../state/tape.ts";
import { text } from "../text/catalogue.ts";
import { assetOf, clock, fixed, short } from "../text/format.ts";
import { LevelHead } from "./level-head.tsx";

/** The newest trades of the market, or the newest liquidations of all markets, written into fixed rows. */

const ROW_HEIGHT_PX = 20;
const MOST_ROWS = 60;
/** In USDC. */
const SMALLEST = [0, 1_000, 10_000, 50_000, 100_000, 500_000, 1_000_000] as const;

type Kind = "trades" | "liquidations";
const KINDS: readonly Kind[] = ["trades", "liquidations"];
const kind = signal<Kind>("trades");

/** The texts of a row's three cells, and the text that screen readers hear first. */
interface Shown {
  readonly rows: Rows;
  subscribe(listener: () => void): () => void;
  cells(trade: PublicTrade): readonly [name: string, price: string, size: string];
}

const SHOWN: Readonly<Record<Kind, Shown>> = {
  trades: {
    rows: trades,
    subscribe: onTrades,
    cells: ({ side, execType, price, quantity }) => [
      `${side === "BUY" ? text.buy : text.sell}${execType === "LIQUIDATION" ? ` ${text.tape.liquidation}` : ""}`,
      fixed(Number(price), priceDecimals.peek()),
      fixed(Number(quantity), quantityDecimals.peek()),
    ],
  },
  liquidations: {
    rows: liquidations,
    subscribe: onLiquidations,
    cells: (trade) => [
      trade.side === "SELL" ? text.tape.longLiquidated : text.tape.shortLiquidated,
      `${assetOf(trade.symbol)} ${fixed(Number(trade.price), decimalsOfMarket(trade.symbol).price)}`,
      short(notionalOf(trade)),
    ],
  },
};

export function Tape() {
  const body = useRef<HTMLDivElement>(null);
  const empty = useRef<HTMLParagraphElement>(null);
  const now = kind.value;
  useEffect(
    () =>
      body.current === null || empty.current === null ? undefined : runTape(body.current, empty.current, SHOWN[now]),
    [now],
  );
  const setting = now === "trades" ? "tradesFrom" : "liquidationsFrom";
  return (
    <section class="panel tape" aria-label={text.trades}>
      <header class="panel-head">
        <h2 class="hidden">{text.trades}</h2>
        <div class="tape-kinds" role="group" aria-label={text.tape.kinds}>
          {KINDS.map((each) => (
            <button
              type="button"
              class="tab"
              aria-pressed={now === each}
              onClick={() => {
                kind.value = each;
              }}
            >
              {each === "trades" ? text.trades : text.tape.liquidations}
            </button>
          ))}
        </div>
        <select
          class="bare"
          aria-label={text.tape.smallest}
          title={text.tape.smallest}
          value={settings.value[setting]}
          onChange={(event) => set(setting, Number(event.currentTarget.value))}
        >
          {SMALLEST.map((size) => (
            <option value={size}>{size === 0 ? text.tape.all : `≥ ${short(size)}`}</option>
          ))}
        </select>
      </header>
      <LevelHead {...(now === "liquidations" && { middle: `${text.value} (USDC)` })} last={text.time} />
      <div class="tape-body">
        <p class="empty" ref={empty} hidden>
          {now === "trades" ? text.tape.noTrades : text.tape.noLiquidations}
        </p>
        <div class="tape-rows" key={now} ref={body} role="list" aria-label={text.tape.listOf[now]} />
      </div>
    </section>
  );
}

type Cells = readonly [row: HTMLElement, name: HTMLElement, price: HTMLElement, size: HTMLElement, time: HTMLElement];

function makeRow(): Cells {
  const row = document.createElement("div");
  row.className = "trade";
  row.setAttribute("role", "listitem");
  const cells = ["hidden", "level-price", "level-quantity", "level-total"].map((name) => {
    const cell = document.createElement("span");
    cell.className = name;
    return cell;
  });
  row.append(...cells);
  return [row, ...cells] as unknown as Cells;
}

function runTape(body: HTMLElement, empty: HTMLElement, shown: Shown): () => void {
  const made: Cells[] = [];
  const paint = (): void => {
    const { rows, largeFrom } = shown.rows;
    for (const [index, cells] of made.entries()) paintRow(cells, rows[index], shown, largeFrom);
    if (empty.hidden !== rows.length > 0) empty.hidden = rows.length > 0;
  };
  const resize = new ResizeObserver(() => {
    const count = Math.max(1, Math.min(MOST_ROWS, Math.floor(body.clientHeight / ROW_HEIGHT_PX)));
    while (made.length < count) {
      const row = makeRow();
      made.push(row);
      body.append(row[0]);
    }
    while (made.length > count) made.pop()?.[0].remove();
    paintNext(paint);
  });
  resize.observe(body);
  const stop = shown.subscribe(() => paintNext(paint, MARKET_PACE_MS));
  const stopSettings = effect(() => {
    void settings.value.zone;
    paintNext(paint);
  });
  return () => {
    resize.disconnect();
    stop();
    stopSettings();
    forgetPaint(paint);
    body.replaceChildren();
  };
}

function paintRow(cells: Cells, trade: PublicTrade | undefined, shown: Shown, largeFrom: number): void {
  const [row, name, price, size, time] = cells;
  if (row.hidden !== (trade === undefined)) row.hidden = trade === undefined;
  if (trade === undefined) return;
  const isLarge = notionalOf(trade) >= largeFrom;
  const [what, at, much] = shown.cells(trade);
  const look = `trade ${trade.side === "BUY" ? "up" : "down"}${isLarge ? " large" : ""}${trade.execType === "LIQUIDATION" ? " forced" : ""}`;
  if (row.className !== look) row.className = look;
  setText(name, `${isLarge ? `${text.tape.large} ` : ""}${what}`);
  setText(price, at);
  setText(size, much);
  setText(time, clock(trade.time));
}
