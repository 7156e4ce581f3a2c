import { priceDecimals, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { countdown, percent, price, short, signed, tone, words } from "../text/format.ts";
import { MarketSelector, nowMs } from "./market-selector.tsx";

const inUsdc = (value: string | number): string => `${short(value)} USDC`;

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
        {/* From the left by importance: a narrow window shows the first ones. */}
        <Funding />
        <Figure
          label={text.openInterest}
          value={now === null ? "–" : inUsdc(Number(now.openInterest) * Number(now.markPrice ?? 0))}
        />
        <Figure label={text.turnover24h} value={now === null ? "–" : inUsdc(now.turnover24h)} />
        <Figure label={text.high24h} value={price(now?.highPrice24h, decimals)} />
        <Figure label={text.low24h} value={price(now?.lowPrice24h, decimals)} />
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

function Funding() {
  const current = ticker.value;
  const left = current?.nextFundingTime == null ? null : current.nextFundingTime - nowMs.value;
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
