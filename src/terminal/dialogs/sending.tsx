import type { ComponentChildren } from "preact";
import { useRef, useState } from "preact/hooks";
import { text } from "../text/catalogue.ts";

/**
 * For a form that sends: `run` does nothing while the request before is under way. A double click on a slow connection
 * must not close a half twice.
 */
export function useSending(): [isSending: boolean, run: (send: () => Promise<void>) => void] {
  const [isSending, setSending] = useState(false);
  // The state changes only with the next drawing.
  const isBusy = useRef(false);
  const run = (send: () => Promise<void>): void => {
    if (isBusy.current) return;
    isBusy.current = true;
    setSending(true);
    void send().finally(() => {
      isBusy.current = false;
      setSending(false);
    });
  };
  return [isSending, run];
}

/** It keeps the focus while it waits. */
export const SendButton = ({ isSending, children }: { isSending: boolean; children: ComponentChildren }) => (
  <button type="submit" class="big accent" aria-disabled={isSending}>
    {isSending ? text.sending : children}
  </button>
);
