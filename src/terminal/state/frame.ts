/**
 * One requestAnimationFrame for the whole page. What changes a thousand times a second is written to the page once a
 * frame; a hidden page writes nothing.
 */

type Paint = () => void;

let due = new Set<Paint>();
let running = new Set<Paint>();
let isRequested = false;
let intervalMs = 0;
let paintedAtMs = 0;

/** Leaves at least this time between two frames that are painted. 0 = each frame of the screen. */
export function setPaintInterval(ms: number): void {
  intervalMs = ms;
}

/** Runs `paint` in the next frame, once however often it is asked for. */
export function paintNext(paint: Paint): void {
  due.add(paint);
  if (isRequested) return;
  isRequested = true;
  const wait = paintedAtMs + intervalMs - performance.now();
  if (wait <= 0) requestAnimationFrame(run);
  else setTimeout(() => requestAnimationFrame(run), wait);
}

export function forgetPaint(paint: Paint): void {
  due.delete(paint);
}

function run(): void {
  isRequested = false;
  paintedAtMs = performance.now();
  [due, running] = [running, due];
  for (const paint of running) paint();
  running.clear();
}

/** Writes a text only when it differs: an equal write would still cost a layout. */
export function setText(node: Text | Element, text: string): void {
  if (node.textContent !== text) node.textContent = text;
}
