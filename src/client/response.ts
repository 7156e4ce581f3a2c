import { PerpdError, type Rejection } from "./error.ts";
import type { ErrorBody } from "./types.ts";

/** Parses a JSON object; null for anything else. Every message of a perpd is a JSON object, errors included. */
export function parseObject(text: string): object | null {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && !Array.isArray(parsed) ? parsed : null;
  } catch {
    return null;
  }
}

/** An HTTP response that is not a success, or not JSON. */
interface ErrorResponse {
  status: number;
  text: string;
  header(name: string): string | null;
}

/** The error that a failed response stands for: the exchange's own, or NOT_PERPD when something else answered. */
export function responseError(url: URL, { status, text, header }: ErrorResponse): PerpdError {
  const answer: Partial<ErrorBody> | null = parseObject(text);
  const waitMs = retryAfterMs(header("Retry-After"));
  if (typeof answer?.code === "string") return new PerpdError(status, answer, waitMs);
  return notPerpdError(url, status, header("Location"), waitMs);
}

/** `Retry-After` counts whole seconds. */
const retryAfterMs = (text: string | null): number | undefined =>
  text !== null && /^[0-9]{1,6}$/.test(text) ? 1000 * Number(text) : undefined;

/**
 * The error for an answer that no perpd gave. `status` 0: it came over a WebSocket. `location`: the target of a
 * redirect.
 */
export function notPerpdError(
  { origin }: URL,
  status = 0,
  location: string | null = null,
  retryAfterMs?: number,
): PerpdError {
  const how = status === 0 ? "" : ` (${status}${location === null ? "" : `, redirect to ${location}`})`;
  const message = `${origin} is not a perpd exchange: check the URL, and any proxy in between${how}`;
  return new PerpdError(status, { code: "NOT_PERPD", message }, retryAfterMs);
}

/** A perpd's error is far shorter. The bound stops reading a page that never ends. */
const MAX_BODY_CHARS = 65_536;

/** The error for an HTTP response to a WebSocket handshake. Reads as much of the body as arrives. */
export async function readRejection(url: URL, response: Rejection): Promise<PerpdError> {
  let text = "";
  try {
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length > MAX_BODY_CHARS) break;
    }
  } catch {
    // The body was cut off; the status is enough.
  }
  const header = (name: string): string | null => {
    const value = response.headers[name.toLowerCase()];
    return typeof value === "string" ? value : null;
  };
  return responseError(url, { status: response.statusCode ?? 0, text, header });
}

/** Statuses below 500 after which a retry may succeed. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

/** True when a retry may succeed: the server or a proxy has a temporary problem. */
export const isTransient = ({ status, retryable }: PerpdError): boolean =>
  retryable || status >= 500 || TRANSIENT_STATUSES.has(status);
