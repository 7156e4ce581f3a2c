import { cancelSwitch } from "../state/cancel-after.ts";
import { link } from "../state/connection.ts";
import { panel } from "../state/panel.ts";
import { settings } from "../state/settings.ts";
import { lastSequence, roundTripMs } from "../state/shared-stream.ts";
import { Countdown } from "../tables/cancel-after.tsx";
import { chosenTab } from "../tables/tabs.tsx";
import { text } from "../text/catalogue.ts";
import { fixed } from "../text/format.ts";
import { isArmed, isPaletteOpen, toggleArmed } from "./commands.ts";
import { Credits } from "./credits.tsx";

function showSwitch(): void {
  panel.value = "account";
  chosenTab.value = "orders";
}

/** The state of the connection, and where the chart comes from. */
export function StatusLine() {
  const state = link.value;
  const name = state === "OPEN" ? text.live : state === "LOST" ? text.lost : text.connectingShort;
  return (
    <footer class="status">
      <span class={`light ${state.toLowerCase()}`} role="status">
        {name}
      </span>
      <span>
        {text.roundTrip}{" "}
        <span class="num">{roundTripMs.value === null ? "–" : `${fixed(roundTripMs.value, 1)} ms`}</span>
      </span>
      <span title={text.sequenceHint}>
        {text.sequence} <span class="num">{lastSequence.value}</span>
      </span>
      <button
        type="button"
        class="armed"
        aria-pressed={isArmed.value}
        title={text.armHint}
        aria-keyshortcuts={settings.value.hotkeys.arm}
        onClick={toggleArmed}
      >
        {isArmed.value ? text.armed : text.disarmed}
      </button>
      <button
        type="button"
        class="link"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        {text.openPalette}
      </button>
      {cancelSwitch.value !== null && (
        <button type="button" class="link armed-switch" onClick={showSwitch}>
          <Countdown />
        </button>
      )}
      <span class="end">
        <Credits />
      </span>
    </footer>
  );
}
