import {
  cleanIndicators,
  cleanIndicatorValues,
  DEFAULT_VALUES,
  type IndicatorId,
  type IndicatorValues,
} from "./indicators.ts";
import { DEFAULT_SIZES } from "./panel-sizes.ts";

/** The settings that a browser may have, and the keys of the commands. Pure: no page, no storage. */

/** The values of each setting that is a choice of a few. */
export const CHOICES = {
  theme: ["dark", "light", "system"],
  palette: ["standard", "colour-blind"],
  motion: ["system", "reduced"],
  pace: ["frame", "quarter", "second"],
  zone: ["local", "utc"],
} as const;

type Choices = { readonly [K in keyof typeof CHOICES]: (typeof CHOICES)[K][number] };

/** By command: the key that runs it, such as "B", "Alt+1" or "Ctrl+Enter". "" = none. */
export const DEFAULT_HOTKEYS = {
  buy: "B",
  sell: "S",
  limit: "L",
  market: "M",
  price: "P",
  size: "Q",
  share25: "1",
  share50: "2",
  share75: "3",
  share100: "4",
  arm: "A",
  submit: "Ctrl+Enter",
  cancel: "X",
  close: "C",
  reverse: "R",
};
export type HotkeyId = keyof typeof DEFAULT_HOTKEYS;
export type Hotkeys = Readonly<Record<HotkeyId, string>>;
export const HOTKEY_IDS = Object.keys(DEFAULT_HOTKEYS) as HotkeyId[];

/** They change orders or positions at once, so they work only while hotkeys are armed. */
export const TRADING_HOTKEYS: ReadonlySet<HotkeyId> = new Set(["submit", "cancel", "close", "reverse"]);

type Sizes = Readonly<typeof DEFAULT_SIZES>;

/** The sizes of panels are in CSS pixels; 0 = the default. */
export interface Settings extends Choices, Sizes {
  /** Of the chart; "" until the person chooses one. */
  readonly interval: string;
  /** Shown on the chart. */
  readonly indicators: readonly IndicatorId[];
  readonly indicatorValues: IndicatorValues;
  readonly showsMark: boolean;
  readonly showsIndex: boolean;
  readonly showsFills: boolean;
  /** Whether the price scale includes each line of the account, however far away. */
  readonly fitsOrders: boolean;
  /** Whether a table takes the place of the chart. */
  readonly showsTable: boolean;
  /** The smallest trade and liquidation that are shown, in USDC. */
  readonly tradesFrom: number;
  readonly liquidationsFrom: number;
  readonly sounds: boolean;
  /** Whether the page asks before it sends an order, or closes or reverses a position at market. */
  readonly confirmsOrders: boolean;
  /** The tour is offered once. */
  readonly hasSeenTour: boolean;
  readonly hotkeys: Hotkeys;
}

export const DEFAULTS: Settings = {
  theme: "dark",
  palette: "standard",
  motion: "system",
  pace: "frame",
  zone: "local",
  interval: "",
  indicators: [],
  indicatorValues: DEFAULT_VALUES,
  showsMark: false,
  showsIndex: false,
  showsFills: true,
  fitsOrders: false,
  showsTable: false,
  tradesFrom: 0,
  liquidationsFrom: 0,
  sounds: false,
  confirmsOrders: false,
  hasSeenTour: false,
  ...DEFAULT_SIZES,
  hotkeys: DEFAULT_HOTKEYS,
};

type Raw = Readonly<Record<string, unknown>>;
const fieldsOf = (value: unknown): Raw => (typeof value === "object" && value !== null ? (value as Raw) : {});

/** The settings in what the storage held. Takes the default of each that is missing or not valid, and nothing else. */
export function cleanSettings(stored: unknown): Settings {
  const given = fieldsOf(stored);
  const isValid = ([name, fallback]: [string, unknown]): boolean =>
    name in CHOICES
      ? (CHOICES[name as keyof Choices] as readonly unknown[]).includes(given[name])
      : typeof given[name] === typeof fallback;
  const entries = Object.entries(DEFAULTS).map((entry) => [entry[0], isValid(entry) ? given[entry[0]] : entry[1]]);
  return {
    ...(Object.fromEntries(entries) as Settings),
    hotkeys: cleanHotkeys(given.hotkeys),
    indicators: cleanIndicators(given.indicators),
    indicatorValues: cleanIndicatorValues(given.indicatorValues),
  };
}

function cleanHotkeys(stored: unknown): Hotkeys {
  const given = fieldsOf(stored);
  const keys: Record<HotkeyId, string> = { ...DEFAULT_HOTKEYS };
  for (const id of HOTKEY_IDS) {
    const chord = given[id];
    if (chord === "" || (typeof chord === "string" && isBindable(chord))) keys[id] = chord;
  }
  const chords = Object.values(keys).filter((chord) => chord !== "");
  return new Set(chords).size === chords.length ? keys : DEFAULT_HOTKEYS;
}

/** As KeyboardEvent. */
interface Press {
  readonly key: string;
  readonly ctrlKey: boolean;
  readonly metaKey: boolean;
  readonly altKey: boolean;
  readonly shiftKey: boolean;
}

/** "Ctrl" stands for the Command key, too. "" while only modifiers are down. */
export function chordOf({ key, ctrlKey, metaKey, altKey, shiftKey }: Press): string {
  if (["Control", "Meta", "Alt", "Shift", "AltGraph", "Dead", "Process", "Unidentified"].includes(key)) return "";
  const name = key === " " ? "Space" : key.length === 1 ? key.toUpperCase() : key;
  // Shift makes another sign of a digit: the sign alone names the key.
  const hasShift = shiftKey && (name.length > 1 || name !== name.toLowerCase());
  return [(ctrlKey || metaKey) && "Ctrl", altKey && "Alt", hasShift && "Shift", name].filter(Boolean).join("+");
}

/** All other keys belong to the page's controls, to the browser or to the system. */
const isBindable = (chord: string): boolean => chord === "Ctrl+Enter" || /^(Alt\+)?(Shift\+)?[^\s]$/u.test(chord);

/** Keys that type nothing work in a field, too. */
export const worksInFields = (chord: string): boolean => chord.startsWith("Alt+") || chord.startsWith("Ctrl+");

/** Why the command cannot have the key: it is not a key for commands, or another command has it. Null when it can. */
export function hotkeyFault(id: HotkeyId, chord: string, keys: Hotkeys): "NOT_BINDABLE" | HotkeyId | null {
  if (!isBindable(chord)) return "NOT_BINDABLE";
  return HOTKEY_IDS.find((other) => other !== id && keys[other] === chord) ?? null;
}
