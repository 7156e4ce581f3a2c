import assert from "node:assert/strict";
import { Agent, type IncomingHttpHeaders, request } from "node:http";
import type { ErrorBody } from "../../../src/client/error.ts";
import { ERRORS, type ErrorCode } from "../../../src/wire/error-codes.ts";
import { checkReply } from "./documents/documented-replies.ts";

export interface Answer<T> {
  status: number;
  headers: IncomingHttpHeaders;
  body: T;
  text: string;
}

export type Headers = Record<string, string>;

/** Shorter than the server's limit for idle connections. A request on a connection that is just being closed is reset. */
const IDLE_SOCKET_MS = 5_000;
const agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: IDLE_SOCKET_MS });

/** HTTP client that returns the whole response. Rejects without a response, or when openapi.json does not allow it. */
export class Api {
  readonly url: string;
  readonly token: string | undefined;

  /** `url` ends in /v1. */
  constructor(url: string, token?: string) {
    this.url = url;
    this.token = token;
  }

  /** `body`: an object is sent as JSON, a string or bytes as they are. */
  request<T>(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer<T>> {
    const bytes = body === undefined ? undefined : encode(body);
    return new Promise((resolve, reject) => {
      const { hostname, port, pathname } = new URL(this.url);
      const outgoing = request(
        {
          method,
          agent,
          // A socket's address has no brackets, unlike a URL's.
          hostname: hostname.replace(/^\[|\]$/g, ""),
          port,
          // Sent unchanged: a URL object would normalise paths that are meant to be malformed.
          path: pathname + path,
          headers: {
            ...(this.token !== undefined && { authorization: `Bearer ${this.token}` }),
            ...(bytes !== undefined && { "content-type": "application/json", "content-length": bytes.length }),
            ...headers,
          },
        },
        (incoming) => {
          const chunks: Buffer[] = [];
          incoming.on("data", (chunk: Buffer) => chunks.push(chunk));
          incoming.on("error", reject);
          incoming.on("end", () => {
            const text = Buffer.concat(chunks).toString("utf8");
            const answer = { status: incoming.statusCode ?? 0, headers: incoming.headers, text };
            try {
              checkReply(method, pathname + path, body, answer);
              resolve({ ...answer, body: parse(text) as T });
            } catch (undocumented) {
              reject(undocumented);
            }
          });
        },
      );
      outgoing.on("error", reject);
      outgoing.end(bytes);
    });
  }

  /** Sends a request that must succeed with this status; resolves with the body. */
  async call<T>(status: number, method: string, path: string, body?: unknown): Promise<T> {
    const answer = await this.request<T>(method, path, body);
    assert.equal(
      answer.status,
      status,
      `${method} ${path} ${JSON.stringify(body) ?? ""}: ${answer.text.slice(0, 500)}`,
    );
    return answer.body;
  }

  get<T>(path: string): Promise<T> {
    return this.call(200, "GET", path);
  }

  /** Sends a request that must be refused with this code and its status; resolves with the error. */
  async refused(code: ErrorCode, method: string, path: string, body?: unknown, headers?: Headers): Promise<ErrorBody> {
    const answer = await this.request<ErrorBody>(method, path, body, headers);
    checkError(answer);
    assert.equal(
      answer.body.code,
      code,
      `${method} ${path} ${JSON.stringify(body) ?? ""}: ${answer.text.slice(0, 500)}`,
    );
    return answer.body;
  }
}

/** Checks the fields of an error, and its code and status against the table. */
export function checkError(answer: Answer<unknown>): void {
  const { code, message, retryable, requestId, serverTime, ...rest } = answer.body as ErrorBody;
  assert.ok(Object.hasOwn(ERRORS, code), `${answer.status} ${answer.text.slice(0, 500)}: a code of the table`);
  assert.equal(answer.status, ERRORS[code as ErrorCode].status, answer.text);
  assert.equal(typeof message, "string");
  assert.ok(message.length > 0);
  assert.equal(typeof retryable, "boolean");
  assert.equal(requestId, answer.headers["x-request-id"]);
  assert.ok(Number.isSafeInteger(serverTime));
  for (const name of Object.keys(rest)) assert.ok(name === "field" || name === "details", name);
}

const encode = (body: unknown): Buffer => {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === "string" ? body : JSON.stringify(body));
};

/** null when it is not JSON. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
