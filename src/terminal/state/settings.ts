import { computed, effect, type ReadonlySignal, signal } from "@preact/signals";
import { timeZone } from "../text/format.ts";
import { cleanSettings, DEFAULTS, type Settings } from "./choices.ts";
import { setPaintInterval } from "./frame.ts";

/** The settings of this browser. They are kept in localStorage; nothing of an account is. */

const KEY = "perpd.settings";

/** The settings in the storage; `otherwise` when it holds nothing, or is off in this browser. */
function read(otherwise: Settings): Settings {
  try {
    const stored = localStorage.getItem(KEY);
    return stored === null ? otherwise : cleanSettings(JSON.parse(stored));
  } catch {
    return otherwise;
  }
}

export const settings = signal<Settings>(read(DEFAULTS));

function write(next: Settings): void {
  settings.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Storage is off in this browser: the choice lasts until the page is closed.
  }
}

/** Changes one field of what is stored: another tab may have changed others a moment ago. */
export function set<K extends keyof Settings>(name: K, value: Settings[K]): void {
  write({ ...read(settings.peek()), [name]: value });
}

export function resetSettings(): void {
  write({ ...DEFAULTS, hasSeenTour: read(settings.peek()).hasSeenTour });
}

// The browser tells it to the other tabs only. They do not write the settings that they take over.
addEventListener("storage", ({ key }) => {
  // Null: all of it was cleared.
  if (key === KEY || key === null) settings.value = read(DEFAULTS);
});

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
});
