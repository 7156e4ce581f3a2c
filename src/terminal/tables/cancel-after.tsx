import { signal } from "@preact/signals";
import { forgetWithAccount } from "../state/account.ts";
import { armCancelAfter, cancelLeftMs, cancelSwitch, disarmCancelAfter } from "../state/cancel-after.ts";
import { text } from "../text/catalogue.ts";
import { countdown } from "../text/format.ts";

/** The dead man's switch above the open orders: arms, renews and disarms it. */

const SECOND_MS = 1000;
const TIMEOUTS_MS = [10, 30, 60, 300, 900, 3600, 86_400].map((seconds) => seconds * SECOND_MS);

const DEFAULT_MS = 60 * SECOND_MS;
const timeoutMs = signal(DEFAULT_MS);
const isRenewed = signal(false);

forgetWithAccount(() => {
  timeoutMs.value = DEFAULT_MS;
  isRenewed.value = false;
});

export function CancelAfter() {
  const now = cancelSwitch.value;
  const arm = (): void => void armCancelAfter(timeoutMs.peek(), isRenewed.peek());
  return (
    <div class="cancel-after" role="group" aria-label={text.cancelAfter.title} title={text.cancelAfter.hint}>
      {now === null ? (
        <label class="muted">
          {text.cancelAfter.cancelAllAfter}{" "}
          <select
            class="bare"
            value={timeoutMs.value}
            onChange={(event) => {
              timeoutMs.value = Number(event.currentTarget.value);
            }}
          >
            {TIMEOUTS_MS.map((each) => (
              <option value={each}>{text.cancelAfter.times[each / SECOND_MS]}</option>
            ))}
          </select>
        </label>
      ) : (
        <Countdown />
      )}
      <label class="check">
        <input
          type="checkbox"
          checked={now?.isRenewed ?? isRenewed.value}
          onChange={({ currentTarget: { checked } }) => {
            isRenewed.value = checked;
            if (now !== null) cancelSwitch.value = { ...now, isRenewed: checked };
          }}
        />
        {text.cancelAfter.renewed}
      </label>
      <button type="button" class="mini" onClick={arm}>
        {now === null ? text.cancelAfter.arm : text.cancelAfter.renew}
      </button>
      {now !== null && (
        <button type="button" class="mini" onClick={() => void disarmCancelAfter()}>
          {text.cancelAfter.disarm}
        </button>
      )}
    </div>
  );
}

/** Also for the status line. */
export function Countdown() {
  return (
    <span class="warn">
      {text.cancelAfter.allIn}{" "}
      <span class="num" role="timer" aria-label={text.cancelAfter.title}>
        {countdown(cancelLeftMs.value)}
      </span>
    </span>
  );
}
