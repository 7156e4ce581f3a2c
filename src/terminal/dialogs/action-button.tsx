import { isUnderWay } from "../state/trading.ts";
import { text } from "../text/catalogue.ts";

/** Sends something at once. While the answer is awaited it says so, and keeps its place and the focus. */
export function ActionButton(props: {
  /** The action's key in state/trading.ts. */
  action: string;
  label: string;
  /** The row that it belongs to, for screen readers. */
  of?: string;
  hint?: string;
  isDisabled?: boolean;
  onPress: () => void;
}) {
  const { action, label, of, hint, isDisabled, onPress } = props;
  const isSending = isUnderWay(action);
  return (
    <button type="button" class="mini" title={hint} disabled={isDisabled} aria-busy={isSending} onClick={onPress}>
      {isSending && `${text.sending} `}
      <span class={isSending ? "hidden" : ""}>{label}</span>
      {of !== undefined && <span class="hidden"> {of}</span>}
    </button>
  );
}
