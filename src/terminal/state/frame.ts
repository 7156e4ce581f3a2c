/**
 * One requestAnimationFrame for the whole page. Values that change a thousand times a second are written to the
 * page once a frame. A hidden page writes nothing.
 */

type Paint = () => void;

/**
 * The least time between two prints of market data: a frame of 60 Hz. Book and trades come in bundles, so each frame waits for
 * nothing more.
 */
export const MARKET_PACE_MS = 15;
/** The same for candles: each one that changes has the chart draw all of itself. */
export const CANDLES_PACE_MS = 100;
/** A task that may run so soon joins a frame that is drawn anyway. */
const EARLY_MS = 9;

/** By task the time of performance.now() from which it may run. */
const due = new Map<Paint, number>();
/** Tasks that run just before the frame. */
const before = new WeakSet<Paint>();
/** When each task ran last. */
const ranAtMs = new WeakMap<Paint, number>();
let intervalMs = 0;
let paintedAtMs = 0;
/** The time from which the next frame is asked for. */
let askedForMs = Number.POSITIVE_INFINITY;
let timer = 0;

/** Leaves at least this time between two frames that are painted. 0 = each frame of the screen. */
export function setPaintInterval(ms: number): void {
  intervalMs = ms;
}

/**
 * Runs `paint` in the next frame, once however often it is asked for, and not within `paceMs` of its last run. Tasks with
 * a pace share their frames: each frame costs the browser more than a task.
 */
export function paintNext(paint: Paint, paceMs = 0): void {
  if (due.has(paint)) return;
  const fromMs = paceMs === 0 ? 0 : Math.max((ranAtMs.get(paint) ?? 0) + paceMs, paintedAtMs + MARKET_PACE_MS);
  due.set(paint, fromMs);
  ask(fromMs);
}

/**
 * As paintNext(), but runs `prepare` just before the frame. For the data of a part that asks for frames by itself, as the chart does:
 * if it got them in a frame, it would ask for another one.
 */
export function prepareNext(prepare: Paint, paceMs: number): void {
  before.add(prepare);
  paintNext(prepare, paceMs);
}

export function forgetPaint(paint: Paint): void {
  due.delete(paint);
}

function ask(fromMs: number): void {
  const now = performance.now();
  const at = Math.max(fromMs, paintedAtMs + intervalMs, now);
  if (at >= askedForMs) return;
  askedForMs = at;
  clearTimeout(timer);
  if (at > now) timer = window.setTimeout(askNow, at - now);
  else askNow();
}

function askNow(): void {
  runDue(true, performance.now());
  // The parts that have data now have asked for this frame first, so that tasks of theirs still belong to it.
  requestAnimationFrame(run);
}

function run(): void {
  askedForMs = Number.POSITIVE_INFINITY;
  paintedAtMs = performance.now();
  runDue(false, paintedAtMs);
}

function runDue(isBefore: boolean, nowMs: number): void {
  // A copy: tasks that these ask for belong to the next frame.
  for (const [paint, fromMs] of [...due]) {
    if (before.has(paint) !== isBefore || fromMs > nowMs + EARLY_MS) {
      if (!isBefore) ask(Math.max(fromMs, nowMs + MARKET_PACE_MS));
    } else if (due.delete(paint)) {
      ranAtMs.set(paint, nowMs);
      paint();
    }
  }
}

/**
 * Writes a text only when it differs: an equal write would still cost a layout. Keeps the text node of an element,
 * since a new one would cost a new box.
 */
export function setText(node: Element, text: string): void {
  const { firstChild } = node;
  if (firstChild === null) node.append(text);
  else if (firstChild.nodeValue !== text) firstChild.nodeValue = text;
}
