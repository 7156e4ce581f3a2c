import { Dialog } from "../dialogs/dialog.tsx";
import { CHOICES } from "../state/choices.ts";
import { resetSettings, set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { isSettingsOpen } from "./commands.ts";
import { Credits } from "./credits.tsx";
import { HotkeyList } from "./hotkey-list.tsx";
import { playFill } from "./sounds.ts";
import { startTour } from "./tour.tsx";

/** The settings of this browser. Each change holds at once. */
export function SettingsDialog() {
  if (!isSettingsOpen.value) return null;
  const close = (): void => {
    isSettingsOpen.value = false;
  };
  return (
    <Dialog title={text.settings} onClose={close} isWide>
      <div class="settings">
        <section aria-label={text.display}>
          <h3>{text.display}</h3>
          {(Object.keys(CHOICES) as (keyof typeof CHOICES)[]).map((name) => (
            <Choice name={name} />
          ))}
          <h3>{text.orders}</h3>
          <Toggle name="confirmsOrders" />
          <Toggle name="sounds" onChange={(isOn) => isOn && playFill("BUY")} />
          <p class="muted">{text.settingsKept}</p>
          <div class="setting-actions">
            <button type="button" class="chip reset" onClick={resetSettings}>
              {text.resetSettings}
            </button>
            <button
              type="button"
              class="chip reset"
              onClick={() => {
                close();
                setTimeout(startTour, 0);
              }}
            >
              {text.tour}
            </button>
          </div>
          <p class="credits">
            <Credits />
          </p>
        </section>
        <section aria-label={text.hotkeys}>
          <h3>{text.hotkeys}</h3>
          <HotkeyList />
        </section>
      </div>
    </Dialog>
  );
}

function Choice({ name }: { name: keyof typeof CHOICES }) {
  const labels: Readonly<Record<string, string>> = text.choices[name];
  return (
    <label class="setting">
      {text.settingNames[name]}
      <select
        value={settings.value[name]}
        onChange={(event) => set(name, event.currentTarget.value as (typeof CHOICES)[typeof name][number])}
      >
        {CHOICES[name].map((each) => (
          <option value={each}>{labels[each]}</option>
        ))}
      </select>
    </label>
  );
}

function Toggle(props: { name: "confirmsOrders" | "sounds"; onChange?: (isOn: boolean) => void }) {
  const { name, onChange } = props;
  return (
    <label class="setting">
      {text.settingNames[name]}
      <input
        type="checkbox"
        checked={settings.value[name]}
        onChange={(event) => {
          set(name, event.currentTarget.checked);
          onChange?.(event.currentTarget.checked);
        }}
      />
    </label>
  );
}
