import { instrument } from "../state/markets.ts";
import { text } from "../text/catalogue.ts";

/** The titles above rows of prices and sizes. Screen readers hear each row whole, so they do not need them. */
export function LevelHead({ middle, last }: { middle?: string; last: string }) {
  return (
    <div class="level-head" aria-hidden="true">
      <span>{text.price}</span>
      <span>{middle ?? `${text.size} (${instrument.value?.baseAsset ?? ""})`}</span>
      <span>{last}</span>
    </div>
  );
}
