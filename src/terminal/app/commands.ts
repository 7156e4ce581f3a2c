import { signal } from "@preact/signals";
import { tryIt } from "../account/sign-in.ts";
import type { Draft } from "../order-form/draft.ts";
import { change } from "../order-form/form-state.ts";
import { account, positions } from "../state/account.ts";
import { chooseMarket, instruments, symbol } from "../state/markets.ts";
import { set, settings } from "../state/settings.ts";
import { cancelAll, closePosition, reversePosition } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";

/** What the command palette and the hotkeys can do. */

export interface Command {
  readonly title: string;
  /** Of KeyboardEvent; undefined without a hotkey. */
  readonly key?: string;
  /** It changes orders or positions at once, so its hotkey works only while hotkeys are armed. */
  readonly isTrading?: true;
  run(): unknown;
}

/** Whether hotkeys may trade. Off when the page is opened. */
export const isArmed = signal(false);
export const isPaletteOpen = signal(false);

/** Puts it into the order form and goes to a field of it. The field may appear with the change. */
function changeAndGo(fields: Partial<Draft>, id: string): void {
  change(fields);
  setTimeout(() => document.getElementById(id)?.focus(), 0);
}
const position = () => positions.value.find((each) => each.symbol === symbol.value);

/** Those that make sense now. */
export function commands(): Command[] {
  const open = position();
  const isSignedIn = account.value !== null;
  return [
    { title: text.commandBuy, key: "b", run: () => changeAndGo({ side: "BUY" }, "field-size") },
    { title: text.commandSell, key: "s", run: () => changeAndGo({ side: "SELL" }, "field-size") },
    { title: text.commandLimit, key: "l", run: () => changeAndGo({ kind: "LIMIT" }, "field-price") },
    { title: text.commandMarket, key: "m", run: () => changeAndGo({ kind: "MARKET" }, "field-size") },
    ...(isSignedIn ? signedIn() : [{ title: text.tryIt, run: () => tryIt() }]),
    ...(open === undefined
      ? []
      : ([
          { title: text.commandClose(open.symbol), key: "c", isTrading: true, run: () => closePosition(open.symbol) },
          { title: text.commandReverse(open.symbol), key: "r", isTrading: true, run: () => reversePosition(open) },
        ] as const)),
    {
      title: isArmed.value ? text.disarm : text.arm,
      key: "a",
      run: () => {
        isArmed.value = !isArmed.value;
      },
    },
    { title: text.commandTheme, run: () => set("theme", settings.value.theme === "light" ? "dark" : "light") },
    ...instruments.value.map((each) => ({
      title: text.commandMarketOf(each.symbol),
      run: () => chooseMarket(each.symbol),
    })),
  ];
}

const signedIn = (): Command[] => [
  { title: text.commandCancelHere(symbol.value), key: "x", isTrading: true, run: () => cancelAll(symbol.peek()) },
  { title: text.commandCancelAll, isTrading: true, run: () => cancelAll() },
];

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.matches("input:not([type=checkbox], [type=radio], [type=range]), select, textarea");

/** Listens to keys. Call once. */
export function openHotkeys(): void {
  document.addEventListener("keydown", (event) => {
    const key = event.key.toLowerCase();
    if (key === "k" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      isPaletteOpen.value = !isPaletteOpen.peek();
      return;
    }
    // A key that is held down must not send an order each time that it repeats.
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || isTyping(event.target)) return;
    if (document.querySelector("dialog[open]") !== null) return;
    const command = commands().find((each) => each.key === key);
    if (command === undefined || (command.isTrading === true && !isArmed.peek())) return;
    event.preventDefault();
    command.run();
  });
}
