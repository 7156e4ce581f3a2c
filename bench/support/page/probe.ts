import type { Inputs, Probe, Recorded } from "../probe-results.ts";

/**
 * Runs in a page before its own scripts, as the global `probe`, and measures what the page does. While it does not
 * record, it costs the page nothing but a look at each message. Times are milliseconds.
 */

const channel = new MessageChannel();
const afterFrame: (() => void)[] = [];
channel.port1.onmessage = () => {
  for (const run of afterFrame.splice(0)) run();
};
/** Runs when the next frame has been drawn: its message comes after style, layout and paint. */
function whenPainted(run: () => void): void {
  requestAnimationFrame(() => {
    afterFrame.push(run);
    channel.port2.postMessage(null);
  });
}

let recorded: Recorded | null = null;
/** Arrival of messages since which the page has written nothing. */
let arrivals: number[] = [];
let inputs: Inputs = { toPaint: [], toRequest: [] };
let lastInputAt = 0;

/** Arrival of messages since which the page has written something: the next frame shows them. */
let written: number[] = [];
const changes = new MutationObserver(() => {
  written.push(...arrivals);
  arrivals = [];
});

class WatchedSocket extends WebSocket {
  constructor(url: string | URL) {
    super(url);
    this.addEventListener("message", () => {
      if (recorded === null) return;
      recorded.messages++;
      arrivals.push(performance.now());
    });
  }

  override send(data: string): void {
    if (data.includes('"order.place"') && !data.includes('"dryRun":true'))
      inputs.toRequest.push(performance.now() - lastInputAt);
    super.send(data);
  }
}
globalThis.WebSocket = WatchedSocket;

for (const type of ["click", "keydown"] as const)
  addEventListener(
    type,
    ({ timeStamp }) => {
      lastInputAt = timeStamp;
      whenPainted(() => inputs.toPaint.push(performance.now() - timeStamp));
    },
    { capture: true },
  );

let longFrames = 0;
/** Of the worst burst: at most five seconds, without a second of calm, as browsers report it. */
let layoutShift = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) if (duration > 50) longFrames++;
}).observe({ type: "long-animation-frame", buffered: true });
const BURST_MS = 5000;
const CALM_MS = 1000;
let burst = { value: 0, beganAt: 0, lastAt: 0 };
new PerformanceObserver((list) => {
  for (const shift of list.getEntries() as (PerformanceEntry & { value: number; hadRecentInput: boolean })[]) {
    const { startTime, value, hadRecentInput } = shift;
    if (hadRecentInput) continue;
    if (startTime - burst.lastAt > CALM_MS || startTime - burst.beganAt > BURST_MS)
      burst = { value: 0, beganAt: startTime, lastAt: startTime };
    burst.value += value;
    burst.lastAt = startTime;
    layoutShift = Math.max(layoutShift, burst.value);
  }
}).observe({ type: "layout-shift", buffered: true });

function watchBook(): void {
  const has = (side: string): boolean => document.querySelector(`[aria-label="${side}"] button:enabled`) !== null;
  if (!has("Asks") || !has("Bids")) requestAnimationFrame(watchBook);
  else
    whenPainted(() => {
      probe.bookShownAt = performance.now();
    });
}

const probe: Probe = {
  bookShownAt: null,
  async record(forMs) {
    const mine: Recorded = { messages: 0, messageToPaint: [], frames: [] };
    recorded = mine;
    arrivals = [];
    written = [];
    changes.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
    const show = (): void => {
      const now = performance.now();
      for (const arrivedAt of written.splice(0)) mine.messageToPaint.push(now - arrivedAt);
    };
    let last = 0;
    const count = (at: number): void => {
      if (recorded !== mine) return;
      if (last > 0) mine.frames.push(at - last);
      last = at;
      requestAnimationFrame(count);
      afterFrame.push(show);
      channel.port2.postMessage(null);
    };
    requestAnimationFrame(count);
    await new Promise((resume) => setTimeout(resume, forMs));
    recorded = null;
    changes.disconnect();
    return mine;
  },
  takeInputs() {
    const taken = inputs;
    inputs = { toPaint: [], toRequest: [] };
    return taken;
  },
  sinceLoad: () => ({ longFrames, layoutShift }),
};
(globalThis as unknown as { probe: Probe }).probe = probe;
// The bare page has no book. No frame can be asked for yet.
if (location.pathname === "/") addEventListener("DOMContentLoaded", watchBook);
