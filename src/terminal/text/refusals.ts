import { PerpdError } from "../../client/error.ts";
import { text } from "./catalogue.ts";

/** The exchange's own words, without the code in front. */
export const refusalText = (error: unknown): string =>
  error instanceof PerpdError ? error.message.replace(/^[A-Z_]+: /, "") : text.noConnection;

/** The valid values beside one that the exchange refused. */
export function nearestOf({ details }: PerpdError): string[] {
  const nearest = details?.nearest;
  if (typeof nearest === "string") return [nearest];
  return Array.isArray(nearest) ? nearest.map(String) : [];
}
