import { signal } from "@preact/signals";

/** Short messages at the edge of the page. One for each subject: a later one about the same order takes its place. */

export interface Toast {
  /** Such as the id of an order. */
  readonly key: string;
  readonly tone: "good" | "bad" | "neutral";
  readonly title: string;
  readonly detail: string;
  /** Stays until the person closes it, or until another one takes its place. */
  readonly isLasting?: boolean;
}

export const toasts = signal<readonly Toast[]>([]);
/** The last messages, for screen readers. */
export const announcement = signal("");

const SHOWN_MS = 6_000;
const MOST = 5;
const MOST_LASTING = 8;
const timers = new Map<string, number>();

export function toast(next: Toast): void {
  const others = toasts.peek().filter(({ key }) => key !== next.key);
  const shown = [...others, next];
  // The lasting ones stay.
  const excess = shown.filter(({ isLasting }) => isLasting !== true).slice(0, Math.max(0, shown.length - MOST));
  toasts.value = shown.filter((each) => !excess.includes(each)).slice(-MOST_LASTING);
  announce(next);
  clearTimeout(timers.get(next.key));
  if (next.isLasting === true) timers.delete(next.key);
  else
    timers.set(
      next.key,
      window.setTimeout(() => dismiss(next.key), SHOWN_MS),
    );
}

const ANNOUNCED_TOGETHER_MS = 400;
const unsaid = new Map<string, Toast>();

/** A screen reader hears what comes at the same time as one message: another one at once would cut the first one off. */
function announce(next: Toast): void {
  if (unsaid.size === 0) window.setTimeout(say, ANNOUNCED_TOGETHER_MS);
  unsaid.delete(next.key);
  unsaid.set(next.key, next);
}

/** Toasts that stay come first: they are the most important. */
function say(): void {
  const last = [...unsaid.values()].slice(-MOST_LASTING);
  const sorted = [...last.filter((each) => each.isLasting === true), ...last.filter((each) => each.isLasting !== true)];
  announcement.value = sorted.map(({ title, detail }) => `${title}. ${detail}`).join(" ");
  unsaid.clear();
}

export function dismiss(key: string): void {
  clearTimeout(timers.get(key));
  timers.delete(key);
  toasts.value = toasts.peek().filter((each) => each.key !== key);
}
