import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chordOf,
  cleanSettings,
  DEFAULT_HOTKEYS,
  DEFAULTS,
  hotkeyFault,
  worksInFields,
} from "../../src/terminal/state/choices.ts";
import { panelSizes } from "../../src/terminal/state/panel-sizes.ts";
import { clock, dayAndClock, timeZone, words } from "../../src/terminal/text/format.ts";

const press = (key: string, down: Partial<Parameters<typeof chordOf>[0]> = {}): string =>
  chordOf({ key, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...down });

test("a press of keys has one name", () => {
  assert.deepEqual(
    [
      press("b"),
      press("B", { shiftKey: true }),
      press("!", { shiftKey: true }),
      press("1", { altKey: true }),
      press("Enter", { metaKey: true }),
      press("k", { ctrlKey: true }),
      press(" "),
      press("Shift", { shiftKey: true }),
    ],
    ["B", "Shift+B", "!", "Alt+1", "Ctrl+Enter", "Ctrl+K", "Space", ""],
  );
});

test("a command gets no key that another has, or that operates the page or the browser", () => {
  assert.equal(hotkeyFault("buy", "S", DEFAULT_HOTKEYS), "sell");
  assert.equal(hotkeyFault("buy", "B", DEFAULT_HOTKEYS), null);
  assert.equal(hotkeyFault("buy", "Alt+S", DEFAULT_HOTKEYS), null);
  for (const chord of ["Tab", "Enter", "Escape", "Space", "ArrowUp", "F5", "Ctrl+K", "Ctrl+W", ""])
    assert.equal(hotkeyFault("buy", chord, DEFAULT_HOTKEYS), "NOT_BINDABLE", chord);
  assert.deepEqual(["B", "Shift+B", "Alt+B", "Ctrl+Enter"].map(worksInFields), [false, false, true, true]);
});

test("stored settings that are not valid fall back to the defaults, and unknown ones are dropped", () => {
  for (const nothing of [null, 5, "text", [], {}]) assert.deepEqual(cleanSettings(nothing), DEFAULTS);
  const stored = { theme: "light", palette: 7, zone: "mars", sounds: "yes", interval: "5m", token: "secret" };
  assert.deepEqual(cleanSettings(stored), { ...DEFAULTS, theme: "light", interval: "5m" });
  const keysOf = (hotkeys: object) => cleanSettings({ hotkeys }).hotkeys;
  assert.deepEqual(keysOf({ buy: "G", sell: "", other: "Z" }), { ...DEFAULT_HOTKEYS, buy: "G", sell: "" });
  assert.deepEqual(keysOf({ buy: "Tab" }), DEFAULT_HOTKEYS);
  assert.deepEqual(keysOf({ buy: "S" }), DEFAULT_HOTKEYS, "two commands with one key");
});

test("panels keep their sizes within limits that leave room for the others, in every window", () => {
  const chosen = (px: number) => ({ bookWidth: px, formWidth: px, tablesHeight: px, tapeHeight: px });
  const desktop = panelSizes(DEFAULTS, { width: 1440, height: 900 });
  assert.deepEqual(
    Object.values(desktop).map(({ px }) => px),
    [280, 304, 252, 211],
  );
  for (const width of [1181, 1440, 3840])
    for (const height of [300, 600, 900, 2160])
      for (const px of [-5, 1, 333.3, 1e9, Number.POSITIVE_INFINITY]) {
        const sizes = panelSizes(chosen(px), { width, height });
        for (const [name, { px, least, most }] of Object.entries(sizes))
          assert.ok(px >= least && px <= most && Number.isInteger(px), `${name} ${px} in ${width} x ${height}`);
        assert.ok(sizes.bookWidth.px + sizes.formWidth.px < 0.6 * width);
        assert.ok(height < 600 || sizes.tablesHeight.px + sizes.tapeHeight.px < height - 250);
      }
  assert.deepEqual(cleanSettings({ bookWidth: "300", tapeHeight: 150 }), { ...DEFAULTS, tapeHeight: 150 });
});

test("times are shown in the local zone or in UTC, whichever is chosen", () => {
  const before = process.env.TZ;
  process.env.TZ = "America/New_York";
  try {
    const timeMs = Date.UTC(2026, 0, 1, 3, 4, 5);
    assert.equal(dayAndClock(timeMs), "12-31 22:04:05");
    timeZone.value = "utc";
    assert.equal(dayAndClock(timeMs), "01-01 03:04:05");
    assert.equal(clock(timeMs), "03:04:05");
  } finally {
    timeZone.value = "local";
    if (before === undefined) delete process.env.TZ;
    else process.env.TZ = before;
  }
});

test("a constant of the API is a phrase, with abbreviations as they are written", () => {
  assert.deepEqual(["GOOD_TILL", "REALIZED_PNL", "ADL"].map(words), ["Good till", "Realized PnL", "ADL"]);
});
