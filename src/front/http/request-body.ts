import { isUtf8 } from "node:buffer";
import { MAX_BODY_BYTES } from "../../wire/errors/gateway-errors.ts";
import { readingIteration } from "../common/cork-budget.ts";
import { ApiError } from "../common/errors.ts";
import { TimeSlicer } from "../common/time-slicer.ts";
import type { Call } from "./call.ts";

/** The part of a uWebSockets.js response that brings the request's body. */
interface BodySource {
  onAborted(then: () => void): unknown;
  /** A chunk is emptied when `receive` returns. */
  onData(receive: (chunk: ArrayBuffer, isLast: boolean) => void): unknown;
}

/** Checking a body of 64 KiB takes a third of a millisecond. So one that is larger than this waits for its turn. */
export const LARGE_BODY_BYTES = 8192;
const LARGE_BODIES_PER_ITERATION = 1;

/** How long an oversized body is read before it is refused: closing at once would often lose the answer. */
const LINGER_MS = 100;

interface Runners {
  /** While uWebSockets.js reads the request. */
  now(call: Call): void;
  /** In a later event-loop iteration. */
  later(call: Call): void;
}

const large = new TimeSlicer<() => void>(LARGE_BODIES_PER_ITERATION, (run) => run());
const runLarge = (): void => large.run();

/** Reads a body of `bodyBytes` into the call, then runs it. Text that is not UTF-8 is refused. */
export function readBody(response: BodySource, call: Call, bodyBytes: number, run: Runners): void {
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

function receive(call: Call, body: Uint8Array, run: Runners): void {
  call.awaitsBody = false;
  call.readIn = readingIteration();
  if (!isUtf8(body)) return call.refuse(new ApiError("BAD_ENCODING"));
  if (body.length <= LARGE_BODY_BYTES) {
    call.bytes = body;
    run.now(call);
    return;
  }
  // A copy: the bytes of a chunk are gone when this returns.
  call.bytes = body.slice();
  runInTurn(call, run);
}

function runInTurn(call: Call, run: Runners): void {
  large.add(() => {
    if (!call.done) run.later(call);
  });
  setImmediate(runLarge);
}

/** Each piece costs a call from native code, so a body in single bytes would block the event loop. */
const MAX_PIECES = 1024;

/**
 * Reads a chunked body into the call, then runs it in a later event-loop iteration. The connection is closed after the answer.
 *
 * uWebSockets.js checks neither the two bytes after a chunk nor those after the last one, and reads extensions as digits. So
 * nobody knows where the next request would begin. While the call waits, uWebSockets.js closes the connection if anything
 * follows that is no more than the body, and the call does not run.
 */
export function readChunkedBody(response: BodySource, call: Call, run: Runners): void {
  call.awaitsBody = true;
  call.closeAfter();
  const pieces: Uint8Array[] = [];
  let bodyBytes = 0;
  let refusal: ApiError | null = null;
  const refuse = (): void => {
    if (refusal !== null) call.refuse(refusal);
  };
  response.onData((chunk, isLast) => {
    if (call.done) return;
    if (refusal === null && chunk.byteLength > 0) {
      bodyBytes += chunk.byteLength;
      if (bodyBytes > MAX_BODY_BYTES) refusal = new ApiError("BODY_TOO_LARGE");
      else if (pieces.length === MAX_PIECES) refusal = new ApiError("BAD_REQUEST", { message: TOO_MANY_PIECES });
      else pieces.push(new Uint8Array(chunk).slice());
      if (refusal !== null) setTimeout(refuse, LINGER_MS);
    }
    if (!isLast) return;
    call.awaitsBody = false;
    setImmediate(() => (refusal === null ? receiveWhole(call, Buffer.concat(pieces, bodyBytes), run) : refuse()));
  });
}

const TOO_MANY_PIECES = `The body came in more than ${MAX_PIECES} pieces. Send larger chunks, or Content-Length.`;

function receiveWhole(call: Call, body: Uint8Array, run: Runners): void {
  if (call.done) return;
  if (!isUtf8(body)) return call.refuse(new ApiError("BAD_ENCODING"));
  call.bytes = body;
  if (body.length <= LARGE_BODY_BYTES) run.later(call);
  else runInTurn(call, run);
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
