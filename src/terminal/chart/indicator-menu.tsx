import { useState } from "preact/hooks";
import { Dialog } from "../dialogs/dialog.tsx";
import { INDICATOR_IDS, type IndicatorId, isValidValue, type Parameter, parametersOf } from "../state/indicators.ts";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { hasOverlays } from "./candles.ts";
import { shownInterval } from "./chart-state.ts";

/** Chooses the lines of the chart and their lengths. Each change holds at once, and this browser keeps it. */
export function IndicatorMenu({ onClose }: { onClose: () => void }) {
  const { indicators: names } = text;
  const hasPrices = hasOverlays(shownInterval.value ?? "1m");
  return (
    <Dialog title={names.title} onClose={onClose}>
      <div class="indicators">
        <section aria-label={names.prices}>
          <Toggle name="showsMark" isOff={!hasPrices} />
          <Toggle name="showsIndex" isOff={!hasPrices} />
          <Toggle name="showsFills" isOff={false} />
          {!hasPrices && <p class="note">{names.onlyFromMinute}</p>}
        </section>
        <section aria-label={names.open}>
          {INDICATOR_IDS.map((id) => (
            <Indicator id={id} key={id} />
          ))}
          <p class="note">{names.none}</p>
        </section>
      </div>
    </Dialog>
  );
}

function Toggle({ name, isOff }: { name: "showsMark" | "showsIndex" | "showsFills"; isOff: boolean }) {
  return (
    <label class="check">
      <input
        type="checkbox"
        checked={settings.value[name]}
        disabled={isOff}
        onChange={(event) => set(name, event.currentTarget.checked)}
      />
      {text.indicators[name]}
    </label>
  );
}

function Indicator({ id }: { id: IndicatorId }) {
  const shown = settings.value.indicators;
  const toggle = (isOn: boolean): void =>
    set(
      "indicators",
      INDICATOR_IDS.filter((each) => (each === id ? isOn : shown.includes(each))),
    );
  return (
    <fieldset class="indicator">
      <label class="check">
        <input type="checkbox" checked={shown.includes(id)} onChange={(event) => toggle(event.currentTarget.checked)} />
        <b>{text.indicators.names[id]}</b> {text.indicators.longNames[id]}
      </label>
      {shown.includes(id) && (
        <div class="parameters">
          {parametersOf(id).map((parameter, index) => (
            <Value id={id} index={index} parameter={parameter} key={index} />
          ))}
        </div>
      )}
    </fieldset>
  );
}

function Value({ id, index, parameter }: { id: IndicatorId; index: number; parameter: Parameter }) {
  const values = settings.value.indicatorValues;
  const [typed, setTyped] = useState<string | null>(null);
  const { least, most, step } = parameter;
  const isBad = typed !== null && !isValidValue(Number(typed.trim() || Number.NaN), parameter);
  const name = text.indicators.parameters[id][index] ?? "";
  const change = (value: string): void => {
    setTyped(value);
    const number = Number(value.trim() || Number.NaN);
    if (!isValidValue(number, parameter)) return;
    const changed = values[id].map((each, at) => (at === index ? number : each));
    set("indicatorValues", { ...values, [id]: changed });
  };
  const faultId = `fault-${id}-${index}`;
  return (
    <label>
      <span class="muted">{name}</span>
      <input
        inputMode="decimal"
        autocomplete="off"
        aria-label={text.indicators.parameterOf(text.indicators.names[id], name)}
        aria-invalid={isBad}
        aria-describedby={isBad ? faultId : undefined}
        value={typed ?? String(values[id][index])}
        onInput={(event) => change(event.currentTarget.value)}
      />
      {isBad && (
        <p class="note bad" role="alert" id={faultId}>
          {text.indicators.badValue(least, most, step)}
        </p>
      )}
    </label>
  );
}
