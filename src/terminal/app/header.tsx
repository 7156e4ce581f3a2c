import { AccountMenu } from "../account/account-menu.tsx";
import { MarketBar } from "../market/market-bar.tsx";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";

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
          aria-pressed={settings.value.theme === "light"}
          onClick={() => set("theme", settings.value.theme === "light" ? "dark" : "light")}
        >
          {settings.value.theme === "light" ? "☾" : "☀"}
        </button>
        <AccountMenu />
      </div>
    </header>
  );
}
