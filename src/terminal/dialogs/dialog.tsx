import type { ComponentChildren } from "preact";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import { text } from "../text/catalogue.ts";

/** A modal dialog. The browser keeps the focus inside, and gives it back at the end. Escape closes it. */
export function Dialog(props: { title: string; isWide?: boolean; onClose: () => void; children: ComponentChildren }) {
  const { title, isWide, onClose, children } = props;
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  // Before the next key: one that is typed at once must not reach the page below.
  useLayoutEffect(() => {
    const dialog = element.current;
    const before = document.activeElement as HTMLElement | null;
    // The row of a position that the dialog closes may be gone at the end.
    const around = before?.parentElement?.closest<HTMLElement>("[tabindex]");
    dialog?.showModal();
    // The button that closes it comes first, and is seldom wanted first.
    dialog?.querySelector<HTMLElement>("form input, form [type=submit]")?.focus();
    return () => {
      dialog?.close();
      before?.focus();
      if (document.activeElement !== before) around?.focus();
    };
  }, []);
  return (
    <dialog
      ref={element}
      class={isWide === true ? "wide" : ""}
      aria-labelledby={titleId}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      // A second Escape in a row closes it without asking.
      onClose={() => element.current !== null && onClose()}
    >
      <header>
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon" aria-label={text.close} onClick={onClose}>
          ✕
        </button>
      </header>
      {children}
    </dialog>
  );
}
