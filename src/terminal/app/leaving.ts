import { computed, effect } from "@preact/signals";
import { isSecretShown } from "../account/api-keys.tsx";
import { account, openOrders, positions } from "../state/account.ts";

/** Nobody can sign in to a demo account again: the key of its wallet goes with the page. */
const holdsDemo = computed(
  () => account.value?.kind === "DEMO" && positions.value.length + openOrders.value.length > 0,
);
/** The exchange tells the secret of a key only once. */
const wouldLose = computed(() => holdsDemo.value || isSecretShown.value);

const ask = (event: Event): void => event.preventDefault();

/** Has the browser ask before a page that would lose something is closed or loaded again. Call once. */
export function openLeaving(): void {
  effect(() => {
    if (wouldLose.value) addEventListener("beforeunload", ask);
    else removeEventListener("beforeunload", ask);
  });
}
