import type { Instrument } from "../../client/types.ts";
import { isAbove, times } from "../text/decimal.ts";

/** How much of a position a share of it is, in percent: at least one step, and no more than one order may have. Pure. */
export function quantityToClose(
  size: string,
  percent: number,
  { stepSize, maxQuantity }: Pick<Instrument, "stepSize" | "maxQuantity">,
): string {
  const part = percent === 100 ? size : times(size, percent / 100, stepSize);
  if (isAbove(stepSize, part)) return stepSize;
  return isAbove(part, maxQuantity) ? maxQuantity : part;
}
