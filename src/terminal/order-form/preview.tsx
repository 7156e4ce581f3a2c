import type { ComponentChildren } from "preact";
import { instrument, priceDecimals } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { fixed, percent, price as showPrice, usd } from "../text/format.ts";
import { built, draft, marketPrice, notional, preview } from "./form-state.ts";

/** What the order would do: the engine's own dry run. Before an account is signed in, an estimate of value and fee. */
export function Preview() {
  const tried = preview.value;
  const { order } = built.value;
  const chosen = instrument.value;
  const decimals = priceDecimals.value;
  const isLimit = draft.value.kind === "LIMIT";
  let fee = 0;
  let paid = 0;
  let filled = 0;
  for (const fill of tried?.fills ?? []) {
    fee += Number(fill.fee);
    paid += Number(fill.quoteQuantity);
    filled += Number(fill.quantity);
  }
  const average = filled === 0 ? null : paid / filled;
  const best = marketPrice.value;
  const slip = average === null || best === 0 ? null : Math.abs(average / best - 1);
  const estimate = notional.value * Number((isLimit ? chosen?.makerFeeRate : chosen?.takerFeeRate) ?? 0);
  const none = "–";
  return (
    <dl class="pairs preview" aria-label={text.preview}>
      <Pair label={text.orderValue}>{order === null ? none : `${usd(notional.value)} USDC`}</Pair>
      <Pair label={text.averagePrice}>
        {average === null ? none : fixed(average, decimals)}
        {slip !== null && slip >= 0.00005 && <span class="muted"> ({percent(slip).replace("+", "")})</span>}
      </Pair>
      <Pair label={text.fee}>
        {order === null ? none : filled > 0 ? `${fixed(fee, 4)} USDC` : `≈ ${fixed(estimate, 4)} USDC`}
      </Pair>
      <Pair label={text.marginRequired}>{tried === null ? none : `${usd(tried.marginRequired)} USDC`}</Pair>
      <Pair label={text.liquidationPrice}>{showPrice(tried?.after.liquidationPrice, decimals)}</Pair>
      <Pair label={text.positionAfter}>
        {tried === null ? none : `${tried.after.positionSize.replace("-", "−")} ${chosen?.baseAsset ?? ""}`}
      </Pair>
    </dl>
  );
}

function Pair({ label, children }: { label: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd class="num">{children}</dd>
    </div>
  );
}
