import { Choice } from "../dialogs/choice.tsx";
import { accountClient, balance, positions } from "../state/account.ts";
import { instrument, priceDecimals, symbol } from "../state/markets.ts";
import { caution, obstacle, refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { cleanDecimal } from "../text/decimal.ts";
import { fixed, price as showPrice, quantity as showQuantity, usd } from "../text/format.ts";
import {
  hasPrice,
  hasTrigger,
  isAtMarket,
  isByRisk,
  isImmediate,
  isMatched,
  isTrailing,
  KINDS,
  type Kind,
  PRICE_MATCHES,
  perUnit,
  rests,
  timeInForceOf,
  timesInForce,
  unitOf,
} from "./draft.ts";
import { BoxSelect, Check, DecimalField, FieldNote } from "./fields.tsx";
import { built, change, draft, formFieldOf, isSending, marketPrice, refusal, shortfall, submit } from "./form-state.ts";
import { maxSize, takenShare, takeShare } from "./largest-order.ts";
import { LeverageButton } from "./leverage.tsx";
import { Preview } from "./preview.tsx";

/** Places orders of every type. */
export function OrderForm() {
  const chosen = instrument.value;
  const { kind } = draft.value;
  if (chosen === null) return <section class="panel order-form" aria-label={text.orderForm} />;
  return (
    <section class="panel order-form" aria-label={text.orderForm}>
      <LeverageButton />
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        <SideSwitch />
        <KindTabs />
        <Available />
        {isTrailing(kind) && (
          <>
            <DecimalField field="callback" label={text.callback} unit="%" />
            <DecimalField
              field="activationPrice"
              label={text.activation}
              unit={<TriggerBy />}
              placeholder={text.atOnce}
            />
          </>
        )}
        {hasTrigger(kind) && <DecimalField field="triggerPrice" label={text.trigger} unit={<TriggerBy />} />}
        {hasPrice(kind) && <PriceField quote={chosen.quoteAsset} />}
        <SizeFields base={chosen.baseAsset} quote={chosen.quoteAsset} />
        <SizeSlider />
        <Options />
        <SubmitButton />
      </form>
      <Preview />
    </section>
  );
}

function SideSwitch() {
  const { side } = draft.value;
  return (
    <Choice
      name="side"
      label={text.side}
      options={["BUY", "SELL"] as const}
      value={side}
      textOf={(each) => (each === "BUY" ? text.buyLong : text.sellShort)}
      classOf={(each) => (each === "BUY" ? "buy" : "sell")}
      onChoose={(each) => change({ side: each })}
    />
  );
}

const MAIN_KINDS: readonly Kind[] = ["LIMIT", "MARKET"];

function KindTabs() {
  const { kind } = draft.value;
  const others = KINDS.filter((each) => !MAIN_KINDS.includes(each));
  return (
    <div class="kinds" role="group" aria-label={text.orderType}>
      {MAIN_KINDS.map((each) => (
        <button type="button" class="tab" aria-pressed={kind === each} onClick={() => change({ kind: each })}>
          {text.kinds[each]}
        </button>
      ))}
      <select
        class="tab"
        aria-label={text.conditionalTypes}
        data-on={others.includes(kind) || undefined}
        value={others.includes(kind) ? kind : ""}
        onChange={(event) => change({ kind: event.currentTarget.value as Kind })}
      >
        <option value="" disabled hidden>
          {text.conditional}
        </option>
        {others.map((each) => (
          <option value={each}>{text.kinds[each]}</option>
        ))}
      </select>
    </div>
  );
}

function Available() {
  const position = positions.value.find((each) => each.symbol === symbol.value);
  const asset = instrument.value?.baseAsset ?? "";
  return (
    <dl class="pairs">
      <div>
        <dt>{text.available}</dt>
        <dd class="num">{usd(balance.value?.availableBalance)} USDC</dd>
      </div>
      <div>
        <dt>{text.position}</dt>
        <dd class={`num ${position === undefined ? "" : position.side === "SHORT" ? "down" : "up"}`}>
          {position === undefined ? "0" : `${position.side === "SHORT" ? "−" : ""}${position.size}`} {asset}
        </dd>
      </div>
    </dl>
  );
}

function TriggerBy() {
  return (
    <BoxSelect
      field="triggerBy"
      label={text.triggerBy}
      options={["MARK", "LAST", "INDEX"]}
      textOf={(each) => text.triggerSources[each]}
    />
  );
}

/** A typed price, or that of a level of the book. */
function PriceField({ quote }: { quote: string }) {
  const matched = isMatched(draft.value) && marketPrice.value > 0;
  return (
    <DecimalField
      field="price"
      label={text.price}
      {...(!isMatched(draft.value) && { unit: quote })}
      placeholder={matched ? text.about(fixed(marketPrice.value, priceDecimals.value)) : ""}
    >
      {draft.value.kind === "LIMIT" && (
        <BoxSelect
          field="priceMatch"
          label={text.priceMatch}
          hint={text.priceMatchHint}
          options={["", ...PRICE_MATCHES]}
          textOf={(each) => (each === "" ? text.typedPrice : text.priceMatches[each])}
          also={{ price: "" }}
        />
      )}
    </DecimalField>
  );
}

/** The size in the base asset, in the quote asset, or by the loss at a stop. */
function SizeFields({ base, quote }: { base: string; quote: string }) {
  const { kind, reduceOnly } = draft.value;
  const mayRisk = isImmediate(kind) && !reduceOnly;
  const order = built.value.order;
  const names = { BASE: base, QUOTE: quote, RISK: text.byRisk };
  return (
    <>
      <DecimalField
        field="size"
        label={isByRisk(draft.value) ? text.riskAmount : text.size}
        unit={
          <BoxSelect
            field="sizeUnit"
            label={text.sizeUnit}
            value={unitOf(draft.value)}
            options={mayRisk ? ["BASE", "QUOTE", "RISK"] : ["BASE", "QUOTE"]}
            textOf={(each) => names[each]}
            also={{ size: "" }}
          />
        }
      />
      {isByRisk(draft.value) && (
        <>
          <DecimalField
            field="stopDistance"
            label={text.stopDistance}
            unit={
              <BoxSelect
                field="stopUnit"
                label={text.stopUnit}
                options={["PERCENT", "QUOTE"]}
                textOf={(each) => (each === "PERCENT" ? "%" : quote)}
                also={{ stopDistance: "" }}
              />
            }
          />
          {order?.stopLoss != null && (
            <p class="note">
              {text.stopByRisk(
                showPrice(order.stopLoss.triggerPrice, priceDecimals.value),
                `${order.quantity} ${base}`,
              )}
            </p>
          )}
        </>
      )}
    </>
  );
}

const MARKS = [0, 25, 50, 75, 100] as const;

/** A slider that moves takes many shares a second, and must not ask for each of them. */
const SLIDER_AGE_MS = 2_000;

/** A part of the largest order that the engine would take. */
function SizeSlider() {
  const chosen = instrument.value;
  const each = chosen === null ? 0 : perUnit(draft.value, chosen, marketPrice.value);
  const { size, shareQuantity } = draft.value;
  const quantity = Number(shareQuantity) || (each === 0 ? 0 : Number(cleanDecimal(size) ?? 0) / each);
  const most = Number(maxSize.value ?? 0);
  // One step of a small size is many steps of the slider, which must not stick at it.
  const percent = takenShare.value ?? (most === 0 ? 0 : Math.min(100, (100 * quantity) / most));
  return (
    <div class="slider">
      <input
        type="range"
        min="0"
        max="100"
        step="1"
        aria-label={text.sizeSlider}
        aria-valuetext={`${Math.round(percent)} %`}
        disabled={accountClient.value === null}
        value={Math.round(percent)}
        style={{ "--filled": `${percent}%` }}
        onInput={(event) => void takeShare(Number(event.currentTarget.value), SLIDER_AGE_MS)}
      />
      <div class="marks">
        {MARKS.slice(1).map((share) => (
          <button
            type="button"
            class="mini"
            disabled={accountClient.value === null}
            onClick={() => void takeShare(share)}
          >
            {share}%
          </button>
        ))}
      </div>
    </div>
  );
}

function Options() {
  const { kind, isIceberg, hasExits, reduceOnly } = draft.value;
  const chosen = instrument.value;
  const isResting = rests(draft.value);
  return (
    <div class="options">
      <div class="option-row">
        <Check field="reduceOnly" label={text.reduceOnly} hint={text.reduceOnlyHint} />
        {hasPrice(kind) && (
          <Check field="postOnly" label={text.postOnly} hint={text.postOnlyHint} isDisabled={!isResting} />
        )}
        {kind === "LIMIT" && (
          <Check field="isIceberg" label={text.iceberg} hint={text.icebergHint} isDisabled={!isResting} />
        )}
        {isImmediate(kind) && (
          <Check field="hasExits" label={text.exits} hint={text.exitsHint} isDisabled={reduceOnly} />
        )}
        <span class="end">
          <BoxSelect
            field="timeInForce"
            label={text.timeInForce}
            hint={text.timesInForce[timeInForceOf(draft.value)]}
            value={timeInForceOf(draft.value)}
            options={timesInForce(kind)}
            textOf={(each) => each}
          />
        </span>
      </div>
      <FieldNote field="reduceOnly" />
      <FieldNote field="postOnly" />
      {timeInForceOf(draft.value) === "GTD" && (
        <DecimalField field="goodForMinutes" label={text.goodFor} unit={text.minutes} />
      )}
      {kind === "LIMIT" && isIceberg && isResting && (
        <DecimalField field="displayQuantity" label={text.displayQuantity} unit={chosen?.baseAsset} />
      )}
      {isAtMarket(kind) && (
        <DecimalField field="maxSlippage" label={text.maxSlippage} unit="%" placeholder={text.priceBand} />
      )}
      {isImmediate(kind) && hasExits && !reduceOnly && (
        <>
          <DecimalField field="takeProfit" label={text.takeProfit} unit={chosen?.quoteAsset} />
          {!isByRisk(draft.value) && <DecimalField field="stopLoss" label={text.stopLoss} unit={chosen?.quoteAsset} />}
        </>
      )}
    </div>
  );
}

function SubmitButton() {
  const { side } = draft.value;
  const { order } = built.value;
  const chosen = instrument.value;
  const reason = obstacle.value;
  const refused = refusal.value;
  // The market's state says that better, and at once.
  const isElsewhere =
    refused !== null && (refused.code === "SYMBOL_HALTED" || formFieldOf(refused.field) !== undefined);
  const label =
    order === null || chosen === null
      ? text.enterSize
      : `${side === "BUY" ? text.buy : text.sell} ${showQuantity(order.quantity, 8).replace(/\.?0+$/, "")} ${chosen.baseAsset}`;
  return (
    <div class="submit">
      <button
        type="submit"
        class={`big ${side === "BUY" ? "buy" : "sell"}`}
        aria-disabled={order === null || reason !== null || isSending.value}
      >
        {isSending.value ? text.sending : label}
      </button>
      <p class={shortfall.value === null ? "note" : "note bad"} role="status">
        {reason ?? (refused !== null && !isElsewhere ? refusalText(refused) : (shortfall.value ?? caution.value))}
      </p>
    </div>
  );
}
