import { PerpdError } from "./error.ts";
import type { ErrorBody } from "./types.ts";

/** What a text says; null when it is no JSON object: all that a perpd says is one, errors included. */
export function parseObject(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** An answer over HTTP that is not what was asked for. */
export interface ErrorResponse {
  status: number;
  text: string;
  header(name: string): string | null;
}

/** What the exchange says of it, or that it was something else that answered. */
export function responseError(url: URL, { status, text, header }: ErrorResponse): PerpdError {
  const answer: Partial<ErrorBody> | null = parseObject(text);
  const waitMs = retryAfterMs(header("Retry-After"));
  if (typeof answer?.code === "string") return new PerpdError(status, answer, waitMs);
  return notPerpdError(url, status, header("Location"), waitMs);
}

/** The header counts whole seconds. */
const retryAfterMs = (text: string | null): number | undefined =>
  text !== null && /^[0-9]{1,6}$/.test(text) ? 1000 * Number(text) : undefined;

/** Something else has answered, over HTTP with a status, and maybe with where to send the request on to. */
export function notPerpdError(
  { origin }: URL,
  status = 0,
  location: string | null = null,
  retryAfterMs?: number,
): PerpdError {
  const how = status === 0 ? "" : ` (${status}${location === null ? "" : `, on to ${location}`})`;
  const message = `what answers at ${origin} is no perpd: the address is another's, or something in between has answered${how}`;
  return new PerpdError(status, { code: "NOT_PERPD", message }, retryAfterMs);
}
