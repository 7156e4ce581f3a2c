import { createHmac } from "node:crypto";
import type { CreatedApiKey } from "../../../src/client/types.ts";
import { type Answer, Api, type Headers } from "./api.ts";
import type { TestServer } from "./server.ts";
import type { Trader } from "./trader.ts";

/** The headers of a request signed with an API key. */
export function signed(key: CreatedApiKey, method: string, path: string, body = "", timestamp = Date.now()): Headers {
  const text = `${timestamp}${method}/v1${path}${body}`;
  const signature = createHmac("sha256", key.secret).update(text).digest("hex");
  return { "x-api-key": key.apiKey, "x-timestamp": String(timestamp), "x-signature": signature };
}

/** A client with an API key. */
export class KeyHolder extends Api {
  readonly key: CreatedApiKey;
  private last = 0;

  constructor(url: string, key: CreatedApiKey) {
    super(url);
    this.key = key;
  }

  override request<T>(method: string, path: string, body?: unknown, headers: Headers = {}): Promise<Answer<T>> {
    // Each signature has its own millisecond, so no two are equal.
    this.last = Math.max(Date.now(), this.last + 1);
    const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
    return super.request(method, path, text, { ...signed(this.key, method, path, text, this.last), ...headers });
  }
}

/** Creates an API key for the trader; `more`: its limits. */
export async function openKey(
  server: TestServer,
  trader: Trader,
  permissions: string[],
  more: object = {},
): Promise<KeyHolder> {
  const key = await trader.call<CreatedApiKey>(201, "POST", "/auth/keys", { label: "test", permissions, ...more });
  return new KeyHolder(server.url, key);
}
