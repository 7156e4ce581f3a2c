import { signal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Instrument, SparklineList } from "../../client/types.ts";
import { exchangeNow } from "../state/clock.ts";
import { publicClient } from "../state/connection.ts";
import { chooseMarket, instruments, symbol, tickerOf } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf } from "../text/decimal.ts";
import { countdown, percent, price, short, tone } from "../text/format.ts";
import { sparkline } from "./sparkline.ts";

/** The button that names the market, and the list of all markets below it. */

/** In steps of a second. */
export const nowMs = signal(exchangeNow());
setInterval(() => {
  nowMs.value = exchangeNow();
}, 1000);

const isOpen = signal(false);
const search = signal("");

export function MarketSelector() {
  const root = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const onPress = (event: PointerEvent): void => {
      if (!(root.current?.contains(event.target as Node) ?? false)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", onPress);
    return () => document.removeEventListener("pointerdown", onPress);
  }, []);
  return (
    <div
      class="market-selector"
      ref={root}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        isOpen.value = false;
        root.current?.querySelector<HTMLElement>("button")?.focus();
      }}
    >
      <button
        type="button"
        class="market-button"
        aria-expanded={isOpen.value}
        aria-haspopup="dialog"
        onClick={() => {
          search.value = "";
          isOpen.value = !isOpen.value;
        }}
      >
        <span class="hidden">{text.market}: </span>
        {symbol.value === "" ? "–" : symbol.value} <span aria-hidden="true">▾</span>
      </button>
      {isOpen.value && <MarketList />}
    </div>
  );
}

const SPARKLINE_EVERY_MS = 60_000;

type Prices = ReadonlyMap<string, readonly string[]>;

/** The last day's prices of each market. */
function useSparklines(): Prices {
  const [prices, setPrices] = useState<Prices>(new Map());
  useEffect(() => {
    const take = ({ data }: SparklineList): void => setPrices(new Map(data.map((each) => [each.symbol, each.prices])));
    // The list is of use without them.
    const read = (): void => void publicClient.sparklines().then(take, () => {});
    read();
    const timer = setInterval(read, SPARKLINE_EVERY_MS);
    return () => clearInterval(timer);
  }, []);
  return prices;
}

const TITLES = [
  ...[text.price, text.change24h, text.inUsdc(text.turnover24h), text.inUsdc(text.openInterest)],
  text.fundingCountdown,
] as const;

function MarketList() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const prices = useSparklines();
  const wanted = search.value.trim().toUpperCase();
  const found = instruments.value.filter((each) => each.symbol.toUpperCase().includes(wanted));
  return (
    <div class="market-list" role="dialog" aria-label={text.markets}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (found[0] !== undefined) choose(found[0].symbol);
        }}
      >
        <input
          ref={input}
          type="search"
          aria-label={text.searchMarkets}
          placeholder={text.searchMarkets}
          value={search.value}
          onInput={(event) => {
            search.value = event.currentTarget.value;
          }}
        />
      </form>
      <table>
        <caption class="hidden">{text.markets}</caption>
        <thead>
          <tr>
            <th scope="col">{text.market}</th>
            <th scope="col">{text.lastDay}</th>
            {TITLES.map((title) => (
              <th scope="col" class="right">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {found.map((each) => (
            <MarketRow key={each.symbol} instrument={each} prices={prices.get(each.symbol) ?? []} />
          ))}
        </tbody>
      </table>
      {found.length === 0 && <p class="empty">{text.noMarkets}</p>}
    </div>
  );
}

function choose(name: string): void {
  chooseMarket(name);
  isOpen.value = false;
}

function MarketRow({ instrument, prices }: { instrument: Instrument; prices: readonly string[] }) {
  const { symbol: name, tickSize, maxLeverage } = instrument;
  const each = tickerOf(name).value;
  const change = each === null ? null : Number(each.priceChangePercent24h) / 100;
  const left = each?.nextFundingTime == null ? null : each.nextFundingTime - nowMs.value;
  return (
    <tr data-on={name === symbol.value || undefined}>
      <td>
        <button type="button" class="market-link" onClick={() => choose(name)}>
          {name}
        </button>{" "}
        <span class="tag">{maxLeverage}×</span>
      </td>
      <td>
        <svg class={`sparkline ${tone(change)}`} viewBox="0 0 72 20" aria-hidden="true">
          <polyline points={sparkline(prices, 72, 20)} />
        </svg>
      </td>
      <td class="num right">{price(each?.lastPrice ?? each?.markPrice, decimalsOf(tickSize))}</td>
      <td class={`num right ${tone(change)}`}>{percent(change)}</td>
      <td class="num right">{short(each?.turnover24h)}</td>
      <td class="num right">{each === null ? "–" : short(Number(each.openInterest) * Number(each.markPrice ?? 0))}</td>
      <td class="num right">
        {percent(each?.fundingRate, 4)} <span class="sub">{left === null ? "" : countdown(left)}</span>
      </td>
    </tr>
  );
}
