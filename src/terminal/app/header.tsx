import { AccountMenu } from "../account/account-menu.tsx";
import { MarketBar } from "../market/market-bar.tsx";
import { isLight, set } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";
import { isSettingsOpen } from "./commands.ts";

export function Header() {
  return (
    <header class="top">
      <h1 class="hidden">perpd</h1>
      <a class="logo" href="/">
        perp<b>d</b>
      </a>
      <MarketBar />
      <div class="top-actions">
        <button
          type="button"
          class="icon"
          aria-label={text.theme}
          aria-pressed={isLight.value}
          onClick={() => set("theme", isLight.value ? "dark" : "light")}
        >
          {isLight.value ? "☾" : "☀"}
        </button>
        <button
          type="button"
          class="icon"
          aria-label={text.settings}
          onClick={() => {
            isSettingsOpen.value = true;
          }}
        >
          ⚙
        </button>
        <AccountMenu />
      </div>
    </header>
  );
}
