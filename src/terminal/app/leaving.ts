import { computed, effect } from "@preact/signals";
import { account, openOrders, positions } from "../state/account.ts";

/** Nobody can sign in to a demo account again: the key of its wallet goes with the page. */
const wouldLose = computed(
  () => account.value?.kind === "DEMO" && positions.value.length + openOrders.value.length > 0,
);

const ask = (event: Event): void => event.preventDefault();

/** Has the browser ask before the page, with what its demo account holds, is closed or loaded again. Call once. */
export function openLeaving(): void {
  effect(() => {
    if (wouldLose.value) addEventListener("beforeunload", ask);
    else removeEventListener("beforeunload", ask);
  });
}
