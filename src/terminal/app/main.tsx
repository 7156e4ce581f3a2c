import "../styles/index.css";
import { effect } from "@preact/signals";
import { render } from "preact";
import { openWallets } from "../account/wallets.ts";
import { openPreview } from "../order-form/form-state.ts";
import { openLargestOrder } from "../order-form/largest-order.ts";
import { openCancelSwitch } from "../state/cancel-after.ts";
import { openMarginSetting } from "../state/leverage.ts";
import { openMarketFeed } from "../state/market-feed.ts";
import { openMarkets, priceDecimals, symbol, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { price } from "../text/format.ts";
import { App } from "./app.tsx";
import { openHotkeys } from "./commands.ts";
import { openLeaving } from "./leaving.ts";
import { openNotices } from "./notices.ts";
import { openPanelSizes } from "./separator.tsx";
import { openSounds } from "./sounds.ts";
import { openTour } from "./tour.tsx";

/** The entry of the terminal: opens the streams and draws the page. */

openMarketFeed();
openMarginSetting();
openPreview();
openLargestOrder();
openNotices();
openCancelSwitch();
openWallets();
openHotkeys();
openSounds();
openPanelSizes();
openTour();
openLeaving();
void openMarkets();

effect(() => {
  const last = ticker.value?.lastPrice ?? ticker.value?.markPrice;
  if (last != null) document.title = text.title(price(last, priceDecimals.value), symbol.value);
});

const root = document.getElementById("app");
if (root !== null) render(<App />, root);
