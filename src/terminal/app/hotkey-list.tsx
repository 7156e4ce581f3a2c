import { useState } from "preact/hooks";
import { chordOf, HOTKEY_IDS, type HotkeyId, hotkeyFault, TRADING_HOTKEYS } from "../state/choices.ts";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";

/** Shows the key of each command, and takes another one. */
export function HotkeyList() {
  const [waiting, setWaiting] = useState<HotkeyId | null>(null);
  const [fault, setFault] = useState<{ readonly id: HotkeyId; readonly message: string } | null>(null);
  const keys = settings.value.hotkeys;
  const bind = (id: HotkeyId, chord: string): void => {
    set("hotkeys", { ...keys, [id]: chord });
    setWaiting(null);
    setFault(null);
  };
  const press = (event: KeyboardEvent, id: HotkeyId): void => {
    if (waiting !== id || event.key === "Tab" || event.key === "Shift") return;
    // Escape must not close the dialog, and Enter must not press the button again.
    event.preventDefault();
    event.stopPropagation();
    const chord = chordOf(event);
    if (event.key === "Escape") setWaiting(null);
    else if (chord === "Delete" || chord === "Backspace") bind(id, "");
    else if (chord !== "") {
      const refused = hotkeyFault(id, chord, keys);
      if (refused === null) bind(id, chord);
      else
        setFault({
          id,
          message:
            refused === "NOT_BINDABLE" ? text.notBindable(chord) : text.keyTaken(chord, text.hotkeyNames[refused]),
        });
    }
  };
  return (
    <>
      <p class="muted">{text.hotkeysHint}</p>
      <ul class="hotkeys">
        {HOTKEY_IDS.map((id) => (
          <li key={id}>
            <span>
              {text.hotkeyNames[id]}
              {TRADING_HOTKEYS.has(id) && <span class="tag warn">{text.onlyArmed}</span>}
            </span>
            <button
              type="button"
              class="mini"
              aria-label={text.keyOf(text.hotkeyNames[id], waiting === id ? text.pressKey : keys[id] || text.noKey)}
              aria-pressed={waiting === id}
              onClick={() => {
                setWaiting(id);
                setFault(null);
              }}
              onBlur={() => setWaiting(null)}
              onKeyDown={(event) => press(event, id)}
            >
              {waiting === id ? text.pressKey : keys[id] || text.noKey}
            </button>
            {fault?.id === id && (
              <p class="note bad" role="alert">
                {fault.message}
              </p>
            )}
          </li>
        ))}
      </ul>
    </>
  );
}
