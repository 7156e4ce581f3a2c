import { ERRORS, type ErrorCode, SOCKET_ERRORS, type SocketErrorCode, specOf } from "../wire/error-codes.ts";
import { code, page } from "./markdown.ts";

/** Every error code: status, meaning, what to do. */
export function errorsPage(): string {
  const rest = Object.keys(ERRORS).sort() as ErrorCode[];
  const socket = Object.keys(SOCKET_ERRORS).sort() as SocketErrorCode[];
  return page(
    "Error codes",
    "Every error has the same shape: `code`, `message`, `retryable`, `requestId`, `serverTime`, and where it helps `field` and `details`. A code never changes its meaning. An error means that nothing was done. Only `TIMEOUT` and `INTERNAL` cannot promise that: send the request again with the same `clientOrderId` or `reference`. [Errors](../trading/errors.md) explains how to handle them.",
    "## Codes of REST and WebSocket",
    ...rest.map((name) => errorText(name, `HTTP status ${ERRORS[name].status}.`)),
    "## Codes of the WebSocket only",
    ...socket.map((name) => errorText(name, "")),
  );
}

function errorText(name: ErrorCode | SocketErrorCode, status: string): string {
  const { problem, remedy, retryable = false } = specOf(name);
  const facts = [status, retryable ? "Retryable." : "Not retryable."].filter((text) => text !== "");
  return [`### ${code(name)}`, `${facts.join(" ")} ${problem}`, `**What to do:** ${remedy}`].join("\n\n");
}
