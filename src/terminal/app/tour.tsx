import { effect, signal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import { account, balance } from "../state/account.ts";
import { type PanelName, panel } from "../state/panel.ts";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";

/** A short tour of the page, offered once to a visitor who has got a demo account. The page stays usable meanwhile. */

interface Step {
  readonly name: keyof typeof text.tourSteps;
  /** The element that the step is about. */
  readonly target: string;
  /** Where it is on a phone. */
  readonly panel: PanelName;
}

const STEPS: readonly Step[] = [
  { name: "market", target: ".market-button", panel: "chart" },
  { name: "chart", target: ".chart", panel: "chart" },
  { name: "book", target: ".book", panel: "book" },
  { name: "trade", target: ".order-form", panel: "trade" },
  { name: "account", target: ".tables", panel: "account" },
  { name: "more", target: ".top-actions", panel: "chart" },
];

/** Index of the step that is shown; null while there is no tour. */
const at = signal<number | null>(null);
/** The element that had the focus before. */
let focused: Element | null = null;

export function startTour(): void {
  set("hasSeenTour", true);
  focused = document.activeElement;
  at.value = 0;
}

function leaveTour(): void {
  at.value = null;
  panel.value = "trade";
  // The button that opened the account is gone with it.
  const next = focused?.isConnected && focused !== document.body ? focused : document.getElementById("field-size");
  setTimeout(() => (next as HTMLElement | null)?.focus(), 0);
}

/** Offers the tour when a first demo account has its money. Call once. */
export function openTour(): void {
  effect(() => {
    const isFunded = account.value?.kind === "DEMO" && Number(balance.value?.walletBalance ?? 0) > 0;
    if (isFunded && !settings.peek().hasSeenTour) startTour();
  });
}

export function Tour() {
  const index = at.value;
  const step = index === null ? undefined : STEPS[index];
  return index === null || step === undefined ? null : <TourStep key={step.name} step={step} index={index} />;
}

function TourStep({ step, index }: { step: Step; index: number }) {
  const card = useRef<HTMLDivElement>(null);
  const spot = useRef<HTMLDivElement>(null);
  const id = useId();
  const isLast = index === STEPS.length - 1;
  const { title, body } = text.tourSteps[step.name];
  useLayoutEffect(() => {
    panel.value = step.panel;
    return keepBeside(step.target, card.current as HTMLElement, spot.current as HTMLElement);
  }, []);
  useEffect(() => {
    const keys = (event: KeyboardEvent): void => {
      if (event.key !== "Escape" || document.querySelector("dialog[open]") !== null) return;
      event.preventDefault();
      leaveTour();
    };
    document.addEventListener("keydown", keys);
    return () => document.removeEventListener("keydown", keys);
  }, []);
  return (
    <>
      <div class="tour-spot" ref={spot} aria-hidden="true" />
      <div class="tour" ref={card} role="dialog" aria-labelledby={`${id}-title`} aria-describedby={`${id}-body`}>
        <div class="tour-head">
          <h2 id={`${id}-title`}>{title}</h2>
          <button type="button" class="icon" aria-label={text.tourLeave} onClick={leaveTour}>
            ✕
          </button>
        </div>
        <p id={`${id}-body`}>{body}</p>
        <div class="tour-foot">
          <span class="muted num">{text.tourProgress(index + 1, STEPS.length)}</span>
          {index > 0 && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                at.value = index - 1;
              }}
            >
              {text.tourBack}
            </button>
          )}
          <button
            type="button"
            class="accent"
            onClick={() => {
              if (isLast) leaveTour();
              else at.value = index + 1;
            }}
          >
            {isLast ? text.tourDone : text.tourNext}
          </button>
        </div>
      </div>
    </>
  );
}

const GAP_PX = 12;
const EDGE_PX = 8;

/** Shows the card beside the target, and keeps it there while sizes change. Returns a function that ends it. */
function keepBeside(target: string, card: HTMLElement, spot: HTMLElement): () => void {
  const place = (): void => {
    const element = document.querySelector(target);
    if (element === null) return;
    const { left, top, width, height } = element.getBoundingClientRect();
    // Moved by `translate`, both shift no layout.
    spot.style.cssText = `translate: ${left}px ${top}px; width: ${width}px; height: ${height}px`;
    const [x, y] = beside({ left, top, width, height }, card.offsetWidth, card.offsetHeight);
    const isFirst = card.style.visibility === "";
    card.style.cssText = `translate: ${x}px ${y}px; visibility: visible`;
    if (isFirst) card.querySelector<HTMLElement>(".accent")?.focus({ preventScroll: true });
  };
  const observer = new ResizeObserver(place);
  // On a phone the step's panel appears with the next drawing.
  const timer = setTimeout(() => {
    const element = document.querySelector(target);
    element?.scrollIntoView({ block: "nearest" });
    for (const each of [element, card, document.documentElement]) if (each !== null) observer.observe(each);
  }, 0);
  return () => {
    clearTimeout(timer);
    observer.disconnect();
  };
}

type Rect = Readonly<Record<"left" | "top" | "width" | "height", number>>;

/** The first side of the target with room for the card; inside its lower edge when there is none. */
function beside({ left, top, width, height }: Rect, cardWidth: number, cardHeight: number): [x: number, y: number] {
  const right = left + width + GAP_PX;
  const below = top + height + GAP_PX;
  const x = Math.max(EDGE_PX, Math.min(left, innerWidth - cardWidth - EDGE_PX));
  const y = Math.max(EDGE_PX, Math.min(top, innerHeight - cardHeight - EDGE_PX));
  if (right + cardWidth + EDGE_PX <= innerWidth) return [right, y];
  if (left - GAP_PX - cardWidth >= EDGE_PX) return [left - GAP_PX - cardWidth, y];
  if (below + cardHeight + EDGE_PX <= innerHeight) return [x, below];
  if (top - GAP_PX - cardHeight >= EDGE_PX) return [x, top - GAP_PX - cardHeight];
  return [x, Math.max(EDGE_PX, Math.min(top + height, innerHeight) - cardHeight - GAP_PX)];
}
