import { ApiError } from "../common/errors.ts";
import { Call } from "./call.ts";
import type { RawResponse } from "./reply-writer.ts";

/** What is read of a uWebSockets.js request, during its handler only. */
export interface RawRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  /** Names in lower case. */
  forEach(read: (name: string, value: string) => void): void;
}

const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
const CONTINUE = /^100-continue$/i;
const CLOSE = /^close$/i;
const PATH = /^\/[\x21\x22\x24-\x7e]*$/;
const QUERY = /^[\x21\x22\x24-\x7e]*$/;

/** What the last readHead() has found, in one place so that a request costs no object for it. */
export const head = {
  hosts: 0,
  contentLengths: 0,
  contentLength: "",
  hasTransferEncoding: false,
  /** The client waits for 100 Continue, and uWebSockets.js, which knows it in lower case only, does not say it. */
  awaitsContinue: false,
  /** Bits of the credentials' headers that were there. */
  credentials: 0,
  hasRepeatedCredentials: false,
  bodyBytes: 0,
  refusal: null as ApiError | null,
};
let reading: Call;

const AUTHORIZATION = 1 << 0;
const API_KEY = 1 << 1;
const TIMESTAMP = 1 << 2;
const SIGNATURE = 1 << 3;
const RECV_WINDOW = 1 << 4;

function noteCredential(bit: number): void {
  if ((head.credentials & bit) !== 0) head.hasRepeatedCredentials = true;
  head.credentials |= bit;
}

function readHeader(name: string, value: string): void {
  switch (name) {
    case "host":
      head.hosts++;
      break;
    case "accept-encoding":
      reading.acceptEncoding = value;
      break;
    case "content-length":
      head.contentLengths++;
      head.contentLength = value;
      break;
    case "connection":
      // uWebSockets.js does close, but says nothing: a client that keeps its connections would send its next request there.
      if (CLOSE.test(value)) reading.header("Connection", "close");
      break;
    case "expect":
      head.awaitsContinue = value !== "100-continue" && CONTINUE.test(value);
      break;
    case "transfer-encoding":
      head.hasTransferEncoding = true;
      break;
    case "authorization":
      noteCredential(AUTHORIZATION);
      reading.authorization = value;
      break;
    case "x-api-key":
      noteCredential(API_KEY);
      reading.apiKey = value;
      break;
    case "x-timestamp":
      noteCredential(TIMESTAMP);
      reading.timestamp = value;
      break;
    case "x-signature":
      noteCredential(SIGNATURE);
      reading.signature = value;
      break;
    case "x-recv-window":
      noteCredential(RECV_WINDOW);
      reading.recvWindow = value;
      break;
  }
}

/** Copies the request's head, and leaves in `head` the length of the body or why the request is refused. */
export function readHead(response: RawResponse, request: RawRequest): Call {
  // Before getMethod, which turns it into lower case for good.
  const method = request.getCaseSensitiveMethod();
  const path = request.getUrl();
  const query = request.getQuery();
  reading = new Call(response, method, path, query);
  head.hosts = 0;
  head.contentLengths = 0;
  head.contentLength = "";
  head.hasTransferEncoding = false;
  head.awaitsContinue = false;
  head.credentials = 0;
  head.hasRepeatedCredentials = false;
  request.forEach(readHeader);
  head.refusal = findFault(method, path, reading.query);
  head.bodyBytes = head.contentLengths === 0 ? 0 : Number(head.contentLength);
  return reading;
}

function findFault(method: string, path: string, query: string): ApiError | null {
  if (head.hasTransferEncoding) return badRequest("Transfer-Encoding is not accepted; send Content-Length.");
  if (head.hosts !== 1) return badRequest("Exactly one Host header is required.");
  if (head.hasRepeatedCredentials) return badRequest("A header of the credentials stands twice.");
  if (head.contentLengths > 1) return badRequest("More than one Content-Length header.");
  if (head.contentLengths === 1 && !/^[0-9]{1,10}$/.test(head.contentLength))
    return badRequest("Content-Length is not a number.");
  if (!METHODS.has(method)) return badRequest("The method is not known.");
  if (!PATH.test(path) || !QUERY.test(query))
    return badRequest("The path and query may hold printable ASCII characters only.");
  return null;
}

const badRequest = (message: string): ApiError => new ApiError("BAD_REQUEST", { message });
