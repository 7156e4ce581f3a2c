import { PerpdError } from "./error.ts";

const HMAC = { name: "HMAC", hash: "SHA-256" };

/** Signs texts with the secret of an API key. Works in browsers and in Node. */
export class Signer {
  private readonly secret: string;
  private key: ReturnType<typeof importKey> | null = null;

  constructor(secret: string) {
    this.secret = secret;
  }

  /** The HMAC-SHA256 of the text, in hexadecimal. Rejects where a browser has no WebCrypto. */
  async sign(text: string): Promise<string> {
    this.key ??= importKey(this.secret);
    const bytes = await crypto.subtle.sign(HMAC, await this.key, utf8(text));
    return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }
}

const utf8 = (text: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(text);

const notSigned = (message: string): PerpdError =>
  new PerpdError(400, { code: "BAD_VALUE", field: "secret", message: `${message}: nothing was sent` });

async function importKey(secret: string) {
  if (secret === "") throw notSigned("the secret of the API key is empty");
  // Browsers hide it from pages that came over http, except from the same machine.
  if (globalThis.crypto?.subtle === undefined)
    throw notSigned("this page cannot sign with an API key: serve it over https, or use a session's token");
  return crypto.subtle.importKey("raw", utf8(secret), HMAC, false, ["sign"]);
}
