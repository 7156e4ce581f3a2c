import { signal } from "@preact/signals";
import { PerpdError } from "../../client/error.ts";
import type { Instrument, Position } from "../../client/types.ts";
import { Change } from "../dialogs/change.tsx";
import { Choice } from "../dialogs/choice.tsx";
import { Dialog } from "../dialogs/dialog.tsx";
import { Refused } from "../dialogs/refused.tsx";
import { TextField } from "../dialogs/text-field.tsx";
import { balance, forgetWithAccount, positions } from "../state/account.ts";
import { marginSetting, readMarginSetting } from "../state/leverage.ts";
import { type MarginTerms, termsAfter } from "../state/margin-change.ts";
import { instrument, priceDecimals, symbol } from "../state/markets.ts";
import { attempt } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { short, price as showPrice, usd } from "../text/format.ts";
import { localRefusal, nearestOf, readDecimal } from "../text/refusals.ts";

/** The market whose dialog is open. */
const openFor = signal<string | null>(null);
const typed = signal("");
const mode = signal<MarginTerms["marginMode"]>("CROSS");
const refusal = signal<PerpdError | null>(null);
const isSending = signal(false);

forgetWithAccount(() => {
  openFor.value = null;
});

/** Shows leverage and margin mode, and opens the dialog that changes them. */
export function LeverageButton() {
  const setting = marginSetting.value;
  const show = () => {
    if (setting === null) return;
    typed.value = String(setting.leverage);
    mode.value = setting.marginMode;
    refusal.value = null;
    openFor.value = symbol.peek();
  };
  return (
    <div class="leverage">
      <button type="button" class="chip" disabled={setting === null} onClick={show}>
        <span class="hidden">{text.marginMode} </span>
        {setting === null ? "–" : modeText(setting.marginMode)}
      </button>
      <button type="button" class="chip" disabled={setting === null} onClick={show}>
        <span class="hidden">{text.leverage} </span>
        {setting === null ? "–" : `${setting.leverage}×`}
      </button>
      {openFor.value !== null && openFor.value === symbol.value && <LeverageDialog />}
    </div>
  );
}

const modeText = (each: MarginTerms["marginMode"]): string => (each === "CROSS" ? text.cross : text.isolated);

/** The typed leverage, or why it cannot be one. */
function leverageOf({ maxLeverage }: Instrument): number | PerpdError {
  const read = readDecimal("leverage", typed.value, { step: "1", least: "1", most: String(maxLeverage) });
  if (!(read instanceof PerpdError)) return Number(read);
  return read.code === "EMPTY" ? read : localRefusal("leverage", text.faultWhole(maxLeverage), nearestOf(read));
}

/** In percent of the slider, which begins at 1. */
const filledShare = (leverage: number, most: number): number => (100 * (leverage - 1)) / Math.max(1, most - 1);

async function apply(chosen: Instrument): Promise<void> {
  // Null when it could not be read again since the dialog was opened: both are sent then.
  const before = marginSetting.peek();
  const leverage = leverageOf(chosen);
  if (leverage instanceof PerpdError || isSending.peek()) {
    if (leverage instanceof PerpdError) refusal.value = leverage;
    return;
  }
  isSending.value = true;
  refusal.value = await attempt("leverage", async (stream) => {
    if (before?.marginMode !== mode.peek()) await stream.setMarginMode(chosen.symbol, mode.peek());
    if (before?.leverage !== leverage) await stream.setLeverage(chosen.symbol, leverage);
  });
  await readMarginSetting();
  isSending.value = false;
  if (refusal.peek() === null) openFor.value = null;
}

function LeverageDialog() {
  const chosen = instrument.value;
  if (chosen === null) return null;
  const leverage = leverageOf(chosen);
  const change = (value: string): void => {
    typed.value = value;
    refusal.value = null;
  };
  const ofLeverage = refusal.value?.field === "leverage" ? refusal.value : null;
  return (
    <Dialog title={text.leverageOf(symbol.value)} onClose={() => (openFor.value = null)}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void apply(chosen);
        }}
      >
        <Choice
          name="mode"
          label={text.marginMode}
          options={["CROSS", "ISOLATED"] as const}
          value={mode.value}
          textOf={modeText}
          onChoose={(each) => {
            mode.value = each;
            refusal.value = null;
          }}
        />
        <p class="note">{mode.value === "CROSS" ? text.crossHint : text.isolatedHint}</p>
        <TextField
          label={text.leverage}
          value={typed.value}
          unit="×"
          refusal={ofLeverage ?? (leverage instanceof PerpdError && leverage.code !== "EMPTY" ? leverage : null)}
          onChange={change}
        />
        <input
          type="range"
          min="1"
          max={chosen.maxLeverage}
          step="1"
          aria-label={text.leverageSlider}
          value={leverage instanceof PerpdError ? 1 : leverage}
          style={{ "--filled": `${leverage instanceof PerpdError ? 0 : filledShare(leverage, chosen.maxLeverage)}%` }}
          onInput={(event) => change(event.currentTarget.value)}
        />
        {!(leverage instanceof PerpdError) && <Changes chosen={chosen} leverage={leverage} />}
        <Refused refusal={refusal.value} fields={["leverage"]} />
        <button type="submit" class="big accent" aria-disabled={leverage instanceof PerpdError || isSending.value}>
          {isSending.value ? text.sending : text.confirm}
        </button>
      </form>
    </Dialog>
  );
}

/** The settings and figures before and after. Figures after it are the page's own arithmetic. */
function Changes({ chosen, leverage }: { chosen: Instrument; leverage: number }) {
  const before = marginSetting.value;
  const position = positions.value.find((each) => each.symbol === chosen.symbol);
  if (before === null) return null;
  const decimals = priceDecimals.value;
  const most = (of: number): string | undefined =>
    chosen.riskTiers.filter((each) => each.maxLeverage >= of).at(-1)?.maxNotional;
  return (
    <dl class="pairs flat changes" aria-label={text.changes}>
      <Change label={text.marginMode} before={modeText(before.marginMode)} after={modeText(mode.value)} />
      <Change label={text.leverage} before={`${before.leverage}×`} after={`${leverage}×`} />
      <Change
        label={text.maxNotional}
        before={short(most(before.leverage))}
        after={short(most(leverage))}
        unit="USDC"
      />
      {position !== undefined && (
        <OfPosition position={position} chosen={chosen} leverage={leverage} decimals={decimals} />
      )}
    </dl>
  );
}

function OfPosition(props: { position: Position; chosen: Instrument; leverage: number; decimals: number }) {
  const { position, chosen, leverage, decimals } = props;
  const now = termsAfter(position, position, chosen);
  const after = termsAfter(position, { leverage, marginMode: mode.value }, chosen);
  const available = Number(balance.value?.availableBalance ?? 0);
  return (
    <>
      <Change label={text.marginOfPosition} before={usd(now.margin)} after={usd(after.margin)} unit="USDC" />
      <Change
        label={text.available}
        before={usd(available)}
        after={usd(available + now.bound - after.bound)}
        unit="USDC"
      />
      <Change
        label={text.liquidationPrice}
        before={showPrice(position.liquidationPrice, decimals)}
        after={
          after.liquidationPrice === null && mode.value === "CROSS" && position.marginMode !== "CROSS"
            ? text.byAllEquity
            : showPrice(after.liquidationPrice ?? position.liquidationPrice, decimals)
        }
      />
    </>
  );
}
