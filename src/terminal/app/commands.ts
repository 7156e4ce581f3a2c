import { signal } from "@preact/signals";
import { ACCOUNT_DIALOGS, endSession, openAccountDialog } from "../account/account-dialogs.tsx";
import { tryIt } from "../account/sign-in.ts";
import { INTERVALS } from "../chart/candles.ts";
import { hasPrice, hasTrigger, KINDS } from "../order-form/draft.ts";
import { changeAndGo, draft, submit } from "../order-form/form-state.ts";
import { takeShare } from "../order-form/largest-order.ts";
import { account, forgetWithAccount, positions } from "../state/account.ts";
import { CHOICES, chordOf, type HotkeyId, TRADING_HOTKEYS, worksInFields } from "../state/choices.ts";
import { chooseMarket, instruments, symbol } from "../state/markets.ts";
import { panel } from "../state/panel.ts";
import { set, settings } from "../state/settings.ts";
import { announcement } from "../state/toasts.ts";
import { askAndClose, cancelAll, reversePosition } from "../state/trading.ts";
import { chosenTab, TABS } from "../tables/tabs.tsx";
import { text } from "../text/catalogue.ts";
import { resetPanels } from "./separator.tsx";
import { startTour } from "./tour.tsx";

/** The commands of the palette and of the hotkeys. */

export interface Command {
  readonly title: string;
  /** Undefined for one without a hotkey. */
  readonly id?: HotkeyId;
  /** The market in which it trades. To type only its name must not choose the command. */
  readonly market?: string;
  run(): unknown;
}

/** Whether hotkeys may trade. Off when the page is opened. */
export const isArmed = signal(false);
// A key must not trade for a person who has not armed it.
forgetWithAccount(() => {
  isArmed.value = false;
});
export function toggleArmed(): void {
  isArmed.value = !isArmed.peek();
  announcement.value = isArmed.peek() ? text.armed : text.disarmed;
}

export const isPaletteOpen = signal(false);
export const isSettingsOpen = signal(false);

/** The price that the order has: its limit, otherwise its trigger. An order at market becomes a limit order. */
function goToPrice(): void {
  const { kind } = draft.peek();
  if (hasPrice(kind)) changeAndGo({}, "field-price");
  else if (hasTrigger(kind)) changeAndGo({}, "field-triggerPrice");
  else if (kind === "MARKET") changeAndGo({ kind: "LIMIT" }, "field-price");
  else changeAndGo({}, "field-activationPrice");
}

/** Those that make sense now. */
export function commands(): Command[] {
  return [
    { title: text.hotkeyNames.buy, id: "buy", run: () => changeAndGo({ side: "BUY" }, "field-size") },
    { title: text.hotkeyNames.sell, id: "sell", run: () => changeAndGo({ side: "SELL" }, "field-size") },
    { title: text.hotkeyNames.limit, id: "limit", run: () => changeAndGo({ kind: "LIMIT" }, "field-price") },
    { title: text.hotkeyNames.market, id: "market", run: () => changeAndGo({ kind: "MARKET" }, "field-size") },
    { title: text.hotkeyNames.price, id: "price", run: goToPrice },
    { title: text.hotkeyNames.size, id: "size", run: () => changeAndGo({}, "field-size") },
    ...(account.value !== null ? signedIn() : signedOut()),
    {
      title: isArmed.value ? text.disarm : text.arm,
      id: "arm",
      run: toggleArmed,
    },
    {
      title: text.openSettings,
      run() {
        isSettingsOpen.value = true;
      },
    },
    { title: text.tour, run: startTour },
    { title: text.resetPanels, run: resetPanels },
    ...instruments.value.map((each) => ({
      title: text.commandMarketOf(each.symbol),
      run: () => chooseMarket(each.symbol),
    })),
    ...TABS.map(({ id, title }) => ({
      title: text.commandShow(title),
      run() {
        panel.value = "account";
        chosenTab.value = id;
        setTimeout(() => document.getElementById(`tab-${id}`)?.focus(), 0);
      },
    })),
    ...INTERVALS.map((each) => ({ title: text.commandInterval(each), run: () => set("interval", each) })),
    ...KINDS.slice(2).map((kind) => ({
      title: text.commandKind(text.kinds[kind]),
      run: () => changeAndGo({ kind }, kind === "TRAILING_STOP_MARKET" ? "field-callback" : "field-triggerPrice"),
    })),
    ...CHOICES.theme.map((each) => ({
      title: text.commandTheme(text.choices.theme[each]),
      run: () => set("theme", each),
    })),
  ];
}

const signedOut = (): Command[] => [
  { title: text.tryIt, run: () => tryIt() },
  { title: text.accountDialogs.signIn, run: () => openAccountDialog("signIn") },
];

const SHARES = [25, 50, 75, 100] as const;

function signedIn(): Command[] {
  const open = positions.value.find((each) => each.symbol === symbol.value);
  const ofPosition: Command[] =
    open === undefined
      ? []
      : [
          {
            title: text.commandClose(open.symbol),
            id: "close",
            market: open.symbol,
            run: () => askAndClose(open.symbol),
          },
          {
            title: text.commandReverse(open.symbol),
            id: "reverse",
            market: open.symbol,
            run: () => reversePosition(open.symbol),
          },
        ];
  return [
    ...SHARES.map((share) => ({
      title: text.hotkeyNames[`share${share}`],
      id: `share${share}` as const,
      run: () => takeShare(share),
    })),
    { title: text.hotkeyNames.submit, id: "submit", run: () => submit() },
    {
      title: text.commandCancelHere(symbol.value),
      id: "cancel",
      market: symbol.value,
      run: () => cancelAll(symbol.peek()),
    },
    { title: text.commandCancelAll, run: () => cancelAll() },
    ...ofPosition,
    ...ACCOUNT_DIALOGS.map((name) => ({ title: text.accountDialogs[name], run: () => openAccountDialog(name) })),
    { title: text.signOut, run: () => endSession() },
  ];
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  target.matches("input:not([type=checkbox], [type=radio], [type=range]), select, textarea");

/** Hotkeys rest meanwhile: the person looks at the menu or dialog, and its keys are its own. */
const isMenuOpen = (): boolean => document.querySelector("dialog[open], [role=dialog], .menu") !== null;

/** Listens to keys. Call once. */
export function openHotkeys(): void {
  document.addEventListener("keydown", (event) => {
    const chord = chordOf(event);
    if (chord === "Ctrl+K") {
      event.preventDefault();
      // A dialog that is open keeps the page below it out of reach.
      if (isPaletteOpen.peek() || document.querySelector("dialog[open]") === null)
        isPaletteOpen.value = !isPaletteOpen.peek();
      return;
    }
    // A key that is held down must not send an order each time that it repeats.
    if (chord === "" || event.repeat || (isTyping(event.target) && !worksInFields(chord))) return;
    if (isMenuOpen()) return;
    const keys = settings.peek().hotkeys;
    const command = commands().find(({ id }) => id !== undefined && keys[id] === chord);
    if (command?.id === undefined || (TRADING_HOTKEYS.has(command.id) && !isArmed.peek())) return;
    event.preventDefault();
    command.run();
  });
}
