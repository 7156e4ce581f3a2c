import { effect, signal } from "@preact/signals";

/** What a person has chosen for this browser. Kept in localStorage; nothing of an account is. */

export type Theme = "dark" | "light";

const KEY = "perpd.settings";

interface Settings {
  readonly theme: Theme;
  /** Of the chart; "" until the person chooses one. */
  readonly interval: string;
}

const DEFAULTS: Settings = { theme: "dark", interval: "" };

function read(): Settings {
  try {
    return { ...DEFAULTS, ...(JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Settings>) };
  } catch {
    return DEFAULTS;
  }
}

export const settings = signal<Settings>(read());

export function set<K extends keyof Settings>(name: K, value: Settings[K]): void {
  settings.value = { ...settings.peek(), [name]: value };
}

effect(() => {
  document.documentElement.dataset.theme = settings.value.theme;
  try {
    localStorage.setItem(KEY, JSON.stringify(settings.value));
  } catch {
    // Storage is off in this browser: the choice lasts until the page is closed.
  }
});
