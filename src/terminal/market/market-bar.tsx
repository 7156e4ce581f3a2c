import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { chooseMarket, instruments, priceDecimals, symbol, ticker, tickerOf } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { decimalsOf } from "../text/decimal.ts";
import { countdown, percent, price, short, signed, tone, words } from "../text/format.ts";

/** The chosen market and its figures. */
export function MarketBar() {
  const now = ticker.value;
  const decimals = priceDecimals.value;
  const change = now === null ? null : Number(now.priceChangePercent24h) / 100;
  return (
    <div class="market-bar">
      <MarketSelector />
      <strong class={`last num ${tone(change)}`}>{price(now?.lastPrice ?? now?.markPrice, decimals)}</strong>
      <dl class="figures">
        <Figure label={text.mark} value={price(now?.markPrice, decimals)} />
        <Figure label={text.index} value={price(now?.indexPrice, decimals)} />
        <Figure
          label={text.change24h}
          value={now === null ? "–" : `${signed(now.priceChange24h, decimals)} ${percent(change)}`}
          class={tone(change)}
          wide
        />
        <Figure label={text.high24h} value={price(now?.highPrice24h, decimals)} />
        <Figure label={text.low24h} value={price(now?.lowPrice24h, decimals)} />
        <Figure label={text.turnover24h} value={short(now?.turnover24h)} />
        <Figure
          label={text.openInterest}
          value={now === null ? "–" : short(Number(now.openInterest) * Number(now.markPrice ?? 0))}
        />
        <Funding />
      </dl>
      {now !== null && now.status !== "TRADING" && (
        <span class="tag warn" title={now.statusReason === null ? "" : words(now.statusReason)}>
          {words(now.status)}
        </span>
      )}
    </div>
  );
}

function Figure(props: { label: string; value: string; class?: string; wide?: boolean }) {
  return (
    <div class={props.wide === true ? "wide" : ""}>
      <dt>{props.label}</dt>
      <dd class={`num ${props.class ?? ""}`}>{props.value}</dd>
    </div>
  );
}

const now = signal(Date.now());
setInterval(() => {
  now.value = Date.now();
}, 1000);

function Funding() {
  const current = ticker.value;
  const left = current?.nextFundingTime == null ? null : current.nextFundingTime - now.value;
  return (
    <div class="wide">
      <dt>{text.fundingCountdown}</dt>
      <dd class="num">
        <span class={tone(current?.fundingRate)}>{current === null ? "–" : percent(current.fundingRate, 4)}</span>{" "}
        {left === null ? "" : countdown(left)}
      </dd>
    </div>
  );
}

const isOpen = signal(false);
const search = signal("");

function MarketSelector() {
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

function MarketList() {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => input.current?.focus(), []);
  const wanted = search.value.trim().toUpperCase();
  const found = instruments.value.filter((each) => each.symbol.toUpperCase().includes(wanted));
  const choose = (name: string): void => {
    chooseMarket(name);
    isOpen.value = false;
  };
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
            <th scope="col" class="right">
              {text.price}
            </th>
            <th scope="col" class="right">
              {text.change24h}
            </th>
            <th scope="col" class="right">
              {text.turnover24h}
            </th>
            <th scope="col" class="right">
              {text.funding}
            </th>
          </tr>
        </thead>
        <tbody>
          {found.map(({ symbol: name, tickSize, maxLeverage }) => {
            const each = tickerOf(name).value;
            const change = each === null ? null : Number(each.priceChangePercent24h) / 100;
            return (
              <tr data-on={name === symbol.value || undefined}>
                <td>
                  <button type="button" class="market-link" onClick={() => choose(name)}>
                    {name}
                  </button>{" "}
                  <span class="tag">{maxLeverage}×</span>
                </td>
                <td class="num right">{price(each?.lastPrice ?? each?.markPrice, decimalsOf(tickSize))}</td>
                <td class={`num right ${tone(change)}`}>{percent(change)}</td>
                <td class="num right">{short(each?.turnover24h)}</td>
                <td class="num right">{percent(each?.fundingRate, 4)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
      {found.length === 0 && <p class="empty">{text.noMarkets}</p>}
    </div>
  );
}
