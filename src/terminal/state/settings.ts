import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { timeZone } from "../text/format.ts";
import { cleanSettings, DEFAULTS, type Settings } from "./choices.ts";
import { setPaintInterval } from "./frame.ts";

/** The settings of this browser. They are kept in localStorage; nothing of an account is. */

const KEY = "perpd.settings";

function read(): Settings {
  try {
    return cleanSettings(JSON.parse(localStorage.getItem(KEY) ?? "{}"));
  } catch {
    return DEFAULTS;
  }
}

export const settings = signal<Settings>(read());

export function set<K extends keyof Settings>(name: K, value: Settings[K]): void {
  settings.value = { ...settings.peek(), [name]: value };
}

export function resetSettings(): void {
  settings.value = { ...DEFAULTS, hasSeenTour: settings.peek().hasSeenTour };
}

/** A preference of the system, such as "(prefers-color-scheme: light)". */
function preference(media: string): ReadonlySignal<boolean> {
  const query = matchMedia(media);
  const now = signal(query.matches);
  query.addEventListener("change", () => {
    now.value = query.matches;
  });
  return now;
}
const systemIsLight = preference("(prefers-color-scheme: light)");
const systemIsCalm = preference("(prefers-reduced-motion: reduce)");

/** Whether the page is light now, by choice or as the system is. */
export const isLight = computed(() =>
  settings.value.theme === "system" ? systemIsLight.value : settings.value.theme === "light",
);

/** Changes when the colours of the page do. */
export const look = computed(() => `${isLight.value} ${settings.value.palette}`);

/** Whether little may move: figures change at most four times a second, and the chart does not glide. */
export const isCalm = computed(() => settings.value.motion === "reduced" || systemIsCalm.value);

const PAINT_EVERY_MS = { frame: 0, quarter: 250, second: 1_000 } as const;

effect(() => {
  const { palette, pace, zone } = settings.value;
  Object.assign(document.documentElement.dataset, { theme: isLight.value ? "light" : "dark", palette });
  setPaintInterval(Math.max(PAINT_EVERY_MS[pace], isCalm.value ? PAINT_EVERY_MS.quarter : 0));
  timeZone.value = zone;
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // Storage is off in this browser: the choice lasts until the page is closed.
  }
});
