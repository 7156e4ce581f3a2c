import { ApiError } from "../common/errors.ts";
import { Call } from "./call.ts";
import type { RawResponse } from "./reply-writer.ts";
import type { TrustedProxies } from "./trusted-proxies.ts";

/** The part of a uWebSockets.js request that is used. Only valid during its handler. */
interface RawRequest {
  getCaseSensitiveMethod(): string;
  getUrl(): string;
  getQuery(): string | undefined;
  /** Names in lower case. */
  forEach(read: (name: string, value: string) => void): void;
}

const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]);
const METHODS_WITH_BODY = new Set(["POST", "PUT", "PATCH", "DELETE"]);
const CONTINUE = /^100-continue$/i;
const CLOSE = /^close$/i;
const PATH = /^\/[\x21\x22\x24-\x7e]*$/;
const QUERY = /^[\x21\x22\x24-\x7e]*$/;

/** The result of the last readHead(). One object for all requests, so that none is allocated. */
export const head = {
  hosts: 0,
  contentLengths: 0,
  contentLength: "",
  transferEncodings: 0,
  transferEncoding: "",
  /** The client waits for 100 Continue, and uWebSockets.js does not send it: it only knows the header in lower case. */
  awaitsContinue: false,
  /** One bit for each header of credentials that came. */
  credentials: 0,
  hasRepeatedCredentials: false,
  bodyBytes: 0,
  isChunked: false,
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
      reading.host = value;
      break;
    case "accept-encoding":
      reading.acceptEncoding = value;
      break;
    case "content-length":
      head.contentLengths++;
      head.contentLength = value;
      break;
    case "connection":
      // uWebSockets.js closes without announcing it, so a client would send its next request on this connection.
      if (CLOSE.test(value)) reading.header("Connection", "close");
      break;
    case "expect":
      head.awaitsContinue = value !== "100-continue" && CONTINUE.test(value);
      break;
    case "if-none-match":
      reading.ifNoneMatch = value;
      break;
    case "origin":
      // Two of them are none that is allowed.
      reading.origin += value;
      break;
    case "transfer-encoding":
      head.transferEncodings++;
      head.transferEncoding = value;
      break;
    case "x-forwarded-proto":
      reading.forwardedProto = value;
      break;
    case "x-forwarded-for":
      // Several of them are one list.
      reading.forwardedFor += reading.forwardedFor === "" ? value : `,${value}`;
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

/** Copies the head of a request. Leaves the length of the body, or the reason for a refusal, in `head`. */
export function readHead(response: RawResponse, request: RawRequest, proxies: TrustedProxies | null = null): Call {
  // getMethod() would turn it into lower case.
  const method = request.getCaseSensitiveMethod();
  const path = request.getUrl();
  const query = request.getQuery();
  reading = new Call(response, method, path, query);
  reading.proxies = proxies;
  head.hosts = 0;
  head.contentLengths = 0;
  head.contentLength = "";
  head.transferEncodings = 0;
  head.awaitsContinue = false;
  head.credentials = 0;
  head.hasRepeatedCredentials = false;
  request.forEach(readHeader);
  head.refusal = findFault(method, path, reading.query);
  head.bodyBytes = head.contentLengths === 0 ? 0 : Number(head.contentLength);
  head.isChunked = head.transferEncodings > 0;
  return reading;
}

function findFault(method: string, path: string, query: string): ApiError | null {
  if (head.transferEncodings > 0 && (head.transferEncodings > 1 || head.transferEncoding !== "chunked"))
    return badRequest('Transfer-Encoding must be exactly "chunked". Send that, or Content-Length instead.');
  if (head.transferEncodings > 0 && head.contentLengths > 0)
    return badRequest("Content-Length and Transfer-Encoding must not come together. Send one of them.");
  if (head.transferEncodings > 0 && !METHODS_WITH_BODY.has(method))
    return badRequest("Only POST, PUT, PATCH and DELETE may have a chunked body. Send no Transfer-Encoding.");
  if (head.hosts !== 1) return badRequest("Exactly one Host header is required.");
  if (head.hasRepeatedCredentials) return badRequest("A header with credentials occurs twice. Send each of them once.");
  if (head.contentLengths > 1) return badRequest("There is more than one Content-Length header. Send one.");
  if (head.contentLengths === 1 && !/^[0-9]{1,10}$/.test(head.contentLength))
    return badRequest("Content-Length must be a whole number of at most 10 digits.");
  if (!METHODS.has(method))
    return badRequest("The method is unknown. Use GET, POST, PUT, PATCH, DELETE, HEAD or OPTIONS.");
  if (!PATH.test(path) || !QUERY.test(query))
    return badRequest("The path and the query must be printable ASCII. Percent-encode other characters.");
  return null;
}

const badRequest = (message: string): ApiError => new ApiError("BAD_REQUEST", { message });
