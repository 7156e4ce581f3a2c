import { useLayoutEffect, useRef } from "preact/hooks";
import { changeAndGo } from "../order-form/form-state.ts";
import { instrument, priceDecimals, ticker } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";
import { fromNumber } from "../text/decimal.ts";
import { fixed } from "../text/format.ts";
import { orderMenu, pointed } from "./chart-state.ts";
import { draftOf, offersAt } from "./offers.ts";

/** Orders at a price of the chart. They go into the order form, which sends them as always. */

/** A button beside the price scale, at the height of the crosshair. */
export function OrderButton() {
  const now = pointed.value;
  if (now === null) return null;
  const name = text.orderAt(fixed(now.price, priceDecimals.value));
  return (
    <button
      type="button"
      class="order-at"
      // The keyboard has Enter on the chart for it.
      tabIndex={-1}
      aria-label={name}
      title={name}
      style={{ top: `${now.y - 9}px`, right: `${now.axisWidth + 2}px` }}
      onClick={({ currentTarget }) => {
        const { left, bottom } = currentTarget.getBoundingClientRect();
        orderMenu.value = { price: now.price, x: left, y: bottom };
      }}
    >
      +
    </button>
  );
}

const MARGIN_PX = 8;

export function OrderMenu({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDivElement>(null);
  const asked = orderMenu.value;
  useLayoutEffect(() => {
    const menu = element.current;
    if (menu === null || asked === null) return;
    // Whole in the window, wherever the pointer was.
    menu.style.left = `${Math.max(MARGIN_PX, Math.min(asked.x, innerWidth - menu.offsetWidth - MARGIN_PX))}px`;
    menu.style.top = `${Math.max(MARGIN_PX, Math.min(asked.y, innerHeight - menu.offsetHeight - MARGIN_PX))}px`;
    menu.querySelector<HTMLElement>("button")?.focus();
    const closeOutside = ({ target }: Event): void => {
      if (!menu.contains(target as Node)) orderMenu.value = null;
    };
    addEventListener("pointerdown", closeOutside);
    return () => removeEventListener("pointerdown", closeOutside);
  }, [asked]);
  const market = Number(ticker.value?.markPrice ?? ticker.value?.lastPrice ?? 0);
  const tick = instrument.value?.tickSize;
  if (asked === null || tick === undefined || market === 0) return null;
  const price = fromNumber(asked.price, tick, "NEAREST");
  const shownPrice = fixed(Number(price), priceDecimals.value);
  const press = (event: KeyboardEvent): void => {
    // The page's hotkeys rest while a menu is open.
    event.stopPropagation();
    const items = [...(element.current?.querySelectorAll<HTMLElement>("button") ?? [])];
    const now = items.indexOf(document.activeElement as HTMLElement);
    const next = { ArrowDown: now + 1, ArrowUp: now - 1, Home: 0, End: -1 }[event.key];
    if (next !== undefined) {
      event.preventDefault();
      items.at(next % items.length)?.focus();
    } else if (event.key === "Escape" || event.key === "Tab") {
      event.preventDefault();
      orderMenu.value = null;
      onClose();
    }
  };
  return (
    <div
      class="menu order-menu"
      role="menu"
      aria-label={text.orderAt(shownPrice)}
      tabIndex={-1}
      ref={element}
      onKeyDown={press}
    >
      {offersAt(Number(price), market).map((offer) => (
        <button
          type="button"
          role="menuitem"
          key={offer.kind}
          onClick={() => {
            orderMenu.value = null;
            changeAndGo(draftOf(offer, price), "field-size");
          }}
        >
          {text.offer(offer.side, offer.kind, shownPrice)}
        </button>
      ))}
    </div>
  );
}
