import { PerpdError } from "./error.ts";

/** What a text says; null when it is no JSON object: all that a perpd says is one, errors included. */
export function objectOf(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** Something else has answered, over HTTP with a status, and maybe with where to send the request on to. */
export function notPerpd(
  { origin }: URL,
  status = 0,
  location: string | null = null,
  retryAfterMs?: number,
): PerpdError {
  const how = status === 0 ? "" : ` (${status}${location === null ? "" : `, on to ${location}`})`;
  const message = `what answers at ${origin} is no perpd: the address is another's, or something in between has answered${how}`;
  return new PerpdError(status, { code: "NOT_PERPD", message }, retryAfterMs);
}
