import type { PerpdError } from "../../client/error.ts";
import { refusalText } from "../state/trading.ts";

/** A refusal that concerns none of the fields that are shown. */
export function Refused({ refusal, fields }: { refusal: PerpdError | null; fields: readonly string[] }) {
  if (refusal === null || fields.includes(refusal.field ?? "")) return null;
  return (
    <p class="note bad" role="alert">
      {refusalText(refusal)}
    </p>
  );
}
