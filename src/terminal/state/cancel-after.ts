import { effect, signal } from "@preact/signals";
import type { PerpdError } from "../../client/error.ts";
import { text } from "../text/catalogue.ts";
import { countdown } from "../text/format.ts";
import { accountStream, forgetWithAccount } from "./account.ts";
import { tradingLink } from "./connection.ts";
import { ticker } from "./markets.ts";
import { toast } from "./toasts.ts";
import { attempt } from "./trading.ts";

/**
 * The exchange's dead man's switch, as this page has set it: all orders are canceled when its time is over. The exchange
 * does not tell whether a program of the account has set it, too.
 */

interface CancelSwitch {
  readonly timeoutMs: number;
  /** By this computer's clock: a computer that has slept finds its orders canceled. */
  readonly endsAtMs: number;
  /** The page sets it anew while it is connected. */
  readonly isRenewed: boolean;
}

/** Null: not set by this page, or over. */
export const cancelSwitch = signal<CancelSwitch | null>(null);
/** In whole seconds, so that little is drawn. */
export const cancelLeftMs = signal(0);

/** A part of the time is a reserve for a slow connection. */
const RENEW_AFTER_SHARE = 1 / 3;
const WARN_AT_MS = 10_000;
const CHECK_EVERY_MS = 1_000;

/** Sets the switch, or sets it anew. Shows and returns the refusal. */
export async function armCancelAfter(timeoutMs: number, isRenewed: boolean): Promise<PerpdError | null> {
  // The exchange counts from a little later on: the page must not show more than there is.
  const endsAtMs = Date.now() + timeoutMs;
  return attempt("cancel-after", async (stream) => {
    await stream.cancelAfter(timeoutMs);
    cancelSwitch.value = { timeoutMs, endsAtMs, isRenewed };
    count();
    toast({
      key: "cancel-after",
      tone: "good",
      title: text.cancelAfter.armed,
      detail: text.cancelAfter.left(countdown(timeoutMs)),
    });
  });
}

export const disarmCancelAfter = (): Promise<PerpdError | null> =>
  attempt("cancel-after", async (stream) => {
    await stream.cancelAfter(0);
    cancelSwitch.value = null;
    toast({
      key: "cancel-after",
      tone: "neutral",
      title: text.cancelAfter.disarmed,
      detail: text.cancelAfter.ordersStay,
    });
  });

let isRenewing = false;

/** Without a word: it happens several times a minute. A failure shows as the time that runs out. */
async function renew({ timeoutMs }: CancelSwitch): Promise<void> {
  const stream = accountStream();
  if (isRenewing || stream === null || tradingLink.peek() !== "OPEN") return;
  isRenewing = true;
  const endsAtMs = Date.now() + timeoutMs;
  try {
    await stream.cancelAfter(timeoutMs);
    // It may have been disarmed meanwhile, in vain: the later request counts.
    const now = cancelSwitch.peek();
    if (now === null) await stream.cancelAfter(0);
    else if (now.timeoutMs === timeoutMs) cancelSwitch.value = { ...now, endsAtMs };
  } catch {
    // The next second tries again.
  }
  isRenewing = false;
}

function count(): void {
  const now = cancelSwitch.peek();
  if (now === null) return;
  const leftMs = now.endsAtMs - Date.now();
  const shownMs = 1000 * Math.max(0, Math.ceil(leftMs / 1000));
  const before = cancelLeftMs.peek();
  cancelLeftMs.value = shownMs;
  if (leftMs <= 0) {
    cancelSwitch.value = null;
    toast({ key: "cancel-after", tone: "bad", title: text.cancelAfter.over, detail: text.cancelAfter.lookAtOrders });
  } else if (now.isRenewed && leftMs < (1 - RENEW_AFTER_SHARE) * now.timeoutMs) void renew(now);
  else if (before > WARN_AT_MS && shownMs <= WARN_AT_MS && !now.isRenewed)
    toast({
      key: "cancel-after",
      tone: "bad",
      title: text.cancelAfter.soon,
      detail: text.cancelAfter.left(countdown(shownMs)),
    });
}

/** Counts down. Call once. */
export function openCancelSwitch(): void {
  setInterval(count, CHECK_EVERY_MS);
  // A browser slows down the timers of a hidden page, but not the messages of its connections.
  effect(() => {
    void ticker.value;
    count();
  });
  forgetWithAccount(() => {
    cancelSwitch.value = null;
  });
}
