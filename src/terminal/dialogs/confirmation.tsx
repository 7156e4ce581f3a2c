import { question } from "../state/confirmation.ts";
import { text } from "../text/catalogue.ts";
import { Dialog } from "./dialog.tsx";

/** Asks before an order is sent. Enter says yes, Escape says no. */
export function ConfirmationDialog() {
  const asked = question.value;
  if (asked === null) return null;
  return (
    <Dialog title={text.confirmTitle} onClose={() => asked.answer(false)}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          asked.answer(true);
        }}
      >
        <p class="question">{asked.what}</p>
        <button type="submit" class="big accent">
          {text.confirm}
        </button>
        <button type="button" class="big chip" onClick={() => asked.answer(false)}>
          {text.cancel}
        </button>
      </form>
    </Dialog>
  );
}
