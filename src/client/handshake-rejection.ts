import type { IncomingMessage } from "node:http";
import type { PerpdError } from "./error.ts";
import { responseError } from "./response.ts";

/** What a perpd says is shorter, and a page that goes on for ever is no reason to listen for ever. */
const MAX_BODY_CHARS = 65_536;

/** Why a server answers over HTTP in the place of opening a WebSocket: what it says, as far as it comes. */
export async function readRejection(url: URL, response: IncomingMessage): Promise<PerpdError> {
  let text = "";
  try {
    for await (const part of response.setEncoding("utf8")) {
      text += part;
      if (text.length > MAX_BODY_CHARS) break;
    }
  } catch {
    // It was cut off: the status says enough.
  }
  const header = (name: string): string | null => {
    const value = response.headers[name.toLowerCase()];
    return typeof value === "string" ? value : null;
  };
  return responseError(url, { status: response.statusCode ?? 0, text, header });
}

/** Answers below 500 that say that another try may go better. */
const TRANSIENT_STATUSES: ReadonlySet<number> = new Set([408, 425, 429]);

/**
 * A server or a proxy that has trouble may be rid of it in a moment; one that says that there is nothing here for us will
 * say so again.
 */
export const isTransient = ({ status, retryable }: PerpdError): boolean =>
  retryable || status >= 500 || TRANSIENT_STATUSES.has(status);
