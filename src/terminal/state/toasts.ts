import { signal } from "@preact/signals";

/** Short messages at the edge of the page. One for each subject: a later one about the same order takes its place. */

export interface Toast {
  /** Such as the id of an order. */
  readonly key: string;
  readonly tone: "good" | "bad" | "plain";
  readonly title: string;
  readonly detail: string;
}

export const toasts = signal<readonly Toast[]>([]);
/** The last message, for screen readers. */
export const announcement = signal("");

const SHOWN_MS = 6_000;
const MOST = 5;
const timers = new Map<string, number>();

export function toast(next: Toast): void {
  const others = toasts.peek().filter(({ key }) => key !== next.key);
  toasts.value = [...others, next].slice(-MOST);
  announcement.value = `${next.title}. ${next.detail}`;
  clearTimeout(timers.get(next.key));
  timers.set(
    next.key,
    window.setTimeout(() => dismiss(next.key), SHOWN_MS),
  );
}

export function dismiss(key: string): void {
  timers.delete(key);
  toasts.value = toasts.peek().filter((each) => each.key !== key);
}
