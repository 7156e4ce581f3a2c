import { announcement, dismiss, toasts } from "../state/toasts.ts";
import { text } from "../text/catalogue.ts";

export function Toasts() {
  return (
    <>
      <p class="hidden" role="status" aria-live="polite">
        {announcement.value}
      </p>
      <section class="toasts" aria-label={text.notifications}>
        {toasts.value.map(({ key, tone, title, detail, isLasting }) => (
          <div key={key} class={`toast ${tone} ${isLasting === true ? "lasting" : ""}`}>
            <strong>{title}</strong>
            <span>{detail}</span>
            <button type="button" class="icon" aria-label={text.close} onClick={() => dismiss(key)}>
              ✕
            </button>
          </div>
        ))}
      </section>
    </>
  );
}
