import type { ComponentChildren } from "preact";
import { isOpen, positions } from "../state/account.ts";
import { marginSetting } from "../state/leverage.ts";
import { instrument, priceDecimals, symbol, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { fixed, percent, price as showPrice, usd } from "../text/format.ts";
import { isImmediate } from "./draft.ts";
import { built, draft, notional, preview } from "./form-state.ts";
import { positionIfFilled } from "./position-if-filled.ts";

/** The effects of the order, by the engine's own dry run. Before an account is signed in, an estimate of value and fee. */
export function Preview() {
  const { order } = built.value;
  // Null while a slider is dragged: the page estimates what it can until the engine has computed it.
  const { tried = null, isExact = false } = preview.value ?? {};
  const exactOrAbout = (figure: string): string => (isExact ? figure : text.about(figure));
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
  const best = Number((draft.value.side === "BUY" ? ticker.value?.askPrice : ticker.value?.bidPrice) ?? 0);
  const slip = average === null || best === 0 ? null : Math.abs(average / best - 1);
  const setting = marginSetting.value;
  const bindsMargin = isImmediate(draft.value.kind) && !draft.value.reduceOnly;
  const feeOf = notional.value * Number((isLimit ? chosen?.makerFeeRate : chosen?.takerFeeRate) ?? 0);
  const none = "–";
  // An order that rests or waits changes the position later: the engine tells how the account is until then.
  const isWaiting = tried !== null && isOpen(tried);
  const position = positions.value.find((each) => each.symbol === symbol.value);
  const { size = "", entryPrice = null } =
    tried === null ? {} : isWaiting ? positionIfFilled(tried, position) : { size: tried.after.positionSize };
  const holding = `${size.replace("-", "−")} ${chosen?.baseAsset ?? ""}`;
  return (
    <dl class="pairs preview" aria-label={text.preview}>
      <Pair label={text.orderValue}>{order === null ? none : `${usd(notional.value)} USDC`}</Pair>
      <Pair label={text.averagePrice}>
        {average === null ? none : exactOrAbout(fixed(average, decimals))}
        {slip !== null && slip >= 0.00005 && <span class="muted"> ({percent(slip).replace("+", "")})</span>}
      </Pair>
      <Pair label={text.fee}>
        {order === null
          ? none
          : filled > 0 && isExact
            ? `${fixed(fee, 4)} USDC`
            : text.about(`${fixed(feeOf, 4)} USDC`)}
      </Pair>
      <Pair label={text.marginRequired}>
        {order === null || setting === null
          ? none
          : tried !== null && isExact
            ? `${usd(tried.marginRequired)} USDC`
            : text.about(`${usd(bindsMargin ? notional.value / setting.leverage : 0)} USDC`)}
      </Pair>
      <Pair label={isWaiting ? text.liquidationPriceUntilFilled : text.liquidationPrice}>
        {tried?.after.liquidationPrice == null ? none : exactOrAbout(showPrice(tried.after.liquidationPrice, decimals))}
      </Pair>
      <Pair label={isWaiting ? text.positionIfFilled : text.positionAfter}>
        {tried === null
          ? none
          : exactOrAbout(entryPrice === null ? holding : text.sizeAtEntry(holding, fixed(entryPrice, decimals)))}
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
