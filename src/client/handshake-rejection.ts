import type { IncomingMessage } from "node:http";
import type { PerpdError } from "./error.ts";
import { responseError } from "./response.ts";

/** A perpd's error is far shorter. The bound stops reading a page that never ends. */
const MAX_BODY_CHARS = 65_536;

/** The error for an HTTP response to a WebSocket handshake. Reads as much of the body as arrives. */
export async function readRejection(url: URL, response: IncomingMessage): Promise<PerpdError> {
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
