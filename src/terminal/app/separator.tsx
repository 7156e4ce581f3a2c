import { computed, effect, signal } from "@preact/signals";
import { panelSizes, type SizeName } from "../state/panel-sizes.ts";
import { set, settings } from "../state/settings.ts";
import { text } from "../text/catalogue.ts";

/** The lines between the panels of a wide screen. Each moves the left or upper edge of one panel. */

const STEP_PX = 16;

const view = signal({ width: innerWidth, height: innerHeight });
/** While a line is dragged: the size that it would get. */
const dragged = signal<Partial<Record<SizeName, number>>>({});
const sizes = computed(() => panelSizes({ ...settings.value, ...dragged.value }, view.value));

/** Keeps the sizes in the page's CSS variables. Call once. */
export function openPanelSizes(): void {
  addEventListener("resize", () => {
    view.value = { width: innerWidth, height: innerHeight };
  });
  effect(() => {
    for (const [name, { px }] of Object.entries(sizes.value))
      document.documentElement.style.setProperty(`--${name}`, `${px}px`);
  });
}

/** Gives all panels their default sizes. */
export function resetPanels(): void {
  for (const name of Object.keys(sizes.peek()) as SizeName[]) set(name, 0);
}

/** Dragging, the arrows, Home and End move it. A double click or Enter brings the default back. */
export function Separator({ name }: { name: SizeName }) {
  const { px, least, most } = sizes.value[name];
  const isColumn = name.endsWith("Width");
  const keys = (event: KeyboardEvent): void => {
    const size = sizeByKey(event.key, isColumn, px, least, most);
    if (size === null) return;
    event.preventDefault();
    set(name, size);
  };
  return (
    <div
      class={`separator ${name} ${isColumn ? "column" : "row"}`}
      role="separator"
      tabIndex={0}
      aria-label={text.panelSizes[name]}
      aria-orientation={isColumn ? "vertical" : "horizontal"}
      aria-valuenow={px}
      aria-valuemin={least}
      aria-valuemax={most}
      aria-valuetext={text.pixels(px)}
      title={text.separatorHint}
      onKeyDown={keys}
      onDblClick={() => set(name, 0)}
      onPointerDown={(event) => event.button === 0 && drag(event, name, px, isColumn)}
    />
  );
}

/** Null for a key that does nothing here. The panel is behind the line: it grows when the line goes left or up. */
function sizeByKey(key: string, isColumn: boolean, px: number, least: number, most: number): number | null {
  if (key === (isColumn ? "ArrowLeft" : "ArrowUp")) return Math.min(px + STEP_PX, most);
  if (key === (isColumn ? "ArrowRight" : "ArrowDown")) return Math.max(px - STEP_PX, least);
  if (key === "Home") return least;
  if (key === "End") return most;
  return key === "Enter" ? 0 : null;
}

/** Follows the pointer until it is released, also outside of the line and of the window. */
function drag(event: PointerEvent, name: SizeName, startPx: number, isColumn: boolean): void {
  const line = event.currentTarget as HTMLElement;
  const at = (each: PointerEvent): number => (isColumn ? each.clientX : each.clientY);
  const start = at(event);
  const move = (moved: PointerEvent): void => {
    dragged.value = { [name]: Math.max(1, startPx + start - at(moved)) };
  };
  const end = (): void => {
    line.removeEventListener("pointermove", move);
    line.removeEventListener("lostpointercapture", end);
    const isMoved = dragged.peek()[name] !== undefined;
    const { px } = sizes.peek()[name];
    if (isMoved) set(name, px);
    dragged.value = {};
  };
  line.setPointerCapture(event.pointerId);
  line.addEventListener("pointermove", move);
  line.addEventListener("lostpointercapture", end);
}
