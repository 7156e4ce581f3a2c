import { isUtf8 } from "node:buffer";
import { readingIteration } from "../common/cork-budget.ts";
import { ApiError } from "../common/errors.ts";
import type { Call } from "./call.ts";

/** The part of a uWebSockets.js response that brings the request's body. */
interface BodySource {
  onAborted(then: () => void): unknown;
  /** A chunk is emptied when `receive` returns. */
  onData(receive: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
}

/** How long an oversized body is read before it is refused: closing at once would often lose the answer. */
const LINGER_MS = 100;

/** Reads a body of `bodyBytes` into the call, then runs it. Text that is not UTF-8 is refused. */
export function readBody(response: BodySource, call: Call, bodyBytes: number, run: (call: Call) => void): void {
  call.awaitsBody = true;
  let begun: Uint8Array | null = null;
  let length = 0;
  response.onData((chunk, isLast) => {
    if (call.done) return;
    const bytes = new Uint8Array(chunk);
    if (begun === null && isLast) return receive(call, bytes, run);
    begun ??= new Uint8Array(bodyBytes);
    begun.set(bytes, length);
    length += bytes.length;
    if (isLast) receive(call, begun, run);
  });
}

function receive(call: Call, body: Uint8Array, run: (call: Call) => void): void {
  call.awaitsBody = false;
  call.readIn = readingIteration();
  if (!isUtf8(body)) return call.refuse(new ApiError("BAD_ENCODING"));
  call.bytes = body;
  run(call);
}

/** Refuses a body that is too large, after it has given the client a moment to send it. */
export function discardBody(response: BodySource, call: Call): void {
  const refuse = () => call.refuse(new ApiError("BODY_TOO_LARGE"));
  const timer = setTimeout(refuse, LINGER_MS);
  response.onAborted(() => {
    clearTimeout(timer);
    call.abort();
  });
  response.onData((_chunk, isLast) => {
    if (!isLast) return;
    clearTimeout(timer);
    refuse();
  });
}
