import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";

/** Which rows of a long table are drawn: those in view and some beside them. All rows have the height of the first one. */

/** Shorter tables are drawn whole. */
const DRAWN_WHOLE = 60;
/** Rows above and below the view: the keyboard reaches them, and scrolling shows no gap. */
const BESIDE = 12;

interface Window {
  readonly first: number;
  /** After the last one. */
  readonly end: number;
  readonly rowHeightPx: number;
}

const GUESSED_HEIGHT_PX = 30;

/** `body` has the rows; its ancestor .table-body scrolls. Null: draw all rows. */
export function useWindow(body: RefObject<HTMLElement | null>, count: number): Window | null {
  const isLong = count > DRAWN_WHOLE;
  const [shown, setShown] = useState<Window>({ first: 0, end: DRAWN_WHOLE, rowHeightPx: GUESSED_HEIGHT_PX });
  useLayoutEffect(() => {
    const element = body.current;
    const scroller = element?.closest(".table-body");
    if (!isLong || element === null || scroller == null) return;
    const update = (): void =>
      setShown((before) => {
        const height = element.querySelector("tr:not(.spacer)")?.getBoundingClientRect().height ?? 0;
        const rowHeightPx = height > 0 ? height : before.rowHeightPx;
        const above = scroller.getBoundingClientRect().top - element.getBoundingClientRect().top;
        const next = windowOf(above, scroller.clientHeight, rowHeightPx, count);
        const isSame = next.first === before.first && next.end === before.end && rowHeightPx === before.rowHeightPx;
        return isSame ? before : next;
      });
    const resize = new ResizeObserver(update);
    resize.observe(scroller);
    scroller.addEventListener("scroll", update, { passive: true });
    update();
    return () => {
      resize.disconnect();
      scroller.removeEventListener("scroll", update);
    };
  }, [isLong, count]);
  return isLong ? { ...shown, end: Math.min(shown.end, count), first: Math.min(shown.first, count) } : null;
}

/** `abovePx`: how much of the rows is scrolled out of view at the top. Pure. */
export function windowOf(abovePx: number, viewPx: number, rowHeightPx: number, count: number): Window {
  const first = Math.floor(abovePx / rowHeightPx) - BESIDE;
  const end = Math.ceil((abovePx + viewPx) / rowHeightPx) + BESIDE;
  const most = Math.max(0, count - 1);
  return { first: Math.max(0, Math.min(most, first)), end: Math.max(1, Math.min(count, end)), rowHeightPx };
}
