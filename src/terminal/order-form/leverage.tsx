import { signal } from "@preact/signals";
import { Dialog } from "../dialogs/dialog.tsx";
import { accountClient, positions } from "../state/account.ts";
import { marginSetting, readMarginSetting } from "../state/leverage.ts";
import { instrument, symbol } from "../state/markets.ts";
import { attempt } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";
import { usd } from "../text/format.ts";

const isOpen = signal(false);
const leverage = signal(1);
const mode = signal<"CROSS" | "ISOLATED">("CROSS");

/** Shows leverage and margin mode, and opens the dialog that changes them. */
export function LeverageButton() {
  const setting = marginSetting.value;
  const show = () => {
    if (setting === null) return;
    leverage.value = setting.leverage;
    mode.value = setting.marginMode;
    isOpen.value = true;
  };
  return (
    <div class="leverage">
      <button type="button" class="chip" disabled={setting === null} onClick={show}>
        {setting === null ? text.cross : setting.marginMode === "CROSS" ? text.cross : text.isolated}
      </button>
      <button type="button" class="chip" disabled={setting === null} onClick={show}>
        <span class="hidden">{text.leverage} </span>
        {setting === null ? "–" : `${setting.leverage}×`}
      </button>
      {isOpen.value && <LeverageDialog />}
    </div>
  );
}

async function apply(): Promise<void> {
  const name = symbol.peek();
  const before = marginSetting.peek();
  await attempt("leverage", async (_client, stream) => {
    if (before?.marginMode !== mode.peek()) await stream.setMarginMode(name, mode.peek());
    if (before?.leverage !== leverage.peek()) await stream.setLeverage(name, leverage.peek());
    isOpen.value = false;
  });
  await readMarginSetting();
}

function LeverageDialog() {
  const chosen = instrument.value;
  const position = positions.value.find((each) => each.symbol === symbol.value);
  const most = chosen?.maxLeverage ?? 1;
  const tier = chosen?.riskTiers.filter((each) => each.maxLeverage >= leverage.value).at(-1);
  return (
    <Dialog title={text.leverageOf(symbol.value)} onClose={() => (isOpen.value = false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void apply();
        }}
      >
        <div class="sides" role="radiogroup" aria-label={text.marginMode}>
          {(["CROSS", "ISOLATED"] as const).map((each) => (
            <label class="side" data-on={mode.value === each || undefined}>
              <input
                type="radio"
                name="mode"
                class="hidden"
                checked={mode.value === each}
                onChange={() => (mode.value = each)}
              />
              {each === "CROSS" ? text.cross : text.isolated}
            </label>
          ))}
        </div>
        <p class="note">{mode.value === "CROSS" ? text.crossHint : text.isolatedHint}</p>
        <label class="box">
          <span class="box-label">{text.leverage}</span>
          <input
            inputMode="numeric"
            value={String(leverage.value)}
            onInput={(event) => {
              const typed = Math.floor(Number(event.currentTarget.value));
              leverage.value = Math.min(most, Math.max(1, Number.isFinite(typed) ? typed : 1));
            }}
          />
          <span class="box-unit">×</span>
        </label>
        <input
          type="range"
          min="1"
          max={most}
          step="1"
          aria-label={text.leverage}
          value={leverage.value}
          onInput={(event) => (leverage.value = Number(event.currentTarget.value))}
        />
        <dl class="pairs">
          <div>
            <dt>{text.maxNotional}</dt>
            <dd class="num">{usd(tier?.maxNotional)} USDC</dd>
          </div>
          {position !== undefined && (
            <div>
              <dt>{text.marginOfPosition}</dt>
              <dd class="num">
                {usd(position.initialMargin)} → {usd(Number(position.notional) / leverage.value)} USDC
              </dd>
            </div>
          )}
        </dl>
        <button type="submit" class="big accent" disabled={accountClient.value === null}>
          {text.confirm}
        </button>
      </form>
    </Dialog>
  );
}
