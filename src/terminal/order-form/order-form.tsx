import { useEffect, useRef } from "preact/hooks";
import { accountClient, balance, positions } from "../state/account.ts";
import { instrument, symbol, ticker } from "../state/markets.ts";
import { obstacle, refusalText } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { quantity as showQuantity, usd } from "../text/format.ts";
import { hasPrice, hasTrigger, isAtMarket, isImmediate, isTrailing, KINDS, type Kind } from "./draft.ts";
import { Check, DecimalField } from "./fields.tsx";
import { built, change, draft, formFieldOf, isSending, maxSize, refusal, submit, takeShare } from "./form-state.ts";
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
              unit={chosen.quoteAsset}
              placeholder={text.atOnce}
            />
          </>
        )}
        {hasTrigger(kind) && <DecimalField field="triggerPrice" label={text.trigger} unit={<TriggerBy />} />}
        {hasPrice(kind) && (
          <DecimalField field="price" label={text.price} unit={chosen.quoteAsset}>
            <button type="button" class="mini" title={text.bestPriceHint} onClick={fillBest}>
              {text.best}
            </button>
          </DecimalField>
        )}
        <DecimalField
          field="size"
          label={text.size}
          unit={<SizeUnit base={chosen.baseAsset} quote={chosen.quoteAsset} />}
        />
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
    <div class="sides" role="radiogroup" aria-label={text.side}>
      {(["BUY", "SELL"] as const).map((each) => (
        <label class={`side ${each === "BUY" ? "buy" : "sell"}`} data-on={side === each || undefined}>
          <input
            type="radio"
            name="side"
            class="hidden"
            checked={side === each}
            onChange={() => change({ side: each })}
          />
          {each === "BUY" ? text.buyLong : text.sellShort}
        </label>
      ))}
    </div>
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
    <select
      class="bare"
      aria-label={text.triggerBy}
      value={draft.value.triggerBy}
      onChange={(event) => change({ triggerBy: event.currentTarget.value as "MARK" })}
    >
      {(["MARK", "LAST", "INDEX"] as const).map((each) => (
        <option value={each}>{text.triggerSources[each]}</option>
      ))}
    </select>
  );
}

function SizeUnit({ base, quote }: { base: string; quote: string }) {
  return (
    <select
      class="bare"
      aria-label={text.sizeUnit}
      value={draft.value.sizeUnit}
      onChange={(event) => change({ sizeUnit: event.currentTarget.value as "BASE", size: "" })}
    >
      <option value="BASE">{base}</option>
      <option value="QUOTE">{quote}</option>
    </select>
  );
}

/** The best price of the order's own side, so that it rests. */
function fillBest(): void {
  const now = ticker.peek();
  const price = draft.peek().side === "BUY" ? now?.bidPrice : now?.askPrice;
  if (price != null) change({ price });
}

const MARKS = [0, 25, 50, 75, 100] as const;

/** A part of the largest order that the engine would take. */
function SizeSlider() {
  const { side, kind, price, reduceOnly, size, sizeUnit } = draft.value;
  const slider = useRef<HTMLInputElement>(null);
  const most = maxSize.value?.data[0]?.maxQuantity ?? null;
  // What the engine said holds for another order.
  useEffect(() => {
    maxSize.value = null;
  }, [side, kind, price, reduceOnly]);
  const quantity = Number(sizeUnit === "BASE" ? size : (built.value.order?.quantity ?? 0));
  const percent = most === null || Number(most) === 0 ? 0 : Math.min(100, (100 * quantity) / Number(most));
  return (
    <div class="slider">
      <input
        ref={slider}
        type="range"
        min="0"
        max="100"
        step="1"
        aria-label={text.sizeSlider}
        aria-valuetext={`${Math.round(percent)} %`}
        disabled={accountClient.value === null}
        value={Math.round(percent)}
        onInput={(event) => void takeShare(Number(event.currentTarget.value))}
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
  const { kind, timeInForce, isIceberg, hasExits, reduceOnly } = draft.value;
  const chosen = instrument.value;
  const rests = timeInForce === "GTC" || timeInForce === "GTD";
  return (
    <div class="options">
      <div class="option-row">
        <Check field="reduceOnly" label={text.reduceOnly} hint={text.reduceOnlyHint} />
        {kind === "LIMIT" && (
          <>
            <Check field="postOnly" label={text.postOnly} hint={text.postOnlyHint} isDisabled={timeInForce !== "GTC"} />
            <Check field="isIceberg" label={text.iceberg} hint={text.icebergHint} isDisabled={!rests} />
          </>
        )}
        {isImmediate(kind) && (
          <Check field="hasExits" label={text.exits} hint={text.exitsHint} isDisabled={reduceOnly} />
        )}
        {kind === "LIMIT" && <TimeInForceSelect />}
      </div>
      {kind === "LIMIT" && timeInForce === "GTD" && (
        <DecimalField field="goodForMinutes" label={text.goodFor} unit={text.minutes} />
      )}
      {kind === "LIMIT" && isIceberg && rests && (
        <DecimalField field="displayQuantity" label={text.displayQuantity} unit={chosen?.baseAsset} />
      )}
      {isAtMarket(kind) && (
        <DecimalField field="maxSlippage" label={text.maxSlippage} unit="%" placeholder={text.priceBand} />
      )}
      {isImmediate(kind) && hasExits && !reduceOnly && (
        <>
          <DecimalField field="takeProfit" label={text.takeProfit} unit={chosen?.quoteAsset} />
          <DecimalField field="stopLoss" label={text.stopLoss} unit={chosen?.quoteAsset} />
        </>
      )}
    </div>
  );
}

function TimeInForceSelect() {
  return (
    <label class="check end">
      <span class="hidden">{text.timeInForce}</span>
      <select
        class="bare"
        value={draft.value.timeInForce}
        onChange={(event) => change({ timeInForce: event.currentTarget.value as "GTC" })}
      >
        {(["GTC", "IOC", "FOK", "GTD"] as const).map((each) => (
          <option value={each} title={text.timesInForce[each]}>
            {each}
          </option>
        ))}
      </select>
    </label>
  );
}

function SubmitButton() {
  const { side } = draft.value;
  const { order } = built.value;
  const chosen = instrument.value;
  const reason = obstacle.value;
  const refused = refusal.value;
  const isElsewhere = refused !== null && formFieldOf(refused.field) !== undefined;
  const label =
    order === null || chosen === null
      ? text.enterSize
      : `${side === "BUY" ? text.buy : text.sell} ${showQuantity(order.quantity, 8).replace(/\.?0+$/, "")} ${chosen.baseAsset}`;
  return (
    <div class="submit">
      <button
        type="submit"
        class={`big ${side === "BUY" ? "buy" : "sell"}`}
        disabled={order === null || reason !== null || isSending.value}
      >
        {isSending.value ? text.sending : label}
      </button>
      <p class="note" role="status">
        {reason ?? (refused !== null && !isElsewhere ? refusalText(refused) : "")}
      </p>
    </div>
  );
}
